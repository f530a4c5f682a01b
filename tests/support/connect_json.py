"""Columns of every type with random values, and what Kafka Connect's JSON of them is: a slow reference that shares no code with ours.

A value is a plain Python one: int (also for dates and times, in the column's unit), float, str, bytes, Decimal, list, a list of pairs for
a map, a tuple for a struct.
"""

from __future__ import annotations

import base64
import json
import math
import re
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

DAY_MS = 86_400_000
_INTS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_LOGICAL = {pa.date32(): "date", pa.timestamp("us", "UTC"): "timestamp", pa.timestamp("ms", "UTC"): "timestamp"}


class Object(NamedTuple):
    """A JSON object with its members in order."""

    members: tuple[tuple[str, Any], ...]


def column(name: str, kind: pa.DataType, mark: str | None = None) -> pa.Field:
    """An Arrow field with the mark that the type table gives it."""
    return pa.field(name, kind, True, {b"ignite": mark.encode()} if mark else None)


def mark(field: pa.Field) -> str:
    return (field.metadata or {}).get(b"ignite", b"").decode()


FLAT = (
    *(column(name, getattr(pa, name)()) for name in _INTS),
    column("f32", pa.float32()),
    column("f64", pa.float64()),
    column("flag", pa.bool_()),
    column("text", pa.string()),
    column("bytes", pa.binary()),
    column("char", pa.int32(), "char"),
    column("uuid", pa.string(), "uuid"),
    column("day", pa.date32()),
    column("date", pa.timestamp("ms", "UTC"), "date"),
    column("timestamp", pa.timestamp("us", "UTC")),
    column("time", pa.int64(), "time"),
    column("decimal", pa.decimal128(38, 9), "decimal"),
    column("whole", pa.decimal128(38, 0), "decimal"),
)
TEXT_DECIMAL = column("big", pa.string(), "decimal")

_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


def _renamed(field: pa.Field) -> st.SearchStrategy[pa.Field]:
    return _NAMES.map(field.with_name)


def _nested(inner: st.SearchStrategy[pa.Field]) -> st.SearchStrategy[pa.Field]:
    structs = st.lists(inner, min_size=1, max_size=4, unique_by=lambda field: field.name).map(pa.struct)
    kinds = st.one_of(inner.map(pa.list_), st.tuples(inner, inner).map(lambda two: _map(*two)), structs)
    return st.tuples(_NAMES, kinds).map(lambda two: pa.field(*two))


def _map(key: pa.Field, item: pa.Field) -> pa.MapType:
    return pa.map_(key.with_nullable(False), item)


def fields(flat: Sequence[pa.Field] = FLAT, leaves: int = 6) -> st.SearchStrategy[pa.Field]:
    """A column of any type, nested ones included."""
    return st.recursive(st.sampled_from(flat).flatmap(_renamed), _nested, max_leaves=leaves)


def values(field: pa.Field, nulls: bool = True, least: int = 0) -> st.SearchStrategy[Any]:
    """A value of the column; maps have `least` entries (an empty one has no key that would tell its schema)."""
    plain = _values(field, least)
    return st.none() | plain if nulls else plain


def _values(field: pa.Field, least: int) -> st.SearchStrategy[Any]:
    kind = field.type
    if mark(field) == "decimal" and kind == pa.string():
        return st.tuples(st.integers(-(10**50), 10**50), st.integers(-40, 60)).map(lambda two: _decimal(*two))
    if mark(field) == "time":
        return st.integers(0, DAY_MS)
    if mark(field) == "char":
        return st.integers(0, 0xFFFF)
    if mark(field) == "uuid":
        return st.uuids().map(str)
    if str(kind) in _INTS:
        top = 1 << (_INTS[str(kind)] - 1)
        return st.integers(-top, top - 1)
    if pa.types.is_decimal(kind):
        return st.integers(-(10**38) + 1, 10**38 - 1).map(lambda unscaled: _decimal(unscaled, kind.scale))
    if pa.types.is_list(kind):
        return st.lists(values(kind.value_field, least=least), max_size=3)
    if pa.types.is_map(kind):
        pairs = st.tuples(values(kind.key_field, False, least), values(kind.item_field, least=least))
        return st.lists(pairs, min_size=least, max_size=3, unique_by=lambda pair: _as_a_key(pair[0], kind.key_field))
    if pa.types.is_struct(kind):
        return st.tuples(*(values(child, least=least) for child in kind))
    return {
        pa.float32(): st.floats(width=32), pa.float64(): st.floats(), pa.bool_(): st.booleans(), pa.binary(): st.binary(max_size=20),
        pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=12), pa.date32(): st.integers(-(2**31), 2**31 - 1),
        pa.timestamp("us", "UTC"): st.integers(-(2**63), 2**63 - 1), pa.timestamp("ms", "UTC"): st.integers(-(2**63), 2**63 - 1),
    }[kind]  # fmt: skip


def _decimal(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def arrow(rows: Sequence[Any], field: pa.Field) -> pa.Array:
    """The values as an Arrow array of the column's type."""
    return pa.array([_for_arrow(row, field) for row in rows], field.type)


def _for_arrow(value: Any, field: pa.Field) -> Any:
    kind = field.type
    if value is None:
        return None
    if isinstance(value, Decimal):
        return str(value) if kind == pa.string() else value
    if pa.types.is_list(kind):
        return [_for_arrow(item, kind.value_field) for item in value]
    if pa.types.is_map(kind):
        return [(_for_arrow(key, kind.key_field), _for_arrow(item, kind.item_field)) for key, item in value]
    if pa.types.is_struct(kind):
        return {child.name: _for_arrow(item, child) for child, item in zip(kind, value, strict=True)}
    return value


def expected(value: Any, field: pa.Field, decimal_format: str = "BASE64") -> Any:
    """What the JSON of a value parses to (see :func:`parsed`), by the rules of JsonConverter."""
    kind = field.type
    if value is None:
        return None
    if isinstance(value, Decimal):
        return value if decimal_format == "NUMERIC" else base64.b64encode(_unscaled(value)).decode()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if kind == pa.timestamp("us", "UTC"):
        return value // 1000
    if pa.types.is_list(kind):
        return [expected(item, kind.value_field, decimal_format) for item in value]
    if pa.types.is_struct(kind):
        return Object(tuple((child.name, expected(item, child, decimal_format)) for child, item in zip(kind, value, strict=True)))
    if pa.types.is_map(kind):
        pairs = [[expected(key, kind.key_field, decimal_format), expected(item, kind.item_field, decimal_format)] for key, item in value]
        named = not pairs or (kind.key_type == pa.string() and mark(kind.key_field) != "decimal")
        return Object(tuple((key, item) for key, item in pairs)) if named else pairs
    return np.float32(value) if kind == pa.float32() else value


def _unscaled(value: Decimal) -> bytes:
    """BigInteger.toByteArray of the unscaled value."""
    sign, digits, _ = value.as_tuple()
    number = int(Decimal((sign, digits, 0)))
    length = 1
    while not -(1 << (8 * length - 1)) <= number < 1 << (8 * length - 1):
        length += 1
    return number.to_bytes(length, "big", signed=True)


def parsed(text: bytes) -> Any:
    """Parsed JSON: numbers with a point or exponent are Decimal, objects keep the order of their members."""
    return json.loads(text, parse_float=Decimal, object_pairs_hook=lambda pairs: Object(tuple(pairs)))


def same(found: Any, wanted: Any) -> bool:
    """Whether parsed JSON is the expected value, of the same kind: 1.0 is not 1, "1" is not 1, 1.50 is not 1.5."""
    if isinstance(wanted, np.float32):
        return isinstance(found, Decimal) and struct.pack("<f", float(found)) == wanted.tobytes()
    if isinstance(wanted, float):
        return isinstance(found, Decimal) and struct.pack("<d", float(found)) == struct.pack("<d", wanted)
    if isinstance(wanted, Decimal):
        return isinstance(found, (Decimal, int)) and Decimal(found).as_tuple() == _unsigned_zero(wanted).as_tuple()
    if isinstance(wanted, Object):
        if not isinstance(found, Object) or len(found.members) != len(wanted.members):
            return False
        return all(a == c and same(b, d) for (a, b), (c, d) in zip(found.members, wanted.members, strict=True))
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    return type(found) is type(wanted) and found == wanted


def _unsigned_zero(value: Decimal) -> Decimal:
    """BigDecimal has no negative zero."""
    return value if value else value.copy_abs()


def connect_schema(field: pa.Field, value: Any = None) -> dict[str, Any]:
    """The Connect schema of a column, as ConnectData.java takes it; a decimal in text has the scale of `value`."""
    kind = field.type
    if mark(field) == "decimal":
        scale = -value.as_tuple().exponent if kind == pa.string() else kind.scale
        return {"type": "bytes", "parameters": [["scale", str(scale)]], **_logical("Decimal")}
    if mark(field) == "time":
        return {"type": "int32", **_logical("Time")}
    if kind == pa.date32():
        return {"type": "int32", **_logical("Date")}
    if pa.types.is_timestamp(kind):
        return {"type": "int64", **_logical("Timestamp")}
    if pa.types.is_list(kind):
        return {"type": "array", "optional": True, "values": connect_schema(kind.value_field)}
    if pa.types.is_map(kind):
        return {"type": "map", "optional": True, "keys": connect_schema(kind.key_field), "values": connect_schema(kind.item_field)}
    if pa.types.is_struct(kind):
        return {"type": "struct", "optional": True, "fields": [[child.name, connect_schema(child)] for child in kind]}
    names = {pa.float32(): "float32", pa.float64(): "float64", pa.bool_(): "boolean", pa.string(): "string", pa.binary(): "bytes"}
    return {"type": names.get(kind, str(kind)), "optional": True}


def _logical(name: str) -> dict[str, Any]:
    return {"optional": True, "name": f"org.apache.kafka.connect.data.{name}", "version": 1}


def connect_value(value: Any, field: pa.Field) -> Any:
    """A value in the exact form that ConnectData.java takes."""
    kind = field.type
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        return [("-" if sign else "") + "".join(map(str, digits)), -int(exponent)]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float):
        return struct.pack(">f" if kind == pa.float32() else ">d", value).hex()
    if isinstance(value, int):
        per = {pa.date32(): (DAY_MS, 1), pa.timestamp("us", "UTC"): (1, 1000)}.get(kind, (1, 1))
        return str(value * per[0] // per[1])
    if pa.types.is_list(kind):
        return [connect_value(item, kind.value_field) for item in value]
    if pa.types.is_map(kind):
        return [[connect_value(key, kind.key_field), connect_value(item, kind.item_field)] for key, item in value]
    return [connect_value(item, child) for child, item in zip(kind, value, strict=True)]


def _as_a_key(value: Any, field: pa.Field) -> str:
    """A text that two keys share if Java's HashMap takes them for one: the order of a map's entries is no part of it."""
    kind = field.type
    if value is None or not pa.types.is_nested(kind):
        return repr(connect_value(value, field))
    if pa.types.is_list(kind):
        return str([_as_a_key(item, kind.value_field) for item in value])
    if pa.types.is_map(kind):
        return str(sorted((_as_a_key(key, kind.key_field), _as_a_key(item, kind.item_field)) for key, item in value))
    return str([_as_a_key(item, child) for child, item in zip(kind, value, strict=True)])


_NUMBER = re.compile(rb"(-?[0-9]+\.[0-9]+(?:E-?[0-9]+)?)")


def longer_in_java(our: bytes | None, real: bytes | None) -> bool:
    """True if only numbers differ, which Java 17 and 18 write with too many or other last digits (JDK-4511638)."""
    if our is None or real is None:
        return False
    ours, reals = _NUMBER.split(our), _NUMBER.split(real)
    if len(ours) != len(reals):
        return False
    for mine, java in zip(ours, reals, strict=True):
        as_long = len(java) >= len(mine) and (b"E" in mine) == (b"E" in java)
        if mine != java and not (as_long and _NUMBER.fullmatch(mine) and np.float32(mine) == np.float32(java)):
            return False
    return True
