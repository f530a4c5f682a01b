"""Merging of STRUCT schemas that have different fields into one schema with all fields.

A source that leaves out null fields (``field_nullability_policy`` LAZY) has a schema for each set of present fields.
An absent field is stored in the same way as a null field, so one schema with all fields can read all values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, RowIndex
from ...common.record_limits import MAX_FIELDS
from .schema import ConnectField, ConnectSchema, ConnectType, arrow_type


class MergedSchema:
    """Schema merged from several: of STRUCTs with one name, of ARRAYs of such STRUCTs, or of equal schemas.

    Fields are in the order of their first occurrence.

    :param kind: Arrow type of the values, the same for all schemas; None: the type by
        :func:`~..connect.schema.arrow_type`.
    """

    def __init__(self, first: ConnectSchema, kind: pa.DataType | None = None) -> None:
        self._first = first
        self._kind = kind
        self._fields: dict[str, MergedSchema] = {}
        self._spelled: dict[str, str] = {}
        self._element: MergedSchema | None = None
        self._holders: list[int] = []
        self._strict: list[int] = []

    def takes(self, schema: ConnectSchema, kind: pa.DataType | None = None) -> bool:
        """Return whether a schema can be merged in: no field gets two types or two spellings.

        No field may have two types, and no two names of fields may differ only in case, which Ignite ignores.
        """
        if schema.type is not self._first.type:
            return False
        if schema.type is ConnectType.STRUCT:
            return self._takes_fields(schema, kind)
        if _has_structs(schema) and _has_structs(self._first):
            assert schema.value_schema
            element = self._element
            return schema.name == self._first.name and (
                element is None or element.takes(schema.value_schema, kind and kind.value_type)
            )
        return schema == self._first and kind == self._kind

    def _takes_fields(self, schema: ConnectSchema, kind: pa.DataType | None) -> bool:
        names = {field.name.lower() for field in schema.fields}
        if (
            schema.name != self._first.name
            or len(names) < len(schema.fields)
            or len(names | self._spelled.keys()) > MAX_FIELDS
        ):
            return False
        for at, field in enumerate(schema.fields):
            if self._spelled.get(field.name.lower(), field.name) != field.name:
                return False
            member = self._fields.get(field.name)
            if member is not None and not member.takes(field.schema, kind and kind[at].type):
                return False
        return True

    def add(self, schema: ConnectSchema, kind: pa.DataType | None = None, number: int = 0) -> None:
        """Merge in a schema that :meth:`takes` accepts.

        :param number: number of the schema, for :meth:`misfits`.
        """
        self._holders.append(number)
        if not schema.optional or schema.default is not None:
            self._strict.append(number)
        if schema.type is ConnectType.STRUCT:
            for at, field in enumerate(schema.fields):
                inner = kind and kind[at].type
                self._spelled[field.name.lower()] = field.name
                if field.name not in self._fields:
                    self._fields[field.name] = MergedSchema(field.schema, inner)
                self._fields[field.name].add(field.schema, inner, number)
        elif _has_structs(schema):
            assert schema.value_schema
            inner = kind and kind.value_type
            self._element = self._element or MergedSchema(schema.value_schema, inner)
            self._element.add(schema.value_schema, inner, number)

    def schema(self) -> ConnectSchema:
        """Return the merged schema, with the fields of all schemas."""
        return self._build(self._first, [ConnectField(name, field.schema()) for name, field in self._fields.items()])

    def nullable(self) -> ConnectSchema:
        """Return the merged schema with everything optional and without defaults, so that it can read all values."""
        first = replace(self._first, optional=True, default=None)
        return self._build(
            first, [ConnectField(name, field.nullable()) for name, field in self._fields.items()], nullable=True
        )

    def _build(self, first: ConnectSchema, fields: list[ConnectField], *, nullable: bool = False) -> ConnectSchema:
        if first.type is ConnectType.STRUCT:
            return replace(first, fields=tuple(fields))
        if self._element is not None:
            return replace(first, value_schema=self._element.nullable() if nullable else self._element.schema())
        return first

    def kind(self) -> pa.DataType:
        """Return the Arrow type of the merged schema's values."""
        if self._first.type is ConnectType.STRUCT:
            return pa.struct([pa.field(name, field.kind()) for name, field in self._fields.items()])
        if self._element is not None:
            return pa.list_(pa.field("item", self._element.kind()))
        return self._kind or arrow_type(self._first)

    def misfits(self, values: pa.Array, numbers: RowIndex, schemas: int) -> Mask:
        """Return a mask of the values that their own schema would read differently than :meth:`nullable` does.

        Such a value has a field missing in its schema, or a null where its schema has a default or allows no null.

        :param values: of the plain JSON type of the schema (:func:`~.payload_columns.parsed_as`).
        :param numbers: number of each value's schema. :param schemas: number of schemas.
        """
        wrong = np.zeros(len(values), bool)
        present = np.asarray(values.is_valid())
        for at, member in enumerate(self._fields.values()):
            inner = values.field(at)
            inner_valid = np.asarray(inner.is_valid())
            wrong |= inner_valid & ~_mark(member._holders, schemas)[numbers]
            wrong |= present & ~inner_valid & _mark(member._strict, schemas)[numbers]
            if member._nested():
                wrong |= member.misfits(inner, numbers, schemas)
        if self._element is not None:
            rows = np.asarray(pc.list_parent_indices(values))
            elements = values.flatten()
            of = numbers[rows]
            bad = ~np.asarray(elements.is_valid()) & _mark(self._element._strict, schemas)[of]
            wrong[rows[bad | self._element.misfits(elements, of, schemas)]] = True
        return wrong

    def _nested(self) -> bool:
        return bool(self._fields) or self._element is not None


def has_fields(schema: ConnectSchema | None) -> bool:
    """Return whether a schema is a STRUCT with fields, so that it can be merged with others.

    A STRUCT without fields says nothing about its type, and is never merged.
    """
    return schema is not None and schema.type is ConnectType.STRUCT and bool(schema.fields)


def merge(schemas: Iterable[ConnectSchema]) -> MergedSchema | None:
    """Merge STRUCT schemas into one; None if they contradict each other."""
    merged: MergedSchema | None = None
    for number, schema in enumerate(schemas):
        merged = merged or MergedSchema(schema)
        if not merged.takes(schema):
            return None
        merged.add(schema, number=number)
    return merged


def _has_structs(schema: ConnectSchema) -> bool:
    """Return whether a schema is an ARRAY of STRUCTs, at any depth of ARRAYs."""
    inner = schema.value_schema
    return (
        schema.type is ConnectType.ARRAY
        and inner is not None
        and (inner.type is ConnectType.STRUCT or _has_structs(inner))
    )


def _mark(numbers: list[int], count: int) -> Mask:
    mask = np.zeros(count, bool)
    mask[numbers] = True
    return mask
