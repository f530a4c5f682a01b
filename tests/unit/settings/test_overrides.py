"""Settings of single caches and topics."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ignite_kafka.convert import Converters
from ignite_kafka.errors import NotAvailableYet, SettingsError
from ignite_kafka.settings.files.load import from_json, from_properties
from ignite_kafka.settings.overrides import without_effect
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.topic_groups import NewTopicSettings


def source(overrides: object, **values: object) -> SourceSettings:
    return SourceSettings.from_dict({"name": "c", "overrides": overrides, **values}, "c.json")


def test_the_first_expression_that_matches_the_whole_name_counts() -> None:
    settings = source({"a": {"decimal_format": "NUMERIC"}, "a.*": {"topic_partitions": "7", "enum_policy": "ORDINAL"}}, topic_partitions=2)
    assert [settings.override_of(name) for name in ("a", "ab", "b")] == ["a", "a.*", None]
    assert (settings.of("a").decimal_format, settings.of("a").topic_partitions) == ("NUMERIC", 2)
    assert (settings.of("ab").decimal_format, settings.of("ab").topic_partitions, settings.of("ab").enum_policy) == ("BASE64", 7, "ORDINAL")
    assert settings.of("b") is settings
    assert settings.of("ab") is settings.of("ac")
    assert settings.of("ab").of("a") is settings.of("ab")
    again = SourceSettings.from_dict(settings.to_dict())
    assert again == settings
    assert again.of("ab") == settings.of("ab")


def test_an_overridden_converter_does_not_keep_the_properties_of_the_other() -> None:
    base = {"value_converter_config": {"decimal.format": "NUMERIC"}}
    settings = source({"raw": {"value_converter": "IgniteBinaryConverter"}, "same": {"decimal_format": "NUMERIC"}}, **base)
    assert settings.of("raw").value_converter == "ignite-binary"
    assert settings.of("raw").value_converter_config == {}
    assert settings.of("same").value_converter_config == {"decimal.format": "NUMERIC"}
    own = source({"own": {"value_converter": "json", "value_converter_config": {"decimal.format": "BASE64"}}}, **base)
    assert own.of("own").converter_properties("value")["decimal.format"] == "BASE64"


def test_a_topic_by_an_override_wins() -> None:
    settings = source({"a": {"topic": "x.y"}, "b": {}}, topic_names={".*": "t.$0"}, topic_prefix="p-")
    assert [settings.topic_of(name).name for name in ("a", "b", "c")] == ["x.y", "t.b", "t.c"]
    assert settings.topic_of("a").rule == "overrides 'a'"
    sink = SinkSettings.from_dict({"name": "c", "topics": "a,b", "overrides": {"a": {"cache": "kept"}}, "cache_prefix": "p-"})
    assert [sink.cache_of(name).name for name in ("a", "b")] == ["kept", "p-b"]


def test_overridden_settings_of_new_topics_win_over_groups() -> None:
    groups = {"g": {"include": ".*", "partitions": 9, "replication.factor": 2, "cleanup.policy": "compact"}}
    overrides = {"one": {"topic_partitions": 3}, "two": {"topic_config": {"retention.ms": "5"}}, "three": {"replication_factor": 1}}
    settings = source(overrides, topic_creation_groups=groups)
    assert settings.of("one").new_topic("one") == NewTopicSettings(3, 2, {"cleanup.policy": "compact"})
    assert settings.of("two").new_topic("two") == NewTopicSettings(9, 2, {"retention.ms": "5"})
    assert settings.of("three").new_topic("three") == NewTopicSettings(9, 1, {"cleanup.policy": "compact"})
    assert settings.of("other").new_topic("other") == NewTopicSettings(9, 2, {"cleanup.policy": "compact"})


@pytest.mark.parametrize(
    ("overrides", "reason", "setting"),
    [
        ({"a(": {}}, "it holds no regular expression", "overrides"),
        ({"a": {"decimal_formats": "NUMERIC"}}, "there is no such setting", "decimal_formats"),
        ({"a": {"decimal_formats": "NUMERIC"}}, "Did you mean decimal_format?", "decimal_formats"),
        ({"a": {"page_bytes": 5000}}, "it cannot differ between caches or topics", "page_bytes"),
        ({"a": {"topic_partitions": 0}}, "topic_partitions is wrong: it is out of range", "topic_partitions"),
        ({"a": {"topic": "x y"}}, "topic is no topic name", "topic"),
        ({"a": {"cache": "x"}}, "there is no such setting", "cache"),
        (
            {"a": {"value_converter_config": {"decimal.formats": "x"}}},
            "Did you mean decimal.format?",
            "value_converter_config.decimal.formats",
        ),
        ({"a": {"ignite_password": "hunter2"}}, "a secret is no setting", "ignite_password"),
        ({"a": "b"}, "it is not a mapping of regular expressions to mappings", "overrides"),
        (["a"], "it is not a mapping of regular expressions to mappings", "overrides"),
    ],
)
def test_what_is_wrong_is_named_with_its_expression(overrides: object, reason: str, setting: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(reason)) as caught:
        source(overrides)
    assert caught.value.where["setting"] == setting
    assert "hunter2" not in str(caught.value)
    if setting not in ("overrides", "value_converter_config.decimal.formats"):
        assert caught.value.where["set_in"] == "overrides 'a' of c.json"


def test_a_contradiction_with_other_settings_is_named() -> None:
    overrides = {"t": {"key_policy": "header"}}
    with pytest.raises(SettingsError, match="with key_policy header it names the header") as caught:
        SinkSettings.from_dict({"name": "c", "topics": "t", "overrides": overrides})
    assert caught.value.where["override"] == "t"


@pytest.mark.parametrize(("name", "value"), [("cache_filter", "F")])
def test_later_features_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(NotAvailableYet, match=f"{name} .* is not available yet"):
        source({"a": {name: value}})


def test_findings_of_several_overrides_come_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        source({"a": {"topic_partitions": 0}, "b": {"decimal_format": "x"}}, slots=0)
    assert {error.where["setting"] for error in caught.value.findings} == {"slots", "topic_partitions", "decimal_format"}


def test_what_is_fixed_in_a_snapshot_is_fixed_in_overrides() -> None:
    def fixed(overrides: dict[str, Any]) -> object:
        return source(overrides).fixed_in_snapshot()

    base = {"a": {"decimal_format": "NUMERIC"}, "b": {"topic_partitions": 3}}
    assert fixed(base) == fixed({"a": {"decimal_format": "NUMERIC"}, "b": {"topic_partitions": 4}})
    assert fixed(base) == fixed({"a": {"decimal_format": "NUMERIC"}, "b": {}})
    changes: tuple[dict[str, Any], ...] = (
        {"b": {}, "a": {"decimal_format": "NUMERIC"}},
        {"a": {}, "b": {}},
        {"a": {"decimal_format": "NUMERIC"}},
        {"a": {"decimal_format": "NUMERIC"}, "b": {"topic": "x"}},
        {"a": {"decimal_format": "NUMERIC"}, "b": {"value_converter": "ignite-binary"}},
        {"c": {"decimal_format": "NUMERIC"}, "b": {}},
    )
    for changed in changes:
        assert fixed(base) != fixed(changed), changed
    names = {"key_converter": "JsonConverter", "is_schemaless": "true"}
    assert fixed({"a": names}) == fixed({"a": {"is_schemaless": True, "key_converter": "json"}})


def test_expressions_without_effect_get_a_hint() -> None:
    settings = source({"orders": {}, "orders?": {}, "order.*": {}, "flihgts": {}})
    hints = without_effect(settings, ["orders", "flights", "order"])
    assert hints.keys() == {"order.*", "flihgts"}
    assert hints["flihgts"] == "Did you mean flights?"


def test_files_hold_overrides_as_a_mapping_or_as_json() -> None:
    line = rb'overrides={"a[.].*": {"value_converter": "ignite-binary"}}'
    loaded = from_properties(b"name=c\n" + line, "c.properties").settings()
    assert loaded.of("a.b").value_converter == "ignite-binary"
    assert from_json(b'{"name": "c", "overrides": {"a[.].*": {"value_converter": "ignite-binary"}}}', "c.json").settings() == loaded


def test_caches_of_equal_settings_share_a_converter() -> None:
    converters = Converters(source({"a.*": {"value_converter": "ignite-binary", "key_converter": "ignite-binary"}}))
    assert converters.of("a1") is converters.of("a2")
    assert converters.of("b") is converters.of("c")
    assert (converters.of("a1").key_name, converters.of("b").key_name) == ("ignite-binary", "json")
