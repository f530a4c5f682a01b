"""Columns of objects without their null fields: one column serves many schemas.

Under LAZY each set of null fields has a schema. Twenty fields with 2 % nulls have some 300 sets in a batch. A column
for each set would cost a millisecond, however few rows it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from ..connect.columns import ConnectPart, SparseColumn, SparsePart
from ..connect.schema import ConnectField, ConnectSchema, ConnectType
from .connect_columns import part_of
from .connect_schemas import SchemaRules, row_schemas

_FEW = 3
_MOST_FAMILIES = 32
"""Maximum number of schema families (:func:`_families`); further schemas get a column each."""


def sparse_parts(
    array: pa.Array, field: pa.Field, rules: SchemaRules, zone: str = "UTC"
) -> list[SparsePart | ConnectPart]:
    """Convert a decoded column of objects, null fields left out (LAZY); see :func:`.connect_columns.connect_parts`."""
    by_row = row_schemas(array, field, rules)
    counts = np.bincount(by_row.ids)
    numbers = [number for number in np.argsort(-counts, kind="stable").tolist() if counts[number]]
    schemas = {number: by_row.schemas[number].as_optional(False) for number in numbers}
    parts: list[SparsePart | ConnectPart] = []
    for members, fields in _families(schemas):
        place = np.full(len(counts), -1, np.int64)
        place[members] = np.arange(len(members))
        rows = np.flatnonzero(place[by_row.ids] >= 0)
        own = tuple(schemas[number] for number in members)
        whole = (
            own[0] if len(members) == 1 else ConnectSchema(ConnectType.STRUCT, name=own[0].name, fields=tuple(fields))
        )
        part = part_of(array, field, rows, whole, zone)
        parts.append(
            part if len(members) == 1 else SparsePart(rows, SparseColumn(part.column, own, place[by_row.ids][rows]))
        )
    return parts


def _families(schemas: Mapping[int, ConnectSchema]) -> Iterator[tuple[list[int], list[ConnectField]]]:
    """Group schemas that differ only in their sets of fields; yield each group's schema numbers and all its fields."""
    rest = list(schemas)
    for _ in range(_MOST_FAMILIES):
        if len(rest) <= _FEW:
            break
        family = _Family(schemas[rest[0]])
        members = [number for number in rest if family.takes(schemas[number])]
        placed = set(members)
        rest = [number for number in rest if number not in placed]
        yield members, family.fields
    for number in rest:
        yield [number], list(schemas[number].fields)


class _Family:
    """Family of schemas that differ only in their sets of fields."""

    def __init__(self, first: ConnectSchema) -> None:
        self._first = first
        self.fields: list[ConnectField] = []
        self._place: dict[str, int] = {}

    def takes(self, schema: ConnectSchema) -> bool:
        """Add a schema if its fields fit those of the family in schema and order; return whether they do."""
        if schema is not self._first and (schema.type is not ConnectType.STRUCT or schema.name != self._first.name):
            return False
        before = -1
        for field in schema.fields:
            place = self._place.get(field.name)
            if place is None:
                continue
            own_schema = self.fields[place].schema
            if place < before or not (own_schema is field.schema or own_schema == field.schema):
                return False
            before = place
        self._add(schema.fields)
        return True

    def _add(self, fields: Sequence[ConnectField]) -> None:
        """Insert the new fields of a schema, each behind the field before it."""
        if all(field.name in self._place for field in fields):
            return
        at = -1
        for field in fields:
            if field.name in self._place:
                at = self._place[field.name]
            else:
                at += 1
                self.fields.insert(at, field)
                self._place = _places(self.fields)


def _places(fields: Iterable[ConnectField]) -> dict[str, int]:
    return {field.name: place for place, field in enumerate(fields)}
