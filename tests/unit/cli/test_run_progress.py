"""Progress of a run: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import logging
from dataclasses import replace
from typing import Any

import pytest

from ignite_kafka.cli.progress_bar import live_bars
from ignite_kafka.cli.run_progress import RunBars, run_progress
from ignite_kafka.state.status import CacheStatus, RunStatus
from tests.support.fake_time import FakeTime

COLUMNS = 160


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def status(**caches: tuple[int, int, int]) -> RunStatus:
    """A status with units that are done, units and records of each cache."""
    counts = {
        name: CacheStatus(f"to-{name}", records=records, units=units, units_done=done) for name, (done, units, records) in caches.items()
    }
    return RunStatus("RUNNING", "c", "r", caches=counts)


def shown(bars: Any) -> list[tuple[str, str, str, str]]:
    return [(task.description, task.fields["count"], task.fields["rate"], task.fields["left"]) for task in bars.tasks]


def test_a_snapshot_has_a_bar_for_all_and_one_for_each_open_cache() -> None:
    time = FakeTime()
    with live_bars(Terminal()) as bars:
        run = RunBars(bars, ends=True, clock=time)
        run.show(status(flights=(0, 8, 0), planes=(0, 2, 0)))
        time.sleep(10)
        run.show(status(flights=(2, 8, 5_000), planes=(1, 2, 10)))
        assert shown(bars) == [
            ("all caches", "3/10 partitions, 5,010 records", "501 records/s", "0:00:23 left"),
            ("flights → to-flights", "2/8 partitions, 5,000 records", "500 records/s", "0:00:30 left"),
            ("planes → to-planes", "1/2 partitions, 10 records", "1.0 records/s", "0:00:10 left"),
        ]
        run.show(status(flights=(8, 8, 20_000), planes=(1, 2, 10)))
        assert [task.description for task in bars.tasks] == ["all caches", "planes → to-planes"]
        assert (bars.tasks[0].completed, bars.tasks[0].total) == (9, 10)


def test_a_stream_has_no_time_left() -> None:
    time = FakeTime()
    with live_bars(Terminal()) as bars:
        run = RunBars(bars, ends=False, clock=time)
        run.show(status(flights=(8, 8, 100)))
        time.sleep(10)
        run.show(status(flights=(8, 8, 400)))
        assert shown(bars) == [("flights → to-flights", "400 records", "30 records/s", "")]
        assert bars.tasks[0].total is None


def test_a_thousand_caches_do_not_fill_the_terminal() -> None:
    with live_bars(Terminal()) as bars:
        RunBars(bars, ends=True).show(status(**{f"c{number}": (0, 1, 0) for number in range(1_000)}))
        assert len(bars.tasks) == 11


def test_elsewhere_it_is_a_line_for_each_cache(caplog: pytest.LogCaptureFixture) -> None:
    stream = io.StringIO()
    with caplog.at_level(logging.INFO), run_progress(ends=True, stream=stream) as show:
        show(status(flights=(2, 8, 5_000)))
    assert [record.getMessage() for record in caplog.records] == ["progress flights -> to-flights: 2 of 8 partitions, 5,000 records"]
    assert stream.getvalue() == ""


def test_a_terminal_shows_the_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    stream = Terminal()
    with run_progress(ends=True, stream=stream) as show:
        show(status(flights=(2, 8, 5_000)))
    assert "flights → to-flights" in stream.getvalue()
    assert "2/8 partitions, 5,000 records" in stream.getvalue()
    with run_progress(ends=True, quiet=True, stream=(quiet := Terminal())) as show:
        show(replace(status(), state="RUNNING"))
    assert quiet.getvalue() == ""
