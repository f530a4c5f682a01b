"""Computation of Java's hash codes of encoded keys, and of the keys' Ignite partitions.

Source: `Arrays.hashCode(byte[])` and the `hashCode` methods of OpenJDK 17; `BinaryArrayIdentityResolver` and
`RendezvousAffinityFunction` of Ignite 2.17.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..types import type_codes as codes
from .byte_columns import data_of, offsets_of
from .text import decode_text, string_bytes

_HASH_AT = 8
Hashes = npt.NDArray[np.int32]
_BLOCK = 1 << 17
"""Units hashed at a time: their products and the powers fit the processor's second cache."""


@cache
def _powers(base: int) -> npt.NDArray[np.uint32]:
    """Compute the powers base^0 to base^_BLOCK modulo 2^32, once for each base."""
    powers = np.full(_BLOCK + 1, base, np.uint32)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint32)


def array_hashes(rows: pa.BinaryArray) -> Hashes:
    """Compute Java's `Arrays.hashCode(byte[])` of each row, as in headers of binary objects."""
    units = data_of(rows).view(np.int8)
    offsets = offsets_of(rows).astype(np.int64)
    return polynomial_hashes(units, offsets - offsets[0], first=1)


def polynomial_hashes(units: npt.NDArray[Any], offsets: npt.NDArray[np.int64], *, first: int = 0) -> Hashes:
    """Compute Java's hash code of rows of units: `first` * 31^n + sum of unit[i] * 31^(n-1-i), modulo 2^32.

    Row r has the n units [offsets[r], offsets[r + 1]).

    31 is odd, so it has an inverse modulo 2^32: with the weights 31^-j over all units of a block the sums of its rows
    are one `add.reduceat`, and a row's sum times 31^(end-1) is its hash. Exact.
    """
    hashes = np.empty(offsets.size - 1, np.uint32)
    row = 0
    while row < hashes.size:
        last = int(np.searchsorted(offsets, offsets[row] + _BLOCK, side="right")) - 1
        if last > row:
            hashes[row:last] = _block_hashes(units, offsets[row : last + 1], first)
        else:
            last = row + 1
            hashes[row] = _long_hash(units[offsets[row] : offsets[last]], first)
        row = last
    return hashes.view(np.int32)


def _block_hashes(units: npt.NDArray[Any], offsets: npt.NDArray[np.int64], first: int) -> npt.NDArray[np.uint32]:
    powers = _powers(31)
    inverse = _powers(pow(31, -1, 1 << 32))
    block = units[offsets[0] : offsets[-1]]
    ends = offsets[1:] - offsets[0]
    lengths = np.diff(offsets)
    sums = np.zeros(lengths.size, np.uint32)
    filled = lengths > 0
    if block.size:
        # reduceat sums from each start to the next one: rows without units must not be among them
        starts = (ends - lengths)[filled]
        sums[filled] = np.add.reduceat(block.astype(np.uint32) * inverse[: block.size], starts, dtype=np.uint32)
        sums[filled] *= powers[ends[filled] - 1]
    return sums + np.uint32(first) * powers[lengths]


def _long_hash(units: npt.NDArray[Any], first: int) -> int:
    """Compute the hash code of one row that is longer than a block."""
    value = first
    for start in range(0, units.size, _BLOCK):
        part = units[start : start + _BLOCK]
        ends = np.array([0, part.size], np.int64)
        value = (value * pow(31, part.size, 1 << 32) + int(_block_hashes(part, ends, 0)[0])) & 0xFFFFFFFF
    return value


def key_hashes(keys: pa.BinaryArray) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    """Compute Java's `hashCode` of encoded keys, to find their partitions; also flag the keys with a known hash code.

    Unknown are the hash codes of decimals, arrays, enums and other rare kinds of keys, and of strings that are no text:
    the bytes alone do not determine what Java reads.
    """
    hashes = np.zeros(len(keys), np.int32)
    is_hashed = np.zeros(len(keys), bool)
    if not len(keys):
        return hashes, is_hashed
    offsets = offsets_of(keys)
    data = data_of(keys)
    kinds = data[offsets[:-1] - offsets[0]]
    for code in np.unique(kinds):
        hashed = _HASHED.get(int(code))
        if hashed is None and code != codes.STRING:
            continue
        rows = np.flatnonzero(kinds == code)
        part = keys if rows.size == len(keys) else keys.take(pa.array(rows))
        hashes[rows], is_hashed[rows] = _string(part) if hashed is None else (hashed(part), True)
    return hashes, is_hashed


def partitions_of(hashes: Hashes, count: int) -> npt.NDArray[np.int32]:
    """Compute the Ignite partitions from hash codes, as `RendezvousAffinityFunction.partition` does."""
    if count & (count - 1) == 0:
        unsigned = hashes.view(np.uint32)
        return ((unsigned ^ (unsigned >> 16)) & np.uint32(count - 1)).astype(np.int32)
    return (np.abs(hashes.astype(np.int64)) % count).astype(np.int32)


def _column(keys: pa.BinaryArray, kind: str, at: int = 1) -> npt.NDArray[Any]:
    """Read the number at offset `at` of each key; all keys have the same width."""
    data = data_of(keys).reshape(len(keys), -1)
    return np.ascontiguousarray(data[:, at : at + np.dtype(kind).itemsize]).view(kind).ravel()


def _folded(numbers: npt.NDArray[np.int64]) -> Hashes:
    return (numbers ^ (numbers >> 32)).astype(np.int32)


def _small(kind: str) -> Callable[[pa.BinaryArray], Hashes]:
    return lambda keys: _column(keys, kind).astype(np.int32)


def _long(keys: pa.BinaryArray) -> Hashes:
    return _folded(_column(keys, "<i8"))


def _float(keys: pa.BinaryArray) -> Hashes:
    numbers = _column(keys, "<f4")
    return np.where(np.isnan(numbers), np.int32(0x7FC00000), numbers.view(np.int32))


def _double(keys: pa.BinaryArray) -> Hashes:
    numbers = _column(keys, "<f8")
    return _folded(np.where(np.isnan(numbers), np.int64(0x7FF8 << 48), numbers.view(np.int64)))


def _boolean(keys: pa.BinaryArray) -> Hashes:
    return np.where(_column(keys, "u1") != 0, np.int32(1231), np.int32(1237))


def _uuid(keys: pa.BinaryArray) -> Hashes:
    return _folded(_column(keys, "<i8") ^ _column(keys, "<i8", 9))


def _string(keys: pa.BinaryArray) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    """Compute the hash codes of Strings over their UTF-16 units, and flag the keys with valid text."""
    units, offsets = string_bytes(keys)
    if (units < 0x80).all():
        return polynomial_hashes(units, offsets), np.ones(len(keys), bool)
    raw = units.tobytes()
    wide = [_utf_16(raw[start:end]) for start, end in pairwise(offsets.tolist())]
    sizes = [0 if text is None else len(text) for text in wide]
    joined = np.frombuffer(b"".join(text for text in wide if text), "<u2")
    return polynomial_hashes(joined, np.cumsum([0, *sizes], dtype=np.int64) // 2), np.array(
        [text is not None for text in wide]
    )


def _utf_16(data: bytes) -> bytes | None:
    """Convert a String's bytes to UTF-16 units; None if they are no valid text."""
    try:
        return decode_text(data).encode("utf-16-le")
    except UnicodeError:
        return None


def _object(keys: pa.BinaryArray) -> Hashes:
    """Read the hash codes of objects from the objects' headers."""
    starts = offsets_of(keys)[:-1].astype(np.int64) - offsets_of(keys)[0]
    hashes: Hashes = data_of(keys)[starts[:, None] + np.arange(_HASH_AT, _HASH_AT + 4)].view("<i4").ravel()
    return hashes


_HASHED: dict[int, Callable[[pa.BinaryArray], Hashes]] = {
    codes.BYTE: _small("<i1"), codes.SHORT: _small("<i2"), codes.INT: _small("<i4"), codes.CHAR: _small("<u2"),
    codes.LONG: _long,
    codes.FLOAT: _float, codes.DOUBLE: _double, codes.BOOL: _boolean, codes.UUID: _uuid, codes.DATE: _long,
    codes.TIME: _long, codes.TIMESTAMP: _long, codes.OBJECT: _object,
}  # fmt: skip
