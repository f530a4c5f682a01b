"""Cache configurations: parsed from a node's reply (op 1055), encoded to create a cache (op 1054).

Source: `ClientCacheConfigurationSerializer` and `PlatformConfigurationUtils` of Ignite 2.17. The two operations have
one set of properties, in a fixed order without codes in the reply, and as pairs of code and value in the request. Not
among them, and so at the new cluster's defaults: the affinity function with its number of partitions, node filters,
near caches, eviction, encryption, cache stores, interceptors, and expiry policies that Java code made.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import protocol
from .protocol import Reader
from .types import type_codes as codes
from .types.model import QueryEntity, QueryField, QueryIndex

MODES = {0: "LOCAL", 1: "REPLICATED", 2: "PARTITIONED"}
ATOMICITIES = {0: "TRANSACTIONAL", 1: "ATOMIC", 2: "TRANSACTIONAL_SNAPSHOT"}
WRITE_SYNCHRONIZATIONS = {0: "FULL_SYNC", 1: "FULL_ASYNC", 2: "PRIMARY_SYNC"}
_LOSS_POLICIES = {0: "READ_ONLY_SAFE", 1: "READ_ONLY_ALL", 2: "READ_WRITE_SAFE", 3: "READ_WRITE_ALL", 4: "IGNORE"}
_REBALANCE_MODES = {0: "SYNC", 1: "ASYNC", 2: "NONE"}
_INDEX_KINDS = {0: "SORTED", 1: "FULLTEXT", 2: "GEOSPATIAL"}


@dataclass(frozen=True, kw_only=True)
class AdvancedSettings:
    """Properties of Java's ``CacheConfiguration``, named as in Java; durations in milliseconds.

    None leaves a property to the cluster.
    """

    copy_on_read: bool | None = None
    eager_ttl: bool | None = None
    statistics_enabled: bool | None = None
    default_lock_timeout: int | None = None
    max_concurrent_async_operations: int | None = None
    max_query_iterators_count: int | None = None
    onheap_cache_enabled: bool | None = None
    partition_loss_policy: str | None = None
    query_detail_metrics_size: int | None = None
    query_parallelism: int | None = None
    read_from_backup: bool | None = None
    rebalance_batch_size: int | None = None
    rebalance_batches_prefetch_count: int | None = None
    rebalance_delay: int | None = None
    rebalance_mode: str | None = None
    rebalance_order: int | None = None
    rebalance_throttle: int | None = None
    rebalance_timeout: int | None = None
    sql_escape_all: bool | None = None
    sql_index_max_inline_size: int | None = None


@dataclass(frozen=True)
class CacheConfiguration:
    """Configuration of a cache; None leaves a property to the cluster.

    :param mode: PARTITIONED or REPLICATED. :param atomicity: ATOMIC or TRANSACTIONAL.
    :param write_synchronization: FULL_SYNC, so that what is acknowledged is on all backups and survives its primary
        node; the cluster's own default, PRIMARY_SYNC, loses acknowledged entries with the node.
    :param key_configuration: pairs of a key type's name and the name of its field that decides the partition.
    :param expiry_policy: times to live after creation, update and access in milliseconds; -1: eternal, -2: unchanged.
    """

    name: str
    mode: str | None = None
    atomicity: str | None = None
    backups: int | None = None
    write_synchronization: str | None = "FULL_SYNC"
    data_region: str | None = None
    group: str | None = None
    query_entities: tuple[QueryEntity, ...] = ()
    sql_schema: str | None = None
    key_configuration: tuple[tuple[str, str], ...] = ()
    expiry_policy: tuple[int, int, int] | None = None
    advanced: AdvancedSettings = AdvancedSettings()

    @property
    def expires(self) -> bool:
        """Whether the expiry policy gives entries a deadline; others make them eternal, or leave it unchanged."""
        return self.expiry_policy is not None and max(self.expiry_policy) >= 0


@dataclass(frozen=True)
class _Property:
    """How a configuration property is encoded: its code in requests, reader and writer."""

    name: str
    code: int
    read: Callable[[Reader], Any]
    write: Callable[[Any], bytes]


def _number(name: str, code: int) -> _Property:
    return _Property(name, code, Reader.int32, struct.Struct("<i").pack)


def _long(name: str, code: int) -> _Property:
    return _Property(name, code, Reader.int64, struct.Struct("<q").pack)


def _flag(name: str, code: int) -> _Property:
    return _Property(name, code, Reader.boolean, struct.Struct("<?").pack)


def _text(name: str, code: int) -> _Property:
    return _Property(name, code, Reader.text, protocol.string)


def _choice(name: str, code: int, names: dict[int, str]) -> _Property:
    ordinals = {label: ordinal for ordinal, label in names.items()}

    def read(reader: Reader) -> str:
        ordinal = reader.int32()
        return names.get(ordinal, str(ordinal))

    def write(label: str) -> bytes:
        return struct.pack("<i", ordinals[label] if label in ordinals else int(label))

    return _Property(name, code, read, write)


_REPORTED = (  # in the order of the reply
    _choice("atomicity", 2, ATOMICITIES),
    _number("backups", 3),
    _choice("mode", 1, MODES),
    _flag("copy_on_read", 5),
    _text("data_region", 100),
    _flag("eager_ttl", 405),
    _flag("statistics_enabled", 406),
    _text("group", 400),
    _long("default_lock_timeout", 402),
    _number("max_concurrent_async_operations", 403),
    _number("max_query_iterators_count", 206),
    _text("name", 0),
    _flag("onheap_cache_enabled", 101),
    _choice("partition_loss_policy", 404, _LOSS_POLICIES),
    _number("query_detail_metrics_size", 202),
    _number("query_parallelism", 201),
    _flag("read_from_backup", 6),
    _number("rebalance_batch_size", 303),
    _long("rebalance_batches_prefetch_count", 304),
    _long("rebalance_delay", 301),
    _choice("rebalance_mode", 300, _REBALANCE_MODES),
    _number("rebalance_order", 305),
    _long("rebalance_throttle", 306),
    _long("rebalance_timeout", 302),
    _flag("sql_escape_all", 205),
    _number("sql_index_max_inline_size", 204),
    _text("sql_schema", 203),
    _choice("write_synchronization", 4, WRITE_SYNCHRONIZATIONS),
)
_QUERY_ENTITIES = 200
_KEY_CONFIGURATION = 401
_EXPIRY_POLICY = 407
_ADVANCED = frozenset(AdvancedSettings.__dataclass_fields__)


def read_configuration(reader: Reader) -> CacheConfiguration:
    """Parse a cache configuration from a reply to op 1055; protocols before 1.6 lack the expiry policy."""
    end = reader.int32() + reader.position
    values = {reported.name: reported.read(reader) for reported in _REPORTED}
    advanced = AdvancedSettings(**{name: values.pop(name) for name in _ADVANCED})
    keys = tuple((_required(reader), reader.text() or "") for _ in range(reader.int32()))
    entities = tuple(_read_entity(reader) for _ in range(reader.int32()))
    policy = (reader.int64(), reader.int64(), reader.int64()) if reader.position < end and reader.boolean() else None
    return CacheConfiguration(
        **values, key_configuration=keys, query_entities=entities, expiry_policy=policy, advanced=advanced
    )


def configuration_bytes(configuration: CacheConfiguration) -> bytes:
    """Encode a cache configuration as the payload of op 1054, which creates the cache."""
    properties = {
        reported.code: reported.write(value)
        for reported in _REPORTED
        if (value := _value(configuration, reported.name)) is not None
    }
    if configuration.key_configuration:
        properties[_KEY_CONFIGURATION] = _list(
            [protocol.string(name) + protocol.string(field) for name, field in configuration.key_configuration]
        )
    if configuration.query_entities:
        properties[_QUERY_ENTITIES] = _list([_entity(entity) for entity in configuration.query_entities])
    if configuration.expiry_policy:
        properties[_EXPIRY_POLICY] = struct.pack("<?qqq", True, *configuration.expiry_policy)
    body = struct.pack("<h", len(properties)) + b"".join(
        struct.pack("<h", code) + properties[code] for code in sorted(properties)
    )
    return struct.pack("<i", len(body)) + body


def _value(configuration: CacheConfiguration, name: str) -> Any:
    return getattr(configuration.advanced if name in _ADVANCED else configuration, name)


def _read_entity(reader: Reader) -> QueryEntity:
    key_type, value_type, table, key_field, value_field = (reader.text() for _ in range(5))
    fields = tuple(_read_field(reader) for _ in range(reader.int32()))
    # nodes report aliases in any order
    aliases = tuple(sorted((_required(reader), _required(reader)) for _ in range(reader.int32())))
    indexes = tuple(_read_index(reader) for _ in range(reader.int32()))
    return QueryEntity(key_type or "", value_type or "", key_field, value_field, table, fields, aliases, indexes)


def _read_field(reader: Reader) -> QueryField:
    name = _required(reader)
    java_type = _required(reader)
    is_key = reader.boolean()
    not_null = reader.boolean()
    default = reader.any_object()
    precision = reader.int32()
    scale = reader.int32()
    return QueryField(name, java_type, is_key, not_null, precision, scale, "" if default == _NULL else default.hex())


def _read_index(reader: Reader) -> QueryIndex:
    name = reader.text()
    kind = reader.byte()
    inline_size = reader.int32()
    fields = tuple((_required(reader), reader.boolean()) for _ in range(reader.int32()))
    return QueryIndex(name, fields, _INDEX_KINDS[kind], inline_size)


def _entity(entity: QueryEntity) -> bytes:
    names = (entity.key_type, entity.value_type, entity.table, entity.key_field, entity.value_field)
    aliases = [protocol.string(field) + protocol.string(column) for field, column in entity.aliases]
    lists = [_query_field(field) for field in entity.fields], aliases, [_index(index) for index in entity.indexes]
    return b"".join([*map(protocol.string, names), *map(_list, lists)])


def _query_field(field: QueryField) -> bytes:
    flags = struct.pack("<??", field.is_key, field.not_null) + (bytes.fromhex(field.default) or _NULL)
    return (
        protocol.string(field.name)
        + protocol.string(field.java_type)
        + flags
        + struct.pack("<ii", field.precision, field.scale)
    )


def _index(index: QueryIndex) -> bytes:
    kind = next(ordinal for ordinal, label in _INDEX_KINDS.items() if label == index.kind)
    fields = [protocol.string(name) + struct.pack("<?", descending) for name, descending in index.fields]
    return protocol.string(index.name) + struct.pack("<Bi", kind, index.inline_size) + _list(fields)


_NULL = bytes([codes.NULL])


def _list(items: Sequence[bytes]) -> bytes:
    return struct.pack("<i", len(items)) + b"".join(items)


def _required(reader: Reader) -> str:
    value = reader.text()
    if value is None:
        raise ValueError(f"null at position {reader.position - 1}, a string wanted")
    return value
