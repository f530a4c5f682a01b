"""Encoding of calls of the backlog service: arguments, results, and requests split by size."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..common.arrays import Int32Array
from . import protocol
from .entry_versions import EntryVersions
from .protocol import Reader
from .types import type_codes as codes

REQUEST_BYTES = 4 << 20
"""Maximum bytes of one request. A node accepts a sixteenth of its heap, so every heap of 64 MiB or more is enough."""

_NUMBERS = re.compile(r"(?=\t(-?[0-9]+)\t([^\t]+)\t([0-9]+)\t([0-9]+)\t)")
_MIN_INT = -(1 << 31)
_MAX_INT = (1 << 31) - 1
_MAP_KIND = 1  # HASH_MAP of GridBinaryMarshaller
_UNIT_HEAD = struct.Struct("<16sqii")  # unit, stamp of the expired keys, count of changes, 0
_CHANGE_BYTES = 16  # number and hash


def framed(keys: Sequence[bytes]) -> bytes:
    """Join keys to one request argument, each preceded by its int32 length."""
    return b"".join(struct.pack("<i", len(key)) + key for key in keys)


def first_keys(keys: Sequence[bytes], at: int) -> Sequence[bytes]:
    """Return as many keys, from a position on, as fit into one request; at least one."""
    end = at
    size = 0
    while end < len(keys) and (end == at or size + 4 + len(keys[end]) <= REQUEST_BYTES):
        size += 4 + len(keys[end])
        end += 1
    return keys[at:end]


def values_of(data: memoryview) -> list[bytes | None]:
    """Parse the values in a result of `lookup`; None for a key that the cache does not hold."""
    (count,) = struct.unpack_from("<i", data)
    return _values(data, np.frombuffer(data, "<i4", count, 4), 4 + 4 * count)


def entries_of(data: memoryview) -> tuple[list[bytes | None], EntryVersions]:
    """Parse values and versions in a result of `entries`; None for a key that the cache does not hold."""
    (count,) = struct.unpack_from("<i", data)
    ranks = np.frombuffer(data, "<i8", count, 4)
    orders = np.frombuffer(data, "<i8", count, 4 + 8 * count)
    lengths = np.frombuffer(data, "<i4", count, 4 + 16 * count)
    clusters = np.frombuffer(data, "i1", count, 4 + 20 * count)
    return _values(data, lengths, 4 + 21 * count), EntryVersions(orders, clusters, ranks)


def _values(data: memoryview, lengths: Int32Array, position: int) -> list[bytes | None]:
    """Cut values out of a result, by their lengths; a negative one is an absent value."""
    ends = position + np.cumsum(np.maximum(lengths, 0), dtype=np.int64)
    return [
        bytes(data[end - size : end]) if size >= 0 else None
        for size, end in zip(lengths.tolist(), ends.tolist(), strict=True)
    ]


def acknowledgements(sent: bytes, most_bytes: int = REQUEST_BYTES) -> Iterator[bytes]:
    """Split an acknowledgement into requests of at most `most_bytes` bytes.

    The changes of a unit may be split over several requests.
    """
    if len(sent) <= most_bytes:
        yield sent
        return
    part = bytearray()
    at = 0
    most_changes = max(1, (most_bytes - _UNIT_HEAD.size) // _CHANGE_BYTES)
    while at < len(sent):
        unit, stamp, count, zero = _UNIT_HEAD.unpack_from(sent, at)
        at += _UNIT_HEAD.size
        for first in range(0, max(1, count), most_changes):
            some = min(most_changes, count - first)
            if part and len(part) + _UNIT_HEAD.size + _CHANGE_BYTES * some > most_bytes:
                yield bytes(part)
                part.clear()
            part += _UNIT_HEAD.pack(unit, stamp, some, zero) + sent[at : at + _CHANGE_BYTES * some]
            at += _CHANGE_BYTES * some
    yield bytes(part)


def encode(value: Any) -> bytes:
    """Encode an argument of a service call in Ignite's binary format.

    :raises TypeError: the service takes no argument of that type.
    """
    if value is None:
        return bytes([codes.NULL])
    if isinstance(value, bool):
        return struct.pack("<B?", codes.BOOL, value)
    if isinstance(value, int) and _MIN_INT <= value <= _MAX_INT:
        return struct.pack("<Bi", codes.INT, value)
    if isinstance(value, str):
        return protocol.string(value)
    if isinstance(value, bytes):
        return struct.pack("<Bi", codes.BYTE_ARRAY, len(value)) + value
    if isinstance(value, list):
        return struct.pack("<Bi", codes.STRING_ARRAY, len(value)) + b"".join(map(protocol.string, value))
    if isinstance(value, dict):
        pairs = b"".join(protocol.string(key) + protocol.string(text) for key, text in value.items())
        return struct.pack("<BiB", codes.MAP, len(value), _MAP_KIND) + pairs
    raise TypeError(f"{type(value).__name__} is no argument of the backlog service")


def cache_of(line: str) -> tuple[str, int, str, int, int, str]:
    """Parse one line of the reply to ``caches``, the description of a cache.

    Tabs separate the fields, but a name may hold tabs too. The name ends where its hash equals the id behind it. Of
    several such places the last one is right: a name may hold a whole line, but not one with the cache's own
    deployment id, because Ignite chooses it after the name.

    :returns: name, id, deployment id, topology version of the cache's start, number of partitions and group.
    :raises ValueError: the line has another form.
    """
    for numbers in reversed(list(_NUMBERS.finditer(line))):
        name = line[: numbers.start()]
        id_ = int(numbers[1])
        if protocol.cache_id(name) == id_:
            return name, id_, numbers[2], int(numbers[3]), int(numbers[4]), line[numbers.end(4) + 1 :]
    raise ValueError(f"the backlog service answered a line that describes no cache: {line!r}")


def decode(reader: Reader) -> Any:
    """Decode the result of a service call from Ignite's binary format.

    :raises ValueError: the service returns no value of that type code.
    """
    code = reader.byte()
    if code == codes.NULL:
        return None
    if code == codes.INT:
        return reader.int32()
    if code == codes.LONG:
        return reader.int64()
    if code == codes.STRING:
        return str(reader.take(reader.int32()), "utf-8")
    if code == codes.BYTE_ARRAY:
        return reader.take(reader.int32())
    if code == codes.STRING_ARRAY:
        return [decode(reader) for _ in range(reader.int32())]
    if code == codes.MAP:
        size = reader.int32()
        reader.byte()
        return {decode(reader): decode(reader) for _ in range(size)}
    raise ValueError(f"type code {code} is none that the backlog service answers")
