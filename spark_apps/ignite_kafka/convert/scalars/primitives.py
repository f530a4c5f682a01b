"""Converters for values of one primitive type: `bytes`, `boolean`, `short`, `integer`, `long`, `float`, `double`.

Numbers are big-endian, a boolean is one byte. Error messages are the messages of Kafka 4.3.1.

Source: org.apache.kafka.connect.converters: ByteArrayConverter, BooleanConverter, NumberConverter and its subclasses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...errors import UnsupportedType
from ..connect.columns import ConnectColumn, ConnectPart, Deserialized
from ..connect.schema import ConnectSchema, ConnectType, arrow_type

_LOGICAL_VALUES = ("org.apache.kafka.connect.data.",)
_TRUE = 1


@dataclass(frozen=True)
class Primitive:
    """Primitive type with the form in which Kafka's serializer writes its values.

    :param name: name of the converter in settings, and of the type in Kafka's messages.
    :param wire: numpy type of the bytes.
    :param deserializer: name of the deserializer in Kafka's message about a wrong length.
    """

    name: str
    type: ConnectType
    wire: np.dtype[np.generic]
    deserializer: str

    @property
    def schema(self) -> ConnectSchema:
        """Connect schema of the values that the converter reads."""
        return ConnectSchema(self.type, optional=True)


PRIMITIVES = {
    primitive.name: primitive
    for primitive in (
        Primitive("boolean", ConnectType.BOOLEAN, np.dtype("u1"), "BooleanDeserializer"),
        Primitive("short", ConnectType.INT16, np.dtype(">i2"), "ShortDeserializer"),
        Primitive("integer", ConnectType.INT32, np.dtype(">i4"), "IntegerDeserializer"),
        Primitive("long", ConnectType.INT64, np.dtype(">i8"), "LongDeserializer"),
        Primitive("float", ConnectType.FLOAT32, np.dtype(">f4"), "Deserializer"),
        Primitive("double", ConnectType.FLOAT64, np.dtype(">f8"), "Deserializer"),
    )
}
"""Primitive types by converter name."""


class PrimitiveSerializer:
    """Serializer of values of one primitive type."""

    def __init__(self, primitive: Primitive) -> None:
        self._primitive = primitive
        self.name = primitive.name

    def check(self, schema: ConnectSchema, topic: str) -> None:
        """Raise UnsupportedType for a schema of another type than the converter writes."""
        _require(schema, self._primitive.type, self.name)

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        """Return the bytes of each value; null for null.

        :raises UnsupportedType: values of another type.
        """
        _require(column.schema, self._primitive.type, self.name)
        array = column.data
        wire = self._primitive.wire
        width = wire.itemsize
        valid = pa.array(np.asarray(array.is_valid())).buffers()[1] if array.null_count else None
        plain = array.cast(pa.uint8()) if self._primitive.type is ConnectType.BOOLEAN else array
        numbers = np.asarray(_without_nulls(plain)).astype(wire)
        if self._primitive.type is ConnectType.FLOAT64:
            # Double.doubleToLongBits writes every NaN alike; Float.floatToRawIntBits keeps the bits of a NaN
            numbers[np.isnan(numbers)] = np.nan
        offsets = np.arange(0, width * len(array) + 1, width, dtype=np.int32)
        return pa.Array.from_buffers(pa.binary(), len(array), [valid, pa.py_buffer(offsets), pa.py_buffer(numbers)])


class PrimitiveDeserializer:
    """Deserializer of values of one primitive type."""

    def __init__(self, primitive: Primitive) -> None:
        self._primitive = primitive
        self.name = primitive.name

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Deserialize N values; wrong lengths, and bytes that are no boolean, make bad rows."""
        primitive = self._primitive
        width = self._primitive.wire.itemsize
        right: Mask = np.asarray(pc.equal(pc.binary_length(data), width))
        why = f"Failed to deserialize {self.name}: Size of data received by {primitive.deserializer} is not {width}"
        bad = [(int(row), why) for row in np.flatnonzero(~right)]
        rows = np.flatnonzero(right)
        numbers = np.frombuffer(_bytes_of(data if right.all() else data.filter(pa.array(right))), primitive.wire)
        if primitive.type is ConnectType.BOOLEAN:
            wrong = numbers > _TRUE
            bad += [(int(row), _no_boolean(byte)) for row, byte in zip(rows[wrong], numbers[wrong], strict=True)]
            rows = rows[~wrong]
            numbers = numbers[~wrong]
        values = pa.array(numbers.astype(numbers.dtype.newbyteorder("="))).cast(arrow_type(primitive.schema))
        parts = (ConnectPart(rows, ConnectColumn(values, primitive.schema)),) if rows.size else ()
        return Deserialized(parts, tuple(sorted(bad)))


class BytesSerializer:
    """Serializer of BYTES values, which become the record's bytes unchanged."""

    name = "bytes"

    def check(self, schema: ConnectSchema, topic: str) -> None:
        """Raise UnsupportedType for a schema other than BYTES."""
        _require(schema, ConnectType.BYTES, self.name)

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        """Return the bytes of each value unchanged; null for null.

        :raises UnsupportedType: values of another type.
        """
        _require(column.schema, ConnectType.BYTES, self.name)
        return column.data


class BytesDeserializer:
    """Deserializer that returns the record's bytes unchanged, as optional BYTES."""

    name = "bytes"

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Return the bytes unchanged, as one column of optional BYTES."""
        schema = ConnectSchema(ConnectType.BYTES, optional=True)
        return Deserialized((ConnectPart(np.arange(len(data)), ConnectColumn(data, schema)),) if len(data) else ())


def _require(schema: ConnectSchema | None, expected: ConnectType, converter: str) -> None:
    """Raise UnsupportedType unless a schema has the expected type and is not a logical one, such as Date."""
    if schema is not None and schema.type is expected and not (schema.name or "").startswith(_LOGICAL_VALUES):
        return
    actual = "no schema" if schema is None else f"type {schema.type}" + (f" ({schema.name})" if schema.name else "")
    what = f"the value has {actual}, and the converter {converter} writes {expected} only"
    raise UnsupportedType(what, "Use the converter string or json for this side of the records.")


def _without_nulls(array: pa.Array) -> pa.Array:
    return pc.fill_null(array, 0) if array.null_count else array


def _bytes_of(data: pa.BinaryArray) -> bytes | memoryview:
    """Return the bytes of all values as one block."""
    _, offsets, whole = data.buffers()
    if whole is None or not len(data):
        return b""
    bounds = np.frombuffer(offsets, np.int32)[data.offset : data.offset + len(data) + 1]
    return memoryview(whole)[bounds[0] : bounds[-1]]


def _no_boolean(byte: npt.NDArray[np.uint8]) -> str:
    return f"Failed to deserialize boolean: Unexpected byte received by BooleanDeserializer: {int(np.int8(byte))}"
