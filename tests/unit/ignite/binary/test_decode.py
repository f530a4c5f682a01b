"""Columns and rows of hand-made bytes: groups, nulls, older schemas, footers of every width, marks, extremes, refusals."""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa
import pytest

from ignite_kafka.errors import DecodeError, IgniteKafkaError, UnknownBinaryType, UnsupportedType
from ignite_kafka.ignite.binary import EntryGroup, decode_entries, decode_rows
from ignite_kafka.ignite.binary.row_values import Document, EnumValue, MapValue
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryType
from ignite_kafka.ignite.types.type_table import mark_of
from tests.support.ignite_bytes import (
    CACHE,
    NULL,
    Types,
    binary,
    boolean,
    decimal,
    enum,
    number,
    object_array,
    page,
    primitives,
    string,
    wrapped,
    written,
)

KEY = number(codes.INT, 1)


def decoded(*values: bytes, types: Types | None = None) -> EntryGroup:
    """The one group of entries with these values under int keys."""
    entries = [(number(codes.INT, row), value) for row, value in enumerate(values)]
    (group,) = decode_entries([page(entries)], CACHE, types or Types())
    return group


def rows(*values: bytes, types: Types | None = None) -> list[object]:
    entries = [(number(codes.INT, row), value) for row, value in enumerate(values)]
    return [value for _, value in decode_rows([page(entries)], CACHE, types or Types())]


def test_groups_are_by_type_in_the_order_of_their_first_entries() -> None:
    types = Types()
    one, two = types.add("One", {"a": codes.INT}), types.add("Two", {"b": codes.STRING})
    first = page([(KEY, wrapped(binary(two, {"b": string("x")}))), (string("k"), number(codes.LONG, 5))], 4)
    second = page([(KEY, wrapped(binary(one, {"a": NULL}))), (KEY, wrapped(binary(two, {"b": string("y")})))], 5)
    groups = decode_entries([first, second], CACHE, types)
    assert [group.rows.tolist() for group in groups] == [[0, 3], [1], [2]]
    assert [group.value_type.name for group in groups] == ["Two", "long", "One"]
    assert groups[0].value.to_pylist() == [{"b": "x"}, {"b": "y"}]
    assert groups[2].value.type == pa.struct([("a", pa.int32())])


@pytest.mark.parametrize("compact", [True, False])
def test_objects_of_any_schema_and_offset_width(compact: bool) -> None:
    types = Types()
    kind = types.add("T", {"a": codes.INT, "b": codes.STRING, "c": codes.DOUBLE}, ["a", "b"], ["b", "c", "a"], ["c"], [])
    parts = {"a": number(codes.INT, 7), "b": string("b" * 300), "c": number(codes.DOUBLE, 0.5)}
    schemas = [["a", "b"], ["b", "c", "a"], ["c"], []] * 3
    values = [
        binary(kind, {name: parts[name] for name in names}, compact=compact, width=[1, 2, 4][row // 4]) for row, names in enumerate(schemas)
    ]
    held = {"a": 7, "b": "b" * 300, "c": 0.5}
    expected = [{name: held[name] if name in names else None for name in held} for names in schemas]
    assert decoded(*values, types=types).value.to_pylist() == expected
    assert [value.fields for value in rows(*values, types=types) if isinstance(value, Document)] == expected


def test_all_null_columns_have_the_declared_type() -> None:
    types = Types()
    fields = {"i": codes.INT, "u": codes.UUID, "d": codes.DECIMAL, "l": codes.LONG_ARRAY, "o": codes.OBJECT, "t": codes.TIMESTAMP}
    value = decoded(binary(types.add("T", fields), dict.fromkeys(fields, NULL)), types=types).value
    assert [field.type for field in value.type] == [
        pa.int32(), pa.string(), pa.string(), pa.list_(pa.int64()), pa.null(), pa.timestamp("us", "UTC"),
    ]  # fmt: skip
    assert [mark_of(field) for field in value.type] == [None, "uuid", "decimal", None, None, None]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1.50", "-2.25", "0.00"], pa.decimal128(38, 2)),
        (["9" * 38, "-" + "9" * 38], pa.decimal128(38, 0)),
        (["1" + "0" * 38], pa.string()),
        (["1.5", "1.50"], pa.string()),
        (["1E+3"], pa.string()),
        (["1E-39"], pa.string()),
        (["18446744073709551616", "-18446744073709551616", "-1"], pa.decimal128(38, 0)),
    ],
)
def test_decimals_are_exact(texts: list[str], kind: pa.DataType) -> None:
    values = [decimal(Decimal(text)) for text in texts]
    column = decoded(*values)
    assert column.value.type == kind
    assert column.value_type.mark == "decimal"
    assert [str(value) for value in column.value.to_pylist()] == texts
    assert [str(value) for value in rows(*values)] == texts


def test_strings_of_both_forms() -> None:
    values = [string("plain"), string("\U0001f600"), string(b"\xed\xa0\xbd\xed\xb8\x80"), string(b"a\xc0\x80b")]
    assert decoded(*values).value.to_pylist() == rows(*values) == ["plain", "\U0001f600", "\U0001f600", "a\0b"]


@pytest.mark.parametrize("data", [b"\xff", b"\xed\xa0\xbd", b"\xc3", b"\xf5\x80\x80\x80"])
def test_strings_that_are_no_text(data: bytes) -> None:
    for read in (decoded, rows):
        with pytest.raises(DecodeError, match="no valid UTF-8") as caught:
            read(string("good"), string(data))
        assert caught.value.where == {"cache": "tested", "partition": 3, "position": 19}


def test_long_and_many_lists() -> None:
    values = [object_array([number(codes.LONG, item) for item in range(size)]) for size in (0, 5000, 1, 3)]
    values += [object_array([number(codes.INT, row), NULL, string("x" * row)]) for row in range(200)]
    column = decoded(*values[:4]).value
    assert [len(item) for item in column.to_pylist()] == [0, 5000, 1, 3]
    assert pa.types.is_union(decoded(*values[4:]).value.type.value_type)


def test_primitive_arrays() -> None:
    assert decoded(primitives(codes.SHORT_ARRAY, "h", [1, -2]), primitives(codes.SHORT_ARRAY, "h", [])).value.to_pylist() == [[1, -2], []]
    chars = decoded(primitives(codes.CHAR_ARRAY, "H", [65, 0xFFFF])).value
    assert chars.to_pylist() == [[65, 0xFFFF]]
    assert mark_of(chars.type.value_field) == "char"
    assert decoded(primitives(codes.BOOL_ARRAY, "B", [1, 0, 1])).value.to_pylist() == [[True, False, True]]


def test_handles_share_an_object() -> None:
    types = Types()
    inner, outer = types.add("Inner", {"x": codes.INT}), types.add("Outer", {"a": codes.OBJECT, "b": codes.OBJECT})
    first = binary(inner, {"x": number(codes.INT, 9)})
    values = [binary(outer, {"a": first, "b": b"\x66" + len(first).to_bytes(4, "little")}), binary(outer, {"a": NULL, "b": first})]
    assert decoded(*values, types=types).value.to_pylist() == [{"a": {"x": 9}, "b": {"x": 9}}, {"a": None, "b": {"x": 9}}]
    shared = rows(values[0], types=types)[0]
    assert isinstance(shared, Document)
    assert shared.fields["a"] is shared.fields["b"]


def test_metadata_is_asked_again_for_a_newer_schema() -> None:
    class Growing(Types):
        asked = 0

        def forget_types(self) -> None:
            self.asked += 1
            self.add("T", {"a": codes.INT, "b": codes.INT}, ["a"], ["a", "b"])

    types = Growing()
    kind = types.add("T", {"a": codes.INT})
    newer = binary(kind, {"a": number(codes.INT, 1), "b": number(codes.INT, 2)})
    assert decoded(binary(kind, {"a": NULL}), newer, types=types).value.to_pylist() == [{"a": None, "b": None}, {"a": 1, "b": 2}]
    assert types.asked == 1


def test_enums_by_name() -> None:
    types = Types()
    color = types.add("Color", {}, enum=["RED", "GREEN"])
    values = [enum(EnumValue(color.type_id, ordinal, "")) for ordinal in (1, 0, 1)]
    assert decoded(*values, types=types).value.to_pylist() == ["GREEN", "RED", "GREEN"]
    for read in (decoded, rows):
        with pytest.raises(DecodeError, match="no constant of ordinal 2"):
            read(enum(EnumValue(color.type_id, 2, "")), types=types)


def flags(data: bytes, added: int) -> bytes:
    return data[:2] + bytes([data[2] | added]) + data[3:]


def patched(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


TYPES = Types()
KIND: BinaryType = TYPES.add("T", {"a": codes.INT, "b": codes.STRING})
SOUND = binary(KIND, {"a": number(codes.INT, 1), "b": string("text")})


@pytest.mark.parametrize(
    ("value", "message", "error"),
    [
        (patched(SOUND, 1, b"\x02"), "protocol version 1|header of a binary object", DecodeError),
        (patched(SOUND, 4, b"\x01\x02\x03\x04"), "No such type", UnknownBinaryType),
        (patched(SOUND, 16, b"\x01\x02\x03\x04"), "schema", DecodeError),
        (patched(SOUND, 20, b"\xff\x00\x00\x00"), "footer", DecodeError),
        (patched(SOUND, len(SOUND) - 2, b"\x01"), "begins outside its object", DecodeError),
        (patched(SOUND, len(SOUND) - 1, b"\xf0"), "begins outside its object", DecodeError),
        (patched(SOUND, 30, b"\xff\xff\xff\x7f"), "ends outside|bytes are due", DecodeError),
        (patched(SOUND, 24, b"\x2a"), "no type code 42", DecodeError),
        (patched(SOUND, 24, b"\xfe\x01\x00\x00\x00"), "optimized marshaller", DecodeError),
        (flags(SOUND, codes.FLAG_HAS_RAW), "raw data", UnsupportedType),
        (boolean(True)[:1] + b"\x02", "neither 0 nor 1", DecodeError),
        (b"\x66\x01\x00\x00\x00", "handle", DecodeError),
    ],
)
def test_broken_objects(value: bytes, message: str, error: type[IgniteKafkaError]) -> None:
    for read in (decoded, rows):
        with pytest.raises(error, match=re.compile(message, re.IGNORECASE)):
            read(SOUND, value, types=TYPES) if value[0] == codes.OBJECT else read(value, types=TYPES)


def test_an_object_that_contains_itself_is_refused() -> None:
    kind = TYPES.add("Loop", {"self": codes.OBJECT, "other": codes.OBJECT})
    value = binary(kind, {"self": b"\x66\x18\x00\x00\x00", "other": b"\x66\x1d\x00\x00\x00"})
    for read in (decoded, rows):
        with pytest.raises(UnsupportedType, match="contains itself"):
            read(value, types=TYPES)


def test_deep_nesting_is_refused_not_crashed_upon() -> None:
    value = NULL
    for _ in range(3000):
        value = b"\x18\x01\x00\x00\x00\x01" + value
    for read in (decoded, rows):
        with pytest.raises(UnsupportedType, match="nested deeper"):
            read(value)


def test_shared_parts_cannot_expand_without_end() -> None:
    """Sixty lists, each of two handles to the one before: 2^60 elements in 1 kB."""
    data = NULL
    for _ in range(60):
        data = b"\x18\x02\x00\x00\x00\x01" + data + b"\x66" + len(data).to_bytes(4, "little") if data != NULL else written([None])
    with pytest.raises(DecodeError, match="expand far beyond"):
        decoded(data)


def test_positions_are_those_of_the_page() -> None:
    pages = [page([(KEY, string("fine"))], 1), page([(KEY, string(b"\xff"))], 2)]
    with pytest.raises(DecodeError) as caught:
        decode_entries(pages, CACHE, Types())
    assert caught.value.where == {"cache": "tested", "partition": 2, "position": 5}


def test_no_pages() -> None:
    assert decode_entries([], CACHE, Types()) == []
    assert decode_entries([page([])], CACHE, Types()) == []
    assert list(decode_rows([], CACHE, Types())) == []


def test_map_with_a_null_key() -> None:
    value = b"\x19\x01\x00\x00\x00\x01" + NULL + written(1)
    with pytest.raises(UnsupportedType, match="null key"):
        decoded(value)
    assert rows(value) == [MapValue(((None, 1),))]


def test_objects_of_two_schemas_are_equal_where_their_fields_are() -> None:
    types = Types()
    kind = types.add("T", {"a": codes.INT, "b": codes.INT}, ["a"], ["b", "a"])
    one = number(codes.INT, 1)
    short, full = rows(binary(kind, {"a": one}), binary(kind, {"b": NULL, "a": one}), types=types)
    assert isinstance(short, Document)
    assert isinstance(full, Document)
    assert short == full
    assert (list(short.fields), short.own, list(full.fields), full.own) == (["a", "b"], 1, ["b", "a"], 2)
