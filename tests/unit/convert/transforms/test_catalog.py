"""Transforms and predicates by class name, and the messages for properties that are not allowed."""

from __future__ import annotations

import pytest

from ignite_kafka.convert.transforms.catalog import PREDICATES, TRANSFORMS, make_predicate, make_transform
from ignite_kafka.convert.transforms.regex_router import RegexRouter
from ignite_kafka.errors import SettingsError


def message(name: str, properties: dict[str, str], *, sink: bool = True) -> str:
    with pytest.raises(SettingsError) as refused:
        make_transform(name, properties, sink=sink)
    return str(refused.value)


def test_all_classes_of_kafka_are_known() -> None:
    assert len(TRANSFORMS) == 26
    assert len(PREDICATES) == 3


def test_a_class_has_a_long_and_a_short_name() -> None:
    properties = {"regex": "a", "replacement": "b"}
    long = make_transform("org.apache.kafka.connect.transforms.RegexRouter", properties, sink=False)
    assert long == make_transform("RegexRouter", properties, sink=False) == RegexRouter("a", "b")


def test_an_unknown_class_is_refused_with_the_nearest() -> None:
    assert "Did you mean Cast$Value?" in message("Casts$Value", {})
    with pytest.raises(SettingsError, match="Did you mean HasHeaderKey"):
        make_predicate("org.apache.kafka.connect.transforms.predicates.HasHeaderKeys", {"name": "x"})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("io.confluent.connect.transforms.Filter$Value", "Set where, a condition in SQL, or filter"),
        ("io.confluent.connect.transforms.ExtractTopic$Value", "named by rules: topic_names of a source, cache_names of a sink"),
        ("io.debezium.transforms.ExtractNewRecordState", "entries of Ignite have no envelope"),
        ("com.example.Mask$Value", "Write a function: type=package.module:function"),
    ],
)
def test_a_class_of_others_is_refused_with_a_way_out(name: str, words: str) -> None:
    found = message(name, {"any": "property"})
    assert words in found
    assert "Did you mean" not in found


def test_a_property_by_its_name_before_kafka_4_is_refused_with_the_new_one() -> None:
    assert "Write exclude: Kafka 4 has no blacklist any more." in message("ReplaceField$Value", {"blacklist": "a"})
    assert "Write include" in message("ReplaceField$Key", {"whitelist": "a"})
    assert "Write include" not in message("Cast$Key", {"whitelist": "a"})


@pytest.mark.parametrize(
    ("name", "properties", "words"),
    [
        ("Cast$Value", {}, "needs the property spec"),
        ("Cast$Value", {"spec": "a:int8", "specs": "x"}, "has no property specs [setting specs]. Did you mean spec?"),
        ("Cast$Value", {"spec": "a:int128"}, "Types: int8, int16, int32, int64, float32, float64, boolean, string"),
        ("Cast$Value", {"spec": "a:int8", "replace.null.with.default": "maybe"}, "Give it true or false"),
        ("ExtractField$Key", {"field": "`a", "field.syntax.version": "V2"}, "the backtick at position 0 has no other"),
        ("HeaderFrom$Key", {"fields": "a", "headers": "b,c", "operation": "move"}, "not as many as fields"),
        ("InsertField$Value", {}, "no field is inserted"),
        ("InsertHeader", {"header": "h", "value.literal": '[1,"a"]'}, "Give items of one type"),
        ("MaskField$Value", {"fields": ""}, "fields that cannot be used: it is empty"),
        ("RegexRouter", {"regex": "(", "replacement": ""}, "regex that cannot be used"),
        ("ReplaceField$Value", {"renames": "a"}, "'a' is not of the form old:new"),
        ("SetSchemaMetadata$Value", {}, "neither it nor schema.version is given"),
        ("TimestampConverter$Value", {"target.type": "date"}, "string, unix, Date, Time or Timestamp"),
        ("TimestampConverter$Value", {"target.type": "string"}, "it is empty, and target.type is string"),
        ("TimestampRouter", {"timestamp.format": "YYYY"}, "the letter Y is not supported"),
    ],
)
def test_a_message_names_the_property_and_what_is_allowed(name: str, properties: dict[str, str], words: str) -> None:
    assert words in message(name, properties)


def test_offsets_are_only_inserted_at_a_sink() -> None:
    assert make_transform("InsertField$Value", {"offset.field": "o"}, sink=True)
    assert "records of a source have no offset" in message("InsertField$Value", {"offset.field": "o"}, sink=False)
