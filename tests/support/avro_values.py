"""Connect schemas of every type with random values, and their Avro by fastavro: a reference that shares no code with ours.

A value is a plain Python one in its stored form: int (also for Date, Time and Timestamp), float, bool, str, bytes, Decimal, list, a list of
pairs for a map, a dict for a struct.
"""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
from hypothesis import strategies as st

from ignite_kafka.convert.connect.schema import (
    DECIMAL,
    TIME,
    ConnectField,
    ConnectSchema,
    ConnectType,
    arrow_type,
    date,
    decimal,
    scale_of,
    time,
    timestamp,
)

T = ConnectType
_BITS = {T.INT8: 7, T.INT16: 15, T.INT32: 31, T.INT64: 63}
_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_SIMPLE = (*_BITS, T.FLOAT32, T.FLOAT64, T.BOOLEAN, T.STRING, T.BYTES)


def struct(name: str | None, /, *, optional: bool = False, **fields: ConnectSchema) -> ConnectSchema:
    """Schema of a STRUCT."""
    return ConnectSchema(T.STRUCT, optional, name, fields=tuple(ConnectField(*one) for one in fields.items()))


def record(name: str, /, **fields: ConnectSchema) -> ConnectSchema:
    """Schema of a required STRUCT whose fields may have any name."""
    return ConnectSchema(T.STRUCT, name=name, fields=tuple(ConnectField(*one) for one in fields.items()))


def array(items: ConnectSchema, *, optional: bool = False) -> ConnectSchema:
    """Schema of an ARRAY."""
    return ConnectSchema(T.ARRAY, optional, value_schema=items)


def mapping(keys: ConnectSchema, values: ConnectSchema, *, optional: bool = False, name: str | None = None) -> ConnectSchema:
    """Schema of a MAP."""
    return ConnectSchema(T.MAP, optional, name, key_schema=keys, value_schema=values)


def simple(optional: st.SearchStrategy[bool]) -> st.SearchStrategy[ConnectSchema]:
    """Schemas without content."""
    kinds = [lambda o, kind=kind: ConnectSchema(kind, o) for kind in _SIMPLE]
    logical = [lambda o, make=make: make(optional=o) for make in (date, time, timestamp)]
    scales = [lambda o, scale=scale: decimal(scale, optional=o) for scale in (0, 2, 9)]
    return st.builds(lambda make, o: make(o), st.sampled_from([*kinds, *logical, *scales]), optional)


@st.composite
def schemas(draw: st.DrawFn, leaves: int = 8) -> ConnectSchema:
    """Schemas of any type. Records, and maps whose keys are not text, have names of their own."""
    count = iter(range(1000))

    def nested(inner: st.SearchStrategy[ConnectSchema]) -> st.SearchStrategy[ConnectSchema]:
        fields = st.lists(st.tuples(_NAMES, inner), min_size=1, max_size=5, unique_by=lambda one: one[0])
        return st.one_of(
            st.builds(lambda o, content: ("array", o, content), st.booleans(), inner),
            st.builds(lambda o, key, content: ("map", o, key, content), st.booleans(), simple(st.just(False)), inner),
            st.builds(lambda o, content: ("struct", o, content), st.booleans(), fields),
        )

    def made(plan: Any) -> ConnectSchema:
        if isinstance(plan, ConnectSchema):
            return plan
        kind, optional, *content = plan
        if kind == "array":
            return array(made(content[0]), optional=optional)
        if kind == "map":
            return mapping(content[0], made(content[1]), optional=optional, name=f"org.acme.Entry{next(count)}")
        return struct(f"org.acme.Type{next(count)}", optional=optional, **{name: made(one) for name, one in content[0]})

    return made(draw(st.recursive(simple(st.booleans()), nested, max_leaves=leaves)))


def values(schema: ConnectSchema) -> st.SearchStrategy[Any]:
    """Values of a schema, extremes included."""
    plain = _values(schema)
    return st.none() | plain if schema.optional else plain


def _values(schema: ConnectSchema) -> st.SearchStrategy[Any]:
    scale = scale_of(schema)
    if scale is not None:
        return st.integers(-(10**38) + 1, 10**38 - 1).map(lambda unscaled: Decimal(f"{unscaled}E{-scale}"))
    if schema.name == TIME:
        return st.integers(0, 86_399_999)
    if schema.type in _BITS:
        top = 1 << _BITS[schema.type]
        return st.integers(-top, top - 1) | st.sampled_from([-top, top - 1, 0, -1, 63, 64, -64, -65])
    if schema.type is T.STRUCT:
        return st.fixed_dictionaries({one.name: values(one.schema) for one in schema.fields})
    if schema.value_schema is not None and schema.key_schema is None:
        return st.lists(values(schema.value_schema), max_size=4)
    if schema.value_schema is not None:
        assert schema.key_schema is not None
        pairs = st.tuples(values(schema.key_schema), values(schema.value_schema))
        return st.lists(pairs, max_size=4, unique_by=lambda pair: repr(pair[0]))
    return {
        T.FLOAT32: st.floats(width=32, allow_nan=False), T.FLOAT64: st.floats(allow_nan=False), T.BOOLEAN: st.booleans(),
        T.STRING: _TEXTS, T.BYTES: st.binary(max_size=20),
    }[schema.type]  # fmt: skip


def arrow(rows: list[Any], schema: ConnectSchema) -> pa.Array:
    """The values as an Arrow array."""
    return pa.array(rows, arrow_type(schema))


def fastavro_bytes(rows: list[Any], schema: ConnectSchema, text: str) -> list[bytes]:
    """The body of each value as fastavro writes it."""
    parsed = fastavro.parse_schema(without_logical(json.loads(text)))
    found = []
    for row in rows:
        file = io.BytesIO()
        fastavro.schemaless_writer(file, parsed, stored(row, schema))
        found.append(file.getvalue())
    return found


def without_logical(schema: Any) -> Any:
    """The schema whose values are the stored ones."""
    if isinstance(schema, dict):
        return {name: without_logical(one) for name, one in schema.items() if name != "logicalType"}
    return [without_logical(one) for one in schema] if isinstance(schema, list) else schema


def stored(value: Any, schema: ConnectSchema) -> Any:
    """A value as fastavro takes it without logical types."""
    if value is None:
        return None
    if schema.name == DECIMAL:
        unscaled = int(value.scaleb(scale_of(schema)).to_integral_value()) if abs(value) < 1 else _unscaled(value, scale_of(schema) or 0)
        return unscaled.to_bytes((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1, "big", signed=True)
    if schema.type is T.STRUCT:
        return {one.name: stored(value[one.name], one.schema) for one in schema.fields}
    if schema.value_schema is not None and schema.key_schema is None:
        return [stored(one, schema.value_schema) for one in value]
    if schema.value_schema is not None:
        assert schema.key_schema is not None
        pairs = [(stored(key, schema.key_schema), stored(one, schema.value_schema)) for key, one in value]
        if schema.key_schema.type is T.STRING and not schema.key_schema.optional:
            return dict(pairs)
        return [{"key": key, "value": one} for key, one in pairs]
    return value


def _unscaled(value: Decimal, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits))) * 10 ** (exponent + scale)
    return -unscaled if sign else unscaled
