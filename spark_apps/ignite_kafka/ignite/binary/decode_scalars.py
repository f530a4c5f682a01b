"""Decoding of scalar values to Arrow columns: numbers, strings, byte arrays, UUIDs, times, enums, classes.

Each function takes the positions of n values of one code, none null, and returns a column of n rows without nulls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...common.python_compat import StrEnum
from ..types import type_codes as codes
from ..types.type_table import BY_CODE, TYPE_NAME, field_of
from .java_classes import class_name, refreshed
from .page_buffer import PageBuffer, Positions
from .text import repaired

NUMPY = {
    codes.BYTE: "<i1", codes.SHORT: "<i2", codes.INT: "<i4", codes.LONG: "<i8", codes.FLOAT: "<f4", codes.DOUBLE: "<f8",
    codes.DATE: "<i8", codes.TIME: "<i8",
}  # fmt: skip

_HEX = np.array([[ord(char) for char in f"{byte:02x}"] for byte in range(256)], np.uint8)
_UUID_BYTES = np.array([7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8])
_UUID_COLUMNS = np.array([column for column in range(36) if column not in (8, 13, 18, 23)])


class EnumPolicy(StrEnum):
    """How enum constants are decoded: ordinal number, or text RED, Color.RED or org.example.Color.RED."""

    ORDINAL = "ORDINAL"
    SHORT_NAME = "SHORT_NAME"
    LONG_NAME = "LONG_NAME"
    FULL_NAME = "FULL_NAME"


@dataclass(frozen=True)
class Column:
    """Arrow array with the mark of its Java type, and the type name of its objects or enums."""

    data: pa.Array
    mark: str | None = None
    type_name: str | None = None

    def field(self, name: str, nullable: bool = True) -> pa.Field:
        """Make the Arrow field of this column, with its mark, as a child of another column."""
        field = field_of(name, self.data.type, self.mark, nullable)
        return (
            field
            if self.type_name is None
            else field.with_metadata({**(field.metadata or {}), TYPE_NAME: self.type_name.encode()})
        )


def fixed(wire: PageBuffer, code: int, at: Positions, end: Positions) -> Column:
    """Decode values of fixed size: byte, short, int, long, float, double, Date or Time."""
    wire.require(at, at + codes.FIXED_SIZE[code], end, f"A value of type {BY_CODE[code].name}")
    entry = BY_CODE[code]
    values = pa.array(wire.at(at + 1, NUMPY[code]))
    return Column(values.view(entry.arrow) if code == codes.DATE else values, entry.mark)


def chars(wire: PageBuffer, at: Positions, end: Positions) -> Column:
    """Decode chars (UTF-16 code units) to int32."""
    wire.require(at, at + 3, end, "A value of type char")
    return Column(pa.array(wire.at(at + 1, "<u2").astype(np.int32)), "char")


def booleans(wire: PageBuffer, at: Positions, end: Positions) -> Column:
    """Decode booleans of one byte."""
    wire.require(at, at + 2, end, "A value of type boolean")
    return Column(packed(wire, at, wire.data[at + 1]))


def packed(wire: PageBuffer, at: Positions, values: npt.NDArray[np.uint8]) -> pa.Array:
    """Pack bytes 0 and 1 into an Arrow boolean array.

    Raises DecodeError for another byte, at the position `at` of the first such byte.
    """
    if (values > 1).any():
        first = min(int(np.flatnonzero(values > 1)[0]), at.size - 1)
        raise wire.error(int(at[first]), "A boolean is neither 0 nor 1")
    bits = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), values.size, [None, pa.py_buffer(bits)])


def lengths(wire: PageBuffer, at: Positions, end: Positions, header: int, width: int, what: str) -> Positions:
    """Read the int32 length of each value, the last 4 of `header` bytes, and check it.

    A length is not negative, and `width` times the length fits before `end`.
    """
    wire.require(at, at + header, end, what)
    count = wire.ints(at + (header - 4))
    if (count < 0).any():
        raise wire.error(int(at[np.flatnonzero(count < 0)[0]]), f"{what} has a negative length")
    wire.require(at, at + header + count * width, end, what)
    return count


def strings(wire: PageBuffer, at: Positions, end: Positions) -> Column:
    """Decode Strings in UTF-8, or in Ignite's variant with surrogate pairs of 3 + 3 bytes."""
    length = lengths(wire, at, end, 5, 1, "A String")
    offsets, data = wire.ragged(at + 5, length)
    array = pa.Array.from_buffers(pa.string(), at.size, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        array = repaired(wire, at, offsets, data)
    return Column(array)


def binaries(wire: PageBuffer, at: Positions, end: Positions) -> Column:
    """Decode byte arrays to a binary column."""
    offsets, data = wire.ragged(at + 5, lengths(wire, at, end, 5, 1, "A byte[]"))
    return Column(pa.Array.from_buffers(pa.binary(), at.size, [None, pa.py_buffer(offsets), pa.py_buffer(data)]))


def uuids(wire: PageBuffer, at: Positions, end: Positions) -> Column:
    """Decode UUIDs to texts of 36 characters."""
    wire.require(at, at + 17, end, "A UUID")
    wire.spend(36 * at.size, int(at[0]))
    raw = wire.at(at + 1, "V16").view(np.uint8).reshape(-1, 16)[:, _UUID_BYTES]
    text = np.full((at.size, 36), ord("-"), np.uint8)
    text[:, _UUID_COLUMNS] = _HEX[raw].reshape(-1, 32)
    offsets = np.arange(at.size + 1, dtype=np.int32) * 36
    return Column(
        pa.Array.from_buffers(pa.string(), at.size, [None, pa.py_buffer(offsets), pa.py_buffer(text)]), "uuid"
    )


def timestamps(wire: PageBuffer, at: Positions, end: Positions) -> Column:
    """Decode java.sql.Timestamps (int64 milliseconds, int32 nanoseconds to add) to microseconds, rounded down."""
    wire.require(at, at + 13, end, "A Timestamp")
    millis = wire.at(at + 1, "<i8")
    nanos = wire.ints(at + 9)
    wrong = (nanos < 0) | ((millis % 1000) * 1_000_000 + nanos > 999_999_999)
    if wrong.any():
        raise wire.error(int(at[np.flatnonzero(wrong)[0]]), "A Timestamp has nanoseconds out of range")
    limit = np.iinfo(np.int64).max // 1000 - 1000
    beyond = (millis > limit) | (millis < -limit)
    if beyond.any():
        raise wire.unsupported(
            int(at[np.flatnonzero(beyond)[0]]), "A Timestamp is out of the range of microseconds in 64 bits"
        )
    return Column(pa.array(millis * 1000 + nanos // 1000).view(BY_CODE[codes.TIMESTAMP].arrow))


def enums(wire: PageBuffer, at: Positions, end: Positions, policy: EnumPolicy, *, named: bool = False) -> Column:
    """Decode enum constants (int32 type id, int32 ordinal) to ordinals or names.

    :param named: the column has the enum's type name, if all constants are of one enum.
    """
    wire.require(at, at + 9, end, "An enum")
    type_ids = wire.at(at + 1, "<i4")
    ordinals = wire.at(at + 5, "<i4")
    if policy is EnumPolicy.ORDINAL and (type_ids != 0).all():
        return Column(pa.array(ordinals), "enum", _enum_name(wire, type_ids) if named else None)
    both = (type_ids.astype(np.int64) << 32) | ordinals.view(np.uint32)
    _, first, index = np.unique(both, return_index=True, return_inverse=True)
    names = [enum_text(wire, int(at[row]), int(type_ids[row]), int(ordinals[row]), policy) for row in first]
    column = pa.array(names, pa.string()).take(pa.array(index.ravel()))
    return Column(column, "enum", _enum_name(wire, type_ids) if named else None)


def _enum_name(wire: PageBuffer, type_ids: npt.NDArray[np.int32]) -> str | None:
    same_type = type_ids.size and type_ids[0] and (type_ids == type_ids[0]).all()
    return wire.types.binary_type(int(type_ids[0])).name if same_type else None


def enum_text(wire: PageBuffer, position: int, type_id: int, ordinal: int, policy: EnumPolicy) -> str:
    """Format one enum constant as text; raise DecodeError if the metadata has no name for the ordinal."""
    if type_id == 0:
        raise wire.unsupported(position, "An enum of a class that was never registered")
    binary = wire.types.binary_type(type_id)
    if ordinal not in binary.enum_values:
        binary = refreshed(wire.types, type_id)
    if ordinal not in binary.enum_values:
        raise wire.error(position, f"The metadata of enum {binary.name} has no constant of ordinal {ordinal}", type_id)
    name = binary.enum_values[ordinal]
    if policy is EnumPolicy.SHORT_NAME:
        return name
    return f"{binary.name if policy is EnumPolicy.FULL_NAME else simple_name(binary.name)}.{name}"


def simple_name(type_name: str) -> str:
    """Strip package and outer class from a class name."""
    return type_name.rpartition(".")[2].rpartition("$")[2]


def classes(wire: PageBuffer, at: Positions, end: Positions) -> Column:
    """Decode java.lang.Class values (int32 type ids) to class names; after a type id of 0 the name itself follows."""
    wire.require(at, at + 5, end, "A Class")
    type_ids = wire.at(at + 1, "<i4")
    if (type_ids == 0).any():
        named = np.flatnonzero(type_ids == 0)
        inner = strings(wire, _named(wire, at[named], end[named]), end[named]).data.to_pylist()
        texts = dict(zip(named.tolist(), inner, strict=True))
        rows = [texts[row] if row in texts else class_name(wire.types, int(type_ids[row])) for row in range(at.size)]
        return Column(pa.array(rows, pa.string()), "class")
    distinct, index = np.unique(type_ids, return_inverse=True)
    names = pa.array([class_name(wire.types, int(type_id)) for type_id in distinct], pa.string())
    return Column(names.take(pa.array(index.ravel())), "class")


def _named(wire: PageBuffer, at: Positions, end: Positions) -> Positions:
    wire.require(at, at + 6, end, "A class name")
    wrong = wire.data[at + 5] != codes.STRING
    if wrong.any():
        raise wire.error(int(at[np.flatnonzero(wrong)[0]]), "A type id of 0 is not followed by a class name")
    return at + 5
