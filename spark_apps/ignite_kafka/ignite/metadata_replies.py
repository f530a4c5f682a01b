"""Parsing of nodes' replies to metadata requests.

These are cache names, cache descriptions, binary types, partition owners and node addresses.

Formats: `ClientBinaryTypeGetResponse`, `ClientCachePartitionAwarenessGroup` and
`ClientClusterGroupGetNodesEndpointsResponse` in apache/ignite; configurations of caches: :mod:`.cache_configuration`.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from . import protocol
from .cache_configuration import read_configuration
from .protocol import Reader
from .types.model import BinaryField, BinaryType, CacheInfo

REQUESTS = {
    protocol.CACHE_NAMES: "the request of cache names",
    protocol.CLUSTER_STATE: "the request of the cluster's state",
    protocol.CACHE_CONFIGURATION: "the request of a cache's configuration",
    protocol.CACHE_GET_SIZE: "the request of a cache's size",
    protocol.CACHE_PARTITIONS: "the request of the owners of partitions",
    protocol.BINARY_TYPE: "the request of a binary type",
    protocol.BINARY_TYPE_NAME: "the request of a class name",
    protocol.NODE_ENDPOINTS: "the request of the nodes' addresses",
    protocol.QUERY_SCAN: "a scan query",
    protocol.RESOURCE_CLOSE: "the end of a scan query",
}
"""Description of each operation, for messages."""


@dataclass(frozen=True)
class Partitions:
    """Which node owns each partition of a cache (op 1101), at one affinity version.

    `primary` is empty if the node gives no mapping.

    `affinity_keys`: type id of a key to the id of the field that decides its partition, if it is not the whole key.
    """

    affinity: tuple[int, int]
    primary: dict[int, uuid.UUID]
    affinity_keys: dict[int, int] = field(default_factory=dict)


def read_names(body: memoryview) -> list[str]:
    """Parse the names of caches (reply to op 1050)."""
    reader = Reader(body)
    return [_text(reader) for _ in range(reader.int32())]


def read_cache(body: memoryview, cache_id: int, partitions: Callable[[str], int]) -> CacheInfo:
    """Parse the description of a cache (reply to op 1055); `partitions` determines the partition count."""
    configuration = read_configuration(Reader(body))
    mode = configuration.mode or ""
    return CacheInfo(
        name=configuration.name,
        cache_id=cache_id,
        partitions=partitions(mode),
        backups=configuration.backups or 0,
        mode=mode,
        atomicity=configuration.atomicity or "",
        query_entities=configuration.query_entities,
        write_synchronization=configuration.write_synchronization or "",
    )


def read_binary_type(body: memoryview) -> BinaryType | None:
    """Parse the metadata of a binary type (reply to op 3002); None if the cluster does not hold the type."""
    reader = Reader(body)
    if not reader.boolean():
        return None
    type_id = reader.int32()
    name = _text(reader)
    affinity = reader.text()
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
    """Parse which node owns each partition of a cache (reply to op 1101)."""
    reader = Reader(body)
    affinity = (reader.int64(), reader.int32())
    primary: dict[int, uuid.UUID] = {}
    affinity_keys: dict[int, int] = {}
    for _ in range(reader.int32()):
        mapped = reader.boolean()
        is_of_cache = False
        owners = {}
        for _ in range(reader.int32()):
            this = reader.int32() == cache_id
            is_of_cache |= this
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
        if is_of_cache:
            primary = owners
    return Partitions(affinity, primary, affinity_keys)


def read_endpoints(body: memoryview) -> dict[uuid.UUID, tuple[str, ...]]:
    """Parse the addresses that nodes announce to thin clients (reply to op 5102)."""
    return _endpoints(Reader(body))


def read_left(body: memoryview) -> frozenset[uuid.UUID]:
    """Parse which server nodes have left the topology since a version (reply to op 5102)."""
    reader = Reader(body)
    _endpoints(reader)
    return frozenset(reader.raw_uuid() for _ in range(reader.int32()))


def _endpoints(reader: Reader) -> dict[uuid.UUID, tuple[str, ...]]:
    reader.int64()
    nodes = {}
    for _ in range(reader.int32()):
        node = reader.raw_uuid()
        port = reader.int32()
        hosts = [_text(reader) for _ in range(reader.int32())]
        nodes[node] = tuple(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host in hosts)
    return nodes


def _text(reader: Reader) -> str:
    value = reader.text()
    if value is None:
        raise ValueError(f"null at position {reader.position - 1}, a string wanted")
    return value
