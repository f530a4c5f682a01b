"""Parses replies of the metadata operations: cache names, configurations, binary types, partition owners, node addresses.

Formats: `ClientCacheConfigurationSerializer`, `ClientBinaryTypeGetResponse`, `ClientCachePartitionAwarenessGroup` and
`ClientClusterGroupGetNodesEndpointsResponse` in apache/ignite.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from .protocol import Reader
from .types.model import BinaryField, BinaryType, CacheInfo, QueryEntity, QueryField

MODES = {0: "LOCAL", 1: "REPLICATED", 2: "PARTITIONED"}
WRITE_SYNCHRONIZATIONS = {0: "FULL_SYNC", 1: "FULL_ASYNC", 2: "PRIMARY_SYNC"}
ATOMICITIES = {0: "TRANSACTIONAL", 1: "ATOMIC", 2: "TRANSACTIONAL_SNAPSHOT"}


@dataclass(frozen=True)
class Partitions:
    """Owners of a cache's partitions (op 1101) at one affinity version; `primary` is empty if the node gives no mapping.

    `affinity_keys`: type id of a key to the id of the field that its partition is taken from, where it is not the whole key.
    """

    affinity: tuple[int, int]
    primary: dict[int, uuid.UUID]
    affinity_keys: dict[int, int] = field(default_factory=dict)


def read_names(body: memoryview) -> list[str]:
    """Reply of op 1050."""
    reader = Reader(body)
    return [_text(reader) for _ in range(reader.int32())]


def read_cache(body: memoryview, cache_id: int, partitions: Callable[[str], int]) -> CacheInfo:
    """Reply of op 1055; the fields come in the serializer's fixed order. `partitions` returns the partition count for a mode."""
    reader = Reader(body)
    reader.int32()
    atomicity, backups, mode = reader.int32(), reader.int32(), reader.int32()
    reader.take(1)  # copy on read
    reader.text()  # data region
    reader.take(2)  # eager TTL, statistics
    reader.text()  # group
    reader.take(8 + 4 + 4)  # lock time-out, asynchronous operations, query iterators
    name = _text(reader)
    reader.take(1 + 4 + 4 + 4 + 1)  # on heap, loss policy, query details, query parallelism, read from backup
    reader.take(4 + 8 + 8 + 4 + 4 + 8 + 8)  # rebalance: batch size, prefetch, delay, mode, order, throttle, time-out
    reader.take(1 + 4)  # SQL: escape all, inline size
    reader.text()  # SQL schema
    synchronization = reader.int32()
    for _ in range(reader.int32()):  # affinity key of each key type
        reader.text()
        reader.text()
    entities = tuple(_query_entity(reader) for _ in range(reader.int32()))
    mode_name = MODES.get(mode, str(mode))
    return CacheInfo(
        name=name,
        cache_id=cache_id,
        partitions=partitions(mode_name),
        backups=backups,
        mode=mode_name,
        atomicity=ATOMICITIES.get(atomicity, str(atomicity)),
        query_entities=entities,
        write_synchronization=WRITE_SYNCHRONIZATIONS.get(synchronization, str(synchronization)),
    )


def _query_entity(reader: Reader) -> QueryEntity:
    key_type, value_type, table, key_field, value_field = (reader.text() for _ in range(5))
    fields = tuple(_query_field(reader) for _ in range(reader.int32()))
    for _ in range(reader.int32()):  # aliases
        reader.text()
        reader.text()
    for _ in range(reader.int32()):  # indexes
        reader.text()
        reader.take(1 + 4)
        for _ in range(reader.int32()):
            reader.text()
            reader.take(1)
    return QueryEntity(key_type or "", value_type or "", key_field, value_field, table, fields)


def _query_field(reader: Reader) -> QueryField:
    name, java_type = _text(reader), _text(reader)
    is_key, not_null = reader.boolean(), reader.boolean()
    reader.skip_object()  # default value
    precision, scale = (reader.int32(), reader.int32())
    return QueryField(name, java_type, is_key, not_null, precision, scale)


def read_binary_type(body: memoryview) -> BinaryType | None:
    """Reply of op 3002; None when the cluster does not hold the type."""
    reader = Reader(body)
    if not reader.boolean():
        return None
    type_id, name, affinity = reader.int32(), _text(reader), reader.text()
    fields = tuple(BinaryField(_text(reader), reader.int32(), reader.int32()) for _ in range(reader.int32()))
    is_enum = reader.boolean()
    values = {}
    if is_enum:
        for _ in range(reader.int32()):
            label = _text(reader)
            values[reader.int32()] = label
    schemas = {}
    for _ in range(reader.int32()):
        schema_id = reader.int32()
        schemas[schema_id] = tuple(reader.int32() for _ in range(reader.int32()))
    return BinaryType(type_id, name, affinity, fields, schemas, is_enum, values)


def read_partitions(body: memoryview, cache_id: int, *, all_mappings: bool) -> Partitions:
    """Reply of op 1101 for one cache; other caches of the same mapping come along and are passed over."""
    reader = Reader(body)
    affinity = (reader.int64(), reader.int32())
    primary: dict[int, uuid.UUID] = {}
    affinity_keys: dict[int, int] = {}
    for _ in range(reader.int32()):
        mapped, wanted, owners = reader.boolean(), False, {}
        for _ in range(reader.int32()):
            this = reader.int32() == cache_id
            wanted |= this
            fields = {reader.int32(): reader.int32() for _ in range(reader.int32())} if mapped else {}
            affinity_keys = fields if this else affinity_keys
        if mapped:
            for _ in range(reader.int32()):
                node = reader.typed_uuid()
                count = reader.int32()
                parts = struct.unpack(f"<{count}i", reader.take(4 * count))
                if node is not None:
                    owners.update(dict.fromkeys(parts, node))
            if all_mappings:
                reader.take(1)  # default affinity
        if wanted:
            primary = owners
    return Partitions(affinity, primary, affinity_keys)


def read_endpoints(body: memoryview) -> dict[uuid.UUID, tuple[str, ...]]:
    """Reply of op 5102 asked from the beginning: node to the addresses of its client connector."""
    return _endpoints(Reader(body))


def read_left(body: memoryview) -> frozenset[uuid.UUID]:
    """Reply of op 5102 asked from a version on: the server nodes of that version that are in the topology no more."""
    reader = Reader(body)
    _endpoints(reader)
    return frozenset(reader.raw_uuid() for _ in range(reader.int32()))


def _endpoints(reader: Reader) -> dict[uuid.UUID, tuple[str, ...]]:
    reader.int64()
    nodes = {}
    for _ in range(reader.int32()):
        node, port = reader.raw_uuid(), reader.int32()
        hosts = [_text(reader) for _ in range(reader.int32())]
        nodes[node] = tuple(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host in hosts)
    return nodes


def _text(reader: Reader) -> str:
    value = reader.text()
    if value is None:
        raise ValueError(f"null at position {reader.position - 1}, a string wanted")
    return value
