"""Type codes of Ignite's binary format, and the sizes of their values.

Source: `GridBinaryMarshaller` and `BinaryUtils` of Ignite 2.17. Every value is its code (one byte) and a body,
little-endian.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, CHAR, BOOL, STRING, UUID, DATE = range(1, 12)
BYTE_ARRAY, SHORT_ARRAY, INT_ARRAY, LONG_ARRAY, FLOAT_ARRAY, DOUBLE_ARRAY, CHAR_ARRAY, BOOL_ARRAY = range(12, 20)
STRING_ARRAY, UUID_ARRAY, DATE_ARRAY, OBJECT_ARRAY, COLLECTION, MAP = range(20, 26)
WRAPPED, ENUM, ENUM_ARRAY, DECIMAL, DECIMAL_ARRAY, CLASS, TIMESTAMP, TIMESTAMP_ARRAY = range(27, 35)
PROXY, TIME, TIME_ARRAY, BINARY_ENUM = range(35, 39)
NULL = 101
HANDLE = 102
OBJECT = 103
OPTIMIZED = 254
TRANSFORMED = 253

HEADER = 24
FLAG_HAS_SCHEMA = 0x02
FLAG_HAS_RAW = 0x04
FLAG_OFFSET_1 = 0x08
FLAG_OFFSET_2 = 0x10
FLAG_COMPACT = 0x20

FIXED_SIZE: dict[int, int] = {
    BYTE: 2, SHORT: 3, INT: 5, LONG: 9, FLOAT: 5, DOUBLE: 9, CHAR: 3, BOOL: 2, UUID: 17, DATE: 9, TIMESTAMP: 13,
    TIME: 9,
    ENUM: 9, BINARY_ENUM: 9, CLASS: 5, NULL: 1, HANDLE: 5,
}  # fmt: skip
"""Code to whole size in bytes, code included.

ENUM, BINARY_ENUM and CLASS with type id 0 carry a name and are longer.
"""

ELEMENT_WIDTH: dict[int, int] = {
    BYTE_ARRAY: 1, SHORT_ARRAY: 2, INT_ARRAY: 4, LONG_ARRAY: 8, FLOAT_ARRAY: 4, DOUBLE_ARRAY: 8, CHAR_ARRAY: 2,
    BOOL_ARRAY: 1,
}  # fmt: skip
"""Arrays of primitives: code, int32 count, then elements without codes."""

CODED_ARRAYS = frozenset({STRING_ARRAY, UUID_ARRAY, DATE_ARRAY, DECIMAL_ARRAY, TIMESTAMP_ARRAY, TIME_ARRAY})
"""Arrays whose elements carry their own codes: code, int32 count, elements."""

TYPED_ARRAYS = frozenset({OBJECT_ARRAY, ENUM_ARRAY})
"""Code, int32 type id (0: a class name follows), int32 count, elements with codes."""

NAMED = frozenset({ENUM, BINARY_ENUM, CLASS})
"""Values with a type id; a type id of 0 (a class that was not registered) is followed by the class name."""

KNOWN = frozenset(range(1, 39)) - {26} | {NULL, HANDLE, OBJECT, OPTIMIZED}


EXACT = frozenset({BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, CHAR, BOOL, STRING, UUID, DATE, BYTE_ARRAY})
"""Codes of values that the key of a record shows exactly, except for their type."""


def size_table() -> npt.NDArray[np.int64]:
    """Convert FIXED_SIZE to an array over all 256 codes; 0 if the size depends on the value."""
    table = np.zeros(256, np.int64)
    for code, size in FIXED_SIZE.items():
        table[code] = size
    return table


FIXED = size_table()
"""FIXED_SIZE by code, 0 where the size depends on the value."""
