"""Bytes as base64 text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ignite_kafka.convert.rules.json_bytes import base64_bytes, bytes_from_json, bytes_to_json


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""),
        ("YQ==", b"a"),
        ("YWI=", b"ab"),
        ("YWJj", b"abc"),
        (" YWJj\r\n\tYQ== ", b"abca"),  # white space between groups
        ("YR==", b"a"),  # bits of no byte
        ("YQ", None),
        ("YQ=", None),
        ("Y Q==", None),
        ("YQ= =", None),
        ("YQ==YQ==", None),
        ("YW-_", None),
        ("====", None),
        ("YWJj\u00a0", None),
    ],
)
def test_single_texts_are_read_as_kafka_s_converter_reads_them(text: str, data: bytes | None) -> None:
    """tests/integration/convert/test_connect_envelopes.py compares; that converter also reads what follows a padded group."""
    assert base64_bytes(text) == data


def test_columns_mark_what_has_another_form() -> None:
    texts = pa.array(["YQ==", None, "YR==", " YWJj", "YWJj"])
    data, other = bytes_from_json(texts)
    assert other.tolist() == [False, False, True, True, False]
    assert [data[row].as_py() for row in (0, 1, 4)] == [b"a", None, b"abc"]
    assert bytes_to_json(data.filter(pa.array(~other))).to_pylist() == ["YQ==", None, "YWJj"]


def test_a_long_text_that_is_none_is_refused_in_linear_time() -> None:
    assert base64_bytes("YWJj" * 500_000 + " " * 1_000_000 + "!") is None
