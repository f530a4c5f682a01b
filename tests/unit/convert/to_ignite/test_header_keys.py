"""Cache keys from headers of records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka import events
from ignite_kafka.convert.to_ignite import ConversionRules, Entries, SideRules, Stage
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.kafka.headers import headers_of
from tests.support import emitted_events
from tests.support.to_ignite_records import GrowingTypes, cache_of, consumed, decoded, record_converter

TYPES = GrowingTypes()
Headers = list[tuple[str, bytes | None]]


def entries(cache: CacheInfo, converter: str, records: list[tuple[Headers, bytes | None]]) -> Entries:
    properties = {"converter.encoding": "UTF-8", "decimal.format": "BASE64"}
    rules = ConversionRules(key_policy="header", key_fields=("id",), header=SideRules(converter, properties))
    flat = [one for headers, _ in records for one in headers]
    columns = pa.array([name for name, _ in flat], pa.string()), pa.array([value for _, value in flat], pa.binary())
    headers = headers_of(np.array([len(own) for own, _ in records]), *columns)
    given = replace(consumed([value for _, value in records], [None] * len(records)), headers=headers)
    return record_converter(cache, TYPES, rules).convert(given)


def test_the_last_header_of_the_name_is_the_key_in_the_type_that_the_cache_declares() -> None:
    cache = cache_of({"x": "java.lang.Integer"}, key="java.lang.Long")
    found = entries(cache, "simple", [([("id", b"1"), ("other", b"9"), ("id", b"7")], b'{"x": 1}'), ([("id", b"300")], None)])
    assert [(key, value and value.fields) for key, value in decoded(found, TYPES)] == [(7, {"x": 1}), (300, None)]
    assert [key[0] for key in found.keys.to_pylist()] == [codes.LONG, codes.LONG]


@pytest.mark.parametrize(
    ("converter", "code", "key"),
    [("simple", codes.BYTE, 7), ("string", codes.STRING, "7"), ("bytes", codes.BYTE_ARRAY, b"7"), ("json", codes.LONG, 7)],
)
def test_without_a_declared_type_the_header_converter_gives_it(converter: str, code: int, key: object) -> None:
    found = entries(CacheInfo("free", 2), converter, [([("id", b"7")], b"true")])
    assert (found.keys[0].as_py()[0], decoded(found, TYPES)) == (code, [(key, True)])


def test_records_without_the_header_are_bad() -> None:
    found = entries(CacheInfo("free", 2), "simple", [([("x", b"1")], b"1"), ([], b"2"), ([("id", None)], b"3"), ([("id", b"null")], b"4")])
    assert not len(found)
    assert [(bad.row, bad.stage, bad.reason) for bad in found.bad] == [
        (0, Stage.PUT, "the record has no header id, and key_policy is header"),
        (1, Stage.PUT, "the record has no header id, and key_policy is header"),
        (2, Stage.PUT, "header id is null, and key_policy is header"),
        (3, Stage.PUT, "the key is null"),
    ]


def test_one_header_is_named() -> None:
    with pytest.raises(SettingsError, match="there are 2 key_fields"):
        ConversionRules(key_policy="header", key_fields=("a", "b"))


LIKE_NUMBERS = [b"69203120e780", b"1::2", b"1", b"007", b"7", b"1E-2", b"0.01", b"true", b"2024-01-31", b" x"]


def _of_texts(cache: CacheInfo, converter: str, texts: list[bytes]) -> Entries:
    return entries(cache, converter, [([("id", text)], b'{"n": %d}' % number) for number, text in enumerate(texts)])


def test_texts_that_look_like_numbers_are_keys_of_strings_or_bad_records_that_name_header_and_way_out() -> None:
    cache = cache_of({"n": "java.lang.Integer"}, key="java.lang.String")
    found = _of_texts(cache, "string", LIKE_NUMBERS)
    assert ([key for key, _ in decoded(found, TYPES)], found.bad) == ([text.decode() for text in LIKE_NUMBERS], ())
    found = _of_texts(cache, "simple", LIKE_NUMBERS)
    assert [key for key, _ in decoded(found, TYPES)] == [" x"]
    for bad in found.bad:
        assert bad.reason.startswith("header id")
        assert "header_converter=string" in bad.reason


def test_a_text_of_which_something_is_lost_makes_no_key() -> None:
    texts = [b"1", b"1::2", b"0.1", b"0.10000000149011612", b"2024-01-31", b"2024-01-3x", b"2024-02-31", b"1,5"]
    found = _of_texts(CacheInfo("free", 2), "simple", texts)
    assert found.rows.tolist() == [0, 2, 4]
    assert [(bad.row, bad.stage) for bad in found.bad] == [(row, Stage.HEADER) for row in (1, 3, 5, 6, 7)]
    assert found.bad[0].reason == (
        "header id: the text 1::2 is read as 1, so several texts would be one key; header_converter=string reads texts as they are"
    )


def test_another_spelling_of_a_number_is_its_key_and_is_reported_once() -> None:
    emitted_events.reset()
    found = _of_texts(CacheInfo("free", 2), "simple", [b"007", b"7", b"1E-2", b"0.01", b"+5", b" 8"])
    assert [key for key, _ in decoded(found, TYPES)] == [7, 7, pytest.approx(0.01), pytest.approx(0.01), 5, 8]
    assert emitted_events.counts() == {events.KEY_SPELLED_OTHERWISE.id: 1}
    emitted_events.reset()
    _of_texts(CacheInfo("free", 2), "simple", [b"7", b"-1.5", b"1.0E30", b"1969-05-05T10:11:12.013Z", b"10:11:12.013Z", b"x", b"true"])
    assert emitted_events.counts() == {}
