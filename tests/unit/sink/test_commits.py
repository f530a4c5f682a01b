"""Commits of a sink's task: limits of what is stored ahead of them, and partitions amid a repetition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.kafka.dead_letters import DeadLetter
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.kafka.topics import TopicPartition
from ignite_kafka.plan.sink_offsets import PartitionOffset
from ignite_kafka.plan.sink_plan import TopicPlan
from ignite_kafka.sink.commits import Commits
from ignite_kafka.sink.put_limits import committed_limits
from ignite_kafka.sink.repetition import NewestRecords, Repetition
from ignite_kafka.sink.store import Stored

ONE, TWO = ("t", 0), ("t", 1)
PLANS = {ONE: TopicPlan("t", "id", "cache", 1)}
LETTER = DeadLetter("dead", None, None, (), 0)


class Slots:
    """Offsets, limits and dead letters of each commit."""

    def __init__(self) -> None:
        self.commits: list[tuple[dict[TopicPartition, int], dict[TopicPartition, int], dict[TopicPartition, Any]]] = []

    def commit(self, offsets: Any, limits: Any, letters: Any, _: object) -> None:
        self.commits.append((dict(offsets), dict(limits), dict(letters)))


def commits(
    slots: Slots,
    positions: Mapping[TopicPartition, int],
    limits: Mapping[TopicPartition, int] | None = None,
    least: int = 10,
    repetition: Repetition | None = None,
    *,
    finished: bool = False,
) -> tuple[Commits, dict[TopicPartition, int]]:
    """Commits of a task, and the positions of its reader."""
    read = dict(positions)
    reader = SimpleNamespace(positions=read, group_metadata=None, finished=finished)
    return Commits(cast(Any, slots), cast(Any, reader), repetition or Repetition(), limits, least), read


def add(of: Commits, place: TopicPartition, offset: int, letters: Sequence[DeadLetter] = ()) -> None:
    """Add a record that is stored."""
    consumed = Consumed(*place, pa.array([b"k"], pa.binary()), pa.array([b"v"], pa.binary()), np.array([offset], np.int64))
    of.add([consumed], Stored(entries={place: 1}), {place: letters} if letters else {}, 1.0)


def test_without_limits_what_moved_is_committed_and_counted_once() -> None:
    slots = Slots()
    task, read = commits(slots, {ONE: 5, TWO: 7})
    task.begin({TWO})
    read[ONE] = 9
    add(task, ONE, 8)
    task.raise_limits()
    assert [(place, count.entries) for place, count in task.commit(read)] == [(ONE, 1)]
    assert task.commit(read, last=True) == []
    assert slots.commits == [({TWO: 7}, {}, {}), ({ONE: 9}, {}, {}), ({}, {}, {})]


@given(
    st.lists(st.tuples(st.sampled_from([ONE, TWO]), st.integers(1, 400), st.booleans()), max_size=30),
    st.sets(st.sampled_from([ONE, TWO])),
    st.integers(1, 50),
)
def test_nothing_is_stored_behind_a_committed_limit(
    steps: list[tuple[TopicPartition, int, bool]], unrecorded: set[TopicPartition], least: int
) -> None:
    slots = Slots()
    start = {ONE: 3, TWO: 0}
    task, read = commits(slots, start, start, least)
    task.begin(unrecorded)
    stored = dict(start)
    for place, count, due in steps:
        read[place] += count
        task.raise_limits()
        offsets, limits = committed(slots, start)
        assert all(offsets[place] <= stored[place] for place in read)
        assert all(read[place] <= limits[place] for place in read)
        stored = dict(read)
        if due:
            task.commit(read)
            assert committed(slots, start)[0] == read
    task.commit(read, last=True)
    assert committed(slots, start) == (read, read)


def committed(slots: Slots, start: Mapping[TopicPartition, int]) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """The newest offsets and limits of each partition."""
    offsets, limits = dict(start), dict(start)
    for of_commit, with_limits, _ in slots.commits:
        offsets |= of_commit
        limits |= with_limits
        assert of_commit.keys() == with_limits.keys()
    return offsets, limits


def test_a_steady_task_needs_no_commit_for_its_limits() -> None:
    """The first limits are committed with the start; only reading more than twice as fast takes a commit."""
    slots = Slots()
    task, read = commits(slots, {ONE: 0}, {ONE: 0}, least=100)
    task.begin({ONE})
    for rate in (30, 60, 70, 140, 280, 200):
        for _ in range(rate // 10):
            read[ONE] += 10
            task.raise_limits()
        task.commit(read)
    assert len(slots.commits) == 7
    read[ONE] += 1_000
    task.raise_limits()
    assert slots.commits[7:] == [({ONE: 780}, {ONE: 3_780}, {})]


def test_a_run_that_has_nothing_to_read_leaves_no_limits() -> None:
    slots = Slots()
    task, _ = commits(slots, {ONE: 3}, {ONE: 3}, finished=True)
    task.begin({ONE})
    assert slots.commits == [({ONE: 3}, {}, {})]


def test_limits_are_raised_for_all_partitions_at_once() -> None:
    slots = Slots()
    task, read = commits(slots, {ONE: 0, TWO: 5}, {ONE: 0, TWO: 5})
    read[ONE] = 3
    task.raise_limits()
    read[TWO] = 9
    task.raise_limits()
    assert slots.commits == [({ONE: 0, TWO: 5}, {ONE: 13, TWO: 15}, {})]


def test_a_partition_is_not_committed_amid_a_repetition() -> None:
    """Nor are its dead letters and counts; those of another partition are."""
    slots = Slots()
    task, read = commits(slots, {ONE: 0, TWO: 0}, {ONE: 50, TWO: 0}, repetition=Repetition({ONE: 20}))
    task.begin({TWO})
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


def test_records_that_are_repeated_do_not_count_as_read() -> None:
    """Otherwise each task that dies amid a repetition would leave a longer one."""
    slots = Slots()
    task, read = commits(slots, {ONE: 0}, {ONE: 500}, repetition=Repetition({ONE: 500}))
    read[ONE] = 501
    task.raise_limits()
    assert slots.commits == [({ONE: 0}, {ONE: 511}, {})]


def test_the_dead_letter_of_a_record_that_stops_at_its_start_is_committed() -> None:
    slots = Slots()
    task, read = commits(slots, {ONE: 5})
    read[ONE] = 9
    add(task, ONE, 5, [LETTER])
    task.commit({**read, ONE: 5})
    assert slots.commits == [({ONE: 5}, {}, {ONE: [LETTER]})]


class Life(NamedTuple):
    """What a task does until it dies: it reads batches of some sizes, commits after some, and puts some keys of the last.

    The group may have forgotten its offset.
    """

    batches: list[tuple[int, bool]]
    put: set[str]
    unrecorded: bool


lives = st.lists(
    st.builds(
        Life, st.lists(st.tuples(st.integers(1, 8), st.booleans()), min_size=1, max_size=6), st.sets(st.sampled_from("abcd")), st.booleans()
    ),
    max_size=6,
)


def live(keys: str, begin: PartitionOffset, least: int, life: Life, changes: list[tuple[str, int]]) -> PartitionOffset:
    """Run a task over a partition of records with these keys, and return what it has committed."""
    limits = committed_limits(PLANS, {ONE: begin.offset}, {ONE: begin})
    newest, end = NewestRecords(), min(limits[ONE], len(keys))
    newest.add(pa.array([key.encode() for key in keys[begin.offset : end]], pa.binary()), np.arange(begin.offset, end))
    superseded = newest.superseded().tolist()
    slots = Slots()
    task, read = commits(slots, {ONE: begin.offset}, limits, least, Repetition({ONE: end}))
    task.begin({ONE} if life.unrecorded else ())
    for number, (size, commit) in enumerate(life.batches, 1):
        first, read[ONE] = read[ONE], min(read[ONE] + size, len(keys))
        task.raise_limits()
        last = {keys[offset]: offset for offset in range(first, read[ONE]) if offset not in superseded}
        dies = number == len(life.batches)
        changes += [(key, offset) for key, offset in last.items() if key in life.put or not dies]
        if commit and not dies:
            task.commit(read)
    if not slots.commits:
        return begin
    offsets, limits = committed(slots, {ONE: begin.offset})
    return PartitionOffset.from_json(PartitionOffset(offsets[ONE], "id", put_limit=limits[ONE]).to_json())


@given(st.text("abcd", max_size=60), st.integers(1, 20), lives)
def test_no_key_steps_back_whenever_tasks_die(keys: str, least: int, tasks: list[Life]) -> None:
    """The last task reads all."""
    changes: list[tuple[str, int]] = []
    begin = PartitionOffset(0, "id")
    for life in [*tasks, Life([(len(keys), True), (1, False)], set(), unrecorded=False)]:
        begin = live(keys, begin, least, life, changes)
    assert begin.offset == len(keys)
    for key in set(keys):
        heard = [offset for changed, offset in changes if changed == key]
        assert heard == sorted(heard)
        assert heard[-1] == keys.rindex(key)
