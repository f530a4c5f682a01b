"""Escapes of JSON texts as Jackson writes them."""

from __future__ import annotations

import json

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.java.jackson_text import as_jackson, escape


def test_capital_digits_and_pairs_of_escapes() -> None:
    texts = [b'"\\u001f\\n"', '"😀é"'.encode(), b'"\\\\u001f"', b"1"]
    assert as_jackson(pa.array(texts, pa.binary())).to_pylist() == [b'"\\u001F\\n"', '"\\uD83D\\uDE00é"'.encode(), b'"\\\\u001f"', b"1"]


def test_nothing_to_change_is_the_same_array() -> None:
    for plain in (pa.array([b'"a"', b'"\\n"']), pa.array([], pa.binary()), pa.array([b""], pa.binary())):
        assert as_jackson(plain) is plain


def test_slices_and_nulls() -> None:
    texts = pa.array([b'"\\u001f"', None, b"2", b'"\\u001e"'], pa.binary())
    assert as_jackson(texts.slice(1)).to_pylist() == [None, b"2", b'"\\u001E"']


@given(st.text(st.characters(exclude_categories=[])))
def test_the_text_stays(text: str) -> None:
    assert json.loads(escape(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")).decode("utf-8")) == text
