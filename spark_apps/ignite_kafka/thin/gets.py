"""Entries by key: op 1003 (get all), whose reply has the same form as a scan page."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa

from .cluster import Cluster
from .codec import encoded
from .codec.pieces import data_of
from .model import CacheInfo, Page

_GET_ALL = 1003
_KEEP_BINARY = b"\x01"
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


def encodable(key: object, column: pa.Field) -> bool:
    """Whether a key of that column has one form on the wire; a column that stands for another type (a UUID, a char) has none."""
    kind = column.type
    if column.metadata:
        return False
    if kind == pa.string():
        return isinstance(key, str)
    if kind not in _INTEGERS or not isinstance(key, int) or isinstance(key, bool):
        return False
    return -(1 << (kind.bit_width - 1)) <= key < 1 << (kind.bit_width - 1)


def get_all(cluster: Cluster, cache: CacheInfo, keys: Sequence[object], kind: pa.DataType) -> list[Page]:
    """The entries of some keys, as one page; keys that are not there are left out. See :func:`encodable`."""
    wanted = encoded(pa.array(list(dict.fromkeys(keys)), kind), pa.field("key", kind))
    payload = struct.pack("<i", cache.cache_id) + _KEEP_BINARY + struct.pack("<i", len(wanted)) + data_of(wanted).data
    body = cluster.connection().request(_GET_ALL, payload)
    return [Page(-1, struct.unpack_from("<i", body)[0], body[4:], True)]
