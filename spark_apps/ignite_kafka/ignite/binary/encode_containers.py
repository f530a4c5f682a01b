"""Encoding of arrays, collections and maps: a head for each row, then the elements as one column.

See encode.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import EncodeError
from ...java.hash_code import java_hash
from ..types import type_codes as codes
from ..types.type_table import mark_of, type_code, type_name_of
from .byte_columns import ByteColumns, fixed_rows, join_columns, offsets_of, or_null, sliced, structured, valid_of
from .encode_scalars import numbers, refuse

_ARRAY_LIST = 1
_HASH_MAP = 1
_ANY_OBJECT = -1
_PRIMITIVES = {
    codes.BYTE_ARRAY: "<i1", codes.SHORT_ARRAY: "<i2", codes.INT_ARRAY: "<i4", codes.LONG_ARRAY: "<i8",
    codes.FLOAT_ARRAY: "<f4",
    codes.DOUBLE_ARRAY: "<f8", codes.CHAR_ARRAY: "<u2", codes.BOOL_ARRAY: "u1",
}  # fmt: skip
Encode = Callable[[pa.Array, pa.Field], ByteColumns]


def container(array: pa.Array, field: pa.Field, encode: Encode) -> ByteColumns:
    """Encode a list column as arrays or ArrayLists, or a map column as HashMaps.

    A list becomes an array of its elements' type; marked objects an Object[]; marked collection an ArrayList.

    :param encode: encodes any column; used for the elements.
    :raises EncodeError: a null in an array of primitives, which cannot hold one in Java.
    """
    code = type_code(field)
    lists = _entries(array) if code == codes.MAP else array
    count = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    bounds = np.zeros(count.size + 1, np.int64)
    np.cumsum(count, out=bounds[1:])
    elements = lists.flatten()
    heads: dict[str, Any] = {"code": ("u1", code)}
    if code in codes.TYPED_ARRAYS:
        heads["type_id"] = (
            "<i4",
            _ANY_OBJECT if mark_of(field) == "objects" else _element_type(code, field.type.value_field),
        )
    heads["count"] = ("<i4", count)
    if code in (codes.COLLECTION, codes.MAP):
        heads["kind"] = ("u1", _HASH_MAP if code == codes.MAP else _ARRAY_LIST)
    try:
        if code in _PRIMITIVES:
            body = _primitives(elements, field.type.value_field, _PRIMITIVES[code], bounds)
        elif code == codes.MAP:
            key = elements.field(0)
            item = elements.field(1)
            body = _rows(encode(key, field.type.key_field) + encode(item, field.type.item_field), bounds)
        else:
            body = _rows(encode(elements, field.type.value_field), bounds)
    except EncodeError as error:
        raise _error_of_row(error, field, bounds) from None
    return [or_null(fixed_rows(structured(len(array), **heads)), valid_of(array)), body]


def _element_type(code: int, element: pa.Field) -> int:
    """Choose the type id of the elements that an array's head names.

    The id of an enum or binary type, for arrays of arrays (int[][]) the type code, or the id of java.lang.Object.
    """
    if code == codes.ENUM_ARRAY or pa.types.is_struct(element.type):
        return java_hash(type_name_of(element).lower())
    inner = type_code(element)
    return inner if inner in codes.CODED_ARRAYS or inner in codes.ELEMENT_WIDTH else _ANY_OBJECT


def _entries(array: pa.MapArray) -> pa.ListArray:
    """Convert a map column to a list column of key-value pairs, without copying."""
    kind = array.type
    pairs = pa.struct([kind.key_field, kind.item_field])
    return array.cast(pa.list_(pa.field("entries", pairs, nullable=False)))


def _rows(pieces: ByteColumns, bounds: npt.NDArray[np.int64]) -> pa.BinaryArray:
    """Join the encoded elements of each row; row r has the elements [bounds[r], bounds[r + 1])."""
    flat = join_columns(pieces)
    data = flat.buffers()[2]
    return sliced(offsets_of(flat)[bounds], data if data is not None else b"")


def _primitives(elements: pa.Array, field: pa.Field, kind: str, bounds: npt.NDArray[np.int64]) -> pa.BinaryArray:
    """Encode the elements of primitive arrays as plain numbers, without type codes."""
    if elements.null_count:
        refuse(field, elements.is_null().to_numpy(zero_copy_only=False), "A null in an array of primitives")
    wide = numbers(elements, np.int64 if mark_of(field) == "char" else kind)
    if mark_of(field) == "char":
        refuse(field, (wide < 0) | (wide > 0xFFFF), "A number that is no UTF-16 code unit")
    values = np.ascontiguousarray(wide.astype(kind))
    return sliced(bounds * values.itemsize, values)


def _error_of_row(error: EncodeError, field: pa.Field, bounds: npt.NDArray[np.int64]) -> EncodeError:
    """Translate an error about an element, so that it names the row of the array."""
    where = dict(error.where)
    if "row" in where:
        where["row"] = int(np.searchsorted(bounds, where["row"], side="right")) - 1
    return EncodeError(error.what, error.remedy, **where | {"field": f"{field.name}.{where.get('field', '')}"})
