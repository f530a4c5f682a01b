"""Casts to decimals: each value is the same number, or the cast fails. Arrow's own cast gives other numbers for some."""

from __future__ import annotations

from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ignite_kafka.common.exact_decimals import exact_cast

SCALES = st.sampled_from([0, 1, 2, 12, 26, 38])
WIDE = Context(prec=200)
WRAPS = "45592147986558795081908112040000000"


@st.composite
def decimal_types(draw: st.DrawFn) -> pa.DataType:
    digits, scale = draw(st.sampled_from([38, 76])), draw(SCALES)
    return pa.decimal128(digits, scale) if digits == 38 else pa.decimal256(digits, scale)


def check(array: pa.Array, values: list[Decimal | None], wanted: pa.DataType) -> None:
    try:
        made = exact_cast(array, wanted)
    except pa.ArrowInvalid:
        assert any(value is not None and not held(value, wanted) for value in values)
        return
    assert made.type == wanted
    assert made.to_pylist() == values


def held(value: Decimal, kind: pa.DataType) -> bool:
    try:
        return bool(pa.array([value], kind)[0].as_py() == value)
    except pa.ArrowInvalid:
        return False


@given(source=decimal_types(), wanted=decimal_types(), data=st.data())
def test_decimals_stay_the_same_numbers_or_are_refused(source: pa.DataType, wanted: pa.DataType, data: st.DataObject) -> None:
    digits = st.integers(1, source.precision).flatmap(lambda count: st.integers(-(10**count) + 1, 10**count - 1))
    numbers = data.draw(st.lists(digits | st.none(), max_size=4))
    values = [None if number is None else Decimal(number).scaleb(-source.scale, WIDE) for number in numbers]
    check(pa.array(values, source), values, wanted)


@given(
    wanted=decimal_types(),
    texts=st.lists(st.none() | st.from_regex(r"-?[0-9]{1,80}(\.[0-9]{1,20})?(E[+-]?[0-9]{1,2})?", fullmatch=True), max_size=4),
)
@example(pa.decimal128(38, 12), [WRAPS])
@example(pa.decimal256(76, 38), ["9E+70"])
@example(pa.decimal128(38, 0), ["9" * 60])
def test_texts_are_their_numbers_or_are_refused(wanted: pa.DataType, texts: list[str | None]) -> None:
    check(pa.array(texts, pa.string()), [None if text is None else Decimal(text) for text in texts], wanted)


@pytest.mark.parametrize(("source", "wanted"), [(pa.decimal128(38, 0), pa.decimal128(38, 12)), (pa.string(), pa.decimal128(38, 12))])
def test_a_number_that_arrow_would_replace_is_refused(source: pa.DataType, wanted: pa.DataType) -> None:
    with pytest.raises(pa.ArrowInvalid):
        exact_cast(pa.array([Decimal(WRAPS) if source != pa.string() else WRAPS], source), wanted)


def test_what_is_no_decimal_is_refused_and_other_types_are_cast() -> None:
    with pytest.raises(pa.ArrowInvalid, match="the text 'x' is no decimal"):
        exact_cast(pa.array(["1E+5", "x"]), pa.decimal128(38, 2))
    assert exact_cast(pa.array([1, None]), pa.decimal128(38, 2)).to_pylist() == [Decimal(1), None]
    assert exact_cast(pa.array([1, None]), pa.string()).to_pylist() == ["1", None]
    assert exact_cast(pa.array([], pa.string()), pa.decimal128(38, 0)).type == pa.decimal128(38, 0)
