"""Entries by key: op 1003 (get all), whose reply has the same form as a scan page."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import pyarrow as pa

from . import codes
from .cluster import Cluster
from .model import CacheInfo, Page

_GET_ALL = 1003
_KEEP_BINARY = b"\x01"


def _text(value: object) -> bytes:
    data = str(value).encode()
    return struct.pack("<Bi", codes.STRING, len(data)) + data


_ENCODERS: dict[pa.DataType, Callable[[object], bytes]] = {
    pa.int8(): lambda value: struct.pack("<Bb", codes.BYTE, value),
    pa.int16(): lambda value: struct.pack("<Bh", codes.SHORT, value),
    pa.int32(): lambda value: struct.pack("<Bi", codes.INT, value),
    pa.int64(): lambda value: struct.pack("<Bq", codes.LONG, value),
    pa.string(): _text,
}


def encodable(key: object, column: pa.Field) -> bool:
    """Whether a key of that column has one form on the wire; a column that stands for another type (a UUID, a char) has none."""
    kind = column.type
    if column.metadata:
        return False
    if kind == pa.string():
        return isinstance(key, str)
    if kind not in _ENCODERS or not isinstance(key, int) or isinstance(key, bool):
        return False
    return -(1 << (kind.bit_width - 1)) <= key < 1 << (kind.bit_width - 1)


def get_all(cluster: Cluster, cache: CacheInfo, keys: Sequence[object], kind: pa.DataType) -> list[Page]:
    """The entries of some keys, as one page; keys that are not there are left out. See :func:`encodable`."""
    encoded = [_ENCODERS[kind](key) for key in dict.fromkeys(keys)]
    payload = struct.pack("<i", cache.cache_id) + _KEEP_BINARY + struct.pack("<i", len(encoded)) + b"".join(encoded)
    body = cluster.connection().request(_GET_ALL, payload)
    return [Page(-1, struct.unpack_from("<i", body)[0], body[4:], True)]
