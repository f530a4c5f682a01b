"""Objects split into members: either the members that a parser finds, or no fit."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ignite_kafka.convert.transforms.json_split import split

NAMES = st.sampled_from(("a", "b", "long name, of \u00e9: {x}", "name of more than eight", '"', "\\", ""))
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4)
    | st.sampled_from((" ", ",", '"', '\\"', '":', '","', "{", "}", "[1, 2]", ': "x", ', "\\", "-0"))
)  # fmt: skip
OBJECTS = st.dictionaries(NAMES, SCALARS, max_size=4)
ANYTHING = OBJECTS | OBJECTS | SCALARS | st.dictionaries(NAMES, OBJECTS | st.lists(SCALARS, max_size=2), max_size=2)
FORMS: list[dict[str, Any]] = [{"separators": (",", ":")}, {}, {"indent": 1}, {"separators": (" , ", "\t:  "), "ensure_ascii": False}]


def texts(values: list[Any], **form: Any) -> pa.BinaryArray:
    return pa.array([None if one is None else json.dumps(one, **form).encode() for one in values], pa.binary())


def objects(values: pa.BinaryArray) -> list[Any]:
    """The members of each object; None if it does not fit."""
    found = split(values)
    columns = {name: pairs.to_pylist() for name, pairs in found.members.items()}
    made = iter(
        [
            json.loads(b"{%s}" % b",".join(pairs[row] for pairs in columns.values() if pairs[row] is not None))
            for row in range(int(found.fit.sum()))
        ]
    )
    return [next(made) if fit else None for fit in found.fit.tolist()]


@given(st.lists(ANYTHING, max_size=6), st.sampled_from(FORMS))
@example([{'"': 1, "a": 2}, {'"': 3, "a": 4}], {})
@example([{"a": ":", "b": ":x"}, {"a:": 1, ",": 2, "{": 3}], {})
@example([{"a": "x,", "b": ' ":'}, {"b": 1}, {"a": '\\"', "b": "}"}], {})
def test_what_fits_has_the_members_that_a_parser_finds(values: list[Any], form: dict[str, Any]) -> None:
    found = objects(texts(values, **form))
    assert [one for one in found if one is not None] == [value for value, one in zip(values, found, strict=True) if one is not None]


@given(
    st.lists(
        st.dictionaries(st.sampled_from(("id", "name", "a longer name")), st.none() | st.integers(1) | st.text("a ,{}[]") | st.just("a:b"))
    )
)
def test_flat_objects_of_plain_names_in_one_order_fit(values: list[dict[str, Any]]) -> None:
    values = [{name: one[name] for name in sorted(one)} for one in values]
    for form in FORMS:
        assert objects(texts(values, **form)) == values


def test_members_keep_their_order_whichever_a_text_lacks() -> None:
    found = split(texts([{"a": 1, "c": 3}, {"b": 2}, {"a": 1, "b": 2}, {"b": 2, "c": 3}]))
    assert list(found.members) == ["a", "b", "c"]
    assert found.members["b"].to_pylist() == [None, b'"b":2', b'"b":2', b'"b":2']


def test_numbers_and_texts_keep_their_letters() -> None:
    found = split(pa.array([b'{ "n" : 1.50E+2 , "t":"\\u00e9 \\" x" }', b'{"n":123456789012345678901234567890,"t":"\xf0\x9f\x98\x80"}']))
    assert found.members["n"].to_pylist() == [b'"n":1.50E+2', b'"n":123456789012345678901234567890']
    assert found.members["t"].to_pylist() == [b'"t":"\\u00e9 \\" x"', b'"t":"\xf0\x9f\x98\x80"']


@pytest.mark.parametrize(
    "text",
    [
        b"1", b'"x"', b"null", b"[1]", b'{"a":[]}', b'{"a":{"b":1}}', b'{"a":1,"a":2}', b'{"a":-0}', b'{"a":-0,"b":1}', b'{"\\u0061":1}',
        b'{"a\\\\":1}', b'{"a":"\xed\xa0\x80"}', b'{"a":":"}', b'{"\xf0\x9f\x98\x80":1}', None,
    ],
)  # fmt: skip
def test_what_only_rows_can_hold_does_not_fit(text: bytes | None) -> None:
    assert split(pa.array([text], pa.binary())).fit.tolist() == [False]


def test_neighbours_of_what_does_not_fit_do() -> None:
    values = pa.array([b'{"a":1}', b'{"a":{"b":1}}', None, b'{"a":1,"a":1}', b'{"b":2,"a":1}', b'{"a":2,"b":2}', b"{}"], pa.binary())
    found = split(values)
    assert found.fit.tolist()[:4] == [True, False, False, False]
    assert found.fit.tolist()[4:].count(True) >= 2  # two orders of a and b
    assert not split(values.slice(7)).fit.size


def test_a_slice_is_split_like_a_whole() -> None:
    values = texts([{"a": row} for row in range(10)])
    assert split(values.slice(3, 4)).members["a"].to_pylist() == [b'"a":3', b'"a":4', b'"a":5', b'"a":6']


def test_names_that_are_data_make_no_columns() -> None:
    assert not split(texts([{f"key {row}": row} for row in range(1_100)])).fit.any()
