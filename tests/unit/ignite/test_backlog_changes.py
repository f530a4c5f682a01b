"""The layouts of the backlog service's bytes, as its Javadoc has them."""

from __future__ import annotations

import struct
from itertools import pairwise

import numpy as np
import pytest

from ignite_kafka.ignite.backlog_changes import CREATED, EXPIRED, REMOVED, UPDATED, Changes
from ignite_kafka.ignite.backlog_units import UNIT
from ignite_kafka.ignite.entry_versions import EntryVersions
from ignite_kafka.ignite.types import type_codes as codes

OBJECT = bytes([codes.OBJECT, 1, 2])
WRAPPED = struct.pack("<Bi", codes.WRAPPED, 3) + OBJECT + struct.pack("<i", 0)
NULL = bytes([codes.NULL])
SHORT = struct.pack("<Bh", codes.SHORT, 7)

UNITS = np.array([(5, partition, 9) for partition in range(4)], UNIT)
ENTRIES = [(WRAPPED, SHORT), (SHORT, NULL), (SHORT, WRAPPED), (WRAPPED, NULL)]
KINDS = [CREATED, REMOVED, UPDATED, EXPIRED]
NUMBERS, HASHES, STAMPS, COUNTS = [10, 11, 3, -1], [1, -2, 3, 4], [0, 0, 8, 6], [2, 0, 2, 0]


ORDERS, CLUSTERS, RANKS = [1 << 56, 7, 1, 0], [2, 31, 1, 0], [0, 1 << 55, 3, 0]


def answer(entries: list[tuple[bytes, bytes]], *, versioned: bool = False) -> bytes:
    """Changes of the four units, as many as there are entries."""
    rows, data = len(entries), b"".join(key + value for key, value in entries)
    header = struct.pack("<iiiiq", 0x32434B42 if versioned else 0x31434B42, len(UNITS), rows, 1, len(data))
    counts = COUNTS if rows else [0] * len(UNITS)
    longs = [[0] * len(UNITS), STAMPS, NUMBERS[:rows], [1000] * rows, HASHES[:rows], *([RANKS[:rows], ORDERS[:rows]] * versioned)]
    ints = [counts, [0] * len(UNITS), [0, 0, 0, 1], [len(key) for key, _ in entries], [len(value) for _, value in entries]]
    columns = [np.array(column, "<i8").tobytes() for column in longs] + [np.array(column, "<i4").tobytes() for column in ints]
    return header + b"".join(columns) + bytes(KINDS[:rows]) + bytes(CLUSTERS[:rows]) * versioned + data


def changes(entries: list[tuple[bytes, bytes]] = ENTRIES) -> Changes:
    return Changes.decode(memoryview(answer(entries)))


def listed(versions: EntryVersions) -> tuple[list[int], ...]:
    return versions.orders.tolist(), versions.clusters.tolist(), versions.ranks.tolist()


def told(acknowledgement: bytes) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """Partition, stamp, and numbers with hashes."""
    found, at = [], 0
    while at < len(acknowledgement):
        cache, partition, incarnation, stamp, count, zero = struct.unpack_from("<iiqqii", acknowledgement, at)
        assert (cache, incarnation, zero) == (5, 9, 0)
        numbers = list(struct.iter_unpack("<qq", acknowledgement[at + 32 : at + 32 + 16 * count]))
        found.append((partition, stamp, numbers))
        at += 32 + 16 * count
    return found


def test_entries_lie_as_the_lengths_say() -> None:
    read = changes()
    offsets = read.entry_offsets().tolist()
    assert [bytes(read.entries[start:end]) for start, end in pairwise(offsets)] == [k + v for k, v in ENTRIES]
    assert read.more.tolist() == [False, False, False, True]


def test_keys_stand_without_wrapper() -> None:
    assert changes().keys().to_pylist() == [OBJECT, SHORT, SHORT, OBJECT]


def test_an_answer_may_hold_nothing() -> None:
    read = changes([])
    assert (read.keys().to_pylist(), read.entry_offsets().tolist()) == ([], [0])
    assert read.acknowledgement(UNITS, stamps=np.zeros(len(UNITS), bool)) == b""


def test_all_is_acknowledged_but_expired_keys_by_their_stamp() -> None:
    assert told(changes().acknowledgement(UNITS)) == [(0, 0, [(10, 1), (11, -2)]), (2, 8, [(3, 3)]), (3, 6, [])]


def test_some_are_acknowledged() -> None:
    rows = np.array([False, True, False, True])
    assert told(changes().acknowledgement(UNITS, rows)) == [(0, 0, [(11, -2)]), (2, 8, []), (3, 6, [])]
    assert told(changes().acknowledgement(UNITS, rows, stamps=np.zeros(len(UNITS), bool))) == [(0, 0, [(11, -2)])]


def test_changes_have_the_versions_of_the_nodes() -> None:
    read = Changes.decode(memoryview(answer(ENTRIES, versioned=True)))
    assert listed(read.versions) == (ORDERS, CLUSTERS, RANKS)
    assert (read.number.tolist(), read.kind.tolist(), read.keys()) == (NUMBERS, KINDS, changes().keys())
    assert bytes(read.entries) == bytes(changes().entries)


def test_changes_without_versions_have_zeros() -> None:
    assert listed(changes().versions) == ([0] * 4, [0] * 4, [0] * 4)


OTHER_BYTES = [b"", answer(ENTRIES)[:-1], b"\0" + answer(ENTRIES)[1:], answer(ENTRIES, versioned=True)[:-1]]


@pytest.mark.parametrize("data", OTHER_BYTES)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="changes of the backlog"):
        Changes.decode(memoryview(data))
