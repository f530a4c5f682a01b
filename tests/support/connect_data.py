"""Random Connect schemas and values of them, and the form in which a Java process gets and gives both (tests/java/ConnectData.java).

A value is a plain Python one: int (also for dates and times, in the column's unit), float, str, bytes, Decimal, list, a list of pairs for
a map, a tuple for a struct.
"""

from __future__ import annotations

import base64
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from ignite_kafka.convert.connect import ConnectColumn, ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.connect import schema as connect

DAY_MS = 86_400_000
_BITS = {ConnectType.INT8: 8, ConnectType.INT16: 16, ConnectType.INT32: 32, ConnectType.INT64: 64}
_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_SCALES = (0, 2, 9, 37)
SIMPLE = (
    *(ConnectSchema(one) for one in ConnectType if one not in (ConnectType.ARRAY, ConnectType.MAP, ConnectType.STRUCT)),
    *(connect.decimal(scale) for scale in _SCALES), connect.date(), connect.time(), connect.timestamp(),
)  # fmt: skip


def _dressed(one: ConnectSchema) -> st.SearchStrategy[ConnectSchema]:
    """The schema with some of the parts that any schema may have."""
    logical = one.name is not None

    def made(optional: bool, name: str | None, version: int | None, doc: str | None, extra: dict[str, str]) -> ConnectSchema:
        parameters = (*one.parameters, *((key, value) for key, value in extra.items() if key != connect.SCALE))
        return ConnectSchema(
            one.type, optional, one.name if logical else name, one.version if logical else version, doc, parameters,
            fields=one.fields, key_schema=one.key_schema, value_schema=one.value_schema,
        )  # fmt: skip

    versions = st.none() | st.integers(-(2**31), 2**31 - 1)
    extras: st.SearchStrategy[dict[str, str]] = st.just({}) | st.dictionaries(_NAMES, _TEXTS, max_size=2)
    return st.builds(made, st.booleans(), st.none() | _NAMES, versions, st.none() | _TEXTS, extras)


def _defaulted(one: ConnectSchema) -> st.SearchStrategy[ConnectSchema]:
    """The schema, now and then with a default; only of types whose default Python can compare."""
    if one.type in (ConnectType.ARRAY, ConnectType.MAP, ConnectType.STRUCT):
        return st.just(one)

    def with_default(value: Any) -> ConnectSchema:
        default = arrow([value], one)[0].as_py()
        return ConnectSchema(one.type, one.optional, one.name, one.version, one.doc, one.parameters, default)

    return st.just(one) | _small(one).map(with_default)


def _small(one: ConnectSchema) -> st.SearchStrategy[Any]:
    """Values that Python's own dates can hold and that compare equal to themselves."""
    if one.name == connect.DATE:
        return st.integers(-719_162, 2_932_896)
    if one.name == connect.TIMESTAMP:
        return st.integers(-62_135_596_800_000, 253_402_300_799_999)
    if one.name == connect.TIME:
        return st.integers(0, DAY_MS - 1)
    return values(one.as_optional(False)).filter(lambda value: value == value)


def schemas(leaves: int = 6) -> st.SearchStrategy[ConnectSchema]:
    """A schema of any type, nested ones included."""

    def nested(inner: st.SearchStrategy[ConnectSchema]) -> st.SearchStrategy[ConnectSchema]:
        arrays = inner.map(lambda one: ConnectSchema(ConnectType.ARRAY, value_schema=one))
        maps = st.tuples(_keys(), inner).map(lambda two: ConnectSchema(ConnectType.MAP, key_schema=two[0], value_schema=two[1]))
        fields = st.lists(st.tuples(_NAMES, inner), max_size=4, unique_by=lambda two: two[0])
        structs = fields.map(lambda all_of: ConnectSchema(ConnectType.STRUCT, fields=tuple(ConnectField(*one) for one in all_of)))
        return (arrays | maps | structs).flatmap(_dressed)

    return st.recursive(st.sampled_from(SIMPLE).flatmap(_dressed).flatmap(_defaulted), nested, max_leaves=leaves)


def _keys() -> st.SearchStrategy[ConnectSchema]:
    floats = (ConnectType.FLOAT32, ConnectType.FLOAT64, ConnectType.BYTES)  # as keys of Java's maps they are not equal by value
    return st.sampled_from([one for one in SIMPLE if one.type not in floats] + [ConnectSchema(ConnectType.STRING)] * 4)


def values(one: ConnectSchema) -> st.SearchStrategy[Any]:
    """A value of the schema; null where it may be."""
    plain = _values(one)
    return st.none() | plain if one.optional else plain


def _values(one: ConnectSchema) -> st.SearchStrategy[Any]:
    scale = connect.scale_of(one)
    if scale is not None:
        return st.integers(-(10**38) + 1, 10**38 - 1).map(lambda unscaled: _decimal(unscaled, scale))
    if one.name == connect.TIME:
        return st.integers(0, DAY_MS - 1)
    if one.name == connect.TIMESTAMP:
        return st.integers(-(2**63), 2**63 - 1)
    if one.type in _BITS:
        top = 1 << (_BITS[one.type] - 1)
        return st.integers(-top, top - 1)
    if one.type is ConnectType.ARRAY:
        return st.lists(values(one.value_schema), max_size=3)  # type: ignore[arg-type]
    if one.type is ConnectType.MAP:
        pairs = st.tuples(_values(one.key_schema), values(one.value_schema))  # type: ignore[arg-type]
        return st.lists(pairs, max_size=3, unique_by=lambda pair: repr(pair[0]))
    if one.type is ConnectType.STRUCT:
        return st.tuples(*(values(field.schema) for field in one.fields))
    return {
        ConnectType.FLOAT32: st.floats(width=32), ConnectType.FLOAT64: st.floats(), ConnectType.BOOLEAN: st.booleans(),
        ConnectType.STRING: _TEXTS, ConnectType.BYTES: st.binary(max_size=20),
    }[one.type]  # fmt: skip


def _decimal(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def column(rows: list[Any], one: ConnectSchema) -> ConnectColumn:
    """The values as a column of the schema."""
    return ConnectColumn(arrow(rows, one), one)


def arrow(rows: list[Any], one: ConnectSchema) -> pa.Array:
    """The values as an Arrow array of the schema's type."""
    return pa.array([_for_arrow(row, one) for row in rows], connect.arrow_type(one))


def _for_arrow(value: Any, one: ConnectSchema) -> Any:
    if value is None:
        return None
    if one.type is ConnectType.ARRAY and one.value_schema:
        return [_for_arrow(item, one.value_schema) for item in value]
    if one.type is ConnectType.MAP and one.key_schema and one.value_schema:
        return [(_for_arrow(key, one.key_schema), _for_arrow(item, one.value_schema)) for key, item in value]
    if one.type is ConnectType.STRUCT:
        return {field.name: _for_arrow(item, field.schema) for field, item in zip(one.fields, value, strict=True)}
    return value


def described(one: ConnectSchema | None) -> dict[str, Any] | None:
    """The schema as ConnectData.java takes it."""
    if one is None:
        return None
    parts: dict[str, Any] = {"type": one.type.name.lower(), "optional": one.optional}
    parts |= {name: part for name in ("name", "version", "doc") if (part := getattr(one, name)) is not None}
    if one.parameters:
        parts["parameters"] = [list(pair) for pair in one.parameters]
    if one.default is not None:
        parts["default"] = exact(raw(connect.default_array(one))[0], one)
    if one.type is ConnectType.MAP:
        parts["keys"] = described(one.key_schema)
    if one.type in (ConnectType.ARRAY, ConnectType.MAP):
        parts["values"] = described(one.value_schema)
    if one.type is ConnectType.STRUCT:
        parts["fields"] = [[field.name, described(field.schema)] for field in one.fields]
    return parts


def raw(array: pa.Array) -> list[Any]:
    """Values of an array: dates and times as numbers, maps as pairs, structs as tuples."""
    kind = array.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return array.view(pa.int32()).to_pylist()
    if pa.types.is_timestamp(kind):
        return array.view(pa.int64()).to_pylist()
    if pa.types.is_struct(kind):
        columns = [raw(array.field(number)) for number in range(kind.num_fields)]
        rows = list(zip(*columns, strict=True)) if columns else [()] * len(array)
        return [row if there else None for row, there in zip(rows, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_list(kind):
        return [None if not one.is_valid else raw(one.values) for one in array]
    if pa.types.is_map(kind):
        return [None if not one.is_valid else list(zip(*(raw(one.values.field(i)) for i in (0, 1)), strict=True)) for one in array]
    return array.to_pylist()


def exact(value: Any, one: ConnectSchema) -> Any:
    """A value in the exact form of ConnectData.java."""
    if value is None or isinstance(value, bool):
        return value
    if connect.scale_of(one) is not None:
        sign, digits, exponent = Decimal(value).as_tuple()
        return [str(int(Decimal((sign, digits, 0)))), -int(exponent)]
    if one.name == connect.DATE and one.type is ConnectType.INT32:
        return str(value * DAY_MS)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float):
        return struct.pack(">f" if one.type is ConnectType.FLOAT32 else ">d", value).hex()
    if one.type is ConnectType.ARRAY and one.value_schema:
        return [exact(item, one.value_schema) for item in value]
    if one.type is ConnectType.MAP and one.key_schema and one.value_schema:
        return [[exact(key, one.key_schema), exact(item, one.value_schema)] for key, item in value]
    if one.type is ConnectType.STRUCT:
        return [exact(item, field.schema) for field, item in zip(one.fields, value, strict=True)]
    return str(value)
