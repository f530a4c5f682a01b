"""Classes that a source has seen in keys and values, where query entities and binary metadata leave them open.

Binary metadata does not have the class of an object, enum or element within an object, nor the content of a field of
class Object, List or Map. A source that decodes its entries notes these classes; if all values at a path have the same
class, records are read as values of this class.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ...errors import UnknownBinaryType
from ...ignite.types import type_codes as codes
from ...ignite.types.model import BinaryType, CacheInfo, TypeSource, TypeUse
from ...ignite.types.type_table import COLLECTION_CLASS, ENUMS_CLASS, MAP_CLASS, OBJECTS_CLASS, TYPE_NAME, mark_of
from ...java.hash_code import java_hash
from ..rules.marked_fields import ANY, REFUSED, any_kind, collection_of, is_a, objects_of
from .entries import EntryTypes
from .metadata_fields import metadata_code, metadata_field
from .resolve_types import class_field

OTHER = "?"  # a value that a source has seen, and has no name of a class for
Objects = dict[str, dict[str, pa.Field | None]]
"""Fields by binary type and name; None for a field with different classes in different places."""


def with_uses(entry_types: EntryTypes, cache: CacheInfo, types: TypeSource, uses: Iterable[TypeUse]) -> EntryTypes:
    """Return a cache's entry types, completed by the classes that the source of the records has seen.

    :param uses: classes and types seen by the source of the records: they complete types that the query entity leaves
        open.

    :raises UnsupportedType: no other format can be converted to a class.
    """
    seen = _Seen(cache, types, _names(uses), entry_types.objects)
    if not seen.names:
        return entry_types
    key = seen.refined("key", "", entry_types.key)
    value = seen.refined("value", "", entry_types.value)
    objects: dict[str, tuple[pa.Field, ...]] = dict(entry_types.objects)
    for side, root in (("key", key), ("value", value)):
        for type_name, fields in seen.objects(side, _name_of(root)).items():
            declared = {field.name.lower(): field for field in entry_types.objects.get(type_name, ())}
            completed = {name.lower(): field for name, field in fields.items() if field is not None}
            objects[type_name] = tuple((declared | completed).values())
    of_key = entry_types.key_objects if key is entry_types.key else frozenset({_name_of(key)} - {""})
    return replace(entry_types, key=key, value=value, objects=objects, key_objects=of_key)


def _names(uses: Iterable[TypeUse]) -> dict[tuple[str, str], set[str]]:
    """Group the names of the seen classes by key or value, and by path."""
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for use in uses:
        names[use.side, use.path].add(use.name)
    return names


def _name_of(root: pa.Field) -> str:
    return str((root.metadata or {}).get(TYPE_NAME, b""), "utf-8")


@dataclass(frozen=True)
class _Seen:
    cache: CacheInfo
    types: TypeSource
    names: Mapping[tuple[str, str], set[str]]
    declared: Mapping[str, Sequence[pa.Field]]

    def objects(self, side: str, type_name: str) -> Objects:
        """Return the fields completed by seen classes, by binary type, for all objects within keys or values."""
        objects: Objects = {}
        self._collect(side, "", type_name, objects)
        self._visit(side, "", objects)
        return objects

    def refined(self, side: str, path: str, field: pa.Field) -> pa.Field:
        """Return a field completed by the classes seen at its path; the same field if there are none."""
        kind = field.type
        if is_a(field, ANY):
            by_use = self._at(side, path, field.name, _name_of(field))
            return field if by_use is None else by_use.with_nullable(field.nullable)
        if is_a(field, REFUSED):  # metadata does not name the enum of a field
            return self._enum(side, path, field.name) or self._enums(side, path, field.name) or field
        if pa.types.is_list(kind):
            element = self.refined(side, f"{path}[]", kind.value_field)
            if element is kind.value_field:
                return field
            return (
                field.with_type(pa.list_(element)) if mark_of(field) == "collection" else _objects(field.name, element)
            )
        if pa.types.is_map(kind):
            key, item = (
                self.refined(side, f"{path}{{{part}}}", child)
                for part, child in (("key", kind.key_field), ("value", kind.item_field))
            )
            return field.with_type(pa.map_(key.with_nullable(False), item))
        return field

    def _visit(self, side: str, path: str, objects: Objects) -> None:
        """Collect the completed fields of all objects at a path, also within arrays and maps."""
        for name in sorted(self.names.get((side, path), ())):
            self._collect(side, path, name, objects)
        for inner in (f"{path}[]", f"{path}{{key}}", f"{path}{{value}}"):
            if (side, inner) in self.names:
                self._visit(side, inner, objects)

    def _collect(self, side: str, path: str, type_name: str, objects: Objects) -> None:
        binary = self._held(type_name)
        if binary is None or binary.is_enum:
            return
        fields = objects.setdefault(binary.name, {})
        declared = {arrow_field.name.lower(): arrow_field for arrow_field in self.declared.get(binary.name, ())}
        for binary_field in binary.fields:
            where = f"{path}.{binary_field.name}" if path else binary_field.name
            field = metadata_field(binary_field, binary.name, declared.get(binary_field.name.lower()))
            refined = self.refined(side, where, field)
            if not refined.equals(field, check_metadata=True):
                before = fields.setdefault(binary_field.name, refined)
                fields[binary_field.name] = (
                    refined if before is not None and before.equals(refined, check_metadata=True) else None
                )
            self._visit(side, where, objects)

    def _held(self, type_name: str) -> BinaryType | None:
        if not type_name or type_name == OTHER or type_name.startswith(("java.", "[")):
            return None
        try:
            return self.types.binary_type(java_hash(type_name.lower()))
        except UnknownBinaryType:
            return None

    def _only(self, side: str, path: str) -> str:
        """Return the class seen at a path if it is the only one; empty otherwise."""
        names = self.names.get((side, path), {OTHER})
        return "" if len(names) > 1 or OTHER in names else next(iter(names))

    def _at(self, side: str, path: str, name: str, inner: str) -> pa.Field | None:
        """Return the field for the only class seen at a path; None without such a class.

        :param inner: name of the binary type for objects with a class that was not seen.
        """
        only = self._only(side, path)
        if only == COLLECTION_CLASS:
            return collection_of(name, self._within(side, f"{path}[]", "item", inner))
        if only == MAP_CLASS:
            key = self._within(side, f"{path}{{key}}", "key", inner)
            return pa.field(
                name, pa.map_(key.with_nullable(False), self._within(side, f"{path}{{value}}", "value", inner))
            )
        if only == OBJECTS_CLASS:
            return _objects(name, self._within(side, f"{path}[]", "item", inner))
        if only == ENUMS_CLASS:
            return self._enums(side, path, name)
        return class_field(self.cache, self.types, name, only, inner=inner) if only else None

    def _within(self, side: str, path: str, name: str, inner: str) -> pa.Field:
        return self._at(side, path, name, inner) or any_kind(name, inner)

    def _enum(self, side: str, path: str, name: str) -> pa.Field | None:
        """Return the field for the only class seen at a path if it is an enum; None otherwise."""
        only = self._only(side, path)
        field = class_field(self.cache, self.types, name, only) if only and not only.startswith("[") else None
        return field if field is not None and mark_of(field) == "enum" else None

    def _enums(self, side: str, path: str, name: str) -> pa.Field | None:
        """Return the field for an array of enums if all elements seen have one enum class; None otherwise."""
        element = self._enum(side, f"{path}[]", "item")
        return None if element is None else pa.field(name, pa.list_(element))


def _objects(name: str, element: pa.Field) -> pa.Field:
    """Return the field for a Java Object[], marked if its elements alone would make another array type."""
    field = pa.field(name, pa.list_(element))
    return field if metadata_code(field) == codes.OBJECT_ARRAY else objects_of(name, element)
