"""Mapping of a DataFrame's columns to the Ignite types of a cache's keys and values.

They follow from the cache's query entity and the cluster's binary types, or else from the columns alone.

A column fits a field if the field holds every value of the column's type: integers and floats widen, a decimal has at
most the declared places, and nothing is parsed or rounded. Names are compared without case, as Ignite and Spark do. The
schema decides before an entry is written; only texts that are no UUID, no constant of an enum, or no decimal are
detected later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ..convert.ignite_types.entries import Types
from ..convert.ignite_types.object_types import ObjectTypes
from ..convert.ignite_types.resolve_types import entry_types
from ..convert.rules.marked_fields import (
    ANY,
    OBJECT,
    REASON,
    REFUSED,
    UNDECIDED,
    UNKNOWN,
    any_kind,
    collection_of,
    is_a,
    undecided_class,
)
from ..errors import SettingsError, UnsupportedType
from ..ignite.binary.entry_table import KEY, TYPE, VALUE
from ..ignite.binary.object_layout import ObjectLayout
from ..ignite.types.model import CacheInfo
from ..ignite.types.type_table import TYPE_NAME, code_name, mark_of, object_field, type_code

_TEXTS = ("uuid", "enum", "class", "decimal")


@dataclass(frozen=True)
class Part:
    """Rule by which columns of a DataFrame form the key or the value of entries.

    :param field: the Arrow field with the marks of its Ignite type.
    :param columns: names of the DataFrame's columns.
    :param whole: whether the single column is the key or value itself; otherwise the columns are fields of an object.
    """

    field: pa.Field
    columns: tuple[str, ...]
    whole: bool


def make_parts(
    schema: pa.Schema, cache: CacheInfo, types: Types, keys: Sequence[str], key_type: str | None, value_type: str | None
) -> tuple[Part, Part]:
    """Decide which columns of a DataFrame form the key and the value of entries, and their Ignite types.

    :param keys: columns of the key; several columns are the fields of an object. The other columns are the fields of
        the value, or a single column ``_value`` is the value itself.
    :param key_type: binary type of key objects if the cache has no query entity; else chooses a query entity. The same
        for `value_type`.
    :raises SettingsError: a key column is missing, no column is left for the value, or the named types are not the
        cache's.
    :raises UnsupportedType: a column does not fit; the message has its type and the cache's.
    """
    columns = _index_by_name(schema, cache.name)
    missing = [name for name in keys if name.lower() not in columns]
    if missing:
        what = f"the DataFrame has no column {missing[0]} for the key; it has {', '.join(schema.names)}"
        raise SettingsError(what, "Name the key's columns in the option key.", option="key", cache=cache.name)
    if TYPE in columns:
        what = f"column {TYPE} says that the rows are of several types, which are written one by one"
        raise SettingsError(
            what, f"Filter by it, drop it, and name the type in the option value_type. [{TYPE}]", cache=cache.name
        )
    key_names = tuple(columns[name.lower()].name for name in keys)
    value_names = tuple(name for name in schema.names if name not in key_names)
    if not value_names:
        raise SettingsError(
            "no column is left for the value",
            "Keep one, or name fewer in the option key.",
            option="key",
            cache=cache.name,
        )
    frame = _FrameTypes(cache, types, key_type, value_type)
    return (
        frame.make_part(frame.key, [columns[name.lower()] for name in key_names], KEY, "key"),
        frame.make_part(frame.value, [columns[name.lower()] for name in value_names], VALUE, "value"),
    )


def list_layouts(field: pa.Field) -> Iterator[ObjectLayout]:
    """Yield the binary types of all objects within a field, inner objects first, to register them."""
    kind = field.type
    if pa.types.is_map(kind):
        yield from list_layouts(kind.key_field)
        yield from list_layouts(kind.item_field)
    elif pa.types.is_list(kind):
        yield from list_layouts(kind.value_field)
    elif pa.types.is_struct(kind):
        for inner_field in kind:
            yield from list_layouts(inner_field)
        yield ObjectLayout.of(field)


class _FrameTypes:
    def __init__(self, cache: CacheInfo, types: Types, key_type: str | None, value_type: str | None) -> None:
        cache = _choose_entity(cache, key_type, value_type)
        entry = entry_types(cache, types)
        self.key = entry.key
        self.value = entry.value
        key_objects = entry.key_objects
        if not cache.query_entities:
            self.key = any_kind("", key_type or f"{cache.name}.Key")
            self.value = any_kind("", value_type or f"{cache.name}.Value")
            key_objects = frozenset([_type_name_of(self.key)])
        self._cache = cache.name
        self._keys = key_objects
        self._declared = {name for name, fields in entry.objects.items() if fields}
        self._objects = ObjectTypes(types, entry.objects, key_objects)

    def make_part(self, declared: pa.Field, columns: Sequence[pa.Field], whole: str, role: str) -> Part:
        """Make the key or value of entries from some columns, checked against the cache's declaration.

        :param declared: field of this key or value in the cache.
        """
        names = tuple(column.name for column in columns)
        is_object = is_a(declared, OBJECT)
        is_struct = pa.types.is_struct(columns[0].type)
        if len(columns) == 1 and (names[0].lower() == whole or (role == "key" and (is_struct or not is_object))):
            name = "" if names[0].lower() == whole else names[0]
            return Part(
                self._make_field(declared, columns[0], _type_name_of(declared), role).with_name(name), names, whole=True
            )
        if not is_object and not is_a(declared, ANY):
            what = (
                f"the {role}s of the cache are {_describe(declared)}, and columns {', '.join(names)} would be fields "
                "of an object"
            )
            raise UnsupportedType(what, f"Give the {role} as one column {whole}.", cache=self._cache)
        return Part(self._make_object("", _type_name_of(declared), columns, role), names, whole=False)

    def _make_field(self, declared: pa.Field | None, column: pa.Field, type_name: str, path: str) -> pa.Field:
        """Choose the Ignite field for a column, and check that it can hold the column's values.

        :param declared: the field in the cache; None: not declared.
        :param type_name: binary type of objects if `declared` has none.
        """
        name = column.name if declared is None else declared.name
        if declared is None or is_a(declared, UNKNOWN):
            return self._make_own_field(name, column, type_name, path)
        if is_a(declared, ANY):
            return self._make_own_field(name, column, _type_name_of(declared), path)
        if is_a(declared, REFUSED):
            raise UnsupportedType(
                f"Field {path} {declared.metadata[REASON].decode()}",
                "Leave the column out.",
                cache=self._cache,
                field=path,
            )
        kind = column.type
        expected = declared.type
        if is_a(declared, OBJECT) or is_a(declared, UNDECIDED):
            if pa.types.is_struct(kind):
                return self._make_object(name, _type_name_of(declared), list(kind), path)
        elif pa.types.is_list(expected):
            if pa.types.is_list(kind):
                element = self._make_field(expected.value_field, kind.value_field, type_name, f"{path}[]")
                return declared.with_type(pa.list_(element))
        elif pa.types.is_map(expected):
            if pa.types.is_map(kind):
                key = self._make_field(expected.key_field, kind.key_field, type_name, f"{path} key").with_nullable(
                    False
                )
                return declared.with_type(
                    pa.map_(key, self._make_field(expected.item_field, kind.item_field, type_name, f"{path} value"))
                )
        elif mark_of(declared) == "decimal" and expected == pa.string() and pa.types.is_decimal128(kind):
            return declared.with_type(kind)  # no scale is declared, so each value has the column's scale
        elif _can_hold(declared, kind):
            return declared
        what = f"Column {path} is {kind}, and the cache has {_describe(declared)} for it"
        raise UnsupportedType(what, "Cast the column, or write to another cache.", cache=self._cache, field=path)

    def _make_own_field(self, name: str, column: pa.Field, type_name: str, path: str) -> pa.Field:
        """Choose the Ignite field for an undeclared column, by the column's type alone."""
        kind = column.type
        if pa.types.is_struct(kind):
            return self._make_object(name, type_name, list(kind), path)
        if pa.types.is_list(kind):
            return collection_of(name, self._make_own_field("item", kind.value_field, type_name, f"{path}[]"))
        if pa.types.is_map(kind):
            key = self._make_own_field("key", kind.key_field, type_name, f"{path} key").with_nullable(False)
            return pa.field(
                name, pa.map_(key, self._make_own_field("value", kind.item_field, type_name, f"{path} value"))
            )
        field = pa.field(name, kind)
        try:
            type_code(field)
        except UnsupportedType:
            what = f"Column {path} is {kind}, and Ignite has no such type"
            raise UnsupportedType(what, "Cast the column, or leave it out.", cache=self._cache, field=path) from None
        return field

    def _make_object(self, name: str, type_name: str, columns: Sequence[pa.Field], path: str) -> pa.Field:
        """Make an object field from columns: the type's known fields in order, then the remaining columns.

        A declared type gets no further fields. Keys have exactly the fields of their type, because with other fields
        they would be other keys.
        """
        fields = {field.name.lower(): field for field in self._objects.fields(type_name)}
        column_of = _index_by_name(columns, self._cache)
        is_key = type_name in self._keys
        more = [column.name for column in columns if column.name.lower() not in fields]
        if more and (type_name in self._declared or (is_key and fields)):
            what = (
                f"Column {more[0]} is no field of {type_name}, the type of the cache's "
                f"{'key' if is_key else 'value'}s, which has "
            )
            what += ", ".join(field.name for field in fields.values())
            raise UnsupportedType(what, "Leave it out, or rename it.", cache=self._cache, field=more[0])
        lacking = [
            field.name for label, field in fields.items() if label not in column_of and (is_key or not field.nullable)
        ]
        if lacking:
            what = f"There is no column {lacking[0]}, which every object of {type_name} has"
            raise UnsupportedType(what, f"Add it to {path}.", cache=self._cache, field=lacking[0])
        within = [(field, column_of[label]) for label, field in fields.items() if label in column_of]
        within += [(None, column_of[label.lower()]) for label in more]
        inner = [
            self._make_field(field, column, f"{type_name}.{column.name}", f"{path}.{column.name}")
            for field, column in within
        ]
        return object_field(name, type_name, inner)


def _choose_entity(cache: CacheInfo, key_type: str | None, value_type: str | None) -> CacheInfo:
    """Reduce a cache's query entities to the one that the options `key_type` and `value_type` choose."""
    entities = cache.query_entities
    for setting, chosen, of_entity in (("key_type", key_type, "key_type"), ("value_type", value_type, "value_type")):
        left = tuple(entity for entity in entities if chosen in (None, getattr(entity, of_entity)))
        if entities and not left:
            has = ", ".join(getattr(entity, of_entity) for entity in entities)
            raise SettingsError(
                f"{setting} is {chosen}, and the cache has {has}",
                "Leave the option out.",
                option=setting,
                cache=cache.name,
            )
        entities = left
    if len(entities) > 1:
        what = f"the cache has several query entities: {', '.join(entity.value_type for entity in entities)}"
        raise SettingsError(what, "Name one in the option value_type.", option="value_type", cache=cache.name)
    return replace(cache, query_entities=entities)


def _can_hold(declared: pa.Field, kind: pa.DataType) -> bool:
    """Return whether a declared scalar field can hold every value of a column's type."""
    expected = declared.type
    mark = mark_of(declared)
    if mark in _TEXTS and expected == pa.string():
        return bool(kind == pa.string())
    if pa.types.is_timestamp(expected):
        return bool(pa.types.is_timestamp(kind) and kind.tz)
    if pa.types.is_decimal(expected):
        return bool(pa.types.is_decimal128(kind) and kind.scale <= expected.scale)
    if (pa.types.is_integer(expected) and pa.types.is_integer(kind)) or (
        pa.types.is_floating(expected) and pa.types.is_floating(kind)
    ):
        return bool(kind.bit_width <= expected.bit_width)
    return bool(kind == expected)


def _index_by_name(fields: pa.Schema | Sequence[pa.Field], cache: str) -> dict[str, pa.Field]:
    by_name: dict[str, pa.Field] = {}
    for field in fields:
        other = by_name.setdefault(field.name.lower(), field)
        if other is not field:
            what = f"Columns {other.name} and {field.name} have one name in Ignite, whose names have no case"
            raise UnsupportedType(what, "Rename one.", cache=cache, field=field.name)
    return by_name


def _type_name_of(field: pa.Field) -> str:
    return str((field.metadata or {}).get(TYPE_NAME, b""), "utf-8")


def _describe(field: pa.Field) -> str:
    if unknown := undecided_class(field):
        return f"class {unknown}, which the cluster does not know,"
    if is_a(field, OBJECT):
        return f"objects of {_type_name_of(field)}"
    if pa.types.is_list(field.type) and pa.types.is_null(field.type.value_type) and mark_of(field) != "collection":
        return "Object[]"
    return code_name(type_code(field)) + (f" of scale {field.type.scale}" if pa.types.is_decimal(field.type) else "")
