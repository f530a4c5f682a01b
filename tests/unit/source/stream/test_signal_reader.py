"""Ad-hoc snapshots beside a stream, over a cache and a backlog in memory: all that matches is sent once, and no key steps back."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ignite_kafka.source.stream.signal_reader import SignalReader
from ignite_kafka.source.stream.unit_reader import WHOLE_BACKLOG, UnitReader
from ignite_kafka.source.stream.unit_scan import add_unchanged
from ignite_kafka.state.signal_records import CacheSelection, Signal
from tests.support.backlog_changes import CACHE, PARTITIONS, key_bytes, partition_of
from tests.support.backlog_simulator import Simulator
from tests.support.randomness import examples
from tests.support.stream_task import Task
from tests.unit.source.stream.test_stream import BATCH, BATCHED, FAULTS, KEYS, PLACES, WRITES, follow

ODD = ", ".join(map(str, range(1, 400, 2)))
WHERE_EVEN = f"_value NOT IN ({ODD})"  # a value is the version of its write


def signal_of(id: str = "one", **selection: Any) -> Signal:
    return Signal(id, (CacheSelection(CACHE.name, **selection),))


def version(value: bytes) -> int:
    found: int = struct.unpack_from("<i", value, 1)[0]
    return found


def begin(task: Task, signal: Signal | None) -> None:
    """Let the next epoch follow a signal."""
    task.signal = signal
    task.end()


def new_records(simulator: Simulator, do: Callable[[], None]) -> list[tuple[bytes, bytes | None]]:
    before = len(simulator.topic)
    do()
    return simulator.topic[before:]


def snapshot(simulator: Simulator, signal: Signal, before: list[Any], during: list[Any], **more: Any) -> list[tuple[bytes, bytes | None]]:
    """Stream, take up a signal, stream on; return the records since the signal was taken up."""
    task = Task(simulator, **more)
    follow(simulator, task, before)

    def do() -> None:
        begin(task, signal)
        follow(simulator, task, during)
        task.settle()

    records = new_records(simulator, do)
    report = task.reader.signal_report()
    assert report is not None
    assert report.done
    task.stop()
    assert simulator.fold == simulator.entries
    assert simulator.steps_back() == []
    return records


def of_key(records: list[tuple[bytes, bytes | None]], key: int) -> list[int | None]:
    return [None if value is None else version(value) for data, value in records if data == key_bytes(key)]


DEATHS = st.tuples(st.just("meanwhile"), st.tuples(st.just("scan"), st.just("primary_dies_unacknowledged"), PLACES))


@settings(max_examples=examples(400))
@given(
    before=st.lists(st.one_of(WRITES, BATCH), max_size=30), during=st.lists(st.one_of(WRITES, WRITES, BATCH, FAULTS, DEATHS), max_size=40)
)
@example(before=[("put", 1), ("flush", 1), BATCHED, ("put", 1), ("put", 1)], during=[BATCHED])
@example(before=[("put", 1), BATCHED, BATCHED], during=[("meanwhile", ("scan", "put", 1)), BATCHED])
@example(before=[("put", 1), BATCHED, BATCHED], during=[("meanwhile", ("scan", "remove", 1)), BATCHED])
@example(before=[("put", 1), BATCHED, BATCHED], during=[("meanwhile", ("scan", "expire", 1)), BATCHED])
@example(before=[("put", 1), ("begin", 1), BATCHED, BATCHED], during=[("meanwhile", ("scan", "end", 1)), BATCHED])
def test_the_topic_stays_in_order_beside_random_writers_and_faults(before: list[Any], during: list[Any]) -> None:
    snapshot(Simulator(), signal_of(), before, during)


@pytest.mark.parametrize("overwritten", [False, True])
def test_a_change_that_was_sent_is_looked_up_where_its_node_has_died_since(overwritten: bool) -> None:
    """A task loads and sends four changes, and fails to acknowledge them. The next one acknowledges three, then the node dies.

    The update of the fourth is undone: its record must not be the last of its key.
    """
    simulator = Simulator()
    simulator.bytes_for_all = WHOLE_BACKLOG
    task = Task(simulator)
    keys = [1, 1 + PARTITIONS, 1 + 2 * PARTITIONS, 1 + 2 * PARTITIONS if overwritten else 1 + 3 * PARTITIONS]
    follow(simulator, task, [*[("put", key) for key in keys], ("fail", "acknowledge"), BATCHED])
    assert (len(simulator.topic), task.failures) == (4, 1)
    begin(task, signal_of())
    follow(simulator, task, [("meanwhile", ("scan", "primary_dies_unacknowledged", 1)), BATCHED, ("epoch", 0)])
    assert simulator.undone
    task.settle()
    task.stop()
    assert simulator.fold == simulator.entries
    assert of_key(simulator.topic, keys[-1]) == ([3, 4, 3] if overwritten else [4, None])


WRITERS = st.one_of(
    WRITES,
    st.tuples(
        st.just("meanwhile"), st.tuples(st.sampled_from(["scan", "changed"]), st.sampled_from(["put", "put_through", "remove"]), KEYS)
    ),
)
# without changes that a node puts back: as after a load, their keys are looked up, and what was sent of them may come once more
RESTARTS = st.one_of(
    st.tuples(st.just("fail"), st.sampled_from(["acknowledge", "commit 0", "commit 1", "scan"])),
    st.tuples(st.sampled_from(["node_joins", "epoch", "new_journal"]), st.just(0)),
)


@settings(max_examples=examples(400))
@given(before=st.lists(st.one_of(WRITES, BATCH), max_size=30), during=st.lists(st.one_of(WRITERS, BATCH, RESTARTS), max_size=40))
@example(before=[("put", 1), BATCHED, BATCHED], during=[("fail", "commit 1"), BATCHED, BATCHED, ("epoch", 0), BATCHED])
@example(before=[("put", 1), BATCHED, BATCHED], during=[BATCHED, ("fail", "acknowledge"), ("put", 1), BATCHED, BATCHED])
def test_each_entry_is_sent_once_over_killed_tasks(before: list[Any], during: list[Any]) -> None:
    """An entry that nobody writes meanwhile has one record, however often tasks die; each other one has its changes, and at most one more."""
    simulator = Simulator()
    simulator.bytes_for_all = WHOLE_BACKLOG
    task = Task(simulator)
    follow(simulator, task, before)
    task.settle()  # so that every change from before is sent
    present = {key: version(value) for key, value in simulator.entries.items()}
    writes = simulator.versions

    def do() -> None:
        begin(task, signal_of())
        follow(simulator, task, during)
        task.settle()

    records = new_records(simulator, do)
    task.stop()
    assert simulator.steps_back() == []
    assert simulator.fold == simulator.entries
    for key, value in present.items():
        sent = [record for record in records if record[0] == key and record[1] is not None and version(record[1]) == value]
        assert len(sent) <= 1
        if not any(number > writes for number in (*simulator.puts[key], *simulator.removals[key])):
            assert len(sent) == 1
    repeats = [version(value) for _, value in records if value is not None]
    assert all(repeats.count(number) <= 2 for number in repeats)


@settings(max_examples=examples(200))
@given(before=st.lists(st.one_of(WRITES, BATCH), max_size=30), during=st.lists(st.one_of(WRITERS, BATCH, RESTARTS), max_size=30))
def test_only_what_matches_is_sent_and_all_of_it(before: list[Any], during: list[Any]) -> None:
    simulator = Simulator()
    task = Task(simulator)
    follow(simulator, task, before)
    task.settle()
    present = {key: version(value) for key, value in simulator.entries.items()}
    writes = simulator.versions

    def do() -> None:
        begin(task, signal_of(where=WHERE_EVEN))
        follow(simulator, task, during)
        task.settle()

    records = new_records(simulator, do)
    task.stop()
    assert simulator.steps_back() == []
    assert simulator.fold == simulator.entries
    for key, value in present.items():
        if not any(number > writes for number in (*simulator.puts[key], *simulator.removals[key])):
            assert [record for record in records if record[0] == key] == ([(key, simulator.entries[key])] if value % 2 == 0 else [])


# which of the two: entries are left out for keys with a change (this code), or keys are looked up and their changes settled


def discards_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk that sends what it scanned, with the changes behind it."""
    monkeypatch.setattr(
        "ignite_kafka.source.stream.signal_reader.add_unchanged", lambda batch, pages, cache: batch.__dict__.update(scanned=pages)
    )


def discards_what_changed_after_a_low_watermark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debezium's window: only keys that change between the beginning of the chunk's read and its end are left out."""
    pages_of = SignalReader._pages
    before: set[tuple[int, int]] = set()

    def pages(self: Any, cache: Any, units: Any) -> Any:
        changes = self._reader.read(units, WHOLE_BACKLOG)
        before.update(zip(changes.number.tolist(), changes.hash.tolist(), strict=True))
        return pages_of(self, cache, units)

    def add(batch: Any, pages: Any, cache: str) -> None:
        new = batch.classified.new.copy()
        old = [change in before for change in zip(batch.changes.number.tolist(), batch.changes.hash.tolist(), strict=True)]
        batch.classified.new[old] = False
        add_unchanged(batch, pages, cache)
        batch.classified.new[:] = new

    monkeypatch.setattr(SignalReader, "_pages", pages)
    monkeypatch.setattr("ignite_kafka.source.stream.signal_reader.add_unchanged", add)


def settles_changes_of_read_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The value that was read counts as the newest, and the changes of its key in the backlog are settled with it."""

    def add(batch: Any, pages: Any, cache: str) -> None:
        batch.scanned = {unit: pages[unit] for unit in batch.units[batch.sendable].tolist()}
        batch.classified.new[:] = False

    monkeypatch.setattr("ignite_kafka.source.stream.signal_reader.add_unchanged", add)


def reads_the_backlog_before_the_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes first, entries second: a change in between is sent after the entry that has it already, and after newer ones."""
    pages_of, batch_of = SignalReader._pages, UnitReader.batch
    early: list[Any] = []

    def pages(self: Any, cache: Any, units: Any) -> Any:
        self._client.barrier()
        early[:] = [self._reader.read(units, WHOLE_BACKLOG)]
        return pages_of(self, cache, units)

    def batch(self: Any, units: Any, changes: Any, **more: Any) -> Any:
        return batch_of(self, units, early.pop() if early else changes, **more)

    monkeypatch.setattr(SignalReader, "_pages", pages)
    monkeypatch.setattr(UnitReader, "batch", batch)


CASES: dict[str, tuple[int, int, int]] = {"two unsent": (2, 0, 0), "two before its read": (0, 2, 0), "one after its read": (0, 0, 1)}
"""Writes of a key that was sent before: not sent yet when the snapshot reads, before its partition is read, after that."""


def found_wrong(unsent: int, before_its_read: int, after_its_read: int) -> bool:
    """Whether a key steps back, or the topic does not become the cache."""
    simulator = Simulator()
    task = Task(simulator)
    key = task.table.partition(PARTITIONS - 1)  # of the partition that is read last
    assert partition_of(key_bytes(key)) == key

    def write(times: int) -> None:
        follow(simulator, None, [("put_through", key)] * times)

    write(1)
    task.settle()
    begin(task, signal_of())
    write(unsent)
    simulator.meanwhile["scan"] += [partial(write, before_its_read), *[lambda: None] * (PARTITIONS - 2), partial(write, after_its_read)]
    task.runner.ad_hoc()  # before the next poll of changes
    task.settle()
    task.stop()
    return bool(simulator.steps_back()) or simulator.fold != simulator.entries


@pytest.mark.parametrize("writes", CASES.values(), ids=CASES)
def test_entries_are_left_out_for_every_unsent_change_of_their_key(writes: tuple[int, int, int]) -> None:
    assert not found_wrong(*writes)


@pytest.mark.parametrize(
    ("wrong", "case"),
    [
        (discards_nothing, "two unsent"),
        (discards_what_changed_after_a_low_watermark, "two unsent"),
        (settles_changes_of_read_keys, "one after its read"),
        (reads_the_backlog_before_the_entries, "two before its read"),
    ],
)
def test_the_other_ways_are_wrong(wrong: Callable[[pytest.MonkeyPatch], None], case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong(monkeypatch)
    assert found_wrong(*CASES[case])
