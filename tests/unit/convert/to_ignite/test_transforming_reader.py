"""Records through transforms on their way to a cache: topics, keys, headers, tombstones, and the records that are bad or dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka import transform_function
from ignite_kafka.convert.connect_converters import deserializer
from ignite_kafka.convert.rules.failure_stages import Stage
from ignite_kafka.convert.to_ignite import BadRecord, RecordConverter
from ignite_kafka.convert.to_ignite.transforming_reader import PlainJson, TransformingReader
from ignite_kafka.convert.transforms.steps import make_steps
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.kafka.headers import headers_of
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.transforms import chain_of
from ignite_kafka.sink.conversion import inbound_rules
from ignite_kafka.sql import parse_columns
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded

KAFKA = "org.apache.kafka.connect.transforms."
MASK = {"type": f"{KAFKA}MaskField$Value", "fields": "x"}
TOMBSTONE = {"predicates": "gone", "predicate_config": {"gone": {"type": f"{KAFKA}predicates.RecordIsTombstone"}}}
FORMS = {
    "json": ({}, [b'{"x":1,"y":"a"}', b'{"x":2,"y":"b"}']),
    "json with schemas": (
        {"value_converter_config": {"schemas.enable": "true"}},
        [
            b'{"schema":{"type":"struct","fields":[{"type":"int64","field":"x"},{"type":"string","field":"y"}]},"payload":%s}' % text
            for text in (b'{"x":1,"y":"a"}', b'{"x":2,"y":"b"}')
        ],
    ),
}


def settings(transforms: dict[str, dict[str, str]], **more: Any) -> SinkSettings:
    given = {"name": "c", "topics": "topic", "transforms": list(transforms), "transform_config": transforms, **more}
    return SinkSettings.from_dict(given)


def read(made: SinkSettings, records: Consumed) -> tuple[dict[str, list[tuple[int, Any, Any]]], list[BadRecord]]:
    """Row, key and value of the entries of each topic, and the bad records."""
    rules = inbound_rules(made)
    select = parse_columns(made.select) if made.select else ()
    reader = TransformingReader(make_steps(made), chain_of(made), rules, deserializer, select)
    routed, bad = reader.read(records)
    found = {}
    for one in routed:
        types = GrowingTypes()
        converter = RecordConverter(CacheInfo("free", 2), types, rules, deserializers=deserializer, topic="topic", read_sides=reader.sides)
        entries = converter.convert(one.consumed, one.read)
        bad += [replace(record, row=int(one.rows[record.row])) for record in entries.bad]
        pairs = [(key, getattr(value, "fields", value)) for key, value in decoded(entries, types)]
        found[one.topic] = [(int(one.rows[row]), *pair) for row, pair in zip(entries.rows, pairs, strict=True)]
    return found, bad


def with_headers(records: Consumed, headers: Sequence[Sequence[tuple[str, bytes | None]]]) -> Consumed:
    flat = [one for own in headers for one in own]
    columns = pa.array([name for name, _ in flat], pa.string()), pa.array([value for _, value in flat], pa.binary())
    return replace(records, headers=headers_of(np.array([len(own) for own in headers]), *columns))


@pytest.mark.parametrize("form", FORMS)
def test_values_are_transformed_before_they_become_entries(form: str) -> None:
    more, values = FORMS[form]
    found, bad = read(settings({"mask": MASK}, **more), consumed(values, [b"1", b"2"]))
    assert found == {"topic": [(0, 1, {"x": 0, "y": "a"}), (1, 2, {"x": 0, "y": "b"})]}
    assert bad == []


@pytest.mark.parametrize("form", FORMS)
def test_keys_are_made_of_values(form: str) -> None:
    more, values = FORMS[form]
    chain = {"key": {"type": f"{KAFKA}ValueToKey", "fields": "y"}, "one": {"type": f"{KAFKA}ExtractField$Key", "field": "y"}}
    found, bad = read(settings(chain, **more), consumed([*values, None], [None, b"2", b"3"]))
    assert [(row, key) for row, key, _ in found["topic"]] == [(0, "a"), (1, "b")]
    ((row, stage),) = [(one.row, one.stage) for one in bad]
    assert (row, stage) == (2, Stage.TRANSFORMATION)  # a tombstone has no field


def test_an_exception_is_the_error_of_its_record_and_names_transform_class_and_exception() -> None:
    found, bad = read(settings({"mask": MASK}), consumed([b'{"x":1}', b"7", None, b'{"x":'], [b"1", b"2", b"3", b"4"]))
    assert found == {"topic": [(0, 1, {"x": 0})]}
    assert [(one.row, one.stage) for one in bad] == [(1, Stage.TRANSFORMATION), (2, Stage.TRANSFORMATION), (3, Stage.VALUE)]
    assert bad[0].where["transform"] == "mask"
    assert bad[0].where["transform_class"] == MASK["type"]
    assert bad[0].where["exception"].endswith("DataException")
    assert bad[0].reason.startswith("transform mask throws")
    assert "transform" not in bad[2].where


@pytest.mark.parametrize("form", FORMS)
def test_filtered_tombstones_are_neither_entries_nor_bad(form: str) -> None:
    more, values = FORMS[form]
    null = {"json": b"null", "json with schemas": b'{"schema":null,"payload":null}'}[form]
    chain = {"drop": {"type": f"{KAFKA}Filter", "predicate": "gone"}}
    found, bad = read(settings(chain, **TOMBSTONE, **more), consumed([values[0], None, null], [b"1", b"2", b"3"]))
    assert [row for row, _, _ in found["topic"]] == [0]
    assert bad == []
    kept = {"drop": {**chain["drop"], "negate": "true"}}
    found, bad = read(settings(kept, **TOMBSTONE, **more), consumed([values[0], None, null], [b"1", b"2", b"3"]))
    assert found == {"topic": [(1, 2, None), (2, 3, None)]}


def test_topics_are_routed_by_name_and_by_time() -> None:
    chain = {
        "route": {"type": f"{KAFKA}RegexRouter", "regex": "to(.*)", "replacement": "$1"},
        "day": {"type": f"{KAFKA}TimestampRouter", "topic.format": "${topic}-${timestamp}", "timestamp.format": "yyyyMMdd"},
    }
    times = np.array([0, 86_400_000, 1, -1])
    records = replace(consumed([b"1", b"2", b"3", b"4"], [b"1", b"2", b"3", b"4"]), times_ms=times)
    found, bad = read(settings(chain), records)
    assert found == {"pic-19700101": [(0, 1, 1), (2, 3, 3)], "pic-19700102": [(1, 2, 2)]}
    assert [(one.row, one.stage) for one in bad] == [(3, Stage.TRANSFORMATION)]  # a record without a timestamp


def test_the_position_of_a_record_is_inserted() -> None:
    chain = {"at": {"type": f"{KAFKA}InsertField$Value", "partition.field": "p", "offset.field": "o"}}
    found, _ = read(settings(chain), consumed([b'{"x":1}', b'{"x":2}'], [b"1", b"2"]))
    assert [value for _, _, value in found["topic"]] == [{"x": 1, "p": 3, "o": 100}, {"x": 2, "p": 3, "o": 101}]


def test_headers_are_read_changed_and_make_keys() -> None:
    chain = {"move": {"type": f"{KAFKA}HeaderFrom$Value", "fields": "y", "headers": "id", "operation": "move"}}
    more = {"key_policy": "header", "key_fields": "id", "value_converter_config": FORMS["json with schemas"][0]["value_converter_config"]}
    records = with_headers(consumed(FORMS["json with schemas"][1], [None, None]), [[("id", b"9")], []])
    found, bad = read(settings(chain, **more), records)
    assert found == {"topic": [(0, "a", {"x": 1}), (1, "b", {"x": 2})]}
    assert bad == []


def test_a_predicate_sees_the_headers_of_each_record() -> None:
    more = {"predicates": "old", "predicate_config": {"old": {"type": f"{KAFKA}predicates.HasHeaderKey", "name": "old"}}}
    records = consumed([b"1", b"2", b"3"], [b"1", b"2", b"3"])
    given = with_headers(records, [[("old", b"x"), ("n", b"1")], [("n", b"1")], [("n", b"true"), ("old", None)]])
    found, bad = read(settings({"drop": {"type": f"{KAFKA}Filter", "predicate": "old"}}, **more), given)
    assert found == {"topic": [(1, 2, 2)]}
    assert bad == []


def test_a_side_that_no_transform_touches_keeps_its_bytes_and_errors() -> None:
    chain = {"route": {"type": f"{KAFKA}RegexRouter", "regex": ".*", "replacement": "x"}}
    found, bad = read(settings(chain), consumed([b'{"x":1}', b"{", None], [b"1", b"2", b"3"]))
    assert found == {"x": [(0, 1, {"x": 1}), (2, 3, None)]}
    assert [(one.row, one.stage) for one in bad] == [(1, Stage.VALUE)]


@pytest.mark.parametrize("form", FORMS)
def test_select_names_the_fields_that_are_left_and_works_behind_the_transforms(form: str) -> None:
    more, values = FORMS[form]
    found, bad = read(settings({"mask": MASK}, select="Y, x AS Number", **more), consumed(values))
    assert (found, bad) == ({"topic": [(0, 0, {"y": "a", "Number": 0}), (1, 1, {"y": "b", "Number": 0})]}, [])
    found, bad = read(settings({}, select="Y AS x", **more), consumed([values[0], None, values[1]]))
    assert (found, bad) == ({"topic": [(0, 0, {"x": "a"}), (1, 1, None), (2, 2, {"x": "b"})]}, [])
    found, bad = read(settings({}, select="Y, x AS Number", **more), consumed(values * 40))  # enough to be split at once
    assert bad == []
    assert found["topic"] == [(row, row, {"y": "ab"[row % 2], "Number": 1 + row % 2}) for row in range(80)]


def test_a_value_without_the_selected_fields_is_a_bad_record() -> None:
    found, bad = read(settings({}, select="x, `a b`"), consumed([b'{"x":1}', b'{"y":2}', b"7", b'{"A b":3,"y":4}']))
    assert found == {"topic": [(0, 0, {"x": 1, "A b": None}), (3, 3, {"x": None, "A b": 3})]}  # null: only fields of the type
    assert [(one.row, one.stage, one.where["setting"]) for one in bad] == [(row, Stage.TRANSFORMATION, "select") for row in (1, 2)]
    assert bad[0].reason == "select names x, a b, and the value has y"
    assert bad[0].where["transform_class"].endswith(".SelectFields")


def test_keys_of_the_value_are_made_of_selected_fields_and_other_keys_are_not_read() -> None:
    made = settings({}, select="x, y AS id", key_policy="value", key_fields="id")
    found, bad = read(made, consumed([b'{"x":1,"y":"a","z":{}}', b'{"x":2}'], [b"{", b"{"]))
    assert found == {"topic": [(0, "a", {"x": 1, "id": "a"})]}
    assert [(one.row, one.stage, one.where) for one in bad] == [(1, Stage.PUT, {"part": "key"})]
    found, bad = read(settings({}, select="y", key_converter="string"), consumed([b'{"x":1,"y":"a"}'], [b"{"]))
    assert (found, bad) == ({"topic": [(0, "{", {"y": "a"})]}, [])


def test_objects_are_split_and_other_texts_are_read_one_by_one() -> None:
    flat = [b'{"a":%d, "b":"x"}' % row for row in range(100)]
    others = [b'{"a":{"b":1}}', b"null", b'"x"', b'{"a":1,"a":2}', b"{"]
    found = PlainJson().deserialize(pa.array([*flat, *others], pa.binary()), "topic")
    split, whole = found.parts
    assert split.rows.tolist() == list(range(100))
    assert split.column.data[7].as_py() == {"a": b'"a":7', "b": b'"b":"x"'}
    assert (whole.rows.tolist(), whole.column.data.to_pylist()) == ([100, 101, 102], [others[0], None, others[2]])
    assert [row for row, _ in found.bad] == [103, 104]
    assert "stands twice" in found.bad[0][1]


@pytest.mark.parametrize("step", [MASK, {"type": f"{KAFKA}RegexRouter", "regex": "topic", "replacement": "topic"}])
def test_numbers_with_leading_zeros_pass_transforms(step: dict[str, str]) -> None:
    found, bad = read(settings({"step": step}), consumed([b'{"x":0102,"y":007}', b'{"x":1,"y":7}'], [b"01", b"2"]))
    assert ([(key, value["y"]) for _, key, value in found["topic"]], bad) == ([(1, 7), (2, 7)], [])


def test_values_of_headers_are_whole_texts() -> None:
    texts = [b'{"a":1}', b"null", b"1"]
    (part,) = PlainJson(whole=True).deserialize(pa.array(texts, pa.binary()), "topic").parts
    assert part.column.data.to_pylist() == [texts[0], None, texts[2]]


def test_records_that_are_split_and_others_keep_their_order() -> None:
    texts = [b'{"x":1,"y":"a"}', b'{"x":2,"y":":b"}', b'{"x":3,"y":"c"}'] * 40  # a text that begins with a colon is read separately
    found, bad = read(settings({"mask": MASK}), consumed(texts))
    assert bad == []
    assert found["topic"] == [(row, row, {"x": 0, "y": ("a", ":b", "c")[row % 3]}) for row in range(120)]


@transform_function
def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


HEADERS_OF_OTHERS: list[list[tuple[str, bytes | None]]] = [
    [("b", b"\xff\xfe"), ("c", b"x")],
    [("spring_json_header_types", b'{"trace":"java.lang.String"}'), ("trace", b"abc")],
    [("a", None), ("a", b""), ("", b"e"), ("c", b"007")],
]


@pytest.mark.parametrize("converter", ["simple", "string", "bytes", "json"])
def test_a_header_that_no_step_reads_makes_no_bad_record(converter: str) -> None:
    chain = {"drop": {"type": "DropHeaders", "headers": "b,spring_json_header_types"}}
    records = consumed([b'{"n":1}'] * 3, [b"1", b"2", b"3"])
    for steps in (chain, {"add": {"type": f"{KAFKA}InsertHeader", "header": "h", "value.literal": "1"}}):
        found, bad = read(settings(steps, header_converter=converter), with_headers(records, HEADERS_OF_OTHERS))
        assert found == {"topic": [(0, 1, {"n": 1}), (1, 2, {"n": 1}), (2, 3, {"n": 1})]}
        assert bad == []


def test_a_header_that_is_read_makes_a_bad_record_whose_reason_names_header_and_way_out() -> None:
    own = {"own": {"type": f"{__name__}:same"}}
    records = with_headers(consumed([b'{"n":1}'] * 3, [b"1", b"2", b"3"]), HEADERS_OF_OTHERS)
    found, bad = read(settings(own, header_converter="string"), records)
    assert [row for row, _, _ in found["topic"]] == [1, 2]
    ((row, reason),) = [(one.row, one.reason) for one in bad]
    assert row == 0
    assert "header b" in reason
    assert "header_converter=bytes" in reason
    key = {"key_policy": "header", "key_fields": "b"}
    chain = {"add": {"type": f"{KAFKA}InsertHeader", "header": "h", "value.literal": "1"}}
    _, bad = read(settings(chain, **key), records)
    assert [(one.row, one.stage) for one in bad] == [(0, Stage.HEADER), (1, Stage.PUT), (2, Stage.PUT)]
    assert "header b" in bad[0].reason
    assert "header_converter=bytes" in bad[0].reason


def test_the_header_that_makes_keys_is_read_as_without_transforms() -> None:
    chain = {"add": {"type": f"{KAFKA}InsertHeader", "header": "h", "value.literal": "1"}}
    records = with_headers(consumed([b"1"] * 3, [None] * 3), [[("id", b"1::2")], [("id", b"1")], [("id", b"x"), ("other", b"1::2")]])
    found, bad = read(settings(chain, key_policy="header", key_fields="id"), records)
    assert found == {"topic": [(1, 1, 1), (2, "x", 1)]}
    ((row, stage, reason),) = [(one.row, one.stage, one.reason) for one in bad]
    assert (row, stage) == (0, Stage.HEADER)
    assert "the text 1::2 is read as 1" in reason
