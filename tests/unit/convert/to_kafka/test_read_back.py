"""Keys of records back to keys of Ignite."""

from __future__ import annotations

import contextlib
import struct
import uuid
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.to_kafka.converter import Converter
from ignite_kafka.convert.to_kafka.read_back import KeyReader, declared_kinds
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.binary import ObjectLayout, encode_objects
from ignite_kafka.ignite.binary.encode_scalars import decimal_bytes
from ignite_kafka.ignite.binary.row_values import EnumValue, Timestamp
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.key_kind import OBJECT_KIND, UNKNOWN_KIND, KeyKind
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.java.hash_code import java_hash
from ignite_kafka.kafka.records import Records
from ignite_kafka.source.stream.batch import page_of_states
from tests.support.converters import converter
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, collection, decimal, enum, timestamp
from tests.support.ignite_keys import JSON, SCHEMAS, TURNED_BACK, any_key, hashed, key_of, key_types, kind_of, whole_orders
from tests.support.key_converters import KEY_CONVERTERS
from tests.support.randomness import examples

NONE = Types()


def record_of(key: bytes, types: Types = NONE) -> tuple[bytes, frozenset[KeyKind]]:
    """The key that a record has, and the kind that is remembered with it."""
    records = converter("json").convert([page_of_states([(key, None)])], CacheInfo("c", 1), types)
    (text,) = records.keys.to_pylist()
    return bytes(text), records.key_kinds


def integers(code: int, form: str, bits: int) -> st.SearchStrategy[tuple[int, bytes]]:
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1).map(lambda value: (code, struct.pack(f"<B{form}", code, value)))


def string(text: str) -> bytes:
    return struct.pack("<Bi", codes.STRING, len(text.encode())) + text.encode()


KEYS = st.one_of(
    integers(codes.BYTE, "b", 8),
    integers(codes.SHORT, "h", 16),
    integers(codes.INT, "i", 32),
    integers(codes.LONG, "q", 64),
    integers(codes.DATE, "q", 52),
    st.integers(0, 0xFFFF).map(lambda value: (codes.CHAR, struct.pack("<BH", codes.CHAR, value))),
    st.booleans().map(lambda value: (codes.BOOL, struct.pack("<B?", codes.BOOL, value))),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: (codes.DOUBLE, struct.pack("<Bd", codes.DOUBLE, value))),
    st.text(st.characters(exclude_categories=["Cs"])).map(lambda value: (codes.STRING, string(value))),
    st.binary(min_size=16, max_size=16).map(lambda value: (codes.UUID, bytes([codes.UUID]) + value)),
)


@given(KEYS)
def test_a_key_comes_back_where_its_type_is_known(known: tuple[int, bytes]) -> None:
    code, key = known
    text, kinds = record_of(key)
    assert kinds == {(code,)}
    assert key_of(text, kinds, NONE) == key


def test_uuids_are_as_java_writes_them() -> None:
    value = uuid.UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")
    key = key_of(f'"{value}"'.encode(), {(codes.UUID,)}, NONE)
    assert key == bytes([codes.UUID, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8])


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (b"5", {codes.INT, codes.LONG}),  # either
        (b"5", set()),
        (b"5", {codes.STRING}),
        (b"300", {codes.BYTE}),
        (b'"x"', {codes.UUID}),
        (b'"x"', {codes.STRING, codes.DECIMAL}),  # a decimal is a string, too
        (b'{"id":1}', {codes.OBJECT}),
        (b"true", {codes.INT}),
        (b'"\\ud800"', {codes.STRING}),
        (b"no json", {codes.STRING}),
        (b"null", {codes.LONG}),
    ],
)
def test_what_cannot_be_told_is_not_guessed(text: bytes, kinds: set[int]) -> None:
    assert key_of(text, {(code,) for code in kinds}, NONE) is None


def test_one_of_two_types_may_be_the_only_one_that_fits() -> None:
    assert key_of(b"5", {(codes.INT,), (codes.STRING,)}, NONE) == struct.pack("<Bi", codes.INT, 5)


def test_query_entities_tell_a_simple_key_type() -> None:
    entities = (QueryEntity("java.lang.Long", "V"), QueryEntity("org.example.Key", "V"))
    assert declared_kinds(CacheInfo("c", 1, query_entities=entities)) == {(codes.LONG,)}


ID, SHOP, LINE = pa.field("id", pa.int64()), pa.field("shop", pa.string()), pa.field("line", pa.int32())
ORDER = ObjectLayout("org.example.OrderKey", (ID, SHOP, LINE))
SHORT = ObjectLayout(ORDER.type_name, (LINE, ID))
"""Another schema of the same type."""


def order_types() -> Types:
    types = Types()
    schemas = [[field.name for field in layout.fields] for layout in (ORDER, SHORT)]
    types.add(ORDER.type_name, {"id": codes.LONG, "shop": codes.STRING, "line": codes.INT}, *schemas)
    return types


def order(*values: object, kind: ObjectLayout = ORDER) -> bytes:
    columns = [pa.array([value], field.type) for field, value in zip(kind.fields, values, strict=True)]
    return bytes(encode_objects(kind, columns)[0].as_py())


@given(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
    st.none() | st.integers(0, 9),
)
def test_an_object_comes_back_byte_for_byte(number: int, shop: str | None, line: int | None) -> None:
    types, key = order_types(), order(number, shop, line)
    text, kinds = record_of(key, types)
    assert kinds == {kind_of(key)}
    assert key_of(text, kinds, types) == key


def test_the_schema_tells_how_an_object_was_written() -> None:
    types, key = order_types(), order(3, 7, kind=SHORT)
    text, kinds = record_of(key, types)
    assert text == b'{"line":3,"id":7}'
    assert key_of(text, kinds, types) == key
    assert key_of(text, kinds | {kind_of(order(1, "x", 1))}, types) == key, "the other schema has one field more"
    assert key_of(b'{"id":7,"shop":"x","line":3}', kinds, types) is None, "that schema has no such field"
    assert key_of(b'{"id":7,"line":3}', kinds, types) is None, "nor that order"


def test_objects_that_do_not_come_back_the_same_are_not_guessed() -> None:
    types = order_types()
    key = bytearray(order(1, "x", 2))
    text, _ = record_of(bytes(key), types)
    key[8] ^= 1  # the hash code of a client that counts in another way
    assert record_of(bytes(key), types)[1] == {OBJECT_KIND}
    assert key_of(text, {(codes.OBJECT,)}, types) is None
    types.add("Timed", {"at": codes.TIMESTAMP})
    timed = ObjectLayout("Timed", (pa.field("at", pa.timestamp("us", "UTC")),))
    moment = order(datetime(2020, 1, 1, microsecond=1), kind=timed)
    assert record_of(moment, types)[1] == {(codes.OBJECT,)}


def test_kinds_without_metadata_or_of_another_form_tell_nothing() -> None:
    key = order(1, "x", 2)
    text, kinds = record_of(key, order_types())
    assert key_of(text, kinds, NONE) is None
    assert key_of(b"5", kinds, order_types()) is None
    (kind,) = kinds
    assert key_of(text, {(*kind[:3], kind[3] & ~codes.FLAG_HAS_SCHEMA)}, order_types()) is None


def test_an_object_with_a_full_footer_comes_back() -> None:
    types = order_types()
    fields = {"id": struct.pack("<Bq", codes.LONG, 5), "shop": string("x" * 300), "line": bytes([codes.NULL])}
    full = bytearray(binary(types.binary_type(ORDER.type_id), fields, compact=False))
    full[8:12] = order(5, "x" * 300, None)[8:12]  # the hash code is that of the fields
    text, kinds = record_of(bytes(full), types)
    assert key_of(text, kinds, types) == bytes(full)


def sent(keys: Sequence[bytes], made: Converter, cache: CacheInfo = CACHE) -> Records:
    """Keys as records, in one batch."""
    return made.convert([page_of_states([(key, None) for key in keys])], cache, key_types(), in_order=True)


@pytest.mark.parametrize("form", [form for form in KEY_CONVERTERS if form not in ("string", "long", "float")])
def test_elements_that_are_stored_alike_keep_their_types_in_a_batch(form: str) -> None:
    """A Collection of a long, and an Object[] of a java.sql.Time, which is a long of milliseconds."""
    longs = struct.pack("<BiBBq", codes.COLLECTION, 1, 1, codes.LONG, -1)
    times = struct.pack("<BiiBq", codes.OBJECT_ARRAY, -1, 1, codes.TIME, 0)
    types = Types()
    bag = types.add("Bag", {"many": codes.COLLECTION})
    keys = [binary(bag, {"many": many}) for many in (longs, times)]
    made = KEY_CONVERTERS[form]()
    one, other, *both = (
        made.convert([page_of_states([(key, None) for key in several])], CACHE, types, in_order=True).keys.to_pylist()
        for several in ([keys[0]], [keys[1]], keys, keys[::-1])
    )
    assert both == [one + other, other + one]


@pytest.mark.parametrize("form", ["json", "json-numeric", "string", "schemas", "schemas-numeric", "avro", "json-schema"])
@pytest.mark.parametrize("digits", [4_301, 10_001, 39_000])
@pytest.mark.parametrize("scale", [0, 2])
def test_decimals_of_many_digits_come_back(form: str, digits: int, scale: int) -> None:
    """Python refuses more than 4,300 digits of an int; a source sends 16 KiB."""
    made = KEY_CONVERTERS[form]()
    keys = [decimal_bytes(Decimal((sign, (7,) * digits, -scale))) for sign in (0, 1)]
    records = sent(keys, made)
    assert KeyReader(made, records.key_kinds, CACHE, NONE).read_back(records.keys.to_pylist()) == keys


@pytest.mark.parametrize("form", KEY_CONVERTERS)
@settings(max_examples=examples(60), deadline=None)
@given(st.lists(any_key(), min_size=1, max_size=6))
def test_no_key_is_turned_back_to_another(form: str, keys: list[bytes]) -> None:
    """Whatever the keys of a cache are: a record's key gives the one key it was made of, or none."""
    made, good = KEY_CONVERTERS[form](), []
    for key in keys:
        with contextlib.suppress(UnsupportedType):
            sent([key], made)
            good.append(key)
    if not good:
        return
    records = sent(good, made)
    found = KeyReader(made, records.key_kinds, CACHE, key_types(7)).read_back(records.keys.to_pylist())
    assert all(back in (None, key) for key, back in zip(good, found, strict=True))


@pytest.mark.parametrize("form", ["schemas", "json-schema", "avro"])
def test_a_decimal_that_is_read_as_text_comes_back(form: str) -> None:
    """The key is read row by row, because the type of a null object is not known, and Arrow makes no decimal of a negative scale so."""
    order, made = key_types().known[java_hash("order")], KEY_CONVERTERS[form]()
    names = max(SCHEMAS, key=len)
    key = hashed(binary(order, dict.fromkeys(names, NULL) | {"price": decimal(Decimal("170147609046062437672703E+15"))}))
    records = sent([key], made)
    assert KeyReader(made, records.key_kinds, CACHE, key_types(3)).read_back(records.keys.to_pylist()) == [key]


@pytest.mark.parametrize("form", [one for one in KEY_CONVERTERS if one not in ("string", "long", "float")])
@settings(max_examples=examples(60), deadline=None)
@given(st.one_of(*TURNED_BACK, whole_orders(), whole_orders()))
def test_a_key_of_one_kind_comes_back(form: str, key: bytes) -> None:
    made = KEY_CONVERTERS[form]()
    records = sent([key], made)
    (found,) = KeyReader(made, records.key_kinds, CACHE, key_types(3)).read_back(records.keys.to_pylist())
    assert found == key


def test_what_a_key_loses_makes_it_doubtful() -> None:
    """A timestamp of nanoseconds is equal to one of whole milliseconds in its record: neither is turned back while both may be there."""
    whole, split = (timestamp(Timestamp(5, nanos)) for nanos in (7_000_000, 7_000_001))
    records = sent([whole, split], JSON)
    assert len(set(records.keys.to_pylist())) == 1
    assert records.key_kinds == {(codes.TIMESTAMP, 0), (codes.TIMESTAMP, 1)}
    assert key_of(records.keys[0].as_py(), records.key_kinds, NONE) is None
    assert key_of(records.keys[0].as_py(), {(codes.TIMESTAMP, 0)}, NONE) == whole
    assert key_of(records.keys[0].as_py(), {(codes.TIMESTAMP,)}, NONE) is None, "offsets of former versions do not say"


def test_decimals_of_several_scales_are_not_turned_back_from_their_unscaled_bytes() -> None:
    keys = [decimal(Decimal(text)) for text in ("1.5", "15", "2.25")]
    records = sent(keys, JSON)
    assert [key_of(text, records.key_kinds, NONE) for text in records.keys.to_pylist()] == [None] * 3
    numeric = converter("json", decimal_format="NUMERIC")
    records = sent(keys, numeric)
    assert [key_of(text, records.key_kinds, NONE, numeric) for text in records.keys.to_pylist()] == keys


def test_a_declared_scale_is_that_of_the_record_not_of_the_key() -> None:
    column = QueryField("amount", "java.math.BigDecimal", is_key=True, scale=2)
    cache = CacheInfo("c", 1, query_entities=(QueryEntity("java.math.BigDecimal", "V", key_field="amount", fields=(column,)),))
    key = decimal(Decimal("12.5"))
    records = sent([key], JSON, cache)
    assert records.keys.to_pylist() == [b'"BOI="'], "1250"
    assert key_of(b'"BOI="', records.key_kinds, NONE, cache=cache) == key
    assert key_of(b'"BOI="', {(codes.DECIMAL, 1), (codes.DECIMAL, 2)}, NONE, cache=cache) is None, "12.5 or 12.50"


def test_kinds_that_were_not_noted_leave_only_what_the_cache_can_be_asked_for() -> None:
    number, moment = struct.pack("<Bi", codes.INT, 5), timestamp(Timestamp(5, 0))
    assert key_of(b"5", {(codes.INT,), UNKNOWN_KIND}, NONE) == number
    color = enum(EnumValue(java_hash("color"), 1, "GREEN"))
    records = sent([color], JSON)
    assert key_of(b'"GREEN"', records.key_kinds, key_types()) == color
    assert key_of(b'"GREEN"', records.key_kinds | {UNKNOWN_KIND}, key_types()) is None
    assert key_of(b"5000", {(codes.TIMESTAMP, 0), UNKNOWN_KIND}, NONE) == moment


def test_two_enums_with_one_name_are_not_told_apart() -> None:
    types = key_types()
    types.add("Light", {}, enum=("GREEN", "AMBER"))
    kinds: set[KeyKind] = {(codes.BINARY_ENUM, java_hash(name)) for name in ("color", "light")}
    assert key_of(b'"GREEN"', kinds, types) is None
    assert key_of(b'"AMBER"', kinds, types) == enum(EnumValue(java_hash("light"), 1, "AMBER"))


def test_fields_that_are_of_several_kinds_come_back_by_those() -> None:
    """Field `any` is of class Object: an int in one key, a text in another, an object in a third."""
    types = key_types()
    order, place = types.known[java_hash("order")], types.known[java_hash("place")]
    inner = hashed(binary(place, {"x": struct.pack("<Bi", codes.INT, 3), "label": string("l")}))
    rest = {"many": bytes([codes.NULL]), "day": bytes([codes.NULL])}
    keys = [
        hashed(binary(order, {"any": one} | rest)) for one in (struct.pack("<Bi", codes.INT, 5), string("t"), inner, bytes([codes.NULL]))
    ]
    records = sent(keys, JSON)
    assert [key_of(text, records.key_kinds, types) for text in records.keys.to_pylist()] == keys
    lists = hashed(binary(order, {"any": collection([string("t")])} | rest))
    with_list = sent([*keys, lists], JSON)
    assert key_of(with_list.keys[0].as_py(), with_list.key_kinds, types) is None, "collections are not turned back: no key is certain"


def test_a_key_class_of_very_many_forms_is_not_turned_back() -> None:
    keys = [decimal(Decimal(1).scaleb(-scale)) for scale in range(70)]
    assert sent(keys, JSON).key_kinds == {OBJECT_KIND}
