"""JSON from Arrow columns against the slow reference: every type, random values, slices, both decimal formats."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.json.write_columns import JsonFormat, objects, plain, text
from ignite_kafka.convert.json.write_rows import json_value
from ignite_kafka.errors import UnsupportedType
from tests.support.connect_json import FLAT, TEXT_DECIMAL, Object, arrow, column, expected, fields, parsed, same, values
from tests.support.randomness import examples

FORMATS = ("BASE64", "NUMERIC")


@st.composite
def batches(draw: st.DrawFn, kinds: st.SearchStrategy[pa.Field]) -> tuple[list[pa.Field], list[tuple[Any, ...]]]:
    found = draw(st.lists(kinds, min_size=1, max_size=6, unique_by=lambda field: field.name))
    rows = draw(st.lists(st.tuples(*(values(field) for field in found)), max_size=8))
    return found, rows


def check(found: list[pa.Field], rows: list[tuple[Any, ...]], decimal_format: str) -> None:
    record = pa.field("", pa.struct(found))
    array = arrow(rows, record)
    for first in (0, len(rows) // 2):
        made = objects(array[first:], record, JsonFormat(decimal_format))
        assert made.type == pa.binary()
        for json_bytes, row in zip(made.to_pylist(), rows[first:], strict=True):
            assert same(parsed(json_bytes), expected(row, record, decimal_format)), (json_bytes, row)


@settings(max_examples=examples(150), deadline=None)
@given(batches(st.sampled_from((*FLAT, TEXT_DECIMAL))), st.sampled_from(FORMATS))
def test_random_flat_batches_equal_the_reference(batch: tuple[list[pa.Field], list[tuple[Any, ...]]], decimal_format: str) -> None:
    check(*batch, decimal_format)


@settings(max_examples=examples(150), deadline=None)
@given(batches(fields((*FLAT, TEXT_DECIMAL))), st.sampled_from(FORMATS))
def test_random_nested_batches_equal_the_reference(batch: tuple[list[pa.Field], list[tuple[Any, ...]]], decimal_format: str) -> None:
    check(*batch, decimal_format)


@settings(max_examples=examples(150), deadline=None)
@given(st.data(), fields(), st.sampled_from(FORMATS))
def test_a_column_alone_as_keys_are(data: st.DataObject, field: pa.Field, decimal_format: str) -> None:
    rows = data.draw(st.lists(values(field), max_size=8))
    made = text(arrow(rows, field), field, JsonFormat(decimal_format))
    assert made.type == pa.binary()
    assert made.null_count == 0
    for json_bytes, row in zip(made.to_pylist(), rows, strict=True):
        assert same(parsed(json_bytes), expected(row, field, decimal_format)), (json_bytes, row)


@pytest.mark.parametrize(
    ("field", "value", "written"),
    [
        (column("k", pa.int64()), 5, b"5"),
        (column("k", pa.int64()), -(2**63), b"-9223372036854775808"),
        (column("k", pa.string()), "abc", b'"abc"'),
        (column("k", pa.string()), "", b'""'),
        (column("k", pa.string(), "uuid"), "7e1e3b2a-0000-4000-8000-000000000001", b'"7e1e3b2a-0000-4000-8000-000000000001"'),
        (column("k", pa.bool_()), True, b"true"),
        (column("k", pa.float64()), 100.0, b"100.0"),
        (column("k", pa.int32(), "enum"), 2, b"2"),
        (column("k", pa.timestamp("us", "UTC")), -1, b"-1"),
        (column("k", pa.int64(), "time"), -3_600_000, b"82800000"),
        (column("k", pa.int64(), "time"), 86_400_000, b"86400000"),
        (column("k", pa.null()), None, b"null"),
    ],
)
def test_keys_are_plain_json(field: pa.Field, value: Any, written: bytes) -> None:
    assert text(arrow([value], field), field, JsonFormat()).to_pylist() == [written]


def test_decimals_keep_scale_and_digits_in_text_form() -> None:
    field = column("d", pa.string(), "decimal")
    array = pa.array(["1.50", "-0.000000001", "5E+2", "9" * 5000, None])
    assert text(array, field, JsonFormat("NUMERIC")).to_pylist() == [b"1.50", b"-0.000000001", b"5E+2", b"9" * 5000, b"null"]
    assert text(array[:3], field, JsonFormat("BASE64")).to_pylist() == [b'"AJY="', b'"/w=="', b'"BQ=="']


def test_values_of_several_kinds_have_each_its_own_form() -> None:
    kinds = [pa.array([1, 2**40]), pa.array(["a", None]), pa.nulls(1), pa.array([[("x", 1.5)]], pa.map_(pa.string(), pa.float64()))]
    union = pa.UnionArray.from_dense(pa.array([1, 0, 3, 2, 0, 1], pa.int8()), pa.array([0, 0, 0, 0, 1, 1], pa.int32()), kinds)
    written = [b'"a"', b"1", b'{"x":1.5}', b"null", b"1099511627776", b"null"]
    field = pa.field("u", union.type)
    assert text(union, field, JsonFormat()).to_pylist() == written
    assert text(union[2:5], field, JsonFormat()).to_pylist() == written[2:5]
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 6], pa.int32()), union)
    record = pa.StructArray.from_arrays([pa.array([7, 8, 9]), lists], ["i", "l"])
    rows = objects(record, pa.field("", record.type), JsonFormat()).to_pylist()
    assert rows == [b'{"i":7,"l":["a",1]}', b'{"i":8,"l":[]}', b'{"i":9,"l":[{"x":1.5},null,1099511627776,null]}']


def test_the_form_of_a_map_depends_on_its_own_keys_alone() -> None:
    keys = [pa.array([1, 2]), pa.array(["a", "b", "c"])]
    union = pa.UnionArray.from_dense(pa.array([1, 0, 0, 1, 1], pa.int8()), pa.array([0, 0, 1, 1, 2], pa.int32()), keys)
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 1, 3, 5], pa.int32()), union, pa.array([10, 20, 30, 40, 50]))
    written = [b'{"a":10}', b"{}", b"[[1,20],[2,30]]", b'{"b":40,"c":50}']
    field = pa.field("", maps.type)
    assert text(maps, field, JsonFormat()).to_pylist() == written
    assert [text(maps[row : row + 1], field, JsonFormat()).to_pylist()[0] for row in range(4)] == written


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_a_decimal_is_written_the_same_from_both_its_columns(unscaled: int, scale: int) -> None:
    value = Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    for decimal_format in FORMATS:
        form = JsonFormat(decimal_format)
        narrow = text(pa.array([value], pa.decimal128(38, scale)), column("d", pa.decimal128(38, scale), "decimal"), form)
        assert narrow == text(pa.array([str(value)]), column("d", pa.string(), "decimal"), form)


def test_a_decimal_among_values_read_row_by_row_may_have_any_number_of_digits() -> None:
    number = int(Decimal("1" * 5_000))
    for value in (number, -number):
        assert int.from_bytes(base64.b64decode(json_value(Decimal(value))), "big", signed=True) == value


def test_a_null_object_hides_a_union_inside() -> None:
    union = pa.UnionArray.from_dense(pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["a"])])
    inner = pa.StructArray.from_arrays([union], ["u"], mask=pa.array([True, False]))
    assert text(inner, pa.field("", inner.type), JsonFormat()).to_pylist() == [b"null", b'{"u":"a"}']


def test_an_object_without_fields_and_an_empty_batch() -> None:
    for kind, rows in ((pa.struct([]), 2), (pa.struct([("a", pa.int8()), ("m", pa.map_(pa.string(), pa.int8()))]), 0)):
        assert objects(pa.array([{}] * rows, kind), pa.field("", kind), JsonFormat()).to_pylist() == [b"{}"] * rows


def test_text_columns_stand_in_their_place() -> None:
    kinds = {"m": pa.map_(pa.int8(), pa.int8()), "a": pa.int8(), "f": pa.float64(), "b": pa.int8(), "c": pa.int8()}
    record = pa.field("", pa.struct(list(kinds.items())))
    row = ([(1, 2)], 3, float("inf"), 4, None)
    assert objects(arrow([row], record), record, JsonFormat()).to_pylist() == [b'{"m":[[1,2]],"a":3,"f":"Infinity","b":4,"c":null}']
    assert parsed(b'{"m":1,"a":2}') == Object((("m", 1), ("a", 2)))


def test_an_arrow_type_outside_the_table_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedType, match=r"duration.*field elapsed"):
        plain(pa.array([1], pa.duration("s")), pa.field("elapsed", pa.duration("s")), JsonFormat())


def test_decimal128_goes_by_its_scale() -> None:
    field = column("d", pa.decimal128(38, 2), "decimal")
    array = pa.array([Decimal("-1.50"), None, Decimal("0.00")], field.type)
    assert text(array, field, JsonFormat("NUMERIC")).to_pylist() == [b"-1.50", b"null", b"0.00"]
    assert text(array, field, JsonFormat()).to_pylist() == [b'"/2o="', b"null", b'"AA=="']


@pytest.mark.parametrize("array", [pa.array([pa.MonthDayNano([1, 2, 3])]), pa.array([1], pa.duration("ms"))], ids=lambda one: str(one.type))
def test_a_column_without_a_form_in_json_is_refused(array: pa.Array) -> None:
    with pytest.raises(UnsupportedType, match="JSON has no form for a column"):
        text(array, pa.field("f", array.type), JsonFormat())
