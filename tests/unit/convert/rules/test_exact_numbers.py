"""A number that a double does not hold is never rounded in silence; what a program wrote from a double always passes."""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ignite_kafka.convert.rules.exact_numbers import doubtful, holds
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support.converters import converter
from tests.support.ignite_bytes import Types, binary, decimal, number, page
from tests.support.to_ignite_records import GrowingTypes, cache_of, consumed, decoded, record_converter, rules

FREE = CacheInfo("free", 2)
NOT_HELD = [
    "12345678901234567.89", "0.12345678901234567890", "1234567890123.4567", "9007199254740993", "-9007199254740993.0",
    "1.00000000000000000000001", "1e-400", "123456789012345678e-5", "4.94065645841246544e-324", "1E-0000000400",
]  # fmt: skip
HELD = [
    "0.1", "1.50", "100", "1e22", "5e-324", "4.9E-324", "0.30000000000000004", "1152921504606846976", "1.7976931348623157e308", "-0.0",
    "1E5", "123456789012345.600000000000", "9007199254740992", "0.1000000000000000055511151231257827021181583404541015625",
]  # fmt: skip


FORMS = ['{"a":%s,"n":1}', '{"in":{"b":%s}}', '{"list":[1.5,%s]}', '{"deep":{"list":[{"x":[%s]}]}}', "%s"]
OF_ANY_KIND = [(text, form) for text in NOT_HELD for form in FORMS if text != "9007199254740993" or form in FORMS[:2]]


@pytest.mark.parametrize("together", [1, 100])
@pytest.mark.parametrize(("text", "form"), OF_ANY_KIND)
def test_a_number_that_a_double_does_not_hold_is_a_bad_record(text: str, form: str, together: int) -> None:
    converter = record_converter(FREE, GrowingTypes())
    learned = [(form % "0.5").encode()] * together  # the field is a double by then, by records as by metadata
    assert not converter.convert(consumed(learned)).bad
    found = converter.convert(consumed([*learned, (form % text).encode(), *learned]))
    ((row, why),) = ((bad.row, bad.reason) for bad in found.bad)
    assert row == together
    assert f"{text[:30]}" in why
    assert "which a double does not hold" in why
    assert "java.math.BigDecimal" in why


@pytest.mark.parametrize("form", ['{"a":%s}', '{"in":{"b":%s}}', '{"list":[1.5,%s]}'])
def test_what_a_double_holds_is_stored(form: str) -> None:
    types = GrowingTypes()
    converter = record_converter(FREE, types)
    texts = [form % text for text in ["0.5", *HELD]]
    found = converter.convert(consumed([text.encode() for text in texts]))
    assert not found.bad
    values = [plain(value) for _, value in decoded(found, types)]
    numbers = [[float(item) for item in one] if isinstance(one, list) else float(one) for one in values]
    wanted = [[1.5, float(text)] if "list" in form else float(text) for text in ["0.5", *HELD]]
    assert numbers == wanted


def plain(value: Any) -> Any:
    (one,) = value.fields.values()
    return plain(one) if hasattr(one, "fields") else one


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
@example([5e-324, 1.7976931348623157e308, 2.0**53, 2.0**53 + 2, 0.1 + 0.2, 1e23, 8.41e21])
def test_every_form_of_a_double_is_held(values: list[float]) -> None:
    for value in values:
        for text in (repr(value), f"{value:.17g}", f"{value:.16e}", json.dumps(value), str(Decimal(value))):
            assert holds(text, float(text)), text
    texts = pa.array([json.dumps({"a": value, "t": str(value)}).encode() for value in values], pa.binary())
    kind = pa.struct([("a", pa.float64())])
    array = pa.array([{"a": value} for value in values], kind)
    suspects = doubtful(texts, array, pa.field("", kind))
    assert not [value for value, suspect in zip(values, suspects.tolist(), strict=True) if suspect and abs(value) < 2**53]


@given(
    st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**14), max_value=10**14), min_size=1, max_size=20)
)
def test_columns_doubt_whatever_rows_refuse(values: list[Decimal]) -> None:
    texts = pa.array([f'{{"a": {value},"b":[{value}]}}'.encode() for value in values], pa.binary())
    kind = pa.struct([("a", pa.float64()), ("b", pa.list_(pa.float64()))])
    array = pa.array([{"a": float(value), "b": [float(value)]} for value in values], kind)
    wanted = [not holds(str(value), float(value)) for value in values]
    assert [bool(one) for one in doubtful(texts[1:], array[1:], pa.field("", kind))] == wanted[1:]


def test_texts_that_look_like_numbers_are_no_doubt() -> None:
    texts = [
        '{"a":0.5,"t":"12345678901234567.89"}',
        '{"a":0.5,"t":"c56a4180-65aa-412e-4945-5fd21dec0538"}',
        '{"a":0.5,"n":9007199254740993}',
    ]
    kind = pa.struct([("a", pa.float64())])
    array = pa.array([{"a": 0.5}] * 3, kind)
    assert not doubtful(pa.array([text.encode() for text in texts], pa.binary()), array, pa.field("", kind)).any()


def test_a_declared_double_takes_the_nearest() -> None:
    types = GrowingTypes()
    cache = cache_of({"a": "java.lang.Double", "in.b": "java.lang.Double", "all": "[D"})
    found = record_converter(cache, types).convert(
        consumed([b'{"a":0.12345678901234567890,"in":{"b":12345678901234567.89},"all":[9007199254740993]}'])
    )
    assert not found.bad
    ((_, value),) = decoded(found, types)
    assert value.fields["a"] == 0.12345678901234567890
    assert value.fields["in"].fields["b"] == 12345678901234567.89
    assert value.fields["all"] == [9007199254740992.0]


def test_a_decimal_within_an_object_does_not_come_back_as_another_number() -> None:
    types = GrowingTypes()
    inner = types.add("Inner", {"d": codes.DECIMAL})
    kind = types.add("Outer", {"in": codes.OBJECT})
    amounts = ["12.5", "123456789012345678.901234567890"]
    entries = [
        (number(codes.LONG, row), binary(kind, {"in": binary(inner, {"d": decimal(Decimal(text))})})) for row, text in enumerate(amounts)
    ]
    records = converter("json", decimal_format="NUMERIC").convert([page(entries)], FREE, Types(types.known), in_order=True)
    values, numeric = records.values.to_pylist(), rules(decimal_format="NUMERIC")

    sink = GrowingTypes()
    found = record_converter(FREE, sink, numeric).convert(consumed(values))
    assert [(bad.row, "field in.d is 123456789012345678" in bad.reason) for bad in found.bad] == [(1, True)]
    assert [value.fields["in"].fields["d"] for _, value in decoded(found, sink)] == [12.5]

    sink, cache = GrowingTypes(), cache_of({"in.d": "java.math.BigDecimal"})
    found = record_converter(cache, sink, numeric).convert(consumed(values))
    assert not found.bad
    assert [str(value.fields["in"].fields["d"]) for _, value in decoded(found, sink)] == amounts


def test_a_float_column_takes_the_nearest() -> None:
    types = GrowingTypes()
    kind = types.add("free.Value", {"f": codes.FLOAT})
    assert kind
    found = record_converter(FREE, types).convert(consumed([b'{"f":0.12345678901234567}']))
    assert not found.bad
    assert decoded(found, types)[0][1].fields["f"] == struct.unpack("<f", struct.pack("<f", 0.12345678901234567))[0]
