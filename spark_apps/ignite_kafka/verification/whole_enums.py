"""Whole keys and values that are enums: Ignite's binary format has two type codes for one constant.

A sink writes code 28, as Java does. A node gives it back as a BinaryEnumObject, of code 38: the same key, and an equal value.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ..ignite.types import type_codes as codes

_GIVEN_BACK, _WRITTEN = (pa.scalar(bytes([code]), pa.binary()) for code in (codes.BINARY_ENUM, codes.ENUM))
_NOTHING = pa.scalar(b"", pa.binary())
_MOST_BYTES = (1 << 31) - 1


def with_one_code(data: pa.BinaryArray) -> pa.BinaryArray:
    """N keys or values in Ignite's binary format, with the code that is written for each whole enum; nulls stay."""
    given_back = pc.starts_with(data, _GIVEN_BACK.as_py())
    if not pc.any(given_back).as_py():
        return data
    written = pc.binary_join_element_wise(_WRITTEN, pc.binary_slice(data, 1, _MOST_BYTES), _NOTHING)
    return pc.if_else(given_back, written, data)
