"""Parts of STRUCTs whose schemas differ only in which fields they have, as one part.

Each schema costs as much as many rows.
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
    """The parts, by first row, with the STRUCTs of one name joined, unless one of these gives a field another type than the others.

    Then the first record with the field decides about it, so each keeps its own schema.

    :param parts: with at least one row each.
    """
    ordered = sorted(parts, key=lambda one: int(one.rows[0]))
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
    found: dict[int, ConnectPart] = {}
    for number, part in enumerate(ordered):
        schema = part.column.schema
        if schema is None or not has_fields(schema) or schema.name in apart:
            found[number] = part
        elif schema.name in groups:
            found[number] = groups.pop(schema.name).part()
    return list(found.values())


class _Group:
    """Parts that are joined."""

    def __init__(self, schema: ConnectSchema) -> None:
        self._merged = MergedSchema(schema)
        self._parts: list[ConnectPart] = []

    def add(self, part: ConnectPart, schema: ConnectSchema) -> bool:
        """Join a part; False if it does not fit. The time is that of the part's fields, not of all."""
        kind = part.column.data.type
        if not self._merged.takes(schema, kind):
            return False
        self._merged.add(schema, kind)
        self._parts.append(part)
        return True

    def part(self) -> ConnectPart:
        """All parts as one."""
        if len(self._parts) == 1:
            return self._parts[0]
        data = _concat([one.column.data for one in self._parts], self._merged.kind())
        rows = np.concatenate([one.rows for one in self._parts])
        order = np.argsort(rows)
        return ConnectPart(rows[order], ConnectColumn(data.take(pa.array(order)), self._merged.schema()))


def _concat(arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    """Arrays one after the other; structs, in lists too, have the fields of `kind`, null where an array lacks one."""
    if all(array.type == kind for array in arrays):
        return pa.concat_arrays(arrays)
    if pa.types.is_list(kind):
        values = _concat([array.flatten() for array in arrays], kind.value_type)
        sizes = np.concatenate([list_sizes(array) for array in arrays])
        starts = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        return pa.ListArray.from_arrays(starts, values, type=kind, mask=_missing(arrays))
    starts = np.cumsum([0, *map(len, arrays)])
    pieces: dict[str, list[tuple[int, pa.Array]]] = {one.name: [] for one in kind}
    for number, array in enumerate(arrays):
        for one, column in zip(array.type, array.flatten(), strict=True):
            pieces[one.name].append((number, column))
    columns = [_placed(pieces[one.name], one.type, starts) for one in kind]
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=_missing(arrays))


def _missing(arrays: Sequence[pa.Array]) -> pa.Array | None:
    missing = np.concatenate([np.asarray(array.is_null()) for array in arrays])
    return pa.array(missing) if missing.any() else None


def _placed(pieces: Sequence[tuple[int, pa.Array]], kind: pa.DataType, starts: np.ndarray) -> pa.Array:
    """A field's columns at the rows of their arrays, null elsewhere."""
    data = _concat([column for _, column in pieces], kind)
    if len(data) == starts[-1]:
        return data
    place = np.full(int(starts[-1]), -1, np.int64)
    at = 0
    for number, column in pieces:
        place[starts[number] : starts[number] + len(column)] = np.arange(at, at + len(column))
        at += len(column)
    return data.take(pa.array(np.maximum(place, 0), mask=place < 0))
