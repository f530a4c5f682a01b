"""Decoding of BigDecimals: int32 scale, int32 length, big-endian magnitude with the sign in its first bit."""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .decode_scalars import Column, lengths
from .page_buffer import PageBuffer, Positions

Halves = npt.NDArray[np.uint64]
PRECISION = 38
_LIMIT_HIGH, _LIMIT_LOW = divmod(10**PRECISION, 1 << 64)
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
MAX_MAGNITUDE = 16 << 10
"""Longest magnitude in bytes that is decoded (39,000 digits): longer ones would take quadratic time."""


def decimals(wire: PageBuffer, at: Positions, end: Positions) -> Column:
    """Decode BigDecimals to decimal128(38, s) if all have one scale s and at most 38 digits, else to texts.

    The scale must be from 0 to 38. The column is marked decimal in both cases.
    """
    wire.require(at, at + 9, end, "A BigDecimal")
    length = lengths(wire, at + 4, end, 5, 1, "A BigDecimal")
    if (length == 0).any():
        raise wire.error(int(at[np.flatnonzero(length == 0)[0]]), "A BigDecimal has no digits")
    scale = wire.at(at + 1, "<i4")
    if (scale == scale[0]).all() and 0 <= scale[0] <= PRECISION and length.max() <= 16:
        high, low, negative = _magnitudes(wire, at + 9, length)
        if not ((high > _LIMIT_HIGH) | ((high == _LIMIT_HIGH) & (low >= _LIMIT_LOW))).any():
            return Column(_decimal128(high, low, negative, int(scale[0])), "decimal")
    if length.max() > MAX_MAGNITUDE:
        raise wire.unsupported(
            int(at[length.argmax()]), f"A BigDecimal of {length.max()} bytes, more than {MAX_MAGNITUDE}"
        )
    wire.spend(int(length.sum()) * 3, int(at[0]))
    data = wire.data.data
    rows = zip((at + 9).tolist(), length.tolist(), scale.tolist(), strict=True)
    return Column(
        pa.array([decimal_text(data[start : start + size], places) for start, size, places in rows], pa.string()),
        "decimal",
    )


def decimal_text(magnitude: memoryview | bytes, scale: int) -> str:
    """Format a BigDecimal like Java's BigDecimal.toString, exactly and with its scale."""
    return str(decimal_value(magnitude, scale))


def decimal_value(magnitude: memoryview | bytes, scale: int) -> Decimal:
    """Convert a BigDecimal to a Python Decimal of the same value and scale; `magnitude` is not empty."""
    unscaled = int.from_bytes(bytes([magnitude[0] & 0x7F]) + bytes(magnitude[1:]), "big")
    return Decimal(-unscaled if magnitude[0] >= 0x80 else unscaled).scaleb(-scale, _EXACT)


def _magnitudes(wire: PageBuffer, start: Positions, length: Positions) -> tuple[Halves, Halves, npt.NDArray[np.bool_]]:
    """Split each magnitude, of at most 16 bytes, into high and low 64 bits and the sign bit."""
    padded = np.zeros((start.size, 16), np.uint8)
    for size in np.unique(length):
        rows = np.flatnonzero(length == size)
        padded[rows, 16 - int(size) :] = wire.at(start[rows], f"V{int(size)}").view(np.uint8).reshape(-1, int(size))
    every = np.arange(start.size)
    first = padded[every, 16 - length]
    padded[every, 16 - length] = first & 0x7F
    halves = padded.view(">u8").astype(np.uint64)
    return halves[:, 0], halves[:, 1], first >= 0x80


def _decimal128(high: Halves, low: Halves, negative: npt.NDArray[np.bool_], scale: int) -> pa.Array:
    words = np.empty((high.size, 2), np.uint64)
    words[:, 0] = np.where(negative, ~low + np.uint64(1), low)
    words[:, 1] = np.where(negative, ~high + (low == 0).astype(np.uint64), high)
    return pa.Array.from_buffers(pa.decimal128(PRECISION, scale), high.size, [None, pa.py_buffer(words)])
