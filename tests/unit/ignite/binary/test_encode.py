"""Arrow values written as Ignite's binary format and read again by both decoders are the same values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka.errors import EncodeError, UnsupportedType
from ignite_kafka.ignite.binary import ObjectLayout, decode_entries, decode_rows, encode_objects, encoded
from ignite_kafka.ignite.binary.byte_columns import sliced
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.type_table import enum_field, field_of, mark_of, object_field
from tests.support import ignite_bytes
from tests.support.ignite_bytes import CACHE, Types, page
from tests.support.randomness import examples
from tests.support.value_text import column_form, of_column

TYPES = Types()
COLOR = TYPES.add("Color", {}, enum=["RED", "GREEN", "BLUE"])
POINT = object_field("point", "Point", [pa.field("x", pa.int32()), pa.field("label", pa.string())])
MICROS = pa.timestamp("us", "UTC")

Column = tuple[pa.Field, st.SearchStrategy[Any]]


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


LIMIT = 10**16
SCALARS: list[Column] = [
    (pa.field("i8", pa.int8()), integers(8)),
    (pa.field("i16", pa.int16()), integers(16)),
    (pa.field("i32", pa.int32()), integers(32)),
    (pa.field("i64", pa.int64()), integers(64)),
    (pa.field("f32", pa.float32()), st.floats(width=32)),
    (pa.field("f64", pa.float64()), st.floats()),
    (pa.field("bool", pa.bool_()), st.booleans()),
    (pa.field("text", pa.string()), st.text(max_size=300)),
    (pa.field("bytes", pa.binary()), st.binary(max_size=20)),
    (pa.field("micros", MICROS), st.integers(-LIMIT, LIMIT)),
    (pa.field("day", pa.date32()), st.integers(-(10**6), 10**6)),
    (field_of("char", pa.int32(), "char"), st.integers(0, 0xFFFF)),
    (field_of("uuid", pa.string(), "uuid"), st.uuids().map(str)),
    (field_of("date", pa.timestamp("ms", "UTC"), "date"), st.integers(-LIMIT, LIMIT)),
    (field_of("time", pa.int64(), "time"), integers(64)),
    (field_of("decimal", pa.decimal128(38, 3), "decimal"), st.integers(1 - 10**38, 10**38 - 1).map(lambda n: Decimal(f"{n}E-3"))),
    (field_of("big", pa.string(), "decimal"), st.decimals(allow_nan=False, allow_infinity=False).map(lambda n: str(n or abs(n)))),
    (enum_field("color", COLOR), st.sampled_from(["RED", "GREEN", "BLUE"])),
]
ELEMENTS = [column for column in SCALARS if column[0].name not in ("i8", "big", "decimal", "bytes")]
POINTS: Column = (POINT, st.fixed_dictionaries({"x": st.none() | integers(32), "label": st.none() | st.text(max_size=300)}))


def nullable(column: Column) -> st.SearchStrategy[Any]:
    return st.none() | column[1]


def primitive(field: pa.Field) -> bool:
    """Arrays of these have no place for null."""
    return field.name in ("i16", "i32", "i64", "f32", "f64", "bool", "char")


def lists(column: Column) -> list[Column]:
    """The column's values in arrays and in collections."""
    field, values = column
    array = st.lists(values if primitive(field) else nullable(column), max_size=4)
    item = field.with_name("item")
    name = field.name
    return [
        (pa.field(f"{name}_array", pa.list_(item)), array),
        (field_of(f"{name}_collection", pa.list_(item), "collection"), st.lists(nullable(column), max_size=4)),
    ]


LISTS = [made for column in [*ELEMENTS, POINTS] for made in lists(column)]
MAP: Column = (
    pa.field("map", pa.map_(pa.string(), pa.int64())),
    st.lists(st.tuples(st.text(max_size=5), nullable(SCALARS[3])), max_size=3),
)
COLUMNS = [*SCALARS, POINTS, MAP, *LISTS, *lists(MAP), *lists(LISTS[4])]
TYPES.known |= {layout.type_id: layout.metadata for layout in [ObjectLayout("Point", tuple(POINT.type))]}


@st.composite
def arrays(draw: st.DrawFn, columns: list[Column] = COLUMNS) -> tuple[pa.Field, pa.Array]:
    """A column of up to six rows, sometimes a slice of a longer one."""
    column = draw(st.sampled_from(columns))
    field = column[0]
    rows = draw(st.lists(nullable(column), min_size=1, max_size=6))
    array = pa.array(rows, field.type)
    return field, array.slice(draw(st.integers(0, len(rows) - 1)))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[pa.Field], list[pa.Array]]:
    """Some columns of one length."""
    columns = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=8, unique_by=lambda column: column[0].name))
    size = draw(st.integers(1, 4))
    return [field for field, _ in columns], [
        pa.array(draw(st.lists(nullable(column), min_size=size, max_size=size)), column[0].type) for column in columns
    ]


def read(values: pa.BinaryArray) -> tuple[list[Any], list[Any]]:
    """The values of encoded ones as both decoders see them."""
    one = page([(ignite_bytes.number(codes.INT, row), value) for row, value in enumerate(values.to_pylist())])
    rows = [column_form(value) for _, value in decode_rows([one], CACHE, TYPES)]
    columns: dict[int, Any] = {}
    for group in decode_entries([one], CACHE, TYPES):
        columns |= dict(zip(group.rows.tolist(), of_column(group.value, group.value_type.mark), strict=True))
    return rows, [columns[row] for row in range(len(values))]


quick = settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)


@quick
@given(arrays())
def test_values_are_read_as_they_were_written(column: tuple[pa.Field, pa.Array]) -> None:
    field, array = column
    written = encoded(array, field)
    assert written.null_count == 0
    expected = of_column(array, mark_of(field))
    assert read(written) == (expected, expected)


def test_a_decimal_of_more_digits_than_python_reads_as_text() -> None:
    texts = ["1" * 5_000, f"-{'9' * 5_000}E+7", "0." + "3" * 5_000]
    written = encoded(pa.array(texts), field_of("big", pa.string(), "decimal"))
    assert read(written)[0] == [str(Decimal(text)) for text in texts]


@quick
@given(tables(), st.booleans())
def test_objects_are_read_as_they_were_written(table: tuple[list[pa.Field], list[pa.Array]], compact: bool) -> None:
    fields, arrays = table
    layout = ObjectLayout("Written", tuple(fields), compact=compact)
    TYPES.known[layout.type_id] = layout.metadata
    names = [field.name for field in fields]
    columns = [of_column(array, mark_of(field)) for field, array in zip(fields, arrays, strict=True)]
    expected = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    assert read(encode_objects(layout, arrays)) == (expected, expected)


@pytest.mark.parametrize("length", [10, 300, 70_000])
def test_offsets_take_as_few_bytes_as_they_need(length: int) -> None:
    fields = (pa.field("first", pa.string()), pa.field("last", pa.int32()))
    layout = ObjectLayout("Long", fields)
    columns = [pa.array(["x", "x" * length, None]), pa.array([1, 2, 3], pa.int32())]
    kind = Types().add("Long", {"first": codes.STRING, "last": codes.INT})
    for row, data in enumerate(encode_objects(layout, columns).to_pylist()):
        text = columns[0][row].as_py()
        wanted = {
            "first": ignite_bytes.NULL if text is None else ignite_bytes.string(text),
            "last": ignite_bytes.number(codes.INT, row + 1),
        }
        expected = ignite_bytes.binary(kind, wanted)
        assert data[:8] + data[12:] == expected[:8] + expected[12:], "all but the hash code"


def test_columns_of_another_type_are_cast_when_nothing_is_lost() -> None:
    words = pa.array(["a", "b", "a", None]).dictionary_encode()
    assert encoded(words, pa.field("word", pa.string())).equals(encoded(words.cast(pa.string()), pa.field("word", pa.string())))
    assert encoded(pa.chunked_array([[1], [2]]), pa.field("n", pa.int16())).to_pylist() == [b"\2\1\0", b"\2\2\0"]
    with pytest.raises(EncodeError, match=r"int64 is no int8 in field n"):
        encoded(pa.array([1, 300]), pa.field("n", pa.int8()))


@pytest.mark.parametrize(
    ("field", "values", "row"),
    [
        (field_of("f", pa.string(), "uuid"), [None, "00000000-0000-0000-0000-000000000000", "0-0-0-0-0"], 2),
        (field_of("f", pa.string(), "uuid"), ["00000000-0000-0000-0000-00000000000g"], 0),
        (field_of("f", pa.string(), "uuid"), ["00000000x0000-0000-0000-000000000000"], 0),
        (field_of("f", pa.int32(), "char"), [65, 65_536], 1),
        (field_of("f", pa.int32(), "char"), [-1], 0),
        (field_of("f", pa.string(), "decimal"), ["1", "one"], 1),
        (field_of("f", pa.string(), "decimal"), ["Infinity"], 0),
        (enum_field("f", COLOR), ["RED", None, "PINK"], 2),
        (enum_field("f", COLOR, pa.int32()), [0, 3], 1),
        (pa.field("f", pa.list_(pa.int32())), [[1], [], [2, None]], 2),
        (field_of("f", pa.list_(field_of("item", pa.string(), "uuid")), "collection"), [[], None, [None], ["x"]], 3),
    ],
)
def test_a_value_that_the_type_cannot_hold_is_named(field: pa.Field, values: list[Any], row: int) -> None:
    with pytest.raises(EncodeError) as caught:
        encoded(pa.array(values, field.type), field)
    assert caught.value.where["row"] == row
    assert str(caught.value.where["field"]).startswith("f")


@pytest.mark.parametrize(
    "field",
    [
        pa.field("f", pa.uint8()),
        pa.field("f", pa.time64("us")),
        pa.field("f", pa.timestamp("us")),
        field_of("f", pa.dense_union([pa.field("a", pa.int8())]), "mixed"),
        pa.field("f", pa.struct([pa.field("x", pa.int8())])),
        object_field("f", "NoFields", []),
    ],
)
def test_a_type_without_an_ignite_type_is_refused(field: pa.Field) -> None:
    with pytest.raises(UnsupportedType):
        encoded(pa.nulls(2, field.type), field)


def test_two_fields_of_one_name_but_for_case_are_refused() -> None:
    with pytest.raises(UnsupportedType, match="Fields id and ID of Thing have one field id"):
        ObjectLayout("Thing", (pa.field("id", pa.int8()), pa.field("ID", pa.int8())))


def test_no_rows() -> None:
    for field, _ in COLUMNS:
        assert len(encoded(pa.array([], field.type), field)) == 0
    layout = ObjectLayout("Thing", tuple(field for field, _ in COLUMNS))
    assert len(encode_objects(layout, [pa.array([], field.type) for field, _ in COLUMNS])) == 0


def test_a_column_beyond_two_gibibytes_is_refused() -> None:
    with pytest.raises(ValueError, match="2 GiB"):
        sliced(np.array([0, 1 << 31]), b"")
