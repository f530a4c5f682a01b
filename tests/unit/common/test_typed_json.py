"""JSON of internal records: bounds of what is written and read, and fields of the declared types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

import pytest
from hypothesis import given, settings

from ignite_kafka.common import typed_json
from ignite_kafka.common.typed_json import MOST_BYTES, MOST_DEPTH, Range, array, boolean, dumps, integer, json_object, loads, read_as, text
from ignite_kafka.errors import RecordTooLarge
from tests.support.hostile_records import DEEP, DIGITS, JSON, encoded
from tests.support.randomness import examples


@dataclass(frozen=True)
class Part:
    name: str
    size: Annotated[int, Range(0, 10)] = 0


@dataclass(frozen=True)
class Whole:
    part: Part
    flag: bool = False
    ratio: float = 0.0
    share: Annotated[float, Range(0, 1)] = 0.0
    note: str | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)
    by_number: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    pair: tuple[str, bool] | None = None
    anything: Any = None


WHOLE = Whole(Part("p", 3), True, 1.5, 0.5, "n", {"a": Part("q")}, {-1: (1, 2)}, ("x", False), [1])
PART = {"name": "p"}


@pytest.mark.parametrize(
    "data",
    [
        DEEP, b'{"a":' * 100_000, b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1), DIGITS, b'{"a":%b}' % DIGITS, b"", b"x", b"\xff",
        "[]".encode("utf-16"), b'"\xed\xa0\x80"', b'"' + b"x" * MOST_BYTES + b'"', '"' + "x" * MOST_BYTES + '"',
    ],
)  # fmt: skip
def test_other_bytes_are_a_value_error(data: bytes | str) -> None:
    with pytest.raises(ValueError, match=r"nested|bytes|Exceeds|Expecting|codec|digits"):
        loads(data)


def test_the_limits_are_inclusive() -> None:
    deep = b"[" * MOST_DEPTH + b"]" * MOST_DEPTH
    assert json.dumps(loads(deep)).encode() == deep
    assert loads(b'"' + b"x" * (MOST_BYTES - 2) + b'"') == "x" * (MOST_BYTES - 2)
    many = [[number] for number in range(1_000)]
    assert loads(dumps(many)) == many


def test_lone_surrogates_are_replaced_and_pairs_kept() -> None:
    assert loads(b'{"\\ud800x":["\\uDFFF","\\ud83d\\ude00"]}') == {"\ufffdx": ["\ufffd", "\U0001f600"]}


def test_what_readers_would_refuse_is_not_written() -> None:
    assert dumps({"a": [1, "ü"]}) == b'{"a":[1,"\\u00fc"]}'
    with pytest.raises(RecordTooLarge, match="readers accept 16,777,216"):
        dumps("x" * MOST_BYTES)


def test_a_dataclass_travels_whole_and_members_of_newer_versions_are_ignored() -> None:
    assert read_as(Whole, loads(dumps(asdict(WHOLE)))) == WHOLE
    assert read_as(Whole, {"part": {**PART, "newer": 1}, "newer": []}) == Whole(Part("p"))
    assert read_as(Whole, {"part": PART, "ratio": 2}) == Whole(Part("p"), ratio=2.0)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "no object"), ([], "no object"), ({}, "part is missing"), ({"part": {}}, "part: name is missing"),
        ({"part": {"name": 5}}, "part: name: it is no text"), ({"part": {"name": "p", "size": 11}}, "size: it is no integer from 0 to 10"),
        ({"part": {"name": "p", "size": True}}, "no integer"), ({"part": PART, "flag": 1}, "neither true nor false"),
        *(({"part": PART, "ratio": wrong}, "ratio: ") for wrong in (float("nan"), float("inf"), 10**400, 1 << 63, True, "1", None)),
        ({"part": PART, "share": 1.5}, "within its range"), ({"part": PART, "note": 5}, "note: it is no text and it is not null"),
        ({"part": PART, "parts": []}, "no object"), ({"part": PART, "parts": {"a": 1}}, "no object"),
        ({"part": PART, "by_number": {"x": []}}, "no integer"), ({"part": PART, "by_number": {"9" * 19: []}}, "no integer"),
        ({"part": PART, "by_number": {"1": 5}}, "no array"), ({"part": PART, "pair": ["x"]}, "1 items instead of 2"),
    ],
)  # fmt: skip
def test_a_field_of_another_type_is_a_value_error(value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_as(Whole, value)


def test_single_values() -> None:
    assert (integer(-(1 << 63)), boolean(False), text(""), array([]), json_object({})) == (-(1 << 63), False, "", [], {})
    for read in (integer, boolean, text, array, json_object):
        for wrong in (None, 1.0, 1 << 63):
            with pytest.raises(ValueError, match="it is n"):
                read(wrong)


def test_a_type_without_a_json_form_is_a_fault_of_the_program() -> None:
    with pytest.raises(TypeError, match="no type of JSON values"):
        typed_json._reader(set[int])


@given(JSON)
@settings(max_examples=examples(250))
def test_any_json_is_read_or_a_value_error(value: Any) -> None:
    found = loads(encoded(value))
    json.dumps(found, ensure_ascii=False).encode()  # no lone surrogates
    with suppress(ValueError):
        read_as(Whole, found)
