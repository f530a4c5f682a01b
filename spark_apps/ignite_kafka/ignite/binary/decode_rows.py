"""Decoder of pages to Python values, one value at a time (row decoder).

It shares no code with the columnar path, so that tests check each with the other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...common.record_limits import MAX_DEPTH
from ...errors import DecodeError, UnsupportedType
from ..types import type_codes as codes
from ..types.model import BinaryType, CacheInfo, Page, TypeSource
from .byte_reader import ScalarReader
from .java_classes import TREE_MAP, TREE_SET, class_name, metadata, refreshed
from .optimized import NotReadable, is_temporal, read_optimized
from .optimized_transcode import transcoded
from .row_values import ClassName, Date, Document, EnumValue, MapValue, Time
from .value_end import Malformed, end_of

_NUMBERS = {
    codes.BYTE: "<b",
    codes.SHORT: "<h",
    codes.INT: "<i",
    codes.LONG: "<q",
    codes.FLOAT: "<f",
    codes.DOUBLE: "<d",
    codes.CHAR: "<H",
}
_ARRAYS = {
    codes.SHORT_ARRAY: "h", codes.INT_ARRAY: "i", codes.LONG_ARRAY: "q", codes.FLOAT_ARRAY: "f",
    codes.DOUBLE_ARRAY: "d",
    codes.CHAR_ARRAY: "H",
}  # fmt: skip


def decode_rows(pages: Sequence[Page], cache: CacheInfo, types: TypeSource) -> Iterator[tuple[Any, Any]]:
    """Yield key and value of every entry of pages as Python values (row_values.py).

    :raises DecodeError: for bytes that are no values: cache, partition, type id, position in the page's data.
    :raises UnsupportedType: for raw-data objects, objects that contain themselves and unknown optimized-marshalled
        classes.
    """
    for page in pages:
        reader = _Reader(memoryview(page.data).cast("B"), page.partition, cache.name, types=types)
        for _ in range(page.rows):
            yield reader.top(), reader.top()
        if reader.position != len(reader.data):
            raise reader.error(
                reader.position, f"{len(reader.data) - reader.position} bytes are left after the last entry"
            )


def decode_values(data: memoryview, start: int, count: int, types: TypeSource) -> tuple[list[Any], list[int], int]:
    """Decode `count` values that follow one another in a buffer, such as a row of an SQL reply.

    :returns: the Python values, their type codes, and the position after them. Raises as :func:`decode_rows`.
    """
    reader = _Reader(data.cast("B"), 0, "", types=types, position=start)
    values = []
    type_codes = []
    for _ in range(count):
        type_codes.append(reader.data[reader.position] if reader.position < len(reader.data) else codes.NULL)
        values.append(reader.top())
    return values, type_codes, reader.position


@dataclass(kw_only=True)
class _Reader(ScalarReader):
    """Recursive reader of any value; it remembers inner values, which handles refer to."""

    types: TypeSource
    depth: int = 0
    read_before: dict[int, tuple[Any, int]] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)

    def top(self) -> Any:
        """Read one whole key or value; its handles refer only to values inside it."""
        self.limit = len(self.data)
        self.depth = 0
        self.read_before.clear()
        self.open.clear()
        return self.value()

    def value(self) -> Any:
        start = self.position
        code = self.number("<B")
        if code in _NUMBERS:
            return self.number(_NUMBERS[code])
        if code in _ARRAYS:
            return self.primitive_array(_ARRAYS[code])
        if code in _READERS:
            return _READERS[code](self)
        if code in _NESTED:
            return self.nested(start, code)
        if code in codes.KNOWN:
            raise self.unsupported(start, f"A value of type code {code} has no row form")
        raise self.error(start, f"There is no type code {code}")

    def nested(self, start: int, code: int) -> Any:
        """Read a value with inner values, and remember value and end for later handles to the value."""
        if start in self.read_before:
            value, self.position = self.read_before[start]
            return value
        if self.depth >= MAX_DEPTH:
            raise self.unsupported(start, f"A value is nested deeper than {MAX_DEPTH} levels")
        self.depth += 1
        self.open.add(start)
        value = _NESTED[code](self)
        self.open.discard(start)
        self.read_before[start] = value, self.position
        self.depth -= 1
        return value

    def type_id(self) -> tuple[int, str | None]:
        """Read an int32 type id; a type id of 0 is followed by the class name."""
        type_id = self.number("<i")
        if type_id:
            return type_id, None
        if self.number("<B") != codes.STRING:
            raise self.error(self.position - 1, "A type id of 0 is not followed by a class name")
        return 0, self.string()

    def class_name(self) -> ClassName:
        type_id, name = self.type_id()
        return ClassName(name if name is not None else class_name(self.types, type_id))

    def enum(self) -> EnumValue:
        start = self.position - 1
        type_id, name = self.type_id()
        ordinal = self.number("<i")
        if name is not None:
            raise self.unsupported(start, f"An enum of class {name}, which was never registered")
        binary = self.types.binary_type(type_id)
        if ordinal not in binary.enum_values:
            binary = refreshed(self.types, type_id)
        if ordinal not in binary.enum_values:
            raise self.error(start, f"The metadata of enum {binary.name} has no constant of ordinal {ordinal}", type_id)
        return EnumValue(type_id, ordinal, binary.enum_values[ordinal], binary.name)

    def optimized(self) -> Any:
        start = self.position - 1
        payload = self.take(self.number("<i"))
        try:
            return read_optimized(payload) if is_temporal(payload) else self.read_rewritten(start, transcoded(payload))
        except NotReadable as error:
            raise self.unsupported(start, str(error)) from None
        except ValueError as error:
            raise self.error(start, f"A value of Java's optimized marshaller is broken: {error}") from None

    def read_rewritten(self, start: int, data: bytes) -> Any:
        """Read a value that was rewritten from the optimized marshaller to binary format."""
        try:
            reader = _Reader(
                memoryview(data), self.partition, self.cache, types=self.types, limit=len(data), depth=self.depth + 1
            )
            return reader.value()
        except (DecodeError, UnsupportedType) as error:
            raise type(error)(error.what, error.remedy, **error.where | {"position": start}) from None

    def elements(self, count: int) -> list[Any]:
        if count < 0 or count > self.limit - self.position:
            raise self.error(self.position, f"{count} elements are due and {self.limit - self.position} bytes are left")
        return [self.value() for _ in range(count)]

    def coded_array(self) -> list[Any]:
        return self.elements(self.number("<i"))

    def typed_array(self) -> list[Any]:
        self.type_id()
        return self.elements(self.number("<i"))

    def collection(self) -> list[Any]:
        count = self.number("<i")
        self.take(1)
        return self.elements(count)

    def map(self) -> MapValue:
        count = self.number("<i")
        self.take(1)
        flat = self.elements(2 * count)
        return MapValue(tuple(zip(flat[0::2], flat[1::2], strict=True)))

    def handle(self) -> Any:
        start = self.position - 1
        target = start - self.number("<i")
        if target in self.open:
            raise self.unsupported(start, "A value contains itself")
        return self.read_before[target][0] if target in self.read_before else self.read_target(start, target)

    def read_target(self, start: int, target: int) -> Any:
        """Read the value that a handle refers to, if it was not read before (a field of an older object)."""
        if target < 0 or target >= start:
            raise self.error(start, "A handle leads outside its page")
        back = self.position
        self.position = target
        value = self.value() if self.data[target] in _NESTED else self._raise_no_target(start)
        self.position = back
        return value

    def _raise_no_target(self, start: int) -> Any:
        raise self.error(start, "A handle leads to a value that has no handles")

    def wrapped(self) -> Any:
        start = self.position - 1
        length = self.number("<i")
        payload = self.position
        self.take(length)
        offset = self.number("<i")
        if offset < 0 or offset >= length:
            raise self.error(start, "The offset of a wrapped object is outside its payload")
        after = self.position
        limit = self.limit
        self.position = payload + offset
        self.limit = payload + length
        value = self.value()
        self.position = after
        self.limit = limit
        return value

    def document(self) -> Any:
        start = self.position - 1
        version, flags, type_id, _, length, schema_id, footer = struct.unpack("<BHiiiii", self.take(codes.HEADER - 1))
        if version != 1 or length < codes.HEADER or start + length > self.limit:
            raise self.error(start, "The header of a binary object is broken", type_id)
        if type_id in (TREE_MAP, TREE_SET):
            return self.tree(start, length, type_id == TREE_MAP)
        binary = metadata(self.types, type_id)
        if flags & codes.FLAG_HAS_RAW:
            raise self.unsupported(
                start, f"An object of {binary.name} has raw data, which has no fields to read", type_id
            )
        footer = footer if flags & codes.FLAG_HAS_SCHEMA else length
        if not codes.HEADER <= footer <= length:
            raise self.error(start, "The footer of a binary object is outside the object", type_id)
        try:
            offsets = self.offsets(start, flags, schema_id, footer, length, binary)
        except DecodeError:
            binary = refreshed(self.types, type_id)
            offsets = self.offsets(start, flags, schema_id, footer, length, binary)
        limit = self.limit
        self.limit = start + footer
        names = {field.field_id: field.name for field in binary.fields}
        members = {names[field_id]: self.at(start, offset, footer, type_id) for field_id, offset in offsets.items()}
        absent = sorted(names.keys() - offsets.keys(), key=lambda field_id: names[field_id].lower())
        self.position = start + length
        self.limit = limit
        return Document(binary.name, type_id, members | {names[field_id]: None for field_id in absent}, len(members))

    def tree(self, start: int, length: int, is_map: bool) -> Any:
        """Read a java.util.TreeMap or TreeSet: its comparator, which is skipped, its size, its values."""
        limit = self.limit
        self.limit = start + length
        try:
            self.position = end_of(self.data, self.position, self.limit)
        except Malformed as error:
            raise self.error(error.position, error.what) from None
        count = self.number("<i")
        flat = self.elements(2 * count if is_map else count)
        if self.position != self.limit:
            raise self.error(start, "A TreeMap or TreeSet does not end where its object does")
        self.limit = limit
        return MapValue(tuple(zip(flat[0::2], flat[1::2], strict=True))) if is_map else flat

    def at(self, start: int, offset: int, footer: int, type_id: int) -> Any:
        if not codes.HEADER <= offset < footer:
            raise self.error(start, "A field begins outside its object", type_id)
        self.position = start + offset
        return self.value()

    def offsets(
        self, start: int, flags: int, schema_id: int, footer: int, length: int, binary: BinaryType
    ) -> dict[int, int]:
        """Read an object's footer as offsets by field id; the field ids of a compact footer are in the metadata."""
        if not flags & codes.FLAG_HAS_SCHEMA:
            return {}
        form = "B" if flags & codes.FLAG_OFFSET_1 else "H" if flags & codes.FLAG_OFFSET_2 else "i"
        compact = bool(flags & codes.FLAG_COMPACT)
        entry = struct.Struct("<" + form if compact else "<i" + form)
        block = self.data[start + footer : start + length]
        if len(block) % entry.size:
            raise self.error(start, f"The footer of {binary.name} does not fit its schema", binary.type_id)
        entries = list(entry.iter_unpack(block))
        if compact:
            ids = binary.schemas.get(schema_id)
            if ids is None or len(ids) != len(entries):
                raise self.error(start, f"The footer of {binary.name} does not fit schema {schema_id}", binary.type_id)
            offset_of = {field_id: pair[0] for field_id, pair in zip(ids, entries, strict=True)}
        else:
            offset_of = dict(entries)
        unknown = offset_of.keys() - {pair.field_id for pair in binary.fields}
        if unknown:
            raise self.error(start, f"The metadata of {binary.name} has no field of id {min(unknown)}", binary.type_id)
        return offset_of


_READERS: dict[int, Callable[[_Reader], Any]] = {
    codes.BOOL: _Reader.boolean, codes.STRING: _Reader.string, codes.UUID: _Reader.uuid,
    codes.TIMESTAMP: _Reader.timestamp,
    codes.DATE: lambda reader: Date(reader.number("<q")), codes.TIME: lambda reader: Time(reader.number("<q")),
    codes.DECIMAL: _Reader.decimal, codes.BYTE_ARRAY: lambda reader: bytes(reader.take(reader.number("<i"))),
    codes.BOOL_ARRAY: _Reader.booleans, codes.CLASS: _Reader.class_name, codes.ENUM: _Reader.enum,
    codes.BINARY_ENUM: _Reader.enum,
    codes.NULL: lambda reader: None, codes.HANDLE: _Reader.handle, codes.OPTIMIZED: _Reader.optimized,
}  # fmt: skip
_NESTED: dict[int, Callable[[_Reader], Any]] = {
    **dict.fromkeys(codes.CODED_ARRAYS, _Reader.coded_array), **dict.fromkeys(codes.TYPED_ARRAYS, _Reader.typed_array),
    codes.COLLECTION: _Reader.collection, codes.MAP: _Reader.map, codes.OBJECT: _Reader.document,
    codes.WRAPPED: _Reader.wrapped,
}  # fmt: skip
