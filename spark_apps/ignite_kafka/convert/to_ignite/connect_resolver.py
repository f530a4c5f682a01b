"""Choice of the conversion for each Connect schema, by the cluster's types, query entities, or the schema alone."""

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
"""A STRUCT field refused by the binary type: its index and name, and a conversion that refuses its values."""
_CONTAINERS = (ConnectType.ARRAY, ConnectType.MAP, ConnectType.STRUCT)


@dataclass(frozen=True)
class Place:
    """Place in an entry for a schema's values: the whole key or value, a field, or an element.

    :param name: name of the field; empty: the whole key or value.
    :param type_name: binary type for a STRUCT that does not name one.
    :param of_key: whether the place is a key, or within a key.
    """

    name: str
    type_name: str
    of_key: bool
    depth: int = 0

    def within(self, type_name: str, name: str) -> Place:
        """Return the place of a binary type's field, or of the elements in it."""
        return Place(name, f"{type_name}.{name}", self.of_key, self.depth + 1)


class Resolver:
    """Factory of the conversions of Connect schemas to Ignite types; it adds missing fields to the types.

    :param zone: time zone of java.sql.Date and java.sql.Time.
    :param scrubbed: names that are scrubbed in records; None: names in records are not scrubbed.
    """

    def __init__(self, objects: ObjectTypes, zone: str = UTC, scrubbed: ScrubbedNames | None = None) -> None:
        self._objects = objects
        self._zone = zone
        self._scrubbed = scrubbed

    def target(self, schema: ConnectSchema, field: pa.Field | None, place: Place) -> Target:
        """Return the conversion of a schema's values to the field's Ignite type; if none exists, it refuses all values.

        :param field: field in the cluster or the query entity; None: neither has the field.
        """
        if field is None or is_a(field, UNKNOWN) or is_a(field, ANY):
            type_name = place.type_name if field is None or is_a(field, UNKNOWN) else _read_type_name(field)
            return self._find_own_target(schema, type_name, place)
        if is_untyped_enum(field) and schema.type is ConnectType.STRING:
            return ScalarTarget(
                schema, full_names(place.name, self._objects.types), "an enum that no query entity names"
            )
        if is_a(field, REFUSED):
            return RefusingTarget(place.name, field.metadata[REASON].decode())
        kind = field.type
        if is_a(field, OBJECT) and schema.type is ConnectType.STRUCT:
            return self._find_object_target(schema, _read_type_name(field), place)
        if pa.types.is_list(kind) and schema.type is ConnectType.ARRAY and schema.value_schema is not None:
            return self._find_list_target(schema.value_schema, field, place)
        if pa.types.is_map(kind) and schema.type is ConnectType.MAP and schema.key_schema and schema.value_schema:
            key = self.target(schema.key_schema, kind.key_field, _nest(place))
            return MapTarget(
                place.name, key, self.target(schema.value_schema, kind.item_field, _nest(place)), self._objects
            )
        cast = (
            None
            if schema.type in _CONTAINERS or pa.types.is_null(kind)
            else scalar_cast(schema, field.with_name(place.name), self._zone)
        )
        if cast is None:
            return RefusingTarget(
                place.name, f"is {_add_article(label(schema))}, and the cache has {described(field)} for it: {_WAY_OUT}"
            )
        return ScalarTarget(schema, cast, described(field))

    def _find_list_target(self, schema: ConnectSchema, field: pa.Field, place: Place) -> Target:
        """Return the conversion of an ARRAY to a field that the cluster has as a collection or an array."""
        item = field.type.value_field
        element = self.target(schema, item, _nest(place))
        is_array = mark_of(field) != "collection"
        generic = self._zone if is_array and is_a(item, ANY) else None
        empty = _make_empty_field(item) if is_array and isinstance(element, RefusingTarget) else None
        return ListTarget(field.with_name(place.name), element, generic, item.nullable, empty, self._objects)

    def _find_own_target(self, schema: ConnectSchema, type_name: str, place: Place) -> Target:
        """Return the conversion of values whose Ignite type follows from their schema alone."""
        if place.depth > MAX_DEPTH:
            return RefusingTarget(place.name, f"is nested deeper than {MAX_DEPTH}")
        if schema.type is ConnectType.STRUCT:
            return self._find_object_target(schema, self._name_struct(schema, type_name), place)
        inner = _nest(place)
        if schema.type is ConnectType.ARRAY and schema.value_schema is not None:
            return ListTarget(
                _make_stored_field(place.name, schema, type_name),
                self._find_own_target(schema.value_schema, type_name, inner),
            )
        if schema.type is ConnectType.MAP and schema.key_schema is not None and schema.value_schema is not None:
            key = self._find_own_target(schema.key_schema, type_name, inner)
            value = self._find_own_target(schema.value_schema, type_name, inner)
            return MapTarget(place.name, key, value, self._objects)
        field = own_field(place.name, schema)
        cast = scalar_cast(schema, field, self._zone)
        assert cast is not None, schema
        return ScalarTarget(schema, cast, described(field))

    def _name_struct(self, schema: ConnectSchema, otherwise: str) -> str:
        name = struct_name(schema, otherwise)
        return name if self._scrubbed is None else self._scrubbed.type_name(name)

    def _find_object_target(self, schema: ConnectSchema, type_name: str, place: Place) -> Target:
        """Return the conversion of a STRUCT to objects, after adding its fields to its binary type."""
        other = self._objects.names.other(type_name)
        if other is not None:
            why = (
                f"is an object of {type_name}, which Ignite does not tell from {other}: name the struct {other}, as "
                "SetSchemaMetadata does"
            )
            return RefusingTarget(place.name, why)
        places, unwritten = self._add_fields(schema, type_name, place)
        members: list[Member] = []
        written = self._objects.written(type_name)
        for number, field in enumerate(written):
            position = places.get(field.name.lower())
            spare = is_optional(field)
            # one field is kept, as a struct must have a field
            if position is None and spare and (members or number < len(written) - 1):
                continue
            target = (
                None
                if position is None
                else self.target(schema.fields[position].schema, field, place.within(type_name, field.name))
            )
            members.append(Member(field.name, position, target, field.nullable, spare))
        missing = next(
            (field for field in self._objects.fields(type_name) if undecided_class(field) and not field.nullable), None
        )
        if missing is not None:
            return RefusingTarget(
                place.name, f"has no value for {missing.name}, which {unknown_class(undecided_class(missing))}"
            )
        if not members:
            return RefusingTarget(place.name, f"is an object of {type_name}, of which no field is known")
        return ObjectTarget(place.name, type_name, tuple(members), tuple(unwritten))

    def _add_fields(
        self, schema: ConnectSchema, type_name: str, place: Place
    ) -> tuple[dict[str, int], list[Unwritten]]:
        """Add a STRUCT's fields to a binary type; return the indexes of accepted fields, and the refused fields."""
        objects = self._objects
        places: dict[str, int] = {}
        unwritten: list[Unwritten] = []
        objects.add_fields(type_name, (), of_key=place.of_key)
        scrubbed = self._find_scrubbed(type_name)
        for number, field in enumerate(schema.fields):
            unscrubbed = scrubbed.get(field.name.lower(), []) if objects.field(type_name, field.name) is None else []
            if len(unscrubbed) == 1:
                field = replace(field, name=unscrubbed[0])
            name = field.name.lower()
            if objects.columns.contract.discards(type_name, field.name):
                continue
            other = objects.same_id(type_name, field.name)
            nested = objects.columns.refusal(type_name, field.name)
            if nested is not None:
                why = nested
            elif len(unscrubbed) > 1:
                why = f"is the scrubbed name of fields {', '.join(unscrubbed)} of {type_name}: rename one of them"
            elif name in places:
                why = "differs from another field in upper and lower case only, which Ignite takes as one"
            elif other is not None:
                why = f"has the field id of {other!r}: Ignite does not tell these names apart"
            else:
                # a key has all fields of its schema, so that its bytes are those of the source's cluster
                if place.of_key or not _is_undefined(field.schema):
                    self._add_field(type_name, field, of_key=place.of_key, by_name=type_name != schema.name)
                decided = self._decide_field(type_name, field)
                if decided is not None and not undecided_class(decided):
                    places[name] = number
                    continue
                why = f"is not a field of {type_name}, whose fields are fixed since they make the key: {_KEY_WAY_OUT}"
                if objects.is_full(type_name):
                    why = f"is not a field of {type_name}, to which records add no field beyond {MAX_FIELDS}"
                elif decided is not None:
                    why = unknown_class(undecided_class(decided))
                elif _is_undefined(field.schema):
                    why = f"is {_add_article(label(field.schema))} without fields, and {type_name} has no such field"
            unwritten.append((number, field.name, RefusingTarget(field.name, why)))
        return places, unwritten

    def _add_field(self, type_name: str, field: ConnectField, *, of_key: bool, by_name: bool) -> None:
        stored = _make_stored_field(field.name, field.schema, f"{type_name}.{field.name}")
        self._objects.add_fields(type_name, [stored], of_key=of_key, by_name=by_name)
        if stored.type == pa.date32():
            self._objects.days.add((type_name, field.name.lower()))

    def _find_scrubbed(self, type_name: str) -> dict[str, list[str]]:
        """Return a type's fields by their names as scrub.invalid.names writes them, where these differ."""
        return (
            {}
            if self._scrubbed is None
            else self._scrubbed.fields(field.name for field in self._objects.fields(type_name))
        )

    def _decide_field(self, type_name: str, struct_field: ConnectField) -> pa.Field | None:
        """Return the type's field for a STRUCT's field; the STRUCT's schema may decide a class still unknown."""
        field = self._objects.field(type_name, struct_field.name)
        if field is None or not undecided_class(field):
            return field
        schema = (
            struct_field.schema.value_schema if struct_field.schema.type is ConnectType.ARRAY else struct_field.schema
        )
        is_object = schema is not None and schema.type is ConnectType.STRUCT and not _is_undefined(schema)
        return self._objects.decide(type_name, struct_field.name, is_object=is_object) or field


def _is_undefined(schema: ConnectSchema) -> bool:
    """Return whether a schema is a STRUCT without fields, written for values that were all null.

    Such a schema does not show the type of its field.
    """
    return schema.type is ConnectType.STRUCT and not schema.fields


def _make_empty_field(item: pa.Field) -> pa.Field:
    """Return the element field for an array that is empty or holds only nulls."""
    if is_a(item, ANY):
        return ENCODED
    return object_field("item", _read_type_name(item), [pa.field("", pa.null())]) if is_a(item, OBJECT) else item


def struct_name(schema: ConnectSchema, otherwise: str) -> str:
    """Return the name of the binary type for a STRUCT: the STRUCT's name if Java accepts it, else `otherwise`."""
    name = schema.name or ""
    parts = name.replace("$", "_").split(".")
    return name if all(part.isidentifier() for part in parts) else otherwise


def described(field: pa.Field) -> str:
    """Return the Ignite type of a field, as messages name it."""
    if column := column_class(field):
        return f"{column} (the key's column of this name)"
    if is_a(field, OBJECT):
        return f"an object of {_read_type_name(field)}"
    if field.type == pa.date32():
        return "java.sql.Date"
    if pa.types.is_decimal(field.type):
        return f"BigDecimal of scale {field.type.scale}"
    if mark_of(field) == "enum":
        return f"enum {_read_type_name(field)}"
    if pa.types.is_list(field.type) and pa.types.is_null(field.type.value_type):
        return "a Collection" if mark_of(field) == "collection" else "an array"
    return code_name(type_code(field))


def _make_stored_field(name: str, schema: ConnectSchema, type_name: str) -> pa.Field:
    """Return the field that the cluster's metadata gets for a schema, without the types of its content."""
    match schema.type:
        case ConnectType.STRUCT:
            return any_kind(name, type_name)
        case ConnectType.ARRAY:
            return collection_of(name, any_kind("item", type_name))
        case ConnectType.MAP:
            return map_of(name, type_name)
    return own_field(name, schema)


def _nest(place: Place) -> Place:
    """Return the place of a list's elements, or of a map's keys and values."""
    return Place(place.name, place.type_name, place.of_key, place.depth + 1)


def _read_type_name(field: pa.Field) -> str:
    return str((field.metadata or {}).get(TYPE_NAME, b""), "utf-8")


def _add_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOU' else 'a'} {noun}"
