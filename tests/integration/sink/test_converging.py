"""Sinks whose puts no node compares: a task that slept asks Kafka whether it still owns its slots before it puts."""

from __future__ import annotations

from dataclasses import replace

from ignite_kafka.kafka.topics import Topics
from ignite_kafka.sink.planning import make_plan
from tests.support.sink_connector import Sink, trade
from tests.support.stopped_task import stopped_task


def test_a_task_that_slept_between_read_and_put_changes_nothing(sink: Sink) -> None:
    sink.send([trade(number) for number in range(4)], partition=0)
    first = sink.run()
    sink.send([trade(1, symbol="older"), trade(2, symbol="older"), trade(3, symbol="older")], partition=0)
    plan = replace(make_plan(sink.settings, Topics(sink.clients), 2), generation=first.generation)
    with stopped_task(plan) as older:
        sink.send([trade(1, symbol="newer"), (b"2", None)], partition=0)
        sink.run()
        before = sink.entries()
        assert before[1]["symbol"] == "newer"
        assert set(before) == {0, 1, 3}
        # the end of its epoch may be noticed before the question is answered
        assert older.wake() in ("Fenced", "NoneType")
    assert sink.entries() == before
    assert sink.group()[0] == 9
