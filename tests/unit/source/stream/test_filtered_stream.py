"""A stream with a filter: the topic becomes the entries that the filter keeps, whatever happens meanwhile."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ignite_kafka.ignite.backlog_units import ASKED
from tests.support.backlog_changes import PARTITIONS, key_bytes
from tests.support.backlog_simulator import Simulator
from tests.support.randomness import examples
from tests.support.stream_task import Task
from tests.unit.source.stream.test_stream import BATCH, BATCHED, FAULTS, WRITES, follow

ODD = ", ".join(map(str, range(1, 400, 2)))
EVEN_VERSIONS: dict[str, Any] = {"where": f"_value NOT IN ({ODD})"}
"""A value is the version of its write: every second write of a key leaves the filter, or enters it."""


def version(value: bytes) -> int:
    found: int = struct.unpack_from("<i", value, 1)[0]
    return found


def expected(simulator: Simulator) -> dict[bytes, bytes]:
    return {key: value for key, value in simulator.entries.items() if version(value) % 2 == 0}


def lose_changes(simulator: Simulator) -> None:
    for unit in simulator.units:
        unit.primary.clear()
        unit.backup.clear()
        unit.backlog.clear()


def settled(simulator: Simulator, steps: list[Any], **more: Any) -> Task:
    task = Task(simulator, **EVEN_VERSIONS, **more)
    follow(simulator, task, steps)
    task.settle()
    task.stop()
    return task


@settings(max_examples=examples(300))
@given(before=st.lists(WRITES, max_size=6), steps=st.lists(st.one_of(WRITES, WRITES, BATCH, FAULTS), max_size=50))
@example(before=[], steps=[("put", 1), BATCHED, ("put", 0), BATCHED, ("put", 0), BATCHED])
def test_the_topic_becomes_what_the_filter_keeps(before: list[Any], steps: list[Any]) -> None:
    simulator = Simulator()
    follow(simulator, None, before)
    settled(simulator, steps)
    assert simulator.fold == expected(simulator)
    assert all(value is None or version(value) % 2 == 0 for _, value in simulator.topic)


def test_an_update_that_leaves_the_filter_sends_a_tombstone() -> None:
    simulator = Simulator()
    settled(simulator, [("put", 1), ("put", 0), BATCHED, ("put", 0), *[BATCHED] * 3])
    assert [value if value is None else version(value) for key, value in simulator.topic if key == key_bytes(0)] == [2, None]


def test_keys_that_left_the_filter_unseen_get_tombstones_when_their_unit_is_sent_again() -> None:
    """Reconciliation: the cache has the key, and the filter leaves its entry out."""
    simulator = Simulator()
    for key in (1, 0):  # versions 1 and 2
        simulator.put(key)
    task = Task(simulator, **EVEN_VERSIONS)
    task.settle()
    assert list(simulator.fold) == [key_bytes(0)]
    simulator.clear_cache()
    simulator.put(0)  # version 3
    lose_changes(simulator)
    simulator.mark_all(ASKED)
    task.settle()
    task.stop()
    assert simulator.fold == {} == expected(simulator)


def test_counts_leave_out_what_is_filtered() -> None:
    simulator = Simulator()
    for key in range(PARTITIONS * 2):
        simulator.put(key)
    lose_changes(simulator)  # so that all are scanned
    task = settled(simulator, [])
    counts = [count for by_cache in task.counts.values() for count in by_cache.values()]
    total = {name: sum(getattr(count, name) for count in counts) for name in ("entries", "records", "filtered", "bad")}
    assert total == {"entries": PARTITIONS, "records": PARTITIONS, "filtered": PARTITIONS, "bad": 0}
    units = [unit for slot in simulator.offsets.values() for unit in slot.units.values()]
    assert sum(unit.records for unit in units) == PARTITIONS
    assert len(units) == PARTITIONS


@pytest.mark.parametrize("where", ["_value < 0", "_key IS NULL"])
def test_a_stream_of_which_nothing_matches_still_moves(where: str) -> None:
    simulator = Simulator()
    simulator.put(1)
    task = Task(simulator, where=where)
    task.settle()
    simulator.put(1)
    simulator.put(2)
    task.settle()
    task.stop()
    assert simulator.fold == {}
    assert all(not unit.backlog for unit in simulator.units)
