"""Columns that a condition can name: keys, values, and fields of entries.

They are the columns of data source ``ignite``, so that a condition can be tried on a DataFrame first: ``_key``
(``_key.id`` is a field of keys that are objects), the fields of the values by their names, ``_value`` for values that
are no objects, and ``_type``, the name of the value's type. At a sink also ``_topic``, ``_partition``,
``_offset`` and ``_timestamp`` of the record. Names are compared without case, as Spark and Ignite do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UnknownBinaryType, UnsupportedType
from ...ignite.binary import EntryGroup
from ...ignite.types.model import CacheInfo, TypeSource
from ...ignite.types.type_table import field_of
from ...java.hash_code import java_hash
from ...sql.syntax import Column
from . import operands
from .operands import Operand

KEY = "_key"
VALUE = "_value"
TYPE = "_type"
TIMESTAMP = "_timestamp"
OfRecords = Mapping[str, pa.Array]
"""Columns of the Kafka records of N entries, such as ``_timestamp``, by name."""


@dataclass(frozen=True)
class NeededColumns:
    """Fields of keys and values that must be decoded to evaluate a condition.

    :param keys: whether keys are needed at all; `values` is the same for values.
    :param key: needed fields of keys that are objects, in lower case; None: whole keys. `value` is the same for values.
    """

    keys: bool
    key: frozenset[str] | None
    values: bool
    value: frozenset[str] | None

    @staticmethod
    def of(columns: Iterable[Column]) -> NeededColumns:
        """Return the keys, values and fields to decode for the columns that a condition names."""
        paths = [tuple(name.lower() for name in column.path) for column in columns]
        keys = [path for path in paths if path[0] == KEY]
        others = {path[0] for path in paths if path[0] != KEY}
        whole_keys = any(len(path) == 1 for path in keys)
        return NeededColumns(
            bool(keys),
            None if whole_keys else frozenset(path[1] for path in keys),
            bool(others),
            None if VALUE in others else frozenset(others - {TYPE}),
        )


def columns_of_group(group: EntryGroup, records: OfRecords) -> dict[str, tuple[pa.Array, pa.Field]]:
    """Return the columns of an entry group by the names that conditions use, each with its marked Arrow field."""
    columns = {KEY: (group.key, field_of(KEY, group.key.type, group.key_type.mark))}
    value = group.value
    if pa.types.is_struct(value.type):
        columns |= {
            field.name: (value.field(at), field)
            for at, field in enumerate(value.type)
            if field.name not in (KEY, VALUE, TYPE)
        }
    else:
        columns[VALUE] = value, field_of(VALUE, value.type, group.value_type.mark)
    for name, column in records.items():
        columns[name] = column.take(pa.array(group.rows)), pa.field(name, column.type)
    columns[TYPE] = pa.repeat(pa.scalar(group.value_type.name), len(value)), pa.field(TYPE, pa.string())
    return columns


class ColumnLookup:
    """Lookup of the columns, and of fields within columns, that a condition names.

    :param columns: columns by name.
    :param absent: function called with the name of a missing column; it raises UnsupportedType if no entry can have the
        column, otherwise the column is null.
    """

    def __init__(
        self, columns: Mapping[str, tuple[pa.Array, pa.Field]], count: int, absent: Callable[[str], None]
    ) -> None:
        self._columns = {name.lower(): column for name, column in columns.items()}
        self._count = count
        self._absent = absent

    def __call__(self, column: Column) -> Operand:
        """Return the operand of a column that the condition names.

        :raises UnsupportedType: the column does not exist.
        """
        name = column.path[0]
        if name.lower() not in self._columns:
            self._absent(name)
            return operands.column(pa.nulls(self._count), pa.field(name, pa.null()), name)
        array, field = self._columns[name.lower()]
        for at, inner in enumerate(column.path[1:]):
            array, field = _inner(array, inner, ".".join(column.path[: at + 1]))
        return operands.column(array, field, str(column))


def _inner(array: pa.Array, name: str, outer: str) -> tuple[pa.Array, pa.Field]:
    """Return a field of a struct column as a column, null where the struct is null."""
    if pa.types.is_null(array.type):
        return array, pa.field(name, pa.null())
    if not pa.types.is_struct(array.type):
        raise UnsupportedType(
            f"column {outer} is of type {array.type} and has no field {name}", "Correct where.", field=outer
        )
    for at, field in enumerate(array.type):
        if field.name.lower() == name.lower():
            child = array.field(at)
            if array.null_count and not pa.types.is_null(child.type):
                child = pc.if_else(array.is_valid(), child, pa.scalar(None, child.type))
            return child, field
    names = ", ".join(field.name for field in array.type)
    raise UnsupportedType(
        f"column {outer} has no field {name} (but {names})", "Correct where.", field=f"{outer}.{name}"
    )


def check_absent(setting: str, group: EntryGroup, cache: CacheInfo, types: TypeSource, name: str) -> None:
    """Refuse a column that neither the values' type nor the cache's declared types have; its name must be wrong.

    A column that one of the types has is null instead.
    """
    if pa.types.is_null(group.value.type):
        return
    declared = declared_fields(cache, types)
    if name.lower() not in declared:
        own = (
            set()
            if group.value_type.type_id is None
            else {field.name for field in types.binary_type(group.value_type.type_id).fields}
        )
        raise no_column(setting, name, cache.name, declared | {field.lower() for field in own})


def declared_fields(cache: CacheInfo, types: TypeSource) -> set[str]:
    """Return the value fields that a cache's query entities and binary types declare, in lower case."""
    names: set[str] = set()
    for entity in cache.query_entities:
        names |= {field.name.lower() for field in entity.fields if not field.is_key}
        try:
            names |= {field.name.lower() for field in types.binary_type(java_hash(entity.value_type.lower())).fields}
        except UnknownBinaryType:
            continue  # a simple class, or a type without any object yet
    return names


def no_column(setting: str, name: str, cache: str, names: Collection[str]) -> UnsupportedType:
    """Return the error to raise for a setting that names a column missing from all values."""
    what = f"{setting} names column {name}, which values do not have (but {', '.join(sorted(names)) or VALUE})"
    return UnsupportedType(
        what, f"Correct {setting}: docs/filter.md says which columns there are.", cache=cache, field=name
    )
