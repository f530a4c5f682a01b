"""Columns of query entities that are no fields of a value, though records may have fields with their names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from ...ignite.types.model import CacheInfo, QueryEntity, QueryField, TypeSource
from ...ignite.types.type_table import java_code
from ...settings.schema_contracts import STORE
from ..rules.marked_fields import of_column, undecided, undecided_class
from .resolve_types import class_field, object_paths
from .table_contract import TableContract, table_contract


class NestedColumn(NamedTuple):
    """A column such as `address.city`: its path within a binary type, and its full name."""

    path: str
    column: str


@dataclass(frozen=True)
class SqlColumns:
    """Columns of a cache that are no fields of a value: columns of the key, and columns of nested objects.

    :param key_fields: Arrow fields for columns of the key, by binary type of the value and by name in lower case. A
        Java class of values that repeats a part of its key has a field of the column's class, so a record's field gets
        this class; a value without the field gets none.
    :param nested: columns of nested objects, by binary type and by path in lower case: SQL never reads a field with
        such a name.
    :param contract: fields that values may have.
    """

    key_fields: Mapping[str, Mapping[str, pa.Field]] = field(default_factory=dict)
    nested: Mapping[str, Mapping[str, NestedColumn]] = field(default_factory=dict)
    contract: TableContract = field(default_factory=TableContract)

    def key_field(self, type_name: str, name: str) -> pa.Field | None:
        """Return the Arrow field of the key column that has a field's name, in any case; None without such a column."""
        return self.key_fields.get(type_name, {}).get(name.lower())

    def undecided(self, type_name: str) -> Iterator[pa.Field]:
        """Return a type's key columns of Java classes unknown to the cluster."""
        return (field for field in self.key_fields.get(type_name, {}).values() if undecided_class(field))

    def refusal(self, type_name: str, name: str) -> str | None:
        """Return the reason why a value cannot have a field of this name; None if it can.

        SQL could not read it, or the contract refuses it. The reason is the predicate of a sentence.
        """
        nested = self.nested.get(type_name, {}).get(name.lower())
        if nested is None:
            return self.contract.refusal(type_name, name)
        outer, _, inner = nested.path.partition(".")
        what = (
            f"has the name of column {nested.column}, which SQL reads from field {inner} of an object in field {outer}"
        )
        return f"{what}: send this object instead of the flat field, or rename the field"


def sql_columns(cache: CacheInfo, types: TypeSource, contract: str = STORE) -> SqlColumns:
    """Return the columns of a cache's query entities that are no fields of a value.

    :param contract: value of the setting `schema_contract`.
    :raises UnsupportedType: JSON cannot be converted to a Java class.
    """
    key_fields: dict[str, dict[str, pa.Field]] = {}
    nested: dict[str, dict[str, NestedColumn]] = defaultdict(dict)
    for entity in cache.query_entities:
        if java_code(entity.value_type) is None:
            key_fields[entity.value_type] = {
                key_column.name.lower(): _of_key(cache, types, entity, key_column)
                for key_column in _key_columns(entity)
            }
        for column in entity.fields:
            for type_name, path in object_paths(entity, column):
                nested[type_name][path.lower()] = NestedColumn(path, column.name)
    return SqlColumns(key_fields, nested, table_contract(cache, contract))


def _key_columns(entity: QueryEntity) -> Iterator[QueryField]:
    """Yield the columns for fields of the key and for the whole key."""
    listed = [
        column
        for column in entity.fields
        if (column.is_key or column.name == entity.key_field) and "." not in column.name
    ]
    yield from listed
    if entity.key_field and all(column.name != entity.key_field for column in listed):
        yield QueryField(entity.key_field, entity.key_type, is_key=True)


def _of_key(cache: CacheInfo, types: TypeSource, entity: QueryEntity, column: QueryField) -> pa.Field:
    inner = f"{entity.value_type}.{column.name}"
    return of_column(
        class_field(cache, types, column.name, column.java_type, column.scale, inner, unknown=undecided),
        column.java_type,
    )
