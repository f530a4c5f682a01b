"""Progress as a bar on a terminal, as lines elsewhere, as nothing if quiet."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys

import pytest

from ignite_kafka.cli.progress_bar import ProgressBar, RateEstimate, draws_in_place, format_left, format_rate
from tests.support.fake_time import FakeTime
from tests.support.terminals import terminal_process

_COMPARING = """
import logging, sys
from ignite_kafka.cli.progress_bar import ProgressBar
from ignite_kafka.runtime import logs
from tests.support.fake_time import FakeTime
logs.configure(logging.INFO, "%(levelname)s %(message)s")
time = FakeTime()
bar = ProgressBar(sys.stderr, quiet="--quiet" in sys.argv, clock=time)
for done in range(0, 1_001, 250):
    bar.show("comparing", done, 1_000)
    time.sleep(10)
logging.getLogger("ignite_kafka").info("a line of the log")
bar.end()
print("the result")
"""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOR = re.compile(r"\x1b\[[0-9;]*(?:3[0-9]|9[0-7]|38;[0-9;]+)m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(*arguments: str, **variables: str) -> str:
    """What a comparison draws on a real terminal; its result goes to a pipe."""
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}
    environment = {**clean, "TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    with terminal_process([sys.executable, "-c", _COMPARING, *arguments], environment, stdout=subprocess.PIPE) as process:
        assert process.process.stdout is not None
        result = process.process.stdout.read()
        process.process.stdout.close()
        assert process.wait() == 0, process.drawn
        assert result == b"the result\n", "nothing is drawn on stdout"
        return process.drawn


def test_a_terminal_shows_a_bar_with_rate_and_time_left_and_logs_above_it() -> None:
    output = drawn()
    text = ESCAPES.sub("", output)
    assert re.search(r"comparing .*500/1,000 tasks +25 tasks/s +0:00:20 left", text)
    assert re.search(r"comparing .*1,000/1,000 tasks +25 tasks/s +0:00:00 left", text)
    assert "INFO a line of the log" in text
    assert COLOR.search(output)
    assert "\x1b[?25h" in output, "the cursor is shown again"


def test_no_color_is_honoured() -> None:
    output = drawn(NO_COLOR="1")
    assert "500/1,000 tasks" in ESCAPES.sub("", output)
    assert not COLOR.search(output)


def test_a_terminal_that_cannot_overwrite_gets_lines() -> None:
    output = drawn(TERM="dumb")
    assert "\x1b" not in output
    assert output.splitlines()[:2] == ["INFO comparing: 250 of 1000 tasks after 10 s", "INFO comparing: 500 of 1000 tasks after 20 s"]


def test_a_quiet_command_draws_nothing() -> None:
    assert drawn("--quiet") == "INFO a line of the log\r\n"


def test_elsewhere_it_is_a_line_from_time_to_time(caplog: pytest.LogCaptureFixture) -> None:
    stream, time = io.StringIO(), FakeTime()
    bar = ProgressBar(stream, clock=time)
    with caplog.at_level(logging.INFO):
        for done in range(30):
            bar.show("comparing", done, 100)
            time.sleep(1)
    bar.end()
    assert stream.getvalue() == ""
    assert [record.getMessage() for record in caplog.records] == [
        "comparing: 10 of 100 tasks after 10 s",
        "comparing: 20 of 100 tasks after 20 s",
    ]


def test_it_shows_nothing_if_quiet(caplog: pytest.LogCaptureFixture) -> None:
    stream, time = Terminal(), FakeTime()
    bar = ProgressBar(stream, quiet=True, clock=time)
    time.sleep(60)
    with caplog.at_level(logging.INFO):
        bar.show("comparing", 1, 2)
    bar.end()
    assert stream.getvalue() == ""
    assert caplog.records == []


def test_where_progress_is_drawn() -> None:
    assert draws_in_place(Terminal(), environment={"TERM": "xterm"})
    assert draws_in_place(Terminal(), environment={})
    assert not draws_in_place(Terminal(), environment={"TERM": "dumb"})
    assert not draws_in_place(Terminal(), quiet=True, environment={"TERM": "xterm"})
    assert not draws_in_place(io.StringIO(), environment={"TERM": "xterm"})


def test_the_rate_is_that_of_the_last_minute() -> None:
    time = FakeTime()
    rate = RateEstimate(time)
    assert (rate.per_second, rate.seconds_left(5)) == (None, None)
    for done in (0, 1_000, 1_010, 1_020, 1_030, 1_040, 1_050, 1_060):
        rate.add(done)
        time.sleep(10)
    assert rate.per_second == 1
    assert rate.seconds_left(30) == 30
    rate.add(0)
    assert rate.per_second is None, "a new attempt counts anew"


def test_rates_and_times_as_texts() -> None:
    assert [format_rate(rate, "records") for rate in (None, 0.25, 9.96, 1_234.5)] == [
        "",
        "0.2 records/s",
        "10.0 records/s",
        "1,234 records/s",
    ]
    assert [format_left(seconds) for seconds in (None, 0.4, 65, 360_000)] == ["", "0:00:00 left", "0:01:05 left", "100:00:00 left"]
