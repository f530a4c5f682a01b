"""Targets of Connect schemas by what the cluster, the query entity and the schema itself say of each type."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from ...common.record_limits import MAX_DEPTH, MAX_FIELDS
from ...common.time_zones import UTC
from ...ignite.binary.object_layout import is_optional
from ...ignite.types.type_table import TYPE_NAME, code_name, mark_of, object_field, type_code
from ..connect.schema import ConnectField, ConnectSchema, ConnectType
from ..ignite_types.object_types import ObjectTypes
from ..ignite_types.row_encoder import ENCODED
from ..ignite_types.unknown_classes import unknown_class
from ..rules.marked_fields import (
    ANY,
    OBJECT,
    REASON,
    REFUSED,
    UNKNOWN,
    any_kind,
    collection_of,
    column_class,
    is_a,
    is_untyped_enum,
    map_of,
    undecided_class,
)
from .connect_casts import own_field, scalar_cast
from .connect_targets import ListTarget, MapTarget, Member, ObjectTarget, RefusingTarget, ScalarTarget, Target, label
from .enum_names import full_names
from .scrubbed_names import ScrubbedNames

_WAY_OUT = "cast it where the topic is written, or declare another type"
_KEY_WAY_OUT = "declare the key type with all its fields, or name those that all keys have in key_fields"
Unwritten = tuple[int, str, Target]
"""A field that a type does not take: its place in the STRUCT, its name, and a target that refuses it."""
_CONTAINERS = (ConnectType.ARRAY, ConnectType.MAP, ConnectType.STRUCT)


@dataclass(frozen=True)
class Place:
    """Where a schema's values are stored.

    :param name: of the field; empty: the whole key or value.
    :param type_name: binary type of a STRUCT that says none.
    :param of_key: it is a key, or within one.
    """

    name: str
    type_name: str
    of_key: bool
    depth: int = 0

    def within(self, type_name: str, name: str) -> Place:
        """A field of a binary type, its elements and its values."""
        return Place(name, f"{type_name}.{name}", self.of_key, self.depth + 1)


class Resolver:
    """Finds targets, and adds the fields to `objects` that types lack.

    :param zone: time zone of java.sql.Date and java.sql.Time.
    :param scrubbed: names that records have scrubbed; None: records have names as they are.
    """

    def __init__(self, objects: ObjectTypes, zone: str = UTC, scrubbed: ScrubbedNames | None = None) -> None:
        self._objects = objects
        self._zone = zone
        self._scrubbed = scrubbed

    def target(self, schema: ConnectSchema, known: pa.Field | None, place: Place) -> Target:
        """The target of a schema's values.

        :param known: the field of the cluster or of the query entity; None: neither has one.
        """
        if known is None or is_a(known, UNKNOWN) or is_a(known, ANY):
            type_name = place.type_name if known is None or is_a(known, UNKNOWN) else _type_name(known)
            return self._own(schema, type_name, place)
        if is_untyped_enum(known) and schema.type is ConnectType.STRING:
            return ScalarTarget(
                schema, full_names(place.name, self._objects.types), "an enum that no query entity names"
            )
        if is_a(known, REFUSED):
            return RefusingTarget(place.name, known.metadata[REASON].decode())
        kind = known.type
        if is_a(known, OBJECT) and schema.type is ConnectType.STRUCT:
            return self._object(schema, _type_name(known), place)
        if pa.types.is_list(kind) and schema.type is ConnectType.ARRAY and schema.value_schema is not None:
            return self._list(schema.value_schema, known, place)
        if pa.types.is_map(kind) and schema.type is ConnectType.MAP and schema.key_schema and schema.value_schema:
            key = self.target(schema.key_schema, kind.key_field, _deeper(place))
            return MapTarget(
                place.name, key, self.target(schema.value_schema, kind.item_field, _deeper(place)), self._objects
            )
        cast = (
            None
            if schema.type in _CONTAINERS or pa.types.is_null(kind)
            else scalar_cast(schema, known.with_name(place.name), self._zone)
        )
        if cast is None:
            return RefusingTarget(
                place.name, f"is {_a(label(schema))}, and the cache has {described(known)} for it: {_WAY_OUT}"
            )
        return ScalarTarget(schema, cast, described(known))

    def _list(self, schema: ConnectSchema, known: pa.Field, place: Place) -> Target:
        """The target of lists of a schema's values where the cluster has a collection or an array."""
        item = known.type.value_field
        element = self.target(schema, item, _deeper(place))
        is_array = mark_of(known) != "collection"
        generic = self._zone if is_array and is_a(item, ANY) else None
        empty = _of_none(item) if is_array and isinstance(element, RefusingTarget) else None
        return ListTarget(known.with_name(place.name), element, generic, item.nullable, empty, self._objects)

    def _own(self, schema: ConnectSchema, type_name: str, place: Place) -> Target:
        """The target of values whose type is the schema's."""
        if place.depth > MAX_DEPTH:
            return RefusingTarget(place.name, f"is nested deeper than {MAX_DEPTH}")
        if schema.type is ConnectType.STRUCT:
            return self._object(schema, self._struct_name(schema, type_name), place)
        inner = _deeper(place)
        if schema.type is ConnectType.ARRAY and schema.value_schema is not None:
            return ListTarget(_stored(place.name, schema, type_name), self._own(schema.value_schema, type_name, inner))
        if schema.type is ConnectType.MAP and schema.key_schema is not None and schema.value_schema is not None:
            key = self._own(schema.key_schema, type_name, inner)
            value = self._own(schema.value_schema, type_name, inner)
            return MapTarget(place.name, key, value, self._objects)
        field = own_field(place.name, schema)
        cast = scalar_cast(schema, field, self._zone)
        assert cast is not None, schema
        return ScalarTarget(schema, cast, described(field))

    def _struct_name(self, schema: ConnectSchema, otherwise: str) -> str:
        name = struct_name(schema, otherwise)
        return name if self._scrubbed is None else self._scrubbed.type_name(name)

    def _object(self, schema: ConnectSchema, type_name: str, place: Place) -> Target:
        """The target of a STRUCT: fields that the type lacks are added first."""
        other = self._objects.names.other(type_name)
        if other is not None:
            why = (
                f"is an object of {type_name}, which Ignite does not tell from {other}: name the struct {other}, as "
                "SetSchemaMetadata does"
            )
            return RefusingTarget(place.name, why)
        places, unwritten = self._add(schema, type_name, place)
        members: list[Member] = []
        written = self._objects.written(type_name)
        for number, known in enumerate(written):
            found = places.get(known.name.lower())
            spare = is_optional(known)
            # one is left, as a struct must have a field
            if found is None and spare and (members or number < len(written) - 1):
                continue
            target = (
                None
                if found is None
                else self.target(schema.fields[found].schema, known, place.within(type_name, known.name))
            )
            members.append(Member(known.name, found, target, known.nullable, spare))
        missing = next(
            (one for one in self._objects.fields(type_name) if undecided_class(one) and not one.nullable), None
        )
        if missing is not None:
            return RefusingTarget(
                place.name, f"has no value for {missing.name}, which {unknown_class(undecided_class(missing))}"
            )
        if not members:
            return RefusingTarget(place.name, f"is an object of {type_name}, of which no field is known")
        return ObjectTarget(place.name, type_name, tuple(members), tuple(unwritten))

    def _add(self, schema: ConnectSchema, type_name: str, place: Place) -> tuple[dict[str, int], list[Unwritten]]:
        """Add a STRUCT's fields to a type; return places of those that it takes, by lower-case name, and the others."""
        objects = self._objects
        places: dict[str, int] = {}
        unwritten: list[Unwritten] = []
        objects.add_fields(type_name, (), of_key=place.of_key)
        scrubbed = self._scrubbed_fields(type_name)
        for number, one in enumerate(schema.fields):
            found = scrubbed.get(one.name.lower(), []) if objects.field(type_name, one.name) is None else []
            if len(found) == 1:
                one = replace(one, name=found[0])
            name = one.name.lower()
            other = objects.same_id(type_name, one.name)
            nested = objects.columns.refusal(type_name, one.name)
            if nested is not None:
                why = nested
            elif len(found) > 1:
                why = f"is the scrubbed name of fields {', '.join(found)} of {type_name}: rename one of them"
            elif name in places:
                why = "differs from another field in upper and lower case only, which Ignite takes as one"
            elif other is not None:
                why = f"has the field id of {other!r}: Ignite does not tell these names apart"
            else:
                # a key has all fields of its schema, so that its bytes are those of the source's cluster
                if place.of_key or not _is_undefined(one.schema):
                    stored = _stored(one.name, one.schema, f"{type_name}.{one.name}")
                    objects.add_fields(type_name, [stored], of_key=place.of_key, by_name=type_name != schema.name)
                field = self._decided(type_name, one)
                if field is not None and not undecided_class(field):
                    places[name] = number
                    continue
                why = f"is not a field of {type_name}, whose fields are fixed since they make the key: {_KEY_WAY_OUT}"
                if objects.is_full(type_name):
                    why = f"is not a field of {type_name}, to which records add no field beyond {MAX_FIELDS}"
                elif field is not None:
                    why = unknown_class(undecided_class(field))
                elif _is_undefined(one.schema):
                    why = f"is {_a(label(one.schema))} without fields, and {type_name} has no such field"
            unwritten.append((number, one.name, RefusingTarget(one.name, why)))
        return places, unwritten

    def _scrubbed_fields(self, type_name: str) -> dict[str, list[str]]:
        """A type's fields by their scrubbed names, where these are others."""
        return (
            {} if self._scrubbed is None else self._scrubbed.fields(one.name for one in self._objects.fields(type_name))
        )

    def _decided(self, type_name: str, one: ConnectField) -> pa.Field | None:
        """The field of a type for a STRUCT's field; one of an unknown class is decided by the schema, or stays open."""
        found = self._objects.field(type_name, one.name)
        if found is None or not undecided_class(found):
            return found
        schema = one.schema.value_schema if one.schema.type is ConnectType.ARRAY else one.schema
        is_object = schema is not None and schema.type is ConnectType.STRUCT and not _is_undefined(schema)
        return self._objects.decide(type_name, one.name, is_object=is_object) or found


def _is_undefined(schema: ConnectSchema) -> bool:
    """True for a STRUCT without fields, which says nothing of the type of its field.

    The values have been null so far.
    """
    return schema.type is ConnectType.STRUCT and not schema.fields


def _of_none(item: pa.Field) -> pa.Field:
    """The field of an array's elements where there are none, or nulls only."""
    if is_a(item, ANY):
        return ENCODED
    return object_field("item", _type_name(item), [pa.field("", pa.null())]) if is_a(item, OBJECT) else item


def struct_name(schema: ConnectSchema, otherwise: str) -> str:
    """The binary type of a STRUCT: its name if it is one of Java, as a source writes it."""
    name = schema.name or ""
    parts = name.replace("$", "_").split(".")
    return name if all(part.isidentifier() for part in parts) else otherwise


def described(field: pa.Field) -> str:
    """Name of a field's type in Ignite, for messages."""
    if column := column_class(field):
        return f"{column} (the key's column of this name)"
    if is_a(field, OBJECT):
        return f"an object of {_type_name(field)}"
    if field.type == pa.date32():
        return "java.sql.Date"
    if pa.types.is_decimal(field.type):
        return f"BigDecimal of scale {field.type.scale}"
    if mark_of(field) == "enum":
        return f"enum {_type_name(field)}"
    if pa.types.is_list(field.type) and pa.types.is_null(field.type.value_type):
        return "a Collection" if mark_of(field) == "collection" else "an array"
    return code_name(type_code(field))


def _stored(name: str, schema: ConnectSchema, type_name: str) -> pa.Field:
    """The field as the cluster's metadata has it: content is not declared there."""
    match schema.type:
        case ConnectType.STRUCT:
            return any_kind(name, type_name)
        case ConnectType.ARRAY:
            return collection_of(name, any_kind("item", type_name))
        case ConnectType.MAP:
            return map_of(name, type_name)
    return own_field(name, schema)


def _deeper(place: Place) -> Place:
    """Elements of a list, keys and values of a map."""
    return Place(place.name, place.type_name, place.of_key, place.depth + 1)


def _type_name(field: pa.Field) -> str:
    return str((field.metadata or {}).get(TYPE_NAME, b""), "utf-8")


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOU' else 'a'} {noun}"
