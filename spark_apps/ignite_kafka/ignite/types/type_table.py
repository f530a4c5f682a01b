"""Type table: for each type code of Ignite the name, the Arrow type of decoded values, and the Kafka Connect type.

Nothing here passes through float. A type that Arrow lacks is marked in the metadata of the Arrow field, key
``b"ignite"`` (:data:`MARK`):

===========  =========================  ===============================================================================
mark         Arrow type                 meaning
===========  =========================  ===============================================================================
char         int32                      a UTF-16 code unit
uuid         string                     java.util.UUID in its usual text form
enum         string or int32            name or ordinal, by the enum policy
class        string                     a java.lang.Class by name
time         int64                      java.sql.Time: milliseconds since 1970-01-01T00:00Z, as the wire has it (a time
                                        of day in a zone west of UTC is more than 24 h, so no Arrow time type holds it)
decimal      decimal128(38, s), string  BigDecimal; a string where values differ in scale or do not fit 38 digits
date         timestamp(ms, UTC)         java.util.Date, all of its range; Spark columns take it as timestamp(us, UTC)
mixed        dense union                values of several kinds in one column: rows can hold them, Spark columns cannot
order        dictionary of string       last child of a struct: which children an object has, in its order
                                        (binary/field_order.py)
encoded      binary                     values of any type in Ignite's binary format, each with its type code: written
                                        as they are
collection   list                       java.util.ArrayList; without it a list is written as an array. A decoded field
                                        has no such mark
===========  =========================  ===============================================================================

A field that is written has two more entries in its metadata: ``b"ignite.type"`` (:data:`TYPE_NAME`) is the name of a
struct's or an enum's binary type, ``b"ignite.values"`` (:data:`ENUM_VALUES`) a JSON object of an enum's names and
ordinals.

java.sql.Timestamp has nanoseconds and Spark's timestamp has microseconds: columns drop what is below 1 us, the row path
keeps it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa

from ...errors import UnsupportedType
from . import type_codes as codes
from .model import BinaryType

MARK = b"ignite"
TYPE_NAME = b"ignite.type"
ENUM_VALUES = b"ignite.values"


@dataclass(frozen=True)
class IgniteType:
    """Row of the type table: how an Ignite type is named, and which Arrow and Connect types it has.

    `arrow` is None if the Arrow type depends on metadata or values. `element` is the code of an array's elements.
    """

    code: int
    name: str
    arrow: pa.DataType | None
    connect: str
    mark: str | None = None
    element: int | None = None


_UTC_US = pa.timestamp("us", "UTC")
_UTC_MS = pa.timestamp("ms", "UTC")

TABLE: tuple[IgniteType, ...] = (
    IgniteType(codes.BYTE, "byte", pa.int8(), "INT8"),
    IgniteType(codes.SHORT, "short", pa.int16(), "INT16"),
    IgniteType(codes.INT, "int", pa.int32(), "INT32"),
    IgniteType(codes.LONG, "long", pa.int64(), "INT64"),
    IgniteType(codes.FLOAT, "float", pa.float32(), "FLOAT32"),
    IgniteType(codes.DOUBLE, "double", pa.float64(), "FLOAT64"),
    IgniteType(codes.CHAR, "char", pa.int32(), "INT32", "char"),
    IgniteType(codes.BOOL, "boolean", pa.bool_(), "BOOLEAN"),
    IgniteType(codes.STRING, "String", pa.string(), "STRING"),
    IgniteType(codes.UUID, "UUID", pa.string(), "STRING", "uuid"),
    IgniteType(codes.DATE, "Date", _UTC_MS, "TIMESTAMP", "date"),
    IgniteType(codes.TIMESTAMP, "Timestamp", _UTC_US, "TIMESTAMP"),
    IgniteType(codes.TIME, "Time", pa.int64(), "TIME", "time"),
    IgniteType(codes.DECIMAL, "BigDecimal", None, "DECIMAL", "decimal"),
    IgniteType(codes.CLASS, "Class", pa.string(), "STRING", "class"),
    IgniteType(codes.ENUM, "enum", pa.string(), "STRING or INT32", "enum"),
    IgniteType(codes.BINARY_ENUM, "enum", pa.string(), "STRING or INT32", "enum"),
    IgniteType(codes.BYTE_ARRAY, "byte[]", pa.binary(), "BYTES"),
    IgniteType(codes.SHORT_ARRAY, "short[]", None, "ARRAY", element=codes.SHORT),
    IgniteType(codes.INT_ARRAY, "int[]", None, "ARRAY", element=codes.INT),
    IgniteType(codes.LONG_ARRAY, "long[]", None, "ARRAY", element=codes.LONG),
    IgniteType(codes.FLOAT_ARRAY, "float[]", None, "ARRAY", element=codes.FLOAT),
    IgniteType(codes.DOUBLE_ARRAY, "double[]", None, "ARRAY", element=codes.DOUBLE),
    IgniteType(codes.CHAR_ARRAY, "char[]", None, "ARRAY", element=codes.CHAR),
    IgniteType(codes.BOOL_ARRAY, "boolean[]", None, "ARRAY", element=codes.BOOL),
    IgniteType(codes.STRING_ARRAY, "String[]", None, "ARRAY", element=codes.STRING),
    IgniteType(codes.UUID_ARRAY, "UUID[]", None, "ARRAY", element=codes.UUID),
    IgniteType(codes.DATE_ARRAY, "Date[]", None, "ARRAY", element=codes.DATE),
    IgniteType(codes.TIMESTAMP_ARRAY, "Timestamp[]", None, "ARRAY", element=codes.TIMESTAMP),
    IgniteType(codes.TIME_ARRAY, "Time[]", None, "ARRAY", element=codes.TIME),
    IgniteType(codes.DECIMAL_ARRAY, "BigDecimal[]", None, "ARRAY", element=codes.DECIMAL),
    IgniteType(codes.ENUM_ARRAY, "enum[]", None, "ARRAY", element=codes.ENUM),
    IgniteType(codes.OBJECT_ARRAY, "Object[]", None, "ARRAY"),
    IgniteType(codes.COLLECTION, "Collection", None, "ARRAY"),
    IgniteType(codes.MAP, "Map", None, "MAP"),
    IgniteType(codes.OBJECT, "Object", None, "STRUCT"),
)

BY_CODE = MappingProxyType({entry.code: entry for entry in TABLE})


def field_of(name: str, data_type: pa.DataType, mark: str | None = None, nullable: bool = True) -> pa.Field:
    """Build an Arrow field, with the mark of its Java type if it has one."""
    return pa.field(name, data_type, nullable, {MARK: mark.encode()} if mark else None)


def mark_of(field: pa.Field) -> str | None:
    """Return the mark of an Arrow field (its Java type); None without one."""
    metadata = field.metadata
    return metadata[MARK].decode() if metadata and MARK in metadata else None


def object_field(name: str, type_name: str, fields: Iterable[pa.Field]) -> pa.Field:
    """Build an Arrow field for objects of a binary type."""
    return pa.field(name, pa.struct(list(fields)), metadata={TYPE_NAME: type_name.encode()})


def enum_field(
    name: str,
    binary: BinaryType,
    data_type: pa.DataType = pa.string(),  # noqa: B008 (a constant)
) -> pa.Field:
    """Build an Arrow field for constants of an enum, as names (string) or ordinals (int32)."""
    values = json.dumps({label: ordinal for ordinal, label in binary.enum_values.items()})
    return pa.field(
        name, data_type, metadata={MARK: b"enum", TYPE_NAME: binary.name.encode(), ENUM_VALUES: values.encode()}
    )


def type_name_of(field: pa.Field) -> str:
    """Return the binary type's name in an Arrow field of objects or enums; UnsupportedType without one."""
    name = (field.metadata or {}).get(TYPE_NAME)
    if not name:
        raise UnsupportedType(
            f"Field {field.name} does not say its binary type", "Name it in the metadata ignite.type", field=field.name
        )
    return str(name, "utf-8")


def type_code(field: pa.Field) -> int:
    """Choose the type code that binary metadata has for an Arrow field; the inverse of :func:`declared_field`.

    A java.sql.Date is an object to the metadata, as Java's clients register it.

    :raises UnsupportedType: no Ignite type is written for the field's type, or the field has the null type.
    """
    kind = field.type
    mark = mark_of(field)
    for entry in TABLE:
        if entry.mark == mark and (entry.arrow == kind or (mark == "enum" and kind == pa.int32())):
            return entry.code
    if pa.types.is_decimal(kind) or (mark == "decimal" and kind == pa.string()):
        return codes.DECIMAL
    if mark == "encoded":
        return codes.OBJECT
    if pa.types.is_list(kind):
        return _LISTS.get(mark) or _ARRAYS.get(type_code(kind.value_field), codes.OBJECT_ARRAY)
    if pa.types.is_map(kind):
        return codes.MAP
    if pa.types.is_struct(kind) or kind == pa.date32():
        return codes.OBJECT
    marked = f", marked {mark}," if mark else ""
    raise UnsupportedType(
        f"Field {field.name} of type {kind}{marked} has no Ignite type", "Give it another type", field=field.name
    )


_LISTS: Mapping[str | None, int] = MappingProxyType({"collection": codes.COLLECTION, "objects": codes.OBJECT_ARRAY})
_ARRAYS = MappingProxyType(
    {entry.element: entry.code for entry in TABLE if entry.element} | {codes.BYTE: codes.BYTE_ARRAY}
)


def code_name(code: int) -> str:
    """Return the name of a type code for messages, such as Timestamp."""
    return BY_CODE[code].name if code in BY_CODE else f"type code {code}"


def declared_field(name: str, code: int, *, ordinals: bool = False) -> pa.Field:
    """Choose the Arrow field for a type code in the metadata, for columns without any value.

    Decimals become strings (no scale is known), containers and objects become the null type: their content is not
    declared.

    :param ordinals: constants of enums are ordinals, else names.
    """
    entry = BY_CODE.get(code)
    if entry is None:
        return pa.field(name, pa.null())
    if code == codes.DECIMAL:
        return field_of(name, pa.string(), "decimal")
    if entry.element is not None:
        return pa.field(name, pa.list_(declared_field("item", entry.element, ordinals=ordinals)))
    if entry.mark == "enum" and ordinals:
        return field_of(name, pa.int32(), entry.mark)
    return field_of(name, entry.arrow or pa.null(), entry.mark)


_JAVA_NAMES = {
    "java.lang.Byte": codes.BYTE, "java.lang.Short": codes.SHORT, "java.lang.Integer": codes.INT,
    "java.lang.Long": codes.LONG,
    "java.lang.Float": codes.FLOAT, "java.lang.Double": codes.DOUBLE, "java.lang.Character": codes.CHAR,
    "java.lang.Boolean": codes.BOOL, "java.lang.String": codes.STRING, "java.util.UUID": codes.UUID,
    "java.util.Date": codes.DATE,
    "java.sql.Timestamp": codes.TIMESTAMP, "java.sql.Time": codes.TIME, "java.math.BigDecimal": codes.DECIMAL,
    "[B": codes.BYTE_ARRAY,
    "byte": codes.BYTE, "short": codes.SHORT, "int": codes.INT, "long": codes.LONG, "float": codes.FLOAT,
    "double": codes.DOUBLE,
    "char": codes.CHAR, "boolean": codes.BOOL,
}  # fmt: skip


def java_code(java_type: str) -> int | None:
    """Return the type code of a scalar Java class; None for other classes."""
    return _JAVA_NAMES.get(java_type)


def java_field(name: str, java_type: str, scale: int = -1) -> pa.Field:
    """Choose the Arrow field for a Java class in a query entity; an unknown class gives the null type.

    :param scale: scale of a BigDecimal column; -1 if it is not declared.
    """
    if java_type == "java.sql.Date":
        return pa.field(name, pa.date32())
    code = _JAVA_NAMES.get(java_type)
    if code == codes.DECIMAL and 0 <= scale <= 38:
        return field_of(name, pa.decimal128(38, scale), "decimal")
    return pa.field(name, pa.null()) if code is None else declared_field(name, code)


def java_type(field: pa.Field) -> str:
    """Choose the Java class that a query entity has for an Arrow field; the inverse of :func:`java_field`."""
    if pa.types.is_struct(field.type) or mark_of(field) == "enum":
        return type_name_of(field)
    if field.type == pa.date32():
        return "java.sql.Date"
    return _JAVA_CLASSES.get(type_code(field), "java.lang.Object")


def java_class(field: pa.Field) -> str | None:
    """Return the Java class of a decoded column of scalar values; None for other columns.

    Columns do not tell java.time.LocalDate from java.sql.Date, nor java.time.Instant from Timestamp.
    """
    if field.type == pa.date32():
        return "java.sql.Date"
    mark = mark_of(field)
    if pa.types.is_decimal(field.type) or mark == "decimal":
        return _JAVA_CLASSES[codes.DECIMAL]
    codes_of_field = (entry.code for entry in TABLE if entry.arrow == field.type and entry.mark == mark)
    return _JAVA_CLASSES.get(next(codes_of_field, codes.NULL))


_JAVA_CLASSES = {code: name for name, code in reversed(_JAVA_NAMES.items())}
COLLECTION_CLASS = "java.util.Collection"
MAP_CLASS = "java.util.Map"
OBJECTS_CLASS = "[Ljava.lang.Object;"
ENUMS_CLASS = "[Ljava.lang.Enum;"
_CONTAINER_CLASSES = {
    codes.COLLECTION: COLLECTION_CLASS, codes.MAP: MAP_CLASS, codes.OBJECT_ARRAY: OBJECTS_CLASS,
    codes.ENUM_ARRAY: ENUMS_CLASS,
    codes.BYTE_ARRAY: "[B", codes.SHORT_ARRAY: "[S", codes.INT_ARRAY: "[I", codes.LONG_ARRAY: "[J",
    codes.FLOAT_ARRAY: "[F",
    codes.DOUBLE_ARRAY: "[D", codes.CHAR_ARRAY: "[C", codes.BOOL_ARRAY: "[Z",
}  # fmt: skip


def container_class(code: int) -> str:
    """Return the Java class for a container's type code: of an array, or java.util.Collection or Map.

    For arrays of objects or enums it does not name the elements' class.
    """
    return _CONTAINER_CLASSES.get(code) or f"[L{_JAVA_CLASSES[BY_CODE[code].element or codes.OBJECT]};"


_SPARK = {_UTC_MS: _UTC_US}


def spark_field(field: pa.Field) -> pa.Field:
    """Replace the type of an Arrow field by one that Spark accepts.

    Timestamps get microseconds; the null type and times of day become strings.

    :raises UnsupportedType: for a union (values of several kinds in one column), naming the field.
    """
    return field.with_type(_spark_type(field.type, field.name))


def _spark_type(data_type: pa.DataType, name: str) -> pa.DataType:
    if data_type in _SPARK:
        return _SPARK[data_type]
    if pa.types.is_null(data_type) or pa.types.is_time(data_type):
        return pa.string()
    if pa.types.is_union(data_type):
        raise UnsupportedType(f"Field {name} holds values of several kinds", "Copy the cache as JSON", field=name)
    if pa.types.is_list(data_type):
        return pa.list_(spark_field(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(spark_field(data_type.key_field).with_nullable(False), spark_field(data_type.item_field))
    if pa.types.is_struct(data_type):
        return pa.struct([spark_field(child) for child in data_type])
    return data_type
