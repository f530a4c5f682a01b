"""Columns put together from columns: lists, columns with nulls, and unions of several kinds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ignite_kafka.convert.types import field_of
from ignite_kafka.thin.codec.fit import fitted
from ignite_kafka.thin.codec.raw import Positions
from ignite_kafka.thin.codec.scalars import Column


def list_of(offsets: npt.NDArray[np.int32], inner: Column) -> Column:
    kind = pa.list_(field_of("item", inner.data.type, inner.mark))
    return Column(pa.ListArray.from_arrays(pa.array(offsets), inner.data, type=kind))


def spread(column: Column, rows: Positions, size: int) -> Column:
    """The column's values at `rows` of a column of `size` rows, null elsewhere."""
    if rows.size == size:
        return column
    index = np.zeros(size, np.int64)
    index[rows] = np.arange(rows.size)
    absent = np.ones(size, bool)
    absent[rows] = False
    return Column(column.data.take(pa.array(index, mask=absent)), column.mark)


def _one_type(columns: list[Column]) -> Column | None:
    """The columns one after the other where they are of one type; a list or map without any element takes the others' type."""
    arrays = [column.data for column in columns]
    kind = next((array.type for array in arrays if not _empty(array)), arrays[0].type)
    same = all(array.type == kind or (_empty(array) and array.type.id == kind.id) for array in arrays)
    if not same or len({column.mark for column in columns}) > 1:
        return None
    return Column(pa.concat_arrays([fitted(array, kind, "") for array in arrays]), columns[0].mark)


def _empty(array: pa.Array) -> bool:
    """True for lists or maps that have no element at all, so that their elements' type was made up."""
    lists, maps = pa.types.is_list(array.type), pa.types.is_map(array.type)
    return bool((lists and not len(array.values)) or (maps and not len(array.keys)))


def union(names: list[str], columns: list[Column], rows: list[Positions], size: int) -> Column:
    """Values of several kinds as one dense union, marked mixed; rows of no kind are of a last kind that is null.

    Kinds that are one Arrow type (an Object[] and a Collection of strings) are one plain column.
    """
    joined = _one_type(columns)
    if joined is not None:
        filled = np.concatenate(rows)
        back = np.argsort(filled, kind="stable")
        return spread(Column(joined.data.take(pa.array(back)), joined.mark), filled[back], size)
    kind_of, offset = np.full(size, len(columns), np.int8), np.zeros(size, np.int32)
    for kind, part in enumerate(rows):
        kind_of[part] = kind
        offset[part] = np.arange(part.size, dtype=np.int32)
    left = np.flatnonzero(kind_of == len(columns))
    if left.size:
        offset[left] = np.arange(left.size, dtype=np.int32)
        names, columns = [*names, "null"], [*columns, Column(pa.nulls(left.size))]
    fields = [field_of(name, column.data.type, column.mark) for name, column in zip(names, columns, strict=True)]
    kind = pa.dense_union(fields, list(range(len(fields))))
    buffers = [None, pa.py_buffer(kind_of), pa.py_buffer(offset)]
    return Column(pa.Array.from_buffers(kind, size, buffers, children=[column.data for column in columns]), "mixed")
