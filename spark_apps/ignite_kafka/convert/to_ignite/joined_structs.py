"""Parts of STRUCTs whose schemas differ only in which fields they have, as one part.

A source that leaves out null fields (``field_nullability_policy`` LAZY) gives each set of nulls a schema of its own. An absent field is
stored as a null one is, so these schemas are read as one that has all fields: each schema costs as much as many rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ...common.record_limits import MAX_FIELDS
from ..connect.columns import ConnectColumn, ConnectPart
from ..connect.schema import ConnectField, ConnectSchema, ConnectType


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
        if schema is not None and _has_fields(schema) and not groups.setdefault(schema.name, _Group(schema)).add(part, schema):
            apart.add(schema.name)
    found: dict[int, ConnectPart] = {}
    for number, part in enumerate(ordered):
        schema = part.column.schema
        if schema is None or not _has_fields(schema) or schema.name in apart:
            found[number] = part
        elif schema.name in groups:
            found[number] = groups.pop(schema.name).part()
    return list(found.values())


class _Group:
    """Parts that are joined."""

    def __init__(self, schema: ConnectSchema) -> None:
        self._fields = _Fields(schema)
        self._parts: list[ConnectPart] = []

    def add(self, part: ConnectPart, schema: ConnectSchema) -> bool:
        """Join a part; False if it does not fit. The time is that of the part's fields, not of all."""
        kind = part.column.data.type
        if not self._fields.takes(schema, kind):
            return False
        self._fields.add(schema, kind)
        self._parts.append(part)
        return True

    def part(self) -> ConnectPart:
        """All parts as one."""
        if len(self._parts) == 1:
            return self._parts[0]
        data = _concat([one.column.data for one in self._parts], self._fields.kind())
        rows = np.concatenate([one.rows for one in self._parts])
        order = np.argsort(rows)
        return ConnectPart(rows[order], ConnectColumn(data.take(pa.array(order)), self._fields.schema()))


class _Fields:
    """The fields that STRUCTs have together, in the order in which they have them first."""

    def __init__(self, first: ConnectSchema) -> None:
        self._first = first
        self._members: dict[str, _Fields | tuple[ConnectSchema, pa.DataType]] = {}
        self._spelled: dict[str, str] = {}

    def takes(self, schema: ConnectSchema, kind: pa.DataType) -> bool:
        """True if no field has two types, and no two names are one for Ignite, which tells no case."""
        names = {one.name.lower() for one in schema.fields}
        if schema.name != self._first.name or len(names) < len(schema.fields) or len(names | self._spelled.keys()) > MAX_FIELDS:
            return False
        return all(self._takes(one, kind[at].type) for at, one in enumerate(schema.fields))

    def _takes(self, one: ConnectField, kind: pa.DataType) -> bool:
        if self._spelled.get(one.name.lower(), one.name) != one.name:
            return False
        known = self._members.get(one.name)
        if isinstance(known, _Fields):
            return _has_fields(one.schema) and known.takes(one.schema, kind)
        return known is None or known == (one.schema, kind)

    def add(self, schema: ConnectSchema, kind: pa.DataType) -> None:
        """Add the fields of a STRUCT that fits."""
        for at, one in enumerate(schema.fields):
            self._spelled[one.name.lower()] = one.name
            if not _has_fields(one.schema):
                self._members[one.name] = one.schema, kind[at].type
                continue
            known = self._members.setdefault(one.name, _Fields(one.schema))
            assert isinstance(known, _Fields)
            known.add(one.schema, kind[at].type)

    def schema(self) -> ConnectSchema:
        """The STRUCT of all fields."""
        members = self._members.items()
        fields = tuple(ConnectField(name, one.schema() if isinstance(one, _Fields) else one[0]) for name, one in members)
        return replace(self._first, fields=fields)

    def kind(self) -> pa.DataType:
        """Its Arrow type."""
        members = self._members.items()
        return pa.struct([pa.field(name, one.kind() if isinstance(one, _Fields) else one[1]) for name, one in members])


def _has_fields(schema: ConnectSchema | None) -> bool:
    """True for a STRUCT with fields; one without says nothing of its type, and keeps its values to itself."""
    return schema is not None and schema.type is ConnectType.STRUCT and bool(schema.fields)


def _concat(arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    """Arrays one after the other; structs have the fields of `kind`, null where an array lacks one."""
    if all(array.type == kind for array in arrays):
        return pa.concat_arrays(arrays)
    starts = np.cumsum([0, *map(len, arrays)])
    pieces: dict[str, list[tuple[int, pa.Array]]] = {one.name: [] for one in kind}
    for number, array in enumerate(arrays):
        for one, column in zip(array.type, array.flatten(), strict=True):
            pieces[one.name].append((number, column))
    columns = [_placed(pieces[one.name], one.type, starts) for one in kind]
    missing = np.concatenate([np.asarray(array.is_null()) for array in arrays])
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=pa.array(missing) if missing.any() else None)


def _placed(pieces: Sequence[tuple[int, pa.Array]], kind: pa.DataType, starts: np.ndarray) -> pa.Array:
    """A field's columns at the rows of their arrays, null elsewhere."""
    data = _concat([column for _, column in pieces], kind)
    if len(data) == starts[-1]:
        return data
    place, at = np.full(int(starts[-1]), -1, np.int64), 0
    for number, column in pieces:
        place[starts[number] : starts[number] + len(column)] = np.arange(at, at + len(column))
        at += len(column)
    return data.take(pa.array(np.maximum(place, 0), mask=place < 0))
