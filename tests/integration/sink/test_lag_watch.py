"""Records that wait while the run goes on: its driver says so."""

from __future__ import annotations

import pytest

from ignite_kafka.events import LAG_STANDS
from ignite_kafka.sink import run
from tests.support.event_log import event_log, ids
from tests.support.frozen_workers import frozen
from tests.support.kept_events import assert_kept
from tests.support.sink_connector import Running, Sink, trade
from tests.support.waiting import wait_until


def test_a_lag_that_does_not_move_is_an_event(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "CHECK_S", 0.2)
    monkeypatch.setattr(run, "STALLED_S", 1.0)
    sink.send([trade(number) for number in range(6)])
    with event_log() as emitted, Running(sink, progress_interval_ms=200) as running:
        running.awaits(set(range(6)))
        wait_until(lambda: running.alive and sum(sink.group().values()) == 6, "their commit")
        emitted.clear()  # the first batch may have taken longer than a second
        with frozen():
            sink.send([trade(number) for number in range(6, 9)], partition=1)
            wait_until(lambda: running.alive and LAG_STANDS.id in ids(emitted), "the event")
        running.awaits(set(range(9)))
    assert_kept(sink.settings, LAG_STANDS)
    told = [fields for number, fields in emitted if number == LAG_STANDS.id]
    assert f"{sink.topic} 1 at offset 2 (3 wait)" in told[0]["partitions"]
