"""Tokens of a sink's tasks, and the bytes of fenced writes."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from ignite_kafka.ignite.binary.byte_columns import data_of, join_columns
from ignite_kafka.ignite.protocol import ThinError
from ignite_kafka.ignite.write_fence import WriterToken, entries_head, is_fenced


def test_a_later_owner_is_greater() -> None:
    ascending = [
        WriterToken(1),
        WriterToken(1, turn=1),
        WriterToken(1, attempt=1),
        WriterToken(1, epoch=1),
        WriterToken(1, epoch=1, attempt=2, turn=5),
        WriterToken(2),
    ]
    assert sorted(ascending[place] for place in (3, 0, 5, 1, 4, 2)) == ascending
    assert WriterToken(1, 2, 3, 4).encode() == struct.pack("<4i", 1, 2, 3, 4)


def entries_argument(keys: pa.BinaryArray, values: pa.BinaryArray | None) -> bytes:
    """The argument of a request, as a writer joins it."""
    return entries_head(keys, values) + bytes(data_of(join_columns([keys] if values is None else [keys, values])).data)


KEYS = pa.array([b"k", b"key"], pa.binary())


@pytest.mark.parametrize(
    ("values", "lengths", "entries"),
    [
        (pa.array([b"value", b"v"], pa.binary()), (5, 1), b"kvaluekeyv"),
        (None, (-1, -1), b"kkey"),
    ],
)
def test_lengths_of_keys_and_values_precede_the_entries(values: pa.BinaryArray | None, lengths: tuple[int, int], entries: bytes) -> None:
    assert entries_argument(KEYS, values) == struct.pack("<5i", 2, 1, 3, *lengths) + entries


def test_a_part_of_longer_columns_has_its_own_entries_alone() -> None:
    values = pa.array([b"a", b"b", b"c"], pa.binary())
    whole = pa.array([b"1", b"2", b"3"], pa.binary())
    assert entries_argument(whole.slice(1, 1), values.slice(1, 1)) == struct.pack("<3i", 1, 1, 1) + b"2b"
    assert entries_argument(whole.slice(0, 0), None) == struct.pack("<i", 0)


def test_a_fenced_write_is_told_from_other_refusals() -> None:
    assert is_fenced(ThinError(1, "Failed to invoke: BACKLOG/FENCED: sink 'a' may not write"))
    assert not is_fenced(ThinError(1, "BACKLOG/UNAVAILABLE: FENCED"))
