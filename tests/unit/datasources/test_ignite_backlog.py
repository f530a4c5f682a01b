"""Offsets of `ignite-backlog`, parts of an answer of the service, and rows as columns."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.datasources.backlog_offset import Offset
from ignite_kafka.datasources.backlog_rows import (
    LOADED,
    ChangeRows,
    concat_rows,
    make_loaded_rows,
    split_rows,
    to_change_batch,
    with_change_columns,
    without_change_columns,
)
from ignite_kafka.datasources.ignite_backlog import BacklogOptions
from ignite_kafka.datasources.partition_reader import compute_digest, cut_above, take_first
from ignite_kafka.datasources.streamed_cache import StreamedCache
from ignite_kafka.errors import ChangesLost, SettingsError, UnsupportedType
from ignite_kafka.ignite.backlog_changes import CREATED, EXPIRED, REMOVED, UPDATED, Changes
from ignite_kafka.ignite.backlog_units import ASKED, GIVEN_UP, MISSED
from ignite_kafka.ignite.entry_versions import EntryVersions
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo, Page
from ignite_kafka.plan.source_plan import CachePlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.batch import ChangeBatch
from ignite_kafka.source.stream.dedup import ChangeDeduplicator

CACHE = CacheInfo("trades", 5, partitions=4)
SCHEMA = with_change_columns(pa.schema([pa.field("_key", pa.int64()), pa.field("_value", pa.string())]), "trades")
NULL = bytes([codes.NULL])
Row = tuple[int, int, int, int, str | None]
"""Unit, number, kind, key and value of a change."""


class NoTypes:
    def binary_type(self, type_id: int) -> BinaryType:
        raise AssertionError(type_id)


def key_of(key: int) -> bytes:
    return struct.pack("<Bq", codes.LONG, key)


def value_of(value: str | None) -> bytes:
    return NULL if value is None else struct.pack("<Bi", codes.STRING, len(value)) + value.encode()


def changes(rows: Sequence[Row], units: int = 4) -> Changes:
    count = np.bincount([row[0] for row in rows], minlength=units).astype(np.int32)
    return Changes(
        topology=1,
        mark_number=np.zeros(units, np.int64),
        expired_stamp=np.array([9 if any(row[0] == unit and row[2] == EXPIRED for row in rows) else 0 for unit in range(units)]),
        count=count,
        marks=np.zeros(units, np.int32),
        more=np.zeros(units, bool),
        number=np.array([row[1] for row in rows], np.int64),
        time_ms=np.full(len(rows), 1_000),
        hash=np.arange(len(rows), dtype=np.int64) << 32,
        kind=np.array([row[2] for row in rows], np.int8),
        key_length=np.full(len(rows), 9, np.int32),
        value_length=np.array([len(value_of(row[4])) for row in rows], np.int32),
        entries=memoryview(b"".join(key_of(row[3]) + value_of(row[4]) for row in rows)),
        versions=EntryVersions.none(len(rows)),
    )


def batch_of(read: Changes) -> ChangeBatch:
    units = np.arange(len(read.count))
    classified = ChangeDeduplicator(len(units)).classify(units, read)
    return ChangeBatch(
        read, units, classified, classified.new | classified.duplicate, np.zeros(len(units), bool), np.ones(len(units), bool), units * 0 + 1
    )


ROWS: list[Row] = [
    (0, 4, CREATED, 1, "a"),
    (0, 7, UPDATED, 1, "b"),
    (2, 1, CREATED, 2, "c"),
    (2, 3, REMOVED, 2, None),
    (2, -1, EXPIRED, 3, None),
    (3, 8, UPDATED, 4, "d"),
]


def test_an_offset_survives_the_checkpoint() -> None:
    offset = Offset.beginning(7, "-12", 1024)
    offset.units["high"][[0, 1023]] = 1 << 40, 3
    offset.units["digest"][5], offset.units["touched"][5] = 0xFFFFFFFF, 1
    offset = replace(offset, batch=3, load=(1, 17))
    back = Offset.from_dict(json.loads(json.dumps(offset.to_dict())))
    assert (back.batch, back.capture_id, back.incarnation, back.load) == (3, 7, "-12", (1, 17))
    assert (back.units == offset.units).all()
    assert all(isinstance(value, (int, str)) for value in offset.to_dict().values())


@pytest.mark.parametrize("data", [{}, {"batch": 1}, {**Offset.beginning(1, "2", 3).to_dict(), "units": "?"}])
def test_an_offset_of_another_source_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="checkpointLocation"):
        Offset.from_dict(data)


@pytest.mark.parametrize(
    ("size", "counts", "more"),
    [
        (1, [1, 0, 0, 0], [True, False, True, True]),
        (45, [2, 0, 1, 0], [False, False, True, True]),
        (59, [2, 0, 3, 0], [False, False, False, True]),  # the expired keys of a unit stay together
        (1_000, [2, 0, 3, 1], [False] * 4),
    ],
)
def test_first_changes_of_an_answer(size: int, counts: list[int], more: list[bool]) -> None:
    first = take_first(changes(ROWS), size)
    rows = sum(counts)
    assert first.count.tolist() == counts
    assert first.more.tolist() == more
    assert first.number.tolist() == [row[1] for row in ROWS[:rows]]
    assert len(first.entries) == first.entry_offsets()[-1]
    assert first.expired_stamp[2] == (9 if counts[2] == 3 else 0)


def test_changes_above_an_end_stay_in_the_backlog() -> None:
    batch = cut_above(batch_of(changes(ROWS)), np.array([4, 0, 3, 7]))
    assert batch.changes.number[batch.classified.new].tolist() == [4, 1, 3]
    assert batch.changes.number[batch.settled].tolist() == [4, 1, 3]
    assert batch.changes.number[batch.classified.lookup].tolist() == [-1]


def test_a_digest_depends_on_numbers_and_contents() -> None:
    read = changes(ROWS)
    rows = np.array([0, 1])
    assert compute_digest(read, rows) != compute_digest(read, rows[:1])
    assert compute_digest(read, rows) != compute_digest(replace(read, hash=read.hash + 1), rows)
    assert compute_digest(read, rows) == compute_digest(changes(ROWS[:2]), rows)


def table(rows: ChangeRows) -> list[dict[str, object]]:
    found: list[dict[str, object]] = to_change_batch(rows, SCHEMA, CACHE, NoTypes()).to_pylist()
    return found


def test_rows_keep_their_order_whatever_their_types() -> None:
    (piece,) = split_rows(batch_of(changes(ROWS)), 5_000, 8)
    rows = table(piece)
    assert [(row["_change"], row["_number"], row["_partition"], row["_key"], row["_value"]) for row in rows] == [
        ("created", 4, 0, 1, "a"),
        ("updated", 7, 0, 1, "b"),
        ("created", 1, 2, 2, "c"),
        ("removed", 3, 2, 2, None),
        ("updated", 8, 3, 4, "d"),
    ]
    assert {row["_time"].timestamp() for row in rows} == {1.0}  # type: ignore[attr-defined]


def test_looked_up_states_follow_changes_and_have_no_number() -> None:
    batch = batch_of(changes(ROWS))
    batch.states = {(2, key_of(3)): None, (0, key_of(1)): value_of("z"), (3, key_of(6)): None}
    (piece,) = split_rows(batch, 5_000, 8)
    rows = [(row["_change"], row["_number"], row["_partition"], row["_key"], row["_value"]) for row in table(piece)]
    assert rows[5:] == [("expired", None, 2, 3, None), ("updated", None, 0, 1, "z"), ("removed", None, 3, 6, None)]


def test_large_batches_are_cut_between_units() -> None:
    rows: list[Row] = [(unit, number, UPDATED, number, "x" * 1_000) for unit in range(4) for number in range(300)]
    pieces = split_rows(batch_of(changes(rows)), 0, 8)
    assert len(pieces) == 4
    assert [set(piece.partition.tolist()) for piece in pieces] == [{0}, {1}, {2}, {3}]
    assert sum(map(len, pieces)) == len(rows)
    assert len(split_rows(batch_of(changes(rows)), 0, 1)) == 1


def test_pieces_are_decoded_together() -> None:
    page = Page(1, 2, memoryview(key_of(1) + value_of("a") + key_of(2) + value_of("b")), True)
    pieces = [make_loaded_rows([page], 2_000), make_loaded_rows([], 2_000), make_loaded_rows([replace(page, partition=3)] * 2, 2_000)]
    (whole,) = concat_rows(pieces, 100)
    assert whole.partition.tolist() == [1, 1, 3, 3, 3, 3]
    assert set(whole.kind.tolist()) == {LOADED}
    assert [row["_key"] for row in table(whole)] == [1, 2] * 3
    assert [len(one) for one in concat_rows(pieces, 2)] == [2, 4]
    assert list(concat_rows([], 2)) == []


def test_change_columns_are_reserved_names() -> None:
    assert without_change_columns(SCHEMA).names == ["_key", "_value"]
    with pytest.raises(UnsupportedType, match="_Number"):
        with_change_columns(pa.schema([pa.field("_Number", pa.int64())]), "trades")


def target(*, reload: bool) -> StreamedCache:
    return StreamedCache(CachePlan("trades", 5, "", 4, 0, "9", load=False), SourceSettings(name="mine"), reload, 8)


def test_lost_changes_are_named() -> None:
    with pytest.raises(ChangesLost) as raised:
        target(reload=False).check({3: GIVEN_UP, 1: MISSED, 2: ASKED})
    message = str(raised.value)
    assert "partitions 1, 3" in message
    assert "given up" in message
    assert "missed" in message
    assert "on_loss = reload" in message
    target(reload=True).check({3: GIVEN_UP})
    target(reload=False).check({2: ASKED})  # the user asked; nothing is lost


def test_options() -> None:
    options = BacklogOptions.of({"cache": "trades", "connector": "mine", "max_bytes": "4096", "backlog_memory_region_name": "region"})
    assert (options.settings.name, options.settings.batch_bytes) == ("mine", 4096)
    assert options.settings.backlog_memory_region_name == "region"
    assert not options.reload
    with pytest.raises(SettingsError, match="'cache' of ignite-backlog is missing"):
        BacklogOptions.of({"connector": "mine"})
