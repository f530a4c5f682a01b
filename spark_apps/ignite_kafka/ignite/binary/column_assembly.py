"""Assembly of Arrow columns from parts: lists, columns with nulls, and unions of several types."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .decode_scalars import Column
from .page_buffer import Positions
from .unify_types import cast_exactly


def list_of(offsets: npt.NDArray[np.int32], inner: Column) -> Column:
    """Build a list column of n rows from n + 1 offsets into a column of elements."""
    kind = pa.list_(inner.field("item"))
    return Column(pa.ListArray.from_arrays(pa.array(offsets), inner.data, type=kind))


def spread(column: Column, rows: Positions, size: int) -> Column:
    """Spread a column's values to the positions `rows` of `size` rows; the other rows are null."""
    if rows.size == size:
        return column
    is_set = np.zeros(size, bool)
    is_set[rows] = True
    quick = _spread_buffers(column.data, is_set)
    if quick is not None:
        return replace(column, data=quick)
    index = np.zeros(size, np.int64)
    index[rows] = np.arange(rows.size)
    return replace(column, data=column.data.take(pa.array(index, mask=~is_set)))


def _spread_buffers(data: pa.Array, is_set: npt.NDArray[np.bool_]) -> pa.Array | None:
    """Insert nulls directly in Arrow's buffers, which is faster; None if the type does not allow it.

    Possible for strings, bytes, numbers and times without nulls.
    """
    kind = data.type
    if data.null_count or data.offset:
        return None
    valid = pa.py_buffer(np.packbits(is_set, bitorder="little"))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        _, offsets, content = data.buffers()
        ends = np.zeros(is_set.size, np.int32)
        ends[is_set] = np.diff(np.frombuffer(offsets, np.int32, len(data) + 1))
        bounds = np.zeros(is_set.size + 1, np.int32)
        np.cumsum(ends, out=bounds[1:])
        return pa.Array.from_buffers(kind, is_set.size, [valid, pa.py_buffer(bounds), content])
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind):
        unit = f"V{kind.bit_width // 8}"
        values = np.zeros(is_set.size, unit)
        values[is_set] = np.frombuffer(data.buffers()[1], unit, len(data))
        return pa.Array.from_buffers(kind, is_set.size, [valid, pa.py_buffer(values)])
    return None


def _concat_one_type(columns: list[Column]) -> Column | None:
    """Concatenate columns of equal types; None if their types differ.

    A column of lists or maps without any element takes the type of the others.
    """
    arrays = [column.data for column in columns]
    kind = next((array.type for array in arrays if not _has_no_elements(array)), arrays[0].type)
    # elements of one Arrow type may differ in their marks: a java.sql.Time has the Arrow type of a long
    same = all(
        array.type.equals(kind, check_metadata=True) or (_has_no_elements(array) and array.type.id == kind.id)
        for array in arrays
    )
    if not same or len({(column.mark, column.type_name) for column in columns}) > 1:
        return None
    return replace(columns[0], data=pa.concat_arrays([cast_exactly(array, kind, "") for array in arrays]))


def _has_no_elements(array: pa.Array) -> bool:
    """Return whether all lists or maps of an array are empty, so that its element type is arbitrary."""
    lists = pa.types.is_list(array.type)
    maps = pa.types.is_map(array.type)
    return bool((lists and not len(array.values)) or (maps and not len(array.keys)))


def union(names: list[str], columns: list[Column], rows: list[Positions], size: int) -> Column:
    """Combine columns of several types into one dense union, marked mixed; rows without a value are null.

    Columns of one Arrow type (an Object[] and a Collection of strings) become one plain column instead.
    """
    joined = _concat_one_type(columns)
    if joined is not None:
        filled = np.concatenate(rows)
        back = np.argsort(filled, kind="stable")
        return spread(replace(joined, data=joined.data.take(pa.array(back))), filled[back], size)
    kind_of = np.full(size, len(columns), np.int8)
    offset = np.zeros(size, np.int32)
    for kind, part in enumerate(rows):
        kind_of[part] = kind
        offset[part] = np.arange(part.size, dtype=np.int32)
    left = np.flatnonzero(kind_of == len(columns))
    if left.size:
        offset[left] = np.arange(left.size, dtype=np.int32)
        names = [*names, "null"]
        columns = [*columns, Column(pa.nulls(left.size))]
    fields = [column.field(name) for name, column in zip(names, columns, strict=True)]
    kind = pa.dense_union(fields, list(range(len(fields))))
    buffers = [None, pa.py_buffer(kind_of), pa.py_buffer(offset)]
    return Column(pa.Array.from_buffers(kind, size, buffers, children=[column.data for column in columns]), "mixed")
