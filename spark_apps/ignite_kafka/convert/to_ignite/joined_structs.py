"""Joining of STRUCT columns that differ in their fields, because converting one schema costs as much as many rows.

A field common to two schemas must have the same type in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from ...common.arrow_layout import list_sizes
from ..connect.columns import ConnectColumn, ConnectPart
from ..connect.merged_schemas import MergedSchema, has_fields
from ..connect.schema import ConnectSchema


def joined_parts(parts: Iterable[ConnectPart]) -> list[ConnectPart]:
    """Return the columns with STRUCTs of the same name joined, in the order of their first rows.

    Structs are not joined if a field has different types: then the first record with the field decides its type, so
    each part keeps its own schema.

    :param parts: parts with at least one row each.
    """
    ordered = sorted(parts, key=lambda part: int(part.rows[0]))
    groups: dict[str | None, _Group] = {}
    apart: set[str | None] = set()
    for part in ordered:
        schema = part.column.schema
        if (
            schema is not None
            and has_fields(schema)
            and not groups.setdefault(schema.name, _Group(schema)).add(part, schema)
        ):
            apart.add(schema.name)
    joined: dict[int, ConnectPart] = {}
    for number, part in enumerate(ordered):
        schema = part.column.schema
        if schema is None or not has_fields(schema) or schema.name in apart:
            joined[number] = part
        elif schema.name in groups:
            joined[number] = groups.pop(schema.name).part()
    return list(joined.values())


class _Group:
    """Columns of STRUCTs with the same name, to be joined."""

    def __init__(self, schema: ConnectSchema) -> None:
        self._merged = MergedSchema(schema)
        self._parts: list[ConnectPart] = []

    def add(self, part: ConnectPart, schema: ConnectSchema) -> bool:
        """Add a column; return False if its schema contradicts those of the group.

        The time taken depends on the part's fields only, not on the group's.
        """
        kind = part.column.data.type
        if not self._merged.takes(schema, kind):
            return False
        self._merged.add(schema, kind)
        self._parts.append(part)
        return True

    def part(self) -> ConnectPart:
        """Return the columns of the group joined into one, with the fields of all."""
        if len(self._parts) == 1:
            return self._parts[0]
        data = _concat([part.column.data for part in self._parts], self._merged.kind())
        rows = np.concatenate([part.rows for part in self._parts])
        order = np.argsort(rows)
        return ConnectPart(rows[order], ConnectColumn(data.take(pa.array(order)), self._merged.schema()))


def _concat(arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    """Concatenate arrays; structs get all fields of `kind`, null where an array lacks one."""
    if all(array.type == kind for array in arrays):
        return pa.concat_arrays(arrays)
    if pa.types.is_list(kind):
        values = _concat([array.flatten() for array in arrays], kind.value_type)
        sizes = np.concatenate([list_sizes(array) for array in arrays])
        starts = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        return pa.ListArray.from_arrays(starts, values, type=kind, mask=_find_nulls(arrays))
    starts = np.cumsum([0, *map(len, arrays)])
    pieces: dict[str, list[tuple[int, pa.Array]]] = {field.name: [] for field in kind}
    for number, array in enumerate(arrays):
        for field, column in zip(array.type, array.flatten(), strict=True):
            pieces[field.name].append((number, column))
    columns = [_place(pieces[field.name], field.type, starts) for field in kind]
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=_find_nulls(arrays))


def _find_nulls(arrays: Sequence[pa.Array]) -> pa.Array | None:
    missing = np.concatenate([np.asarray(array.is_null()) for array in arrays])
    return pa.array(missing) if missing.any() else None


def _place(pieces: Sequence[tuple[int, pa.Array]], kind: pa.DataType, starts: np.ndarray) -> pa.Array:
    """Put a field's columns at the rows of their arrays; the field is null in all other rows."""
    data = _concat([column for _, column in pieces], kind)
    if len(data) == starts[-1]:
        return data
    place = np.full(int(starts[-1]), -1, np.int64)
    at = 0
    for number, column in pieces:
        place[starts[number] : starts[number] + len(column)] = np.arange(at, at + len(column))
        at += len(column)
    return data.take(pa.array(np.maximum(place, 0), mask=place < 0))
