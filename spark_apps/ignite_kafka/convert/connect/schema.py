"""Connect schemas as immutable objects, and the Arrow type for each schema's values.

========================================  ==============================================================================
schema                                    Arrow type of its values
========================================  ==============================================================================
INT8, INT16, INT32, INT64                 int8, int16, int32, int64
FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES  float32, float64, bool, string, binary
Decimal (BYTES)                           decimal128(38, scale); decimal256(76, scale) or string (java.math.BigDecimal's
                                          text) where a value has more digits
Date (INT32), Time (INT32)                date32, time32(ms)
Timestamp (INT64)                         timestamp(ms, UTC)
ARRAY, MAP, STRUCT                        list, map, struct with the schema's fields in their order
========================================  ==============================================================================
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ...common.python_compat import StrEnum

_DATA = "org.apache.kafka.connect.data"
DECIMAL = f"{_DATA}.Decimal"
DATE = f"{_DATA}.Date"
TIME = f"{_DATA}.Time"
TIMESTAMP = f"{_DATA}.Timestamp"
SCALE = "scale"
"""Parameter of a Decimal schema: the number of digits behind the point, as text."""
_MOST_DIGITS = 38
_MOST_TYPES = 10_000  # schemas, within others too, whose Arrow types are kept


class ConnectType(StrEnum):
    """Types of Connect schemas (``org.apache.kafka.connect.data.Schema.Type``), under their names in JSON."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


@dataclass(frozen=True)
class ConnectField:
    """A field of a STRUCT."""

    name: str
    schema: ConnectSchema


@dataclass(frozen=True)
class ConnectSchema:
    """A Connect schema, compared by its content (``org.apache.kafka.connect.data.ConnectSchema``).

    :param name: name of a logical type, or of a STRUCT's binary type.
    :param parameters: names and values, in order.
    :param default: the Python value of :mod:`pyarrow`'s ``as_py`` for :func:`arrow_type`; None: no default.
    :param fields: fields of a STRUCT.
    :param key_schema: schema of a MAP's keys.
    :param value_schema: schema of an ARRAY's elements or a MAP's values.
    """

    type: ConnectType
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    default: Any = dataclasses.field(default=None, hash=False)  # a list or a dict for some types
    fields: tuple[ConnectField, ...] = ()
    key_schema: ConnectSchema | None = None
    value_schema: ConnectSchema | None = None

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        """The hash, computed once, because each batch looks its schemas up several times."""
        parts = self.type, self.optional, self.name, self.version, self.doc, self.parameters
        return hash((*parts, self.fields, self.key_schema, self.value_schema))

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle: all but the hash, which differs in another process."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def as_optional(self, optional: bool = True) -> ConnectSchema:
        """Return the same schema, made optional or required."""
        return self if self.optional == optional else replace(self, optional=optional)

    def field(self, name: str) -> ConnectField | None:
        """Return a STRUCT's field by its exact name; None without such a field."""
        return next((field for field in self.fields if field.name == name), None)


def decimal(scale: int, *, optional: bool = False) -> ConnectSchema:
    """Return the schema of decimals with this scale, as Connect's Decimal.builder makes it."""
    return ConnectSchema(ConnectType.BYTES, optional, DECIMAL, 1, parameters=((SCALE, str(scale)),))


def date(*, optional: bool = False) -> ConnectSchema:
    """Return the schema of dates, Connect's Date: days since 1970-01-01."""
    return ConnectSchema(ConnectType.INT32, optional, DATE, 1)


def time(*, optional: bool = False) -> ConnectSchema:
    """Return the schema of times of day, Connect's Time: milliseconds."""
    return ConnectSchema(ConnectType.INT32, optional, TIME, 1)


def timestamp(*, optional: bool = False) -> ConnectSchema:
    """Return the schema of timestamps, Connect's Timestamp: milliseconds since 1970-01-01T00:00Z."""
    return ConnectSchema(ConnectType.INT64, optional, TIMESTAMP, 1)


def scale_of(schema: ConnectSchema) -> int | None:
    """Return the scale of a Decimal schema; None for another schema, or if the parameter is not a Java int."""
    if schema.name != DECIMAL or schema.type is not ConnectType.BYTES:
        return None
    text = dict(schema.parameters).get(SCALE)
    if text is None:
        return None
    try:
        scale = int(text)
    except ValueError:
        return None
    return scale if -(1 << 31) <= scale < 1 << 31 else None


_SIMPLE = {
    ConnectType.INT8: pa.int8(), ConnectType.INT16: pa.int16(), ConnectType.INT32: pa.int32(),
    ConnectType.INT64: pa.int64(),
    ConnectType.FLOAT32: pa.float32(), ConnectType.FLOAT64: pa.float64(), ConnectType.BOOLEAN: pa.bool_(),
    ConnectType.STRING: pa.string(), ConnectType.BYTES: pa.binary(),
}  # fmt: skip
_LOGICAL = {
    (ConnectType.INT32, DATE): pa.date32(),
    (ConnectType.INT32, TIME): pa.time32("ms"),
    (ConnectType.INT64, TIMESTAMP): pa.timestamp("ms", "UTC"),
}


@functools.lru_cache(maxsize=_MOST_TYPES)
def arrow_type(schema: ConnectSchema) -> pa.DataType:
    """Return the Arrow type of a schema's values.

    Decimals: decimal128(38, scale) where the scale allows it, else string.
    """
    if schema.type is ConnectType.STRUCT:
        return pa.struct([arrow_field(field.name, field.schema) for field in schema.fields])
    if schema.type is ConnectType.ARRAY:
        return pa.list_(arrow_field("item", _inner(schema.value_schema)))
    if schema.type is ConnectType.MAP:
        key = arrow_field("key", _inner(schema.key_schema)).with_nullable(False)
        return pa.map_(key, arrow_field("value", _inner(schema.value_schema)))
    scale = scale_of(schema)
    if scale is not None:
        return pa.decimal128(_MOST_DIGITS, scale) if abs(scale) <= _MOST_DIGITS else pa.string()
    return _LOGICAL.get((schema.type, schema.name or ""), _SIMPLE.get(schema.type))


def arrow_field(name: str, schema: ConnectSchema) -> pa.Field:
    """Return a nullable Arrow field for a schema's values; only the Connect schema says whether nulls are allowed."""
    return pa.field(name, arrow_type(schema))


def text_type(schema: ConnectSchema) -> pa.DataType:
    """Return the Arrow type of a schema's values if decimals are kept as text, with any number of digits."""
    if schema.type is ConnectType.STRUCT:
        return pa.struct([pa.field(field.name, text_type(field.schema)) for field in schema.fields])
    if schema.type is ConnectType.ARRAY:
        return pa.list_(pa.field("item", text_type(_inner(schema.value_schema))))
    if schema.type is ConnectType.MAP:
        return pa.map_(text_type(_inner(schema.key_schema)), pa.field("value", text_type(_inner(schema.value_schema))))
    return pa.string() if scale_of(schema) is not None else arrow_type(schema)


def default_array(schema: ConnectSchema, kind: pa.DataType | None = None) -> pa.Array:
    """Return a schema's default as an array with one value.

    :param kind: Arrow type of the array; None: the type by :func:`arrow_type`, or text for decimals with more digits.
    :raises pa.ArrowException: a decimal of the default has more digits than the type holds.
    """
    try:
        array = pa.array([schema.default], arrow_type(schema))
    except pa.ArrowTypeError:  # decimals as text, which may have more digits
        array = pa.array([schema.default], text_type(schema))
    return array if kind is None or array.type == kind else array.cast(kind)


def _inner(schema: ConnectSchema | None) -> ConnectSchema:
    if schema is None:
        raise ValueError("an ARRAY or MAP without the schema of its content")
    return schema
