"""Types of keys and values as a source has seen them, where neither the cache's query entity nor binary metadata has them.

Binary metadata does not say the class of an object, enum or element within an object. A source that decodes its entries notes them; what
is of one class at a path is read as that class.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from ...errors import UnknownBinaryType
from ...ignite.types import type_codes as codes
from ...ignite.types.java_hash import java_hash
from ...ignite.types.model import BinaryField, BinaryType, CacheInfo, TypeSource, TypeUse
from ...ignite.types.type_table import TYPE_NAME
from .entries import EntryTypes
from .marked_fields import ANY, collection_of, is_a
from .resolve_types import class_field

OTHER = "?"  # what a source has seen and names no class of


def with_uses(known: EntryTypes, cache: CacheInfo, types: TypeSource, uses: Iterable[TypeUse]) -> EntryTypes:
    """The types of a cache, completed by what was seen.

    :param uses: classes and types that the source of the records has seen: they decide what the query entity leaves open.

    :raises UnsupportedType: a class that no other format is turned into.
    """
    seen = _Seen(cache, types, _names(uses))
    if not seen.names:
        return known
    key, value = seen.root("key", known.key), seen.root("value", known.value)
    objects: dict[str, tuple[pa.Field, ...]] = dict(known.objects)
    for side, root in (("key", key), ("value", value)):
        for type_name, fields in seen.objects(side, _name_of(root)).items():
            declared = {one.name.lower() for one in objects.get(type_name, ())}
            objects[type_name] = (*objects.get(type_name, ()), *(one for one in fields if one.name.lower() not in declared))
    of_key = known.key_objects if key is known.key else frozenset({_name_of(key)} - {""})
    return replace(known, key=key, value=value, objects=objects, key_objects=of_key)


def _names(uses: Iterable[TypeUse]) -> dict[tuple[str, str], set[str]]:
    """Side and path to the names of the classes seen there."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for use in uses:
        found[use.side, use.path].add(use.name)
    return found


def _name_of(root: pa.Field) -> str:
    return str((root.metadata or {}).get(TYPE_NAME, b""), "utf-8")


@dataclass(frozen=True)
class _Seen:
    cache: CacheInfo
    types: TypeSource
    names: Mapping[tuple[str, str], set[str]]

    def root(self, side: str, known: pa.Field) -> pa.Field:
        """The type of whole keys or values, if it is open."""
        return (self._at(side, "", "") or known) if is_a(known, ANY) else known

    def objects(self, side: str, type_name: str) -> dict[str, tuple[pa.Field, ...]]:
        """Fields by binary type of objects, from a type at a side's root on; one that has two classes in two places is left open."""
        found: dict[str, dict[str, pa.Field | None]] = {}
        self._collect(side, "", type_name, found)
        return {name: tuple(one for one in fields.values() if one is not None) for name, fields in found.items()}

    def _collect(self, side: str, path: str, type_name: str, found: dict[str, dict[str, pa.Field | None]]) -> None:
        binary = self._held(type_name)
        if binary is None or binary.is_enum:
            return
        fields = found.setdefault(binary.name, {})
        for one in binary.fields:
            where = f"{path}.{one.name}" if path else one.name
            made = self._field(side, where, one)
            if made is not None:
                same = one.name not in fields or fields[one.name] == made
                fields[one.name] = made if same else None
            for inner in (where, f"{where}[]"):
                for name in sorted(self.names.get((side, inner), ())):
                    self._collect(side, inner, name, found)

    def _held(self, type_name: str) -> BinaryType | None:
        try:
            return self.types.binary_type(java_hash(type_name.lower())) if type_name else None
        except UnknownBinaryType:
            return None

    def _field(self, side: str, path: str, one: BinaryField) -> pa.Field | None:
        """The field of a code that leaves its class open; None for others, and if nothing was seen."""
        match one.type_code:
            case codes.OBJECT | codes.ENUM | codes.BINARY_ENUM:
                return self._at(side, path, one.name)
            case codes.COLLECTION:
                element = self._at(side, f"{path}[]", "item")
                return None if element is None else collection_of(one.name, element)
            case codes.OBJECT_ARRAY | codes.ENUM_ARRAY:
                element = self._at(side, f"{path}[]", "item")
                return None if element is None else pa.field(one.name, pa.list_(element))
        return None

    def _at(self, side: str, path: str, name: str) -> pa.Field | None:
        """The field of the only class at a path; None if several were seen, or none."""
        found = self.names.get((side, path), {OTHER})
        return None if len(found) > 1 or OTHER in found else class_field(self.cache, self.types, name, next(iter(found)))
