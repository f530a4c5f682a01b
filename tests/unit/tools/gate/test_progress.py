"""What a run shows while it goes on."""

from __future__ import annotations

import io

import pytest

from tools.gate.progress import Display, minutes, status
from tools.gate.results import TestResult


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_status_says_how_far_it_is_and_what_runs() -> None:
    running = {"gw1": ("tests/stream/test_b.py::test_b", 90.0), "gw0": ("tests/faults/test_a.py::test_a", 30.0)}
    line = status(754.0, 2_000.0, 4_312, 8_703, 1, running, 100.0)
    assert (
        line == "12:34 of about 33:20 · 4,312 of 8,703 tests, 1 failed · faults/test_a.py::test_a (1:10) · stream/test_b.py::test_b (0:10)"
    )
    assert status(1.0, 60.0, 0, 0, 0, {}, 0.0) == "0:01 of about 1:00 · collecting tests, 0 failed"


def test_a_log_has_a_line_a_minute() -> None:
    out = io.StringIO()
    display = Display(out)
    for second in range(0, 125, 5):
        display.show(f"at {second}", float(second))
    assert out.getvalue() == "at 0\nat 60\nat 120\n"


def test_a_terminal_has_one_line_below_what_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "22")
    out = Terminal()
    display = Display(out)
    display.show("a status of more than twenty characters", 0.0)
    display.failed(TestResult("tests/faults/test_a.py::test_a", "failed", 62.0))
    display.show("a status", 0.1)
    wiped = "\r\033[K"
    assert out.getvalue() == f"{wiped}a status of more than{wiped}FAILED tests/faults/test_a.py::test_a after 1:02\n{wiped}a status"


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (59.6, "1:00"), (3_661.0, "61:01"), (-1.0, "0:00")])
def test_minutes(seconds: float, text: str) -> None:
    assert minutes(seconds) == text
