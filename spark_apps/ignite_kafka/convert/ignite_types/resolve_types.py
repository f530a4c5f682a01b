"""Types of a cache's keys and values, as query entities declare; any types without query entities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from ...errors import UnknownBinaryType, UnsupportedType
from ...ignite.types.model import CacheInfo, QueryEntity, QueryField, TypeSource
from ...ignite.types.type_table import enum_field, java_code, java_field
from ...java.hash_code import java_hash
from ..rules.marked_fields import any_kind, collection_of, declared, map_of, reference, undecided, undecided_class
from .entries import EntryTypes

_COLLECTIONS = frozenset(
    f"java.util.{name}" for name in ("Collection", "List", "Set", "ArrayList", "LinkedList", "HashSet", "LinkedHashSet")
)
_MAPS = frozenset(f"java.util.{name}" for name in ("Map", "HashMap", "LinkedHashMap"))
_PRIMITIVES = {"S": "short", "I": "int", "J": "long", "F": "float", "D": "double", "C": "char", "Z": "boolean"}


def entry_types(cache: CacheInfo, types: TypeSource, *, several: bool = False) -> EntryTypes:
    """Return the types of a cache's keys and values, as its query entities declare them.

    Without a query entity, each key and value determines its own type; objects are ``<cache>.Key`` and
    ``<cache>.Value``.

    :param several: whether records name their types, so that several query entities are allowed.
    :raises UnsupportedType: there are several query entities, and records do not name their types; or JSON cannot be
        converted to a Java class.
    """
    names = f"{cache.name}.Key", f"{cache.name}.Value"
    entities = cache.query_entities
    if not entities:
        return EntryTypes(any_kind("", names[0]), any_kind("", names[1]), key_objects=frozenset(names[:1]))
    if len(entities) > 1 and not several:
        what = (
            f"the cache has {len(entities)} query entities, and records without schemas do not say which of them they "
            "are of"
        )
        remedy = (
            "Use a converter with schemas, whose structs are named by their types, ignite-binary, or a cache for each "
            "type."
        )
        raise UnsupportedType(what, remedy, cache=cache.name)
    of_entities = [_of_entity(cache, types, entity) for entity in entities]
    if len(of_entities) == 1:
        return of_entities[0]
    keys = {entity.key_type for entity in entities}
    objects = {name: fields for of_entity in of_entities for name, fields in of_entity.objects.items()}
    key_objects = frozenset(names[:1]).union(*(of_entity.key_objects for of_entity in of_entities))
    key = of_entities[0].key if len(keys) == 1 else any_kind("", names[0])
    return EntryTypes(
        key, any_kind("", names[1]), objects, key_objects, tuple(entity.value_type for entity in entities)
    )


def _of_entity(cache: CacheInfo, types: TypeSource, entity: QueryEntity) -> EntryTypes:
    key = class_field(cache, types, "", entity.key_type, _scale(entity, entity.key_field), f"{cache.name}.Key")
    value = class_field(cache, types, "", entity.value_type, _scale(entity, entity.value_field))
    objects: dict[str, tuple[pa.Field, ...]] = {}
    if java_code(entity.key_type) is None:
        of_key = _fields(cache, types, [field for field in entity.fields if field.is_key], entity.key_type)
        # a key without a field of an unknown class would be a different key once the class is known
        objects[entity.key_type] = tuple(
            field.with_nullable(False) if undecided_class(field) else field for field in of_key
        )
    if java_code(entity.value_type) is None:
        objects[entity.value_type] = _fields(cache, types, list(_value_fields(entity)), entity.value_type)
        objects = _fields_within(cache, types, entity) | objects
    return EntryTypes(key, value, objects, frozenset({entity.key_type} & set(objects)))


def _scale(entity: QueryEntity, whole: str | None) -> int:
    """Return the scale declared for a whole key or value that is a decimal; -1 if none is declared."""
    return next((field.scale for field in entity.fields if whole and field.name.lower() == whole.lower()), -1)


def _fields_within(cache: CacheInfo, types: TypeSource, entity: QueryEntity) -> dict[str, tuple[pa.Field, ...]]:
    """Return the fields declared for objects inside values (`address.city`), by the binary type of the object."""
    fields: dict[str, tuple[pa.Field, ...]] = {}
    for column in _value_fields(entity):
        *_, (type_name, name) = object_paths(entity, column, whole=True)
        if type_name != entity.value_type or name != column.name:
            fields[type_name] = (*fields.get(type_name, ()), _declared(cache, types, column, name, type_name))
    return fields


def object_paths(entity: QueryEntity, column: QueryField, *, whole: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the binary types along a column's path, such as `address.geo.lat`, each with the path below it.

    :param whole: also yield the last type, in which the rest of the path is a single field.
    """
    classes = {field.name: field.java_type for field in entity.fields if field.is_key == column.is_key}
    type_name = entity.key_type if column.is_key else entity.value_type
    path = column.name.split(".")
    for number, name in enumerate(path, 1):
        if whole or number < len(path):
            yield type_name, ".".join(path[number - 1 :])
        java_type = classes.get(".".join(path[:number]), "")
        type_name = f"{type_name}.{name}" if not java_type or java_type.startswith("java.") else java_type


def _value_fields(entity: QueryEntity) -> Iterable[QueryField]:
    """Yield the columns for single fields of the value, without columns for a whole key or value."""
    return (
        field
        for field in entity.fields
        if not field.is_key and field.name not in (entity.key_field, entity.value_field)
    )


def _fields(cache: CacheInfo, types: TypeSource, columns: Sequence[QueryField], type_name: str) -> tuple[pa.Field, ...]:
    """Return the fields that columns declare for a type; a column `address.city` makes `address` an object."""
    outer = {column.name.partition(".")[0] for column in columns if "." in column.name}
    plain = (column for column in columns if "." not in column.name)
    return tuple(
        _declared(cache, types, column, column.name, type_name, is_object=column.name in outer) for column in plain
    )


def _declared(
    cache: CacheInfo, types: TypeSource, column: QueryField, name: str, type_name: str, *, is_object: bool = False
) -> pa.Field:
    unknown = reference if is_object else undecided
    field = class_field(cache, types, name, column.java_type, column.scale, f"{type_name}.{name}", unknown=unknown)
    return field.with_nullable(not column.not_null)


def class_field(
    cache: CacheInfo,
    types: TypeSource,
    name: str,
    java_type: str,
    scale: int = -1,
    inner: str = "",
    *,
    unknown: Callable[[str, str], pa.Field] = reference,
) -> pa.Field:
    """Return the Arrow field for values of a Java class.

    The type table has the simple classes; any other class is a binary type with the class's name, or an enum.

    :param inner: name of the binary type of objects if the class does not name a type.
    :param unknown: function that returns the field, by its name and class, if the cluster does not know the class.
    """
    inner = inner or f"{cache.name}.Value"
    simple = java_field(name, java_type, scale)
    if not pa.types.is_null(simple.type):
        return declared(simple)
    if java_type in ("java.lang.Object", ""):
        return any_kind(name, inner)
    if java_type in _COLLECTIONS:
        return collection_of(name, any_kind("item", inner))
    if java_type in _MAPS:
        return map_of(name, inner)
    if java_type.startswith("["):
        element = class_field(
            cache,
            types,
            "item",
            _PRIMITIVES.get(java_type[1:]) or java_type[2:].rstrip(";"),
            scale,
            inner,
            unknown=unknown,
        )
        return pa.field(name, pa.list_(element.with_nullable(java_type[1:] not in _PRIMITIVES)))
    if java_type.startswith(("java.", "javax.")):
        what = f"the query entity has a {java_type}{f' (field {name})' if name else ''}, which no JSON is turned into"
        raise UnsupportedType(what, "Use converter ignite-binary for this topic.", cache=cache.name, field=name or None)
    try:
        binary = types.binary_type(java_hash(java_type.lower()))
    except UnknownBinaryType:
        return unknown(name, java_type)
    return enum_field(name, binary) if binary.is_enum else reference(name, java_type)
