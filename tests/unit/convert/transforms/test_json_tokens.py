"""JSON texts by kind, converted to columns and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.convert.transforms import json_tokens
from ignite_kafka.convert.transforms.json_tokens import Kind
from ignite_kafka.convert.transforms.schemaless import value_text
from ignite_kafka.convert.transforms.thrown import Failures


def tokens(*values: bytes | None) -> pa.BinaryArray:
    return pa.array(values, pa.binary())


def test_kinds_are_those_of_java() -> None:
    found = json_tokens.kinds(tokens(b"null", None, b"true", b"false", b"-1", b"10", b"1.0", b"-1e5", b"1E5", b'"x"', b'""', b"[]", b"{}"))
    assert [Kind(one).name for one in found.tolist()] == [
        "NULL", "NULL", "BOOLEAN", "BOOLEAN", "LONG", "LONG", "DOUBLE", "DOUBLE", "DOUBLE", "STRING", "STRING", "LIST", "MAP",
    ]  # fmt: skip
    assert json_tokens.kinds(tokens()).size == 0
    assert json_tokens.kinds(tokens(b"1", b"true", None).slice(1)).tolist() == [Kind.BOOLEAN, Kind.NULL]


def test_values_of_a_kind() -> None:
    assert json_tokens.longs(tokens(b"-5", b"9223372036854775807")).to_pylist() == [-5, 2**63 - 1]
    assert json_tokens.longs(tokens(b"9223372036854775808", b"1")).to_pylist() == [-(2**63), 1]
    assert json_tokens.doubles(tokens(b"1.50", b"-1e-5", b"1e400")).to_pylist() == [1.5, -1e-5, float("inf")]
    failures = Failures(3)
    assert json_tokens.texts(tokens(b'"x y"', b'"\xc3\xa9"', b'""'), failures).to_pylist() == ["x y", "\u00e9", ""]
    assert json_tokens.texts(tokens(b'"\\u00e9\\n"', b'"x"', b'"\\ud83d\\ude00"'), failures).to_pylist() == ["\u00e9\n", "x", "\U0001f600"]
    assert not failures.bad.any()
    assert json_tokens.texts(tokens(b'"x"', b'"\\ud800"', b'"a\\udc00b"'), failures).to_pylist() == ["x", None, None]
    assert failures.bad.tolist() == [False, True, True]
    assert json_tokens.booleans(tokens(b"true", b"false")).to_pylist() == [True, False]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None, -(2**63)], pa.int64()), pa.array([True, False, None]), pa.array([1, None], pa.int8()),
        pa.array(["x", 'q"\\', "\x01", None, "\u00e9", "\U0001f600"]), pa.array([1.0, 1e10, 1e-5, None, 0.1]),
        pa.array([1.5, float("nan"), float("-inf"), None]), pa.array([0.1, 3e9], pa.float32()), pa.array([], pa.string()),
    ],
)  # fmt: skip
def test_texts_of_values_are_those_of_single_ones(values: pa.Array) -> None:
    made = json_tokens.tokens_of(values).to_pylist()
    if pa.types.is_float32(values.type):
        assert made == [b"0.1", b"3.0E9"]
        return
    assert made == [None if one is None else value_text(one) for one in values.to_pylist()]


def test_nulls_are_filled_and_made() -> None:
    assert json_tokens.with_nulls(tokens(None, b"1")).to_pylist() == [b"null", b"1"]
    assert json_tokens.without_nulls(tokens(None, b"null", b"1")).to_pylist() == [None, None, b"1"]


@given(st.lists(st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from((1.5, -2.5)) | st.text("ab", max_size=1) | st.just([])))
def test_each_kind_is_changed_alone_and_rows_keep_their_places(values: list[Any]) -> None:
    given_tokens = tokens(*(json.dumps(one).encode() for one in values))
    seen: list[Kind] = []
    failures = Failures(len(values))

    def change(kind: Kind, found: pa.BinaryArray, refused: Failures) -> pa.BinaryArray:
        seen.append(kind)
        rows = np.flatnonzero(json_tokens.kinds(given_tokens) == kind)
        assert found.equals(given_tokens.take(pa.array(rows)))
        refused.add(rows % 2 == 1, lambda place: f"{kind.name}{rows[place]}")
        return tokens(*(f"{kind.name}{row}".encode() for row in rows.tolist()))

    made = json_tokens.changed_by_kind(given_tokens, change, failures).to_pylist()
    kinds = [Kind(one) for one in json_tokens.kinds(given_tokens).tolist()]
    assert made == [f"{kind.name}{row}".encode() for row, kind in enumerate(kinds)]
    assert sorted(seen) == sorted(set(kinds))
    refused = {bad.row: bad.reason for bad in failures.bad_rows(np.arange(len(values)))}
    assert refused == {row: f"{kind.name}{row}" for row, kind in enumerate(kinds) if row % 2}
