"""Normalization of enums and arrays, which a node returns in another binary form than they were written in.

A node makes Java objects of a whole value that is no binary object, and writes them again. A constant of an enum has
code 28 as Java and a sink write it, and code 38 (BinaryEnumObject) as a node returns it; an array of enums or objects
becomes an Object[]. The same holds for elements of arrays, collections and maps. The values are equal, and a key finds
its entry in either form.
"""

from __future__ import annotations

import struct

import pyarrow as pa
import pyarrow.compute as pc

from ..ignite.binary.value_end import NESTING, end_of, end_of_head
from ..ignite.types import type_codes as codes

_RETURNED, _WRITTEN = (pa.scalar(bytes([code]), pa.binary()) for code in (codes.BINARY_ENUM, codes.ENUM))
_NOTHING = pa.scalar(b"", pa.binary())
_MOST_BYTES = (1 << 31) - 1
_CONTAINERS = pa.array(
    [bytes([code]) for code in (codes.COLLECTION, codes.MAP, *sorted(codes.TYPED_ARRAYS))], pa.binary()
)
_CHANGED = (codes.BINARY_ENUM, *codes.TYPED_ARRAYS)
_OBJECTS = struct.pack("<Bi", codes.OBJECT_ARRAY, -1)


def unify_codes(data: pa.BinaryArray) -> pa.BinaryArray:
    """Give equal enums and arrays equal bytes, in N keys or values of Ignite's binary format; nulls stay."""
    is_returned = pc.starts_with(data, _RETURNED.as_py())
    if pc.any(is_returned).as_py():
        written = pc.binary_join_element_wise(_WRITTEN, pc.binary_slice(data, 1, _MOST_BYTES), _NOTHING)
        data = pc.if_else(is_returned, written, data)
    containers = pc.is_in(pc.binary_slice(data, 0, 1), _CONTAINERS)
    if not pc.any(containers).as_py():
        return data
    return pc.replace_with_mask(
        data, containers, pa.array(map(_unify_container, data.filter(containers).to_pylist()), pa.binary())
    )


def _unify_container(value: bytes) -> bytes:
    if not any(code in value for code in _CHANGED):
        return value
    data = memoryview(value)
    parts = list[bytes | memoryview]()
    position = 0
    while position < len(data):
        code = data[position]
        end = end_of_head(data, position, len(data)) if code in NESTING else end_of(data, position, len(data))
        if code in codes.TYPED_ARRAYS:
            parts += [_OBJECTS, data[end - 4 : end]]  # the number of elements
        elif code == codes.BINARY_ENUM:
            parts += [bytes([codes.ENUM]), data[position + 1 : end]]
        else:
            parts.append(data[position:end])
        position = end
    return b"".join(parts)
