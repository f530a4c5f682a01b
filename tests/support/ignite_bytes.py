"""Ignite's binary format written in plain Python, for tests that need bytes without a server."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ignite_kafka.errors import UnknownBinaryType
from ignite_kafka.ignite.binary import PageBuffer, concat_bounds, type_ids_within
from ignite_kafka.ignite.binary.row_values import Date, EnumValue, MapValue, Time, Timestamp
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryField, BinaryType, CacheInfo, Page, TypeSource
from ignite_kafka.java.hash_code import java_hash

CACHE = CacheInfo("tested", 1)
NUMBERS = {codes.BYTE: "<b", codes.SHORT: "<h", codes.INT: "<i", codes.LONG: "<q", codes.FLOAT: "<f", codes.DOUBLE: "<d", codes.CHAR: "<H"}


def nested_type_ids(pages: Sequence[Page], types: TypeSource) -> set[int]:
    """Ids of all binary types in the entries of pages."""
    wire = PageBuffer.of(pages, CACHE, types)
    return type_ids_within(wire, concat_bounds(pages, wire))


@dataclass
class Types:
    """A source of binary types that holds what it is given."""

    known: dict[int, BinaryType] = field(default_factory=dict)

    def binary_type(self, type_id: int) -> BinaryType:
        if type_id not in self.known:
            raise UnknownBinaryType("No such type", type_id=type_id)
        return self.known[type_id]

    def add(self, name: str, fields: Mapping[str, int], *schemas: Sequence[str], enum: Sequence[str] = ()) -> BinaryType:
        """A type with fields (name to type code); each schema is the names of its fields, all of them when none is given."""
        made = BinaryType(
            java_hash(name.lower()),
            name,
            None,
            tuple(BinaryField(one, code, java_hash(one.lower())) for one, code in fields.items()),
            {schema_id(one): tuple(java_hash(name.lower()) for name in one) for one in schemas or [list(fields)]},
            bool(enum),
            dict(enumerate(enum)),
        )
        self.known[made.type_id] = made
        return made


def schema_id(names: Sequence[str]) -> int:
    """FNV1 over the field ids, as `BinaryUtils.updateSchemaId`."""
    number = 0x811C9DC5
    for name in names:
        for byte in java_hash(name.lower()).to_bytes(4, "little", signed=True):
            number = ((number ^ byte) * 0x01000193) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


def number(code: int, value: float) -> bytes:
    return bytes([code]) + struct.pack(NUMBERS[code], value)


def string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Bi", codes.STRING, len(data)) + data


def boolean(value: bool) -> bytes:
    return bytes([codes.BOOL, value])


def decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits)))
    data = bytearray(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big"))
    data[0] |= 0x80 if sign and unscaled else 0
    return struct.pack("<Bii", codes.DECIMAL, -int(exponent), len(data)) + data


def uuid_(value: uuid.UUID) -> bytes:
    return struct.pack("<BQQ", codes.UUID, value.int >> 64, value.int & (1 << 64) - 1)


def timestamp(value: Timestamp) -> bytes:
    millis, nanos = divmod(value.nanos, 1_000_000)
    return struct.pack("<Bqi", codes.TIMESTAMP, value.seconds * 1000 + millis, nanos)


def enum(value: EnumValue) -> bytes:
    return struct.pack("<Bii", codes.BINARY_ENUM, value.type_id, value.ordinal)


def collection(items: Sequence[bytes]) -> bytes:
    return struct.pack("<Bib", codes.COLLECTION, len(items), 1) + b"".join(items)


def object_array(items: Sequence[bytes]) -> bytes:
    return struct.pack("<Bii", codes.OBJECT_ARRAY, -1, len(items)) + b"".join(items)


def mapping(pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
    return struct.pack("<Bib", codes.MAP, len(pairs), 1) + b"".join(key + value for key, value in pairs)


def primitives(code: int, form: str, values: Sequence[float]) -> bytes:
    return struct.pack("<Bi", code, len(values)) + struct.pack(f"<{len(values)}{form}", *values)


NULL = bytes([codes.NULL])


def binary(kind: BinaryType, fields: Mapping[str, bytes], *, compact: bool = True, width: int | None = None) -> bytes:
    """A binary object with these fields in this order; `width` is that of its offsets, by default the least."""
    body, offsets = b"", []
    for data in fields.values():
        offsets.append(codes.HEADER + len(body))
        body += data
    least = 1 if max(offsets, default=0) < 1 << 8 else 2 if max(offsets) < 1 << 16 else 4
    width = max(width or least, least)
    flags = 1 | (codes.FLAG_HAS_SCHEMA if fields else 0) | (codes.FLAG_COMPACT if compact else 0)
    flags |= {1: codes.FLAG_OFFSET_1, 2: codes.FLAG_OFFSET_2}.get(width, 0)
    footer = b"".join(
        (b"" if compact else struct.pack("<i", java_hash(name.lower()))) + offset.to_bytes(width, "little")
        for name, offset in zip(fields, offsets, strict=True)
    )
    start = codes.HEADER + len(body)
    head = struct.pack("<BBHiiiii", codes.OBJECT, 1, flags, kind.type_id, 0, start + len(footer), schema_id(list(fields)), start)
    return head + body + footer


def wrapped(data: bytes, before: bytes = b"") -> bytes:
    return struct.pack("<Bi", codes.WRAPPED, len(before) + len(data)) + before + data + struct.pack("<i", len(before))


def page(entries: Sequence[tuple[bytes, bytes]], partition: int = 3) -> Page:
    return Page(partition, len(entries), memoryview(b"".join(key + value for key, value in entries)), True)


def written(value: Any) -> bytes:
    """Bytes of a value of the row path: int as long, float as double."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return boolean(value)
    if isinstance(value, list):
        return collection([written(item) for item in value])
    if isinstance(value, MapValue):
        return mapping([(written(key), written(item)) for key, item in value.items])
    return _WRITERS[type(value)](value)


_WRITERS: dict[type, Any] = {
    int: lambda value: number(codes.LONG, value),
    float: lambda value: number(codes.DOUBLE, value),
    str: string,
    bytes: lambda value: struct.pack("<Bi", codes.BYTE_ARRAY, len(value)) + value,
    uuid.UUID: uuid_,
    Decimal: decimal,
    Date: lambda value: struct.pack("<Bq", codes.DATE, value.millis),
    Time: lambda value: struct.pack("<Bq", codes.TIME, value.millis),
    Timestamp: timestamp,
    EnumValue: enum,
}
