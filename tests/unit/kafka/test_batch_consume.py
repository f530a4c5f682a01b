"""Bytes that lie anywhere in memory, copied into one Arrow array."""

from __future__ import annotations

import ctypes

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.kafka.batch_consume import binary_at

VALUES = st.lists(st.none() | st.binary(max_size=40), max_size=60)


@given(VALUES)
def test_values_nulls_and_empty_ones_come_as_they_are(values: list[bytes | None]) -> None:
    kept = [None if value is None else ctypes.create_string_buffer(value, len(value) + 1) for value in values]
    addresses = np.array([0 if buffer is None else ctypes.addressof(buffer) for buffer in kept], np.uint64)
    lengths = np.array([len(value or b"") for value in values], np.uint64)
    array = binary_at(addresses, lengths)
    array.validate(full=True)
    assert array.to_pylist() == values


def test_values_of_any_distance() -> None:
    """Some in the heap, some in mappings of their own."""
    kept = [ctypes.create_string_buffer(bytes([number]) * size, size) for number, size in enumerate((1, 12, 13, 1 << 20, 64 << 20, 5))]
    addresses = np.array([ctypes.addressof(buffer) for buffer in kept], np.uint64)
    assert binary_at(addresses, np.array([len(buffer) for buffer in kept], np.uint64)).to_pylist() == [buffer.raw for buffer in kept]
