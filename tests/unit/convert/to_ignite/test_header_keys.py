"""Cache keys from headers of records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.convert.to_ignite import ConversionRules, Entries, SideRules, Stage
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.kafka.headers import headers_of
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
