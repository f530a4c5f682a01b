"""What a signal selects of a task's units, and what ends it: keys, partitions, conditions that fail, caches that are made again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ignite_kafka.ignite.backlog_units import GONE
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.source.stream.unit_reader import WHOLE_BACKLOG
from ignite_kafka.state.signal_records import SignalCount
from tests.support.backlog_changes import CACHE, PARTITIONS
from tests.support.backlog_simulator import Simulator
from tests.support.stream_task import Task
from tests.unit.source.stream.test_signal_reader import begin, new_records, signal_of, version


def streamed(keys: int, **settings: Any) -> tuple[Simulator, Task]:
    """A stream that has sent some keys, each with its number and one as its value."""
    simulator = Simulator()
    simulator.bytes_for_all = WHOLE_BACKLOG
    simulator.key_kinds = {(codes.LONG,)}
    for key in range(keys):
        simulator.put(key)
    task = Task(simulator, **settings)
    task.settle()
    return simulator, task


def sent(simulator: Simulator, task: Task, **selection: Any) -> list[int]:
    """Values that a signal sends."""

    def do() -> None:
        begin(task, signal_of(**selection))
        task.settle()

    return sorted(version(value) for _, value in new_records(simulator, do) if value is not None)


def test_keys_are_those_of_the_topic() -> None:
    simulator, task = streamed(12, key_converter="json")
    assert sent(simulator, task, keys=("1", "7", "999")) == [2, 8]
    report = task.reader.signal_report()
    assert report is not None
    assert report.done
    assert report.caches[CACHE.name] == SignalCount(units=2, units_done=2, records=2)
    task.stop()


def test_a_key_that_cannot_be_converted_back_ends_the_signal_and_not_the_stream() -> None:
    simulator, task = streamed(4, key_converter="json")
    assert sent(simulator, task, keys=("1", "no number")) == []
    report = task.reader.signal_report()
    assert report is not None
    assert "1 of 2 keys cannot be converted" in report.error
    assert not report.done
    simulator.put(1)
    task.settle()
    task.stop()
    assert version(simulator.topic[-1][1] or b"") == 5


def test_a_key_without_bytes_is_none_of_a_topic_with_keys_as_ignite_has_them() -> None:
    simulator, task = streamed(4)
    assert sent(simulator, task, keys=("",)) == []
    report = task.reader.signal_report()
    assert report is not None
    assert "1 of 1 keys cannot be converted" in report.error
    task.stop()


def test_a_condition_that_fails_for_an_entry_ends_the_signal_and_not_the_stream() -> None:
    simulator, task = streamed(4)
    assert sent(simulator, task, where="10 / (_value - 3) > 1") == []
    report = task.reader.signal_report()
    assert report is not None
    assert "division by zero" in report.error.lower()
    simulator.put(1)
    task.settle()
    task.stop()
    assert simulator.fold == simulator.entries


@pytest.mark.parametrize("partitions", [(0,), (1, 3), (0, 1, 2, 3)])
def test_partitions(partitions: tuple[int, ...]) -> None:
    simulator, task = streamed(8)
    assert sent(simulator, task, partitions=partitions) == [key + 1 for key in range(8) if key % PARTITIONS in partitions]
    task.stop()


def test_a_second_signal_sends_once_more_and_the_connector_s_own_filter_counts() -> None:
    simulator, task = streamed(8, where="_value <> 3")
    for id in ("one", "two"):
        assert sent(simulator, task, id=id, where="_value < 6") == [1, 2, 4, 5]
        report = task.reader.signal_report()
        assert report is not None
        assert report.caches[CACHE.name].records == 4
    task.stop()


def test_an_id_that_is_used_again_is_a_signal_of_its_own_and_a_repeated_request_is_none() -> None:
    simulator, task = streamed(4)

    def again(nonce: str) -> list[int]:
        def do() -> None:
            begin(task, replace(signal_of(), nonce=nonce))
            task.settle()

        return sorted(version(value) for _, value in new_records(simulator, do) if value is not None)

    assert again("7") == [1, 2, 3, 4]
    assert again("7") == []
    assert again("900") == [1, 2, 3, 4]
    task.stop()


def test_a_cache_that_is_gone_leaves_its_snapshot_incomplete() -> None:
    simulator, task = streamed(8)
    begin(task, signal_of())
    simulator.meanwhile["scan"].append(lambda: simulator.mark_all(GONE))
    task.batch()
    task.batch()
    report = task.reader.signal_report()
    assert report is not None
    assert report.caches[CACHE.name].units_done < report.caches[CACHE.name].units
    assert not report.done
    assert task.reader.signal_ended  # nothing is left to read: a run that ends is not held up
    task.stop()


def test_a_cache_that_is_made_again_is_sent_under_its_new_incarnation() -> None:
    simulator, task = streamed(4)
    begin(task, signal_of())
    simulator.remake()
    simulator.put(1)
    task.settle()
    task.stop()
    assert simulator.fold == simulator.entries
    assert simulator.steps_back() == []
