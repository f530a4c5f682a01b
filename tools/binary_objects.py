"""Ignite binary objects of one type, written column by column: a fast loader of tables for the demonstration and the benchmarks.

Layout: https://ignite.apache.org/docs/latest/binary-client-protocol/data-format ("Complex Object"); compact footer.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

import numpy as np
from pyignite.utils import entity_id, schema_id

NULL = b"\x65"
_HEADER = struct.Struct("<BBHiiiii")
_HEADER_BYTES = _HEADER.size
_OBJECT, _PROTOCOL_VERSION = 103, 1
_USER_TYPE, _HAS_SCHEMA, _ONE_BYTE_OFFSETS, _TWO_BYTE_OFFSETS, _COMPACT_FOOTER = 0x01, 0x02, 0x08, 0x10, 0x20
_EPOCH = datetime(1970, 1, 1)


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Bi", 9, len(data)) + data


def _timestamp(value: datetime) -> bytes:
    since = value.replace(tzinfo=None) - _EPOCH
    millis, micros = divmod(since.days * 86_400_000_000 + since.seconds * 1_000_000 + since.microseconds, 1000)
    return struct.pack("<Bqi", 33, millis, micros * 1000)


# java type -> bytes of one value with its type code
WRITERS: Mapping[str, Callable[[Any], bytes]] = {
    "java.lang.Integer": lambda value: struct.pack("<Bi", 3, value),
    "java.lang.Long": lambda value: struct.pack("<Bq", 4, value),
    "java.lang.Double": lambda value: struct.pack("<Bd", 6, value),
    "java.lang.Boolean": lambda value: struct.pack("<B?", 8, value),
    "java.lang.String": _text,
    "java.sql.Timestamp": _timestamp,
}


def encode_column(java_type: str, values: Sequence[Any]) -> list[bytes]:
    """Each value with its type code, None as Ignite's null; values that repeat are written once."""
    write = WRITERS[java_type]
    known: dict[Any, bytes] = {None: NULL}
    encoded = []
    for value in values:
        data = known.get(value)
        if data is None:
            data = known[value] = write(value)
        encoded.append(data)
    return encoded


@dataclass(frozen=True)
class ObjectType:
    """A binary type: field name to Java type, in the order written."""

    name: str
    fields: Mapping[str, str]

    @property
    def type_id(self) -> int:
        return int(entity_id(self.name))

    @property
    def schema_id(self) -> int:
        return int(schema_id(dict(self.fields)))

    def encode(self, columns: Mapping[str, Sequence[Any]]) -> list[bytes]:
        """Objects of these columns, one a row. The type must be registered with the cluster before they are put."""
        encoded = [encode_column(java_type, columns[name]) for name, java_type in self.fields.items()]
        rows = list(zip(*encoded, strict=True))
        bodies = [b"".join(row) for row in rows]
        ids = self.type_id, self.schema_id
        return [
            _object(*ids, int(hash_code), row, body) for row, body, hash_code in zip(rows, bodies, java_array_hashes(bodies), strict=True)
        ]


def _object(type_id: int, schema_id: int, hash_code: int, row: tuple[bytes, ...], body: bytes) -> bytes:
    offsets = list(accumulate(map(len, row[:-1]), initial=_HEADER_BYTES))
    small = offsets[-1] < 256
    flags = _USER_TYPE | _HAS_SCHEMA | _COMPACT_FOOTER | (_ONE_BYTE_OFFSETS if small else _TWO_BYTE_OFFSETS)
    footer = bytes(offsets) if small else struct.pack(f"<{len(offsets)}H", *offsets)
    schema_offset = _HEADER_BYTES + len(body)
    length = schema_offset + len(footer)
    return _HEADER.pack(_OBJECT, _PROTOCOL_VERSION, flags, type_id, hash_code, length, schema_id, schema_offset) + body + footer


def java_array_hashes(bodies: Sequence[bytes]) -> np.ndarray:
    """`Arrays.hashCode(byte[])` of each; Ignite finds a key's partition by it. int32, one a body."""
    lengths = np.fromiter(map(len, bodies), np.int64, len(bodies))
    width = int(lengths.max(initial=0))
    matrix = np.frombuffer(b"".join(body.ljust(width, b"\0") for body in bodies), np.int8).reshape(len(bodies), width)
    hashes = np.ones(len(bodies), np.int32)
    for position in range(width):
        hashes = np.where(position < lengths, hashes * np.int32(31) + matrix[:, position], hashes)
    return hashes
