"""Commits of a sink's task: limits of what is stored ahead of them, and partitions amid a repetition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.kafka.dead_letters import DeadLetter
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.kafka.topics import TopicPartition
from ignite_kafka.sink.commits import Commits, PutLimits
from ignite_kafka.sink.repetition import Repetition
from ignite_kafka.sink.store import Stored

ONE, TWO = ("t", 0), ("t", 1)
LETTER = DeadLetter("dead", None, None, (), 0)


class Slots:
    """Offsets, limits and dead letters of each commit."""

    def __init__(self) -> None:
        self.commits: list[tuple[dict[TopicPartition, int], dict[TopicPartition, int], dict[TopicPartition, Any]]] = []

    def commit(self, offsets: Any, limits: Any, letters: Any, _: object) -> None:
        self.commits.append((dict(offsets), dict(limits), dict(letters)))


def commits(
    slots: Slots, positions: Mapping[TopicPartition, int], limits: PutLimits | None, ends: Mapping[TopicPartition, int] | None = None
) -> tuple[Commits, dict[TopicPartition, int]]:
    """Commits of a task, and the positions of its reader."""
    read = dict(positions)
    reader = SimpleNamespace(positions=read, group_metadata=None)
    return Commits(cast(Any, slots), cast(Any, reader), limits, Repetition(ends or {})), read


def add(of: Commits, place: TopicPartition, offset: int, letters: Sequence[DeadLetter] = ()) -> None:
    """Add a record that is stored."""
    consumed = Consumed(*place, pa.array([b"k"], pa.binary()), pa.array([b"v"], pa.binary()), np.array([offset], np.int64))
    of.add([consumed], Stored(entries={place: 1}), {place: letters} if letters else {}, 1.0)


def test_without_limits_what_moved_is_committed_and_counted_once() -> None:
    slots = Slots()
    task, read = commits(slots, {ONE: 5, TWO: 7}, None)
    read[ONE] = 9
    add(task, ONE, 8)
    assert not task.needed()
    assert [(place, count.entries) for place, count in task.commit(read)] == [(ONE, 1)]
    assert task.commit(read, last=True) == []
    assert slots.commits == [({ONE: 9}, {}, {}), ({}, {}, {})]


@given(st.lists(st.tuples(st.sampled_from([ONE, TWO]), st.integers(1, 400), st.booleans()), max_size=30), st.integers(1, 50))
def test_nothing_is_stored_behind_a_committed_limit(steps: list[tuple[TopicPartition, int, bool]], least: int) -> None:
    slots = Slots()
    start = {ONE: 3, TWO: 0}
    task, read = commits(slots, start, PutLimits(start, least))
    known = dict(start)
    for place, count, due in steps:
        before = dict(read)
        read[place] += count
        if task.needed():
            task.commit(before)
            known |= slots.commits[-1][1]
        assert all(read[place] <= known[place] for place in read if read[place] > start[place])
        if due:
            task.commit(read)
            known |= slots.commits[-1][1]
    task.commit(read, last=True)
    known |= slots.commits[-1][1]
    assert known == read


def test_a_limit_grows_with_what_is_stored_between_commits() -> None:
    limits = PutLimits({ONE: 0}, 100)
    assert limits.extended(ONE, 30, 0) == 130
    limits.committed({ONE: 130})
    assert limits.extended(ONE, 120, 90) == 300
    assert limits.extended(ONE, 10, 0) == 130
    assert limits.exceeded({ONE: 131})
    assert not limits.exceeded({ONE: 130})
    assert limits.narrow({ONE: 31}) == {ONE}
    assert limits.narrow({ONE: 30}) == set()
    assert limits.above({ONE: 130}) == set()


def test_a_partition_is_not_committed_amid_a_repetition() -> None:
    """Nor are its dead letters and counts; those of another partition are."""
    slots = Slots()
    task, read = commits(slots, {ONE: 0, TWO: 0}, PutLimits({ONE: 50, TWO: 0}, 10), {ONE: 20})
    read |= {ONE: 10, TWO: 5}
    add(task, ONE, 9, [LETTER])
    add(task, TWO, 4)
    assert [place for place, _ in task.commit(read)] == [TWO]
    assert slots.commits[-1] == ({TWO: 5}, {TWO: 15}, {})
    assert task.commit(read, last=True) == []
    assert slots.commits[-1] == ({TWO: 5}, {TWO: 5}, {})
    read[ONE] = 20
    assert [(place, count.dead_letters) for place, count in task.commit(read, last=True)] == [(ONE, 0), (ONE, 1)]
    assert slots.commits[-1] == ({ONE: 20}, {ONE: 20}, {ONE: [LETTER]})


def test_the_dead_letter_of_a_record_that_stops_at_its_start_is_committed() -> None:
    slots = Slots()
    task, read = commits(slots, {ONE: 5}, None)
    read[ONE] = 9
    add(task, ONE, 5, [LETTER])
    task.commit({**read, ONE: 5})
    assert slots.commits == [({ONE: 5}, {}, {ONE: [LETTER]})]
