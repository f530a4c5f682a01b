"""Strategies of keys in Ignite's binary format, of every type that a key can have, with the binary types that they are of."""

from __future__ import annotations

import random
import struct
import uuid
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

from ignite_kafka.convert.to_kafka.converter import Converter
from ignite_kafka.convert.to_kafka.read_back import KeyReader
from ignite_kafka.ignite.binary.key_hashes import array_hashes
from ignite_kafka.ignite.binary.row_values import EnumValue, Timestamp
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.key_kind import KeyKind
from ignite_kafka.ignite.types.model import CacheInfo, TypeSource
from ignite_kafka.java.hash_code import java_hash
from tests.support.converters import converter as converter_of
from tests.support.ignite_bytes import (
    CACHE,
    NULL,
    Types,
    binary,
    boolean,
    collection,
    decimal,
    enum,
    mapping,
    number,
    object_array,
    primitives,
    string,
    timestamp,
    uuid_,
)

JSON = converter_of("json")
COLORS = ("RED", "GREEN", "BLUE")
FIELDS = {
    "id": codes.LONG, "shop": codes.STRING, "price": codes.DECIMAL, "at": codes.TIMESTAMP, "color": codes.ENUM, "ratio": codes.FLOAT,
    "place": codes.OBJECT, "any": codes.OBJECT, "many": codes.COLLECTION, "day": codes.DATE,
}  # fmt: skip
SCHEMAS = (["id", "shop"], ["shop", "id"], ["price", "at", "color"], ["place", "id"], ["any", "many", "day"], list(FIELDS), ["ratio"])
INNER = {"x": codes.INT, "label": codes.STRING, "size": codes.FLOAT, "left": codes.OBJECT}
INNER_SCHEMAS = (["x", "label"], ["label", "x"], ["size"], ["x", "left"])


def key_types(seed: int = 0, *, grown: bool = False) -> Types:
    """The types of the keys, as one node gives them: fields in an order of its own.

    :param grown: the classes have got a field since the keys were made.
    """
    pick, types = random.Random(seed), Types()
    late = {"late": codes.STRING} if grown else {}
    for name, old, known in (("Order", FIELDS, SCHEMAS), ("Place", INNER, INNER_SCHEMAS)):
        fields, schemas = old | late, (*known, *([*one, "late"] for one in known if grown))
        shuffled = pick.sample(list(fields), len(fields))
        types.add(name, {one: fields[one] for one in shuffled}, *pick.sample(list(schemas), len(schemas)))
    types.add("Color", {}, enum=COLORS)
    return types


def hashed(data: bytes) -> bytes:
    """A binary object with the hash code that Java gives it."""
    (end,) = struct.unpack_from("<i", data, 20)
    (code,) = array_hashes(pa.array([data[codes.HEADER : end]], pa.binary())).tolist()
    return data[:8] + struct.pack("<i", code) + data[12:]


def _integers(code: int, bits: int, *, low: int | None = None) -> st.SearchStrategy[bytes]:
    least = -(1 << bits - 1) if low is None else low
    most = (1 << bits - 1) - 1 if low is None else (1 << bits) - 1
    return st.integers(least, most).map(lambda value: number(code, value))


DECIMALS = st.builds(
    lambda unscaled, scale: decimal(Decimal(unscaled).scaleb(-scale)),
    st.integers(-(10**8), 10**8) | st.integers(-(10**27), 10**27),
    st.integers(0, 3) | st.integers(-20, 40),
)
FLOATS = st.floats(width=32).map(lambda value: number(codes.FLOAT, value))
DOUBLES = st.floats().map(lambda value: number(codes.DOUBLE, value))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map(string)
UUIDS = st.binary(min_size=16, max_size=16).map(lambda data: uuid_(uuid.UUID(bytes=data)))
DATES = st.integers(-(1 << 45), 1 << 45).map(lambda value: struct.pack("<Bq", codes.DATE, value))
TIMES = st.integers(0, 86_399_999).map(lambda value: struct.pack("<Bq", codes.TIME, value))
TIMESTAMPS = st.builds(
    lambda s, n: timestamp(Timestamp(s, n)), st.integers(-(10**10), 10**10), st.sampled_from([0, 7_000_000, 999_999_999])
)
ENUMS = st.integers(0, 2).map(lambda n: enum(EnumValue(java_hash("color"), n, COLORS[n])))
BYTES = st.binary(max_size=5).map(lambda data: struct.pack("<Bi", codes.BYTE_ARRAY, len(data)) + data)
SCALARS = (
    _integers(codes.BYTE, 8), _integers(codes.SHORT, 16), _integers(codes.INT, 32), _integers(codes.LONG, 64),
    _integers(codes.CHAR, 16, low=0), FLOATS, DOUBLES, st.booleans().map(boolean), TEXTS, UUIDS, DATES, TIMES, TIMESTAMPS, DECIMALS, ENUMS,
    BYTES,
)  # fmt: skip
OF_CODE = {
    codes.LONG: _integers(codes.LONG, 64), codes.INT: _integers(codes.INT, 32), codes.STRING: TEXTS, codes.DECIMAL: DECIMALS,
    codes.TIMESTAMP: TIMESTAMPS, codes.ENUM: ENUMS, codes.FLOAT: FLOATS, codes.DATE: DATES,
}  # fmt: skip


def _scalar(draw: st.DrawFn) -> bytes:
    return draw(draw(st.sampled_from(SCALARS)))


def _object(draw: st.DrawFn, name: str, fields: Mapping[str, int], schemas: Sequence[Sequence[str]], deep: int) -> bytes:
    kind, made = key_types().known[java_hash(name.lower())], {}
    for field in draw(st.sampled_from(schemas)):
        made[field] = NULL if draw(st.integers(0, 4)) == 0 else _field(draw, field, fields[field], deep)
    return hashed(binary(kind, made, compact=draw(st.integers(0, 3)) > 0))


def _field(draw: st.DrawFn, name: str, code: int, deep: int) -> bytes:
    if code in OF_CODE:
        return draw(OF_CODE[code])
    if deep <= 0:
        return NULL
    if code == codes.COLLECTION:
        return _list(draw, deep - 1)
    return _value(draw, deep - 1) if name == "any" else _place(draw, deep - 1)


def _place(draw: st.DrawFn, deep: int) -> bytes:
    return _object(draw, "Place", INNER, INNER_SCHEMAS, deep)


def _list(draw: st.DrawFn, deep: int) -> bytes:
    """Collections and arrays, of one kind of element or of several."""
    size = draw(st.integers(0, 3))
    match draw(st.integers(0, 4)):
        case 0:
            return primitives(codes.LONG_ARRAY, "q", list(range(size)))
        case 1:
            return primitives(codes.FLOAT_ARRAY, "f", [draw(st.floats(width=32)) for _ in range(size)])
        case 2:
            kind = draw(st.sampled_from(SCALARS))
            return collection([draw(kind) for _ in range(size)])
    items = [NULL if draw(st.integers(0, 4)) == 0 else _value(draw, deep - 1) for _ in range(size)]
    return draw(st.sampled_from([collection, object_array]))(items)


def _value(draw: st.DrawFn, deep: int) -> bytes:
    kind = draw(st.integers(0, 5)) if deep > 0 else 0
    if kind == 1:
        return _list(draw, deep - 1)
    if kind == 2:
        texts = draw(st.booleans())
        pairs = range(draw(st.integers(0, 3)))
        return mapping([(draw(TEXTS) if texts else _scalar(draw), _value(draw, deep - 1)) for _ in pairs])
    return _place(draw, deep - 1) if kind == 3 else _scalar(draw)


@st.composite
def orders(draw: st.DrawFn, schemas: Sequence[Sequence[str]] = SCHEMAS, deep: int = 2) -> bytes:
    """Objects of type Order, with objects and collections within."""
    return _object(draw, "Order", FIELDS, schemas, deep)


@st.composite
def any_key(draw: st.DrawFn) -> bytes:
    """A key of any type."""
    kind = draw(st.integers(0, 4))
    if kind < 2:
        return _object(draw, "Order", FIELDS, SCHEMAS, 2)
    return _place(draw, 2) if kind == 2 else _list(draw, 2) if kind == 3 else _scalar(draw)


def kind_of(key: bytes) -> KeyKind:
    """The kind of an object: type id, schema id, and flags but those of the width of its offsets."""
    flags, type_id, schema_id = struct.unpack_from("<H", key, 2)[0], *struct.unpack_from("<i", key, 4), *struct.unpack_from("<i", key, 16)
    return codes.OBJECT, type_id, schema_id, flags & ~(codes.FLAG_OFFSET_1 | codes.FLAG_OFFSET_2)


def key_of(
    key: bytes, kinds: Collection[KeyKind], types: TypeSource, converter: Converter = JSON, cache: CacheInfo = CACHE
) -> bytes | None:
    """A record's key turned back, by default from JSON."""
    return KeyReader(converter, kinds, cache, types).read_back([key])[0]


WHOLE = st.integers(-(10**13), 10**13).map(lambda millis: timestamp(Timestamp(millis // 1000, millis % 1000 * 1_000_000)))
NO_NAN = st.floats(width=32, allow_nan=False).map(lambda value: number(codes.FLOAT, value))
TURNED_BACK = (ENUMS, NO_NAN, TIMES, DECIMALS, UUIDS, BYTES, WHOLE, TEXTS, DATES)
"""Strategies of keys that JSON shows whole."""


@st.composite
def whole_orders(draw: st.DrawFn) -> bytes:
    """Objects of type Order, with an object within, whose fields JSON shows whole."""
    of_code = OF_CODE | {codes.TIMESTAMP: WHOLE, codes.FLOAT: NO_NAN}
    types = key_types().known
    place = {name: draw(of_code[INNER[name]]) for name in draw(st.sampled_from([["x", "label"], ["label", "x"], ["size"]]))}
    objects = st.sampled_from([NULL, hashed(binary(types[java_hash("place")], place))])
    inner = {"place": objects, "any": objects | st.one_of(*TURNED_BACK), "many": st.just(NULL)}
    names = draw(st.sampled_from(SCHEMAS))
    given = {name: inner[name] if name in inner else of_code[FIELDS[name]] for name in names}
    fields = {name: NULL if draw(st.integers(0, 5)) == 0 else draw(one) for name, one in given.items()}
    return hashed(binary(types[java_hash("order")], fields, compact=draw(st.booleans())))
