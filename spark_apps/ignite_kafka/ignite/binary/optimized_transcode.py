"""Rewriting of collections and numbers from the form of Java's optimized marshaller to Ignite's binary format.

Ignite uses this marshaller for classes with writeObject or writeReplace: Arrays.asList, List.of, Set.of, Map.of,
unmodifiable, singleton and empty collections, BigInteger. Rewritten, they are read like any list, map or BigDecimal.

Source: `OptimizedObjectOutputStream`, `OptimizedClassDescriptor` and `OptimizedMarshallerUtils` of Ignite 2.17
(little-endian), and the serialized forms of OpenJDK 17's java.util and java.math classes. Objects, except boxed numbers
and classes, are numbered in the order in which they begin; a handle (255) has the number of the object meant.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ...java.hash_code import java_hash
from ..types import type_codes as codes
from .optimized import EXTERNALIZABLE, SERIALIZABLE, NotReadable, temporal_size

_NULL = 0
_OBJECT_ARRAY = 17
_STRING = 18
_UUID = 19
_DATE = 27
_CLASS = 28
_HANDLE = 255
_BOXED = {1: 1, 2: 2, 3: 4, 4: 8, 5: 4, 6: 8, 7: 2, 8: 1}  # the codes are those of the binary format
_ARRAYS = {9: 1, 10: 2, 11: 4, 12: 8, 13: 4, 14: 8, 15: 2, 16: 1}  # three less than those of the binary format
_LISTS = {21: 0, 24: 0, 23: 4, 26: 5}  # bytes between the size and the elements: load factor, access order
_MAPS = {22: 4, 25: 5}
_MOST_BYTES = 16 << 20
_MOST_DEPTH = 64


def transcoded(payload: memoryview) -> bytes:
    """Rewrite one value in binary format, given its payload (the bytes after code 254 and the length).

    :raises NotReadable: the payload has an object of an unknown class. :raises ValueError: the payload is broken.
    """
    reader = _Transcoder(payload)
    value = reader.value()
    if reader.position != len(payload):
        raise ValueError(f"{len(payload) - reader.position} bytes are left")
    return value


def classes_of(payload: memoryview) -> set[int]:
    """Collect the hashes of the class names in a payload, because nodes must know these classes.

    The first object of an unknown class ends the reading.
    """
    reader = _Transcoder(payload)
    with suppress(NotReadable, ValueError):  # broken values are for the nodes to refuse
        reader.value()
    return reader.classes - {0}


@dataclass
class _Transcoder:
    data: memoryview
    position: int = 0
    depth: int = 0
    written: int = 0
    objects: list[bytes | None] = field(default_factory=list)
    classes: set[int] = field(default_factory=set)

    def take(self, size: int) -> memoryview:
        if size < 0 or self.position + size > len(self.data):
            raise ValueError(f"{size} bytes are due and {len(self.data) - self.position} are left")
        self.position += size
        return self.data[self.position - size : self.position]

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "little", signed=True)

    def count(self) -> int:
        """Read a number of elements, and check that enough bytes follow."""
        size = self.int32()
        if not 0 <= size <= len(self.data) - self.position:
            raise ValueError(f"{size} values are due and {len(self.data) - self.position} bytes are left")
        return size

    def value(self) -> bytes:
        tag = self.take(1)[0]
        if tag == _NULL:
            return bytes([codes.NULL])
        if tag in _BOXED:
            return bytes([tag]) + self.take(_BOXED[tag])
        if tag == _CLASS:
            return bytes([codes.CLASS]) + self.class_data()
        if tag == _HANDLE:
            return self.count_written(self.read_shared())
        return self.read_numbered(tag)

    def read_numbered(self, tag: int) -> bytes:
        """Rewrite an object, and number it, so that handles can refer to it."""
        number = len(self.objects)
        self.objects.append(None)
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise NotReadable(
                f"A value nested deeper than {_MOST_DEPTH} levels, written by Java's optimized marshaller"
            )
        data = self.count_written(self.object(tag))
        self.depth -= 1
        self.objects[number] = data
        return data

    def count_written(self, data: bytes) -> bytes:
        self.written += len(data)
        if self.written > _MOST_BYTES:
            raise NotReadable(f"A value of more than {_MOST_BYTES} bytes, written by Java's optimized marshaller")
        return data

    def read_shared(self) -> bytes:
        number = self.int32()
        if not 0 <= number < len(self.objects):
            raise ValueError(f"handle {number} of {len(self.objects)}")
        data = self.objects[number]
        if data is None:
            raise NotReadable("A value that contains itself, written by Java's optimized marshaller")
        return data

    def object(self, tag: int) -> bytes:
        if tag in _ARRAYS:
            size = self.int32()
            return struct.pack("<Bi", tag + 3, size) + self.take(size * _ARRAYS[tag])
        if tag == _STRING:
            return self.string()
        if tag == _UUID:
            return bytes([codes.UUID]) + self.take(16)
        if tag == _DATE:
            return bytes([codes.DATE]) + self.take(8)
        if tag == _OBJECT_ARRAY:
            self.class_data()
            size = self.count()
            return struct.pack("<Bii", codes.OBJECT_ARRAY, -1, size) + self.values(size)
        if tag in _LISTS:
            size = self.count()
            self.take(_LISTS[tag])
            return _collection(size, self.values(size))
        if tag in _MAPS:
            size = self.count()
            self.take(_MAPS[tag])
            return _map(size, self.values(2 * size))
        if tag in (EXTERNALIZABLE, SERIALIZABLE):
            return self.read_class_value(tag)
        raise NotReadable("A value of Java's optimized marshaller")

    def values(self, size: int) -> bytes:
        return b"".join(self.value() for _ in range(size))

    def string(self) -> bytes:
        size = self.int32()
        return struct.pack("<Bi", codes.STRING, size) + self.take(size)

    def class_data(self) -> bytes:
        """Read a class: the int32 hash of its name, or 0 and the name."""
        number = self.int32()
        self.classes.add(number)
        return struct.pack("<i", number) + (b"" if number else self.string())

    def read_class_value(self, tag: int) -> bytes:
        start = self.position - 1
        class_hash = self.int32()
        self.classes.add(class_hash)
        self.take(2)
        inner = temporal_size(tag, class_hash, self.data[self.position :])
        if inner is not None:
            self.take(inner)
            return struct.pack("<Bi", codes.OPTIMIZED, self.position - start) + self.data[start : self.position]
        if tag == EXTERNALIZABLE or class_hash not in _CLASSES:
            raise NotReadable(f"A value of a class with name hash {class_hash}, written by Java's optimized marshaller")
        written: bytes = _CLASSES[class_hash](self)
        return written

    def immutable(self) -> bytes:
        """Rewrite java.util.CollSer: List.of (1, 4), Set.of (2), Map.of (3)."""
        kind = self.int32() & 0xFF
        size = self.count()
        if kind not in (1, 2, 3, 4) or (kind == 3 and size % 2):
            raise ValueError(f"a collection of kind {kind} and {size} values")
        return _map(size // 2, self.values(size)) if kind == 3 else _collection(size, self.values(size))

    def unmodifiable_list(self) -> bytes:
        """Rewrite an unmodifiable list, whose two fields hold the same list."""
        first = self.value()
        if self.value() != first:
            raise ValueError("an unmodifiable list of two lists")
        return first

    def timestamp(self) -> bytes:
        millis, nanos = struct.unpack("<qi", self.take(12))
        return struct.pack("<Bqi", codes.TIMESTAMP, millis + nanos // 1_000_000, nanos % 1_000_000)

    def big_integer(self) -> bytes:
        """Rewrite a BigInteger as a BigDecimal of scale 0; it has four cached int32, magnitude and sign."""
        self.take(16)
        magnitude = self.value()
        sign = self.int32()
        if magnitude[0] != codes.BYTE_ARRAY or sign not in (-1, 0, 1) or (sign == 0) != (not any(magnitude[5:])):
            raise ValueError("a BigInteger without sign or magnitude")
        return _decimal(0, magnitude[5:], sign < 0)

    def big_decimal(self) -> bytes:
        """Rewrite a BigDecimal from its BigInteger and int32 scale."""
        unscaled = self.value()
        if unscaled[0] != codes.DECIMAL:
            raise ValueError("a BigDecimal without its BigInteger")
        return unscaled[:1] + self.take(4) + unscaled[5:]


def _collection(size: int, values: bytes) -> bytes:
    return struct.pack("<BiB", codes.COLLECTION, size, 1) + values


def _map(size: int, values: bytes) -> bytes:
    return struct.pack("<BiB", codes.MAP, size, 2) + values


def _decimal(scale: int, magnitude: bytes, negative: bool) -> bytes:
    padded = bytearray(b"\x00" + magnitude if not magnitude or magnitude[0] & 0x80 else magnitude)
    padded[0] |= 0x80 if negative else 0
    return struct.pack("<Bii", codes.DECIMAL, scale, len(padded)) + padded


def _single(reader: _Transcoder) -> bytes:
    return _collection(1, reader.value())


_UTIL: dict[str, Callable[[_Transcoder], Any]] = {
    "Arrays$ArrayList": _Transcoder.value,
    "CollSer": _Transcoder.immutable,
    "Collections$UnmodifiableRandomAccessList": _Transcoder.unmodifiable_list,
    "Collections$UnmodifiableList": _Transcoder.unmodifiable_list,
    "Collections$UnmodifiableSet": _Transcoder.value,
    "Collections$UnmodifiableCollection": _Transcoder.value,
    "Collections$UnmodifiableMap": _Transcoder.value,
    "Collections$SingletonList": _single,
    "Collections$SingletonSet": _single,
    "Collections$SingletonMap": lambda reader: _map(1, reader.values(2)),
    "Collections$EmptyList": lambda reader: _collection(0, b""),
    "Collections$EmptySet": lambda reader: _collection(0, b""),
    "Collections$EmptyMap": lambda reader: _map(0, b""),
}
_CLASSES = {java_hash(f"java.util.{name}"): read for name, read in _UTIL.items()} | {
    java_hash("java.math.BigInteger"): _Transcoder.big_integer,
    java_hash("java.math.BigDecimal"): _Transcoder.big_decimal,
    java_hash("java.sql.Timestamp"): _Transcoder.timestamp,
}
