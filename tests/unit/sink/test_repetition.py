"""Records that may be stored already are stored without a step back, and none is lost."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.convert.rules.failure_stages import Stage
from ignite_kafka.convert.to_ignite import BadRecord, Entries, last_per_key
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.sink import repetition as module
from ignite_kafka.sink.entry_router import RoutedEntries
from ignite_kafka.sink.repetition import NewestRecords, Repetition, read_repetition
from tests.support.sink_stores import make_router, routed_plan
from tests.support.to_ignite_records import consumed
from tests.unit.sink.test_cache_division import with_names

PLACE = "topic", 0
BAD = "bad"

Record = tuple[int, str]
"""Offset and key of a record; its value is its offset. The key :data:`BAD` makes a bad record."""


def batch(records: Sequence[Record]) -> Consumed:
    offsets = np.array([offset for offset, _ in records], np.int64)
    keys = pa.array([key.encode() for _, key in records], pa.binary())
    return Consumed(*PLACE, keys, pa.array([b"%d" % offset for offset in offsets.tolist()], pa.binary()), offsets)


def route(consumed: Consumed) -> RoutedEntries:
    """Keys that begin with x go to another cache."""
    keys = [key.decode() for key in consumed.keys.to_pylist()]
    parts = []
    for cache in ("a", "x"):
        rows = np.array([row for row, key in enumerate(keys) if key != BAD and (key[0] == "x") == (cache == "x")], np.int64)
        parts.append((cache, Entries(rows, consumed.keys.take(pa.array(rows)), consumed.values.take(pa.array(rows)))))
    return RoutedEntries(parts, [BadRecord(row, Stage.VALUE, "bad") for row, key in enumerate(keys) if key == BAD])


class Batches:
    """Reader of given batches, one at once."""

    def __init__(self, batches: Sequence[Consumed]) -> None:
        self._batches = list(batches)

    @property
    def finished(self) -> bool:
        return not self._batches

    def read(self, _: float) -> list[Consumed]:
        return [self._batches.pop(0)]


class Reader(Batches):
    """Reader of some records up to an end, a few at once."""

    def __init__(self, records: Sequence[Record], end: int, size: int) -> None:
        before = [record for record in records if record[0] < end]
        super().__init__([batch(before[first : first + size]) for first in range(0, len(before), size)])


def first_bad(bad: Sequence[BadRecord]) -> BadRecord | None:
    return bad[0] if bad else None


def find(records: Sequence[Record], end: int, size: int, *, stops: bool) -> Repetition:
    router: Any = SimpleNamespace(begin_batch=lambda: None, route=route)
    stopping = first_bad if stops else lambda _: None
    return read_repetition(cast(Any, Reader(records, end, size)), router, {PLACE: end}, stopping, lambda: False)


def put(cache: dict[str, int], changes: list[tuple[str, int]], entries: Entries) -> None:
    """Put the last entry of each key."""
    last = last_per_key(entries, overwrite=True)
    for key, value in zip(last.keys.to_pylist(), last.values.to_pylist(), strict=True):
        cache[key.decode()] = int(value)
        changes.append((key.decode(), int(value)))


topics = st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["a", "b", "c", "x", "xy", BAD])), max_size=40).map(
    lambda steps: [(int(offset), key) for offset, (_, key) in zip(np.cumsum([step for step, _ in steps]), steps, strict=True)]
)


@given(topics, st.data(), st.integers(1, 7), st.booleans())
def test_no_key_steps_back_and_the_last_record_of_each_remains(records: list[Record], data: Any, size: int, stops: bool) -> None:
    stop = next((offset for offset, key in records if key == BAD), None) if stops else None
    readable = [record for record in records if stop is None or record[0] < stop]
    limit = data.draw(st.integers(0, 90))
    stored_to = data.draw(st.integers(0, limit))
    cache: dict[str, int] = {}
    changes: list[tuple[str, int]] = []
    for record in readable:  # the earlier task puts each record, and commits none
        if record[0] < stored_to and record[1] != BAD:
            cache[record[1]] = record[0]
            changes.append((record[1], record[0]))
    repetition = find(records, limit, size, stops=stops)
    for first in range(0, len(readable), size):
        consumed = batch(readable[first : first + size])
        for _, entries in repetition.without_superseded(consumed, route(consumed).parts):
            put(cache, changes, entries)
    assert cache == {key: offset for offset, key in readable if key != BAD}
    for key in cache:
        heard = [offset for changed, offset in changes if changed == key]
        assert heard == sorted(heard)
    assert repetition.covers(PLACE, -1)
    assert not repetition.covers(PLACE, limit)
    if stop is not None and stop < limit:
        assert not repetition.covers(PLACE, stop)


def test_records_behind_a_record_that_stops_supersede_nothing_though_another_bad_one_follows() -> None:
    """Otherwise the first record of the key would be left out, and the run stop before the one that supersedes it."""
    repetition = find([(1, "a"), (2, "b"), (3, BAD), (10, "c"), (12, "a"), (15, BAD)], 20, 3, stops=True)
    assert repetition.ends == {PLACE: 3}
    assert repetition.superseded[PLACE].tolist() == []


def test_equal_keys_of_two_caches_in_one_topic_do_not_supersede_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two names in the header may lead to one cache: its keys are one."""
    names = '{"(orders|late)": "all"}'
    plan, caches = routed_plan(monkeypatch, cache_header="cache", header_caches="orders|late|returns", cache_names=names)
    given = with_names(consumed([b'{"x":1}'] * 4, [b"1"] * 4), [b"orders", b"returns", b"late", b"orders"])
    place = given.topic, given.partition
    router = make_router(plan, caches)
    found = read_repetition(cast(Any, Batches([given])), router, {place: 1_000}, lambda _: None, lambda: False)
    assert found.superseded[place].tolist() == [given.offsets[0], given.offsets[2]]
    put = {cache: made.rows.tolist() for cache, made in found.without_superseded(given, router.route(given).parts)}
    assert put == {"all": [3], "returns": [1]}


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=12), st.integers(1, 4))
def test_a_fold_in_parts_equals_the_fold_of_all(parts: list[list[str]], pending: int) -> None:
    newest, last, at = NewestRecords(), dict[str, int](), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PENDING_ROWS", pending)
        for keys in parts:
            offsets = np.arange(at, at + len(keys), dtype=np.int64)
            newest.add(pa.array([key.encode() for key in keys], pa.binary()), offsets)
            last |= dict(zip(keys, offsets.tolist(), strict=True))
            at += len(keys)
        assert newest.superseded().tolist() == sorted(set(range(at)) - set(last.values()))


def test_without_repetition_all_is_put() -> None:
    consumed = batch([(1, "a"), (2, "a")])
    parts = route(consumed).parts
    assert Repetition().without_superseded(consumed, parts) == parts
    assert not Repetition().covers(PLACE, 0)


def test_an_end_of_the_task_ends_the_reading() -> None:
    reader = Reader([(1, "a"), (2, "a")], 3, 1)
    router: Any = SimpleNamespace(begin_batch=lambda: None, route=route)
    read_repetition(cast(Any, reader), router, {PLACE: 3}, lambda _: None, lambda: True)
    assert not reader.finished
