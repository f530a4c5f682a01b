"""Readers of Avro's numbers, texts, bytes and enums, for all rows at once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Int64Array, RowIndex, numpy_type
from ..connect.schema import ConnectSchema, ConnectType, arrow_type, scale_of
from ..rules.connect_decimals import decimals_from_bytes
from .cursor import Bodies, Cursor

_BOUNDS = {ConnectType.INT8: 7, ConnectType.INT16: 15, ConnectType.INT32: 31}
_DAY_MS = 86_400_000


class Reader(Protocol):
    """Interface of a reader, which decodes the values of one Avro schema into a column."""

    def read(self, cursor: Cursor) -> None:
        """Read the next value of each of the cursor's rows; :meth:`finish` returns all values."""

    def finish(self, bodies: Bodies) -> pa.Array:
        """Return all values read so far as one column."""


class NumberReader:
    """Reader of Avro ints and longs, as integers, Date, Time or Timestamp."""

    def __init__(self, connect: ConnectSchema, path: str) -> None:
        self._kind = arrow_type(connect)
        self._path = path
        self._bits = _BOUNDS.get(connect.type, 63)
        self._parts: list[Int64Array] = []

    def read(self, cursor: Cursor) -> None:
        """Read the next value of each row."""
        numbers = cursor.number(self._path)
        if self._bits < 63:
            low = -(1 << self._bits)
            high = (1 << self._bits) - 1
            if pa.types.is_time(self._kind):
                low = 0
                high = _DAY_MS - 1
            wrong = (numbers < low) | (numbers > high)
            if wrong.any():
                cursor.fail(wrong, f"{self._path}: a number beyond {low} to {high}")
                numbers[wrong] = 0
        self._parts.append(numbers)

    def finish(self, bodies: Bodies) -> pa.Array:
        """Return all numbers read as one column."""
        values = _join(self._parts, np.int64)
        if pa.types.is_integer(self._kind):
            return pa.array(values.astype(numpy_type(self._kind), copy=False))
        return pa.array(values if self._kind.bit_width == 64 else values.astype(np.int32)).view(self._kind)


class FloatReader:
    """Reader of Avro floats and doubles."""

    def __init__(self, connect: ConnectSchema, path: str) -> None:
        self._kind: Any = np.dtype("<f4") if connect.type is ConnectType.FLOAT32 else np.dtype("<f8")
        self._path = path
        self._parts: list[npt.NDArray[Any]] = []

    def read(self, cursor: Cursor) -> None:
        """Read the next value of each row."""
        self._parts.append(cursor.fixed(self._kind, self._path))

    def finish(self, bodies: Bodies) -> pa.Array:
        """Return all numbers read as one column."""
        return pa.array(_join(self._parts, self._kind))


class BooleanReader:
    """Reader of Avro booleans."""

    def __init__(self, connect: ConnectSchema, path: str) -> None:
        self._path = path
        self._parts: list[npt.NDArray[np.uint8]] = []

    def read(self, cursor: Cursor) -> None:
        """Read the next value of each row."""
        octets = cursor.byte(self._path)
        wrong = (octets > 1) & (cursor.at <= cursor.ends)
        if wrong.any():
            cursor.fail(wrong, f"{self._path}: a boolean that is neither 0 nor 1")
        self._parts.append(octets)

    def finish(self, bodies: Bodies) -> pa.Array:
        """Return all booleans read as one column."""
        return pa.array(_join(self._parts, np.uint8) == 1)


class EnumReader:
    """Reader of Avro enums; its values are the names of the constants."""

    def __init__(self, symbols: tuple[str, ...], path: str) -> None:
        self._symbols = pa.array(symbols, pa.string())
        self._path = path
        self._parts: list[Int64Array] = []

    def read(self, cursor: Cursor) -> None:
        """Read the next value of each row."""
        indexes = cursor.number(self._path)
        wrong = (indexes < 0) | (indexes >= len(self._symbols))
        if wrong.any():
            cursor.fail(wrong, f"{self._path}: a constant that its enum does not have")
            indexes[wrong] = 0
        self._parts.append(indexes)

    def finish(self, bodies: Bodies) -> pa.Array:
        """Return all constants read as one column of texts."""
        return self._symbols.take(pa.array(_join(self._parts, np.int64)))


class BytesReader:
    """Reader of Avro strings, bytes and fixed, as texts, bytes or Decimal."""

    def __init__(self, connect: ConnectSchema, path: str, size: int | None) -> None:
        self._connect = connect
        self._path = path
        self._size = size
        self._parts: list[pa.BinaryArray] = []
        self._rows: list[RowIndex] = []

    def read(self, cursor: Cursor) -> None:
        """Read the next value of each row."""
        lengths: Int64Array | int = cursor.lengths(self._path) if self._size is None else self._size
        start = cursor.at
        cursor.skip(lengths, self._path)
        if len(cursor):
            # a fixed is empty in a row without remaining bytes
            self._parts.append(
                _bytes_at(cursor.bodies, start, np.maximum(np.minimum(start + lengths, cursor.ends), start))
            )
            self._rows.append(cursor.rows)

    def finish(self, bodies: Bodies) -> pa.Array:
        """Return all values read as one column."""
        data = pa.concat_arrays(self._parts) if self._parts else pa.array([], pa.binary())
        scale = scale_of(self._connect)
        if scale is not None:
            return self._decimals(bodies, data, scale)
        return self._texts(bodies, data) if self._connect.type is ConnectType.STRING else data

    def _texts(self, bodies: Bodies, data: pa.BinaryArray) -> pa.StringArray:
        try:
            return data.cast(pa.string())
        except pa.ArrowInvalid:
            return pa.array(
                [self._text(bodies, row, octets) for row, octets in enumerate(data.to_pylist())], pa.string()
            )

    def _text(self, bodies: Bodies, place: int, data: bytes) -> str | None:
        try:
            return data.decode()
        except UnicodeDecodeError:
            self._note(bodies, place, "a text that is not UTF-8")
            return None

    def _decimals(self, bodies: Bodies, data: pa.BinaryArray, scale: int) -> pa.Array:
        kind = arrow_type(self._connect)
        empty = np.asarray(pc.equal(pc.binary_length(data), 0))
        for place in np.flatnonzero(empty).tolist():
            self._note(bodies, place, "a decimal without bytes")
        if pa.types.is_decimal(kind):
            decimals, wrong = decimals_from_bytes(data, empty, kind)
            if not (wrong & ~empty).any():
                return decimals
        return pa.array([_decimal_text(octets, scale) if octets else None for octets in data.to_pylist()], pa.string())

    def _note(self, bodies: Bodies, place: int, reason: str) -> None:
        bodies.bad.setdefault(int(np.concatenate(self._rows)[place]), f"{self._path}: {reason}")


def _decimal_text(data: bytes, scale: int) -> str:
    """Return the text of a decimal, as java.math.BigDecimal writes it, from its unscaled bytes."""
    unscaled = int.from_bytes(data, "big", signed=True)
    return str(Decimal((int(unscaled < 0), Decimal(abs(unscaled)).as_tuple().digits, -scale)))


def _bytes_at(bodies: Bodies, starts: Int64Array, ends: Int64Array) -> pa.BinaryArray:
    """Return the bytes between each start and end; the ranges are ascending and do not overlap.

    The ranges and the gaps between them are the values of one array; the ranges are every second value.
    """
    offsets = np.empty(2 * starts.size, np.int32)
    offsets[0::2], offsets[1::2] = starts, ends
    ranges = pa.Array.from_buffers(pa.binary(), offsets.size - 1, [None, pa.py_buffer(offsets), bodies.buffer])
    return ranges.take(pa.array(np.arange(0, offsets.size, 2)))


def _join(parts: list[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, kind)
