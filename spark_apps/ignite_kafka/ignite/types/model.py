"""Dataclasses for what the thin client reads: pages, cache metadata, query entities, binary types.

They are frozen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Page:
    """Page of encoded entries from a partition scan.

    `data` holds `rows` entries and nothing else (key, value, key, value, ...), as operations 2000 and 2001 return them.
    """

    partition: int
    rows: int
    data: memoryview
    last: bool


@dataclass(frozen=True)
class QueryField:
    """SQL column of a query entity; `java_type` is a Java class name such as ``java.lang.Integer``.

    :param default: SQL's default value in Ignite's binary format with its type code, in hexadecimal; empty: none.
    """

    name: str
    java_type: str
    is_key: bool = False
    not_null: bool = False
    precision: int = -1
    scale: int = -1
    default: str = ""


@dataclass(frozen=True)
class QueryIndex:
    """SQL index of a query entity.

    :param kind: SORTED, FULLTEXT or GEOSPATIAL.
    :param fields: names, and whether each is in descending order.
    :param inline_size: bytes; -1: the cluster's choice.
    """

    name: str | None
    fields: tuple[tuple[str, bool], ...]
    kind: str = "SORTED"
    inline_size: int = -1


@dataclass(frozen=True)
class QueryEntity:
    """Query entity of a cache: the SQL table of its entries, with Java classes or binary types by name.

    :param aliases: pairs of a field's name and its column's name in SQL.
    """

    key_type: str
    value_type: str
    key_field: str | None = None
    value_field: str | None = None
    table: str | None = None
    fields: tuple[QueryField, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    indexes: tuple[QueryIndex, ...] = ()


@dataclass(frozen=True)
class CacheInfo:
    """Description of a cache; `incarnation` changes when the cache is destroyed and created again.

    `write_synchronization`: with any other than FULL_SYNC, a node that dies can lose acknowledged entries, in spite of
    backups.
    """

    name: str
    cache_id: int
    partitions: int = 1024
    backups: int = 0
    mode: str = "PARTITIONED"
    atomicity: str = "ATOMIC"
    query_entities: tuple[QueryEntity, ...] = ()
    incarnation: str = ""
    write_synchronization: str = "FULL_SYNC"


@dataclass(frozen=True)
class BinaryField:
    """Field of a binary type: name, type code, and id (hash of the lower-cased name)."""

    name: str
    type_code: int
    field_id: int


_CLASS_IDS = 1 << 32


def class_id(name_hash: int) -> int:
    """Make an id for a Java class without a binary type, from ``String.hashCode`` of its name.

    It is outside the 32 bits of binary types' ids.
    """
    return _CLASS_IDS | (name_hash & (_CLASS_IDS - 1))


@dataclass(frozen=True)
class BinaryType:
    """Metadata of a binary type; of a Java class that has no metadata, its name alone (:func:`class_id`).

    `schemas` maps a schema id to its field ids in the order of the footer.

    Nodes reply with the same metadata in different orders, so the order given is dropped here: `fields` are those of
    the fullest schema in its order (of equally full ones, the highest schema id), then the others by name; schemas and
    enum values are sorted by number.
    """

    type_id: int
    name: str
    affinity_field: str | None = None
    fields: tuple[BinaryField, ...] = ()
    schemas: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    is_enum: bool = False
    enum_values: Mapping[int, str] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        """Whether this is a Java class without a binary type, written by Java's optimized marshaller."""
        return self.type_id >= _CLASS_IDS

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", _order_fields(self.fields, self.schemas))
        object.__setattr__(self, "schemas", dict(sorted(self.schemas.items())))
        object.__setattr__(self, "enum_values", dict(sorted(self.enum_values.items())))


def _order_fields(fields: Iterable[BinaryField], schemas: Mapping[int, tuple[int, ...]]) -> tuple[BinaryField, ...]:
    _, fullest = max(schemas.items(), key=lambda schema: (len(schema[1]), schema[0]), default=(0, ()))
    place = {field_id: at for at, field_id in enumerate(fullest)}

    def order(binary_field: BinaryField) -> tuple[int, str, int, str]:
        name = binary_field.name
        return place.get(binary_field.field_id, len(place)), name.lower(), binary_field.field_id, name

    ordered = sorted(fields, key=order)
    # clients that spell a name in another case add a second field of one id, which is the same field to Ignite
    first: dict[int, BinaryField] = {}
    for binary_field in ordered:
        first.setdefault(binary_field.field_id, binary_field)
    return tuple(first.values())


@dataclass(frozen=True)
class TypeUse:
    """Note that a class or binary type was seen at a certain place within keys or values.

    :param side: key, value, or any for both.
    :param path: where within the key or value: names of fields joined by dots, ``[]`` for elements, ``{key}`` and
        ``{value}`` of maps.
    :param name: Java class, or name of a binary type.
    :param type_id: id of a binary type; 0 for other classes.
    """

    side: str
    path: str
    name: str
    type_id: int = 0


class TypeSource(Protocol):
    """Interface that decoders and encoders use to look up the metadata of binary types."""

    def binary_type(self, type_id: int) -> BinaryType:
        """Return the metadata of a binary type; raises UnknownBinaryType if the cluster lacks it."""
