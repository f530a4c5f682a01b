"""SinkSettings: what they must hold together, and what a start says about them."""

from __future__ import annotations

import json
import pickle

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.sink import SinkSettings


def build(**values: object) -> SinkSettings:
    return SinkSettings.from_dict({"name": "c", "topics": "ignite-t", **values}, "test.json")


@pytest.mark.parametrize(
    ("values", "setting", "message"),
    [
        ({"topics": []}, "topics", "neither topics nor topics_regex is given"),
        ({"topics_regex": "t.*"}, "topics", "topics_regex is given too"),
        ({"topics": "", "topics_regex": "*"}, "topics_regex", "no regular expression"),
        ({"topics": "a b"}, "topics", "'a b' is no topic name"),
        ({"key_policy": "kafka", "key_fields": "id"}, "key_fields", "Name three"),
        ({"key_policy": "value", "value_converter": "string"}, "key_policy", "converter string reads no fields"),
        ({"select": "a", "value_converter": "ignite-binary"}, "select", "value_converter ignite-binary reads no fields"),
        ({"select": "a, b AS c", "where": "A = 1 AND b.x = 2"}, "where", "the fields of select, which has no b"),
        ({"select": "a", "key_policy": "value", "key_fields": "A, id"}, "key_fields", "the fields of select, which has no id"),
        ({"select": "a b"}, "select", "b follows column a"),
        ({"key_fields": "id", "key_converter": "ignite-binary", "value_converter": "ignite-binary"}, "key_fields", "reads no fields"),
        ({"cache_mode": "LOCAL"}, "cache_mode", "another form"),
        ({"error_handling_policy": "DEAD_LETTER"}, "dead_letter_topic", "Set both"),
        ({"dead_letter_topic": "bad", "error_handling_policy": "LOG_ONLY"}, "dead_letter_topic", "error_handling_policy is LOG_ONLY"),
        ({"error_handling_policy": "DEAD_LETTER", "dead_letter_topic": "ignite-t"}, "dead_letter_topic", "one of the topics that are read"),
        ({"cache_fields": {"id": "java.lang.Long"}}, "cache_fields", "Set cache_value_type"),
        ({"error_handling_policy": "IGNORE"}, "error_handling_policy", "none of these"),
        ({"key_policy": "offset"}, "key_policy", "none of these"),
        ({"auto_offset_reset": "error"}, "auto_offset_reset", "none of these"),
        ({"batch_size": 0}, "batch_size", "out of range"),
        ({"consumer_override": {"group.id": "x"}}, "consumer_override", "the connector's name makes it"),
        ({"consumer_override": {"auto.offset.reset": "latest"}}, "consumer_override", "a sink has the setting auto_offset_reset"),
    ],
)
def test_what_is_not_allowed_is_named_with_its_place(values: dict[str, object], setting: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        build(**values)
    assert (caught.value.where["setting"], caught.value.exit_code) == (setting, 2)
    assert caught.value.where.get("set_in", "test.json") == "test.json"


def test_converters_of_keys_and_values_are_apart() -> None:
    assert (build(value_converter="ignite-binary").key_converter, build(key_converter="ignite-binary").value_converter) == ("json", "json")


def test_json_and_pickle_both_ways() -> None:
    settings = build(cache_fields={"id": "java.lang.Long"}, cache_value_type="T", error_handling_policy="STOP")
    assert settings.error_handling_policy == "STOP_TASK"
    assert SinkSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_the_group_is_that_of_a_kafka_connect_sink() -> None:
    assert build().group_id == "connect-c"


def noticed(settings: SinkSettings) -> set[tuple[int, str]]:
    return {(event.id, str(fields["setting"])) for event, fields in settings.warnings()}


def test_choices_that_can_lose_data_name_the_setting_that_prevents_it() -> None:
    assert noticed(build()) == {(15134, "process_updates")}
    chosen = build(process_updates=True, error_handling_policy="LOG_ONLY", auto_offset_reset="earliest")
    assert noticed(chosen) == {(15135, "error_handling_policy"), (15136, "auto_offset_reset"), (15280, "delivery")}
    assert noticed(build(process_updates=True, delivery="strict")) == set()


def test_settings_of_a_continuous_run_are_noticed_where_they_are_idle() -> None:
    assert (15001, "topic_list_poll_interval_ms") in noticed(build(topic_list_poll_interval_ms=5))
    assert (15001, "topic_list_poll_interval_ms") not in noticed(build(topic_list_poll_interval_ms=5, run_mode="continuous"))
    assert (15001, "flush_on_offset_commit") in noticed(build(flush_on_offset_commit=True, run_mode="continuous"))


def test_an_error_of_a_condition_says_what_is_wrong_with_it_and_nothing_of_characters() -> None:
    with pytest.raises(SettingsError) as caught:
        SinkSettings(name="c", topics=("t",), where="price > 1 }")
    assert str(caught.value) == (
        "where is wrong: } is no part of SQL, at character 11 [setting where, value 'price > 1 }']. Leave it out; a text goes in single "
        "quotes, a name with braces in backticks. See docs/settings.md#where"
    )
