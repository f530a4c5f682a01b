"""Reading of entries by key (op 1003, get all). The reply has the format of a scan page."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from .binary import encoded, raw_entries
from .binary.byte_columns import data_of
from .cluster import Cluster
from .connection import ThinConnection
from .types.model import CacheInfo, Page

_GET_ALL = 1003
_KEEP_BINARY = b"\x01"
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


def encodable(key: object, column: pa.Field) -> bool:
    """Return whether :func:`get_all` can request a key, given as a Python value of a column.

    False for columns of marked types (UUID, char).
    """
    kind = column.type
    if column.metadata:
        return False
    if kind == pa.string():
        return isinstance(key, str)
    if kind not in _INTEGERS or not isinstance(key, int) or isinstance(key, bool):
        return False
    return _holds(kind, key)


def get_all(cluster: Cluster, cache: CacheInfo, keys: Sequence[object], kind: pa.DataType) -> list[Page]:
    """Read the entries of some keys as one page; keys missing in the cache are left out.

    :param keys: each :func:`encodable`.
    :raises ThinError: the node reports an error.
    :raises IgniteUnreachable: the connection is lost.
    """
    count, wire = wire_keys(keys, kind)
    payload = struct.pack("<i", cache.cache_id) + _KEEP_BINARY + struct.pack("<i", count) + wire
    body = cluster.connection().request(_GET_ALL, payload)
    return [Page(-1, struct.unpack_from("<i", body)[0], body[4:], True)]


def wire_keys(keys: Sequence[object], kind: pa.DataType) -> tuple[int, bytes]:
    """Encode column values as Ignite keys, integers in every width; return number and bytes of the keys.

    Integers widen in a column, and for Ignite a Long 5 and an Integer 5 are different keys: an integer is requested in
    every width that holds it.
    """
    distinct = list(dict.fromkeys(keys))
    if kind not in _INTEGERS:
        return len(distinct), _encode_keys(distinct, kind)
    held = [([key for key in distinct if _holds(width, key)], width) for width in _INTEGERS]
    return sum(len(some) for some, _ in held), b"".join(_encode_keys(some, width) for some, width in held)


def _encode_keys(keys: list[Any], kind: pa.DataType) -> bytes:
    return data_of(encoded(pa.array(keys, kind), pa.field("key", kind))).tobytes()


def _holds(kind: pa.DataType, key: Any) -> bool:
    return bool(-(1 << (kind.bit_width - 1)) <= key < 1 << (kind.bit_width - 1))


def present_keys(cluster: Cluster, cache: CacheInfo, keys: Sequence[bytes]) -> set[bytes]:
    """Return the keys of a list that a cache has; all are unwrapped, in Ignite's binary format.

    :raises ThinError: the node reports an error.
    :raises IgniteUnreachable: the connection is lost.
    """
    payload = struct.pack("<i", cache.cache_id) + _KEEP_BINARY + struct.pack("<i", len(keys)) + b"".join(keys)

    def read(connection: ThinConnection) -> set[bytes]:
        body = connection.request(_GET_ALL, payload)
        page = Page(-1, struct.unpack_from("<i", body)[0], body[4:], True)
        return {key for key, _ in raw_entries(page, cache.name)}

    return cluster.ask(read)
