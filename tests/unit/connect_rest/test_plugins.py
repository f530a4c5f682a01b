"""Plugins, the definitions of their settings, and the validation of a configuration as Kafka Connect answers it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ignite_kafka.connect_rest import plugins
from ignite_kafka.connect_rest.messages import RestError
from ignite_kafka.settings.connect.config_providers import parse_allowed
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.unit.connect_rest.test_configuration import OPERATOR, SINK, SOURCE


def test_each_direction_has_a_plugin() -> None:
    assert [(plugin["class"].rpartition(".")[2], plugin["type"]) for plugin in plugins.list_plugins()] == [
        ("IgniteSinkConnector", "sink"),
        ("IgniteSourceConnector", "source"),
    ]
    for plugin in plugins.list_plugins():
        plugins.plugin_settings(plugin["class"])


@pytest.mark.parametrize(("plugin", "direction"), [("IgniteSource", SourceSettings), ("IgniteSinkConnector", SinkSettings)])
def test_every_setting_is_defined(plugin: str, direction: type[SourceSettings | SinkSettings]) -> None:
    settings = plugins.plugin_settings(plugin)
    assert len(settings) == len(direction.definitions()) == len({setting["name"] for setting in settings})
    assert {setting["type"] for setting in settings} == {"STRING", "BOOLEAN", "LIST", "INT"}
    assert [setting["name"] for setting in settings if setting["required"]] == ["name"]
    assert all(setting["documentation"] for setting in settings)
    assert {setting["name"] for setting in settings} >= {"name", "tasks_max", "run_mode"}


def test_names_are_those_of_the_gridgain_connector_where_it_has_the_setting() -> None:
    names = {setting["name"] for setting in plugins.plugin_settings("IgniteSource")}
    assert "cacheWhitelist" in names
    assert "cache_whitelist" not in names


def test_a_valid_configuration_has_no_error() -> None:
    result = plugins.validate("IgniteSinkConnector", SINK, OPERATOR)
    assert (result["name"], result["error_count"]) == ("IgniteSinkConnector", 0)
    values = {info["value"]["name"]: info["value"] for info in result["configs"]}
    assert values["topics"] == {"name": "topics", "value": "t", "recommended_values": [], "errors": [], "visible": True}


def test_each_error_is_beside_its_key() -> None:
    result = plugins.validate("IgniteSource", {**SOURCE, "tasks_max": "many", "surplus": "1", "transforms": "t"}, OPERATOR)
    wrong = {info["value"]["name"]: info["value"]["errors"] for info in result["configs"] if info["value"]["errors"]}
    assert result["error_count"] == sum(map(len, wrong.values()))
    assert {"tasks_max", "surplus"} <= wrong.keys()
    assert "not a whole number" in wrong["tasks_max"][0]


def test_a_missing_name_is_an_error_of_the_name() -> None:
    result = plugins.validate("IgniteSource", {"cacheWhitelist": "a"}, OPERATOR)
    assert result["error_count"] == 1
    assert result["configs"][0]["value"]["errors"] == ['Missing required configuration "name" which has no default value.']


@pytest.mark.parametrize("plugin", ["NoSuch", "IgniteSink"])
def test_the_class_must_be_that_of_the_path(plugin: str) -> None:
    with pytest.raises(RestError) as caught:
        plugins.validate(plugin, SOURCE, OPERATOR)
    assert (caught.value.status, caught.value.message) == (
        400, f"Included connector type IgniteSourceConnector does not match request type {plugin}",
    )  # fmt: skip


def test_the_error_of_a_configuration_has_kafka_connect_s_text() -> None:
    with pytest.raises(RestError) as caught:
        plugins.check_all({**SOURCE, "surplus": "1"}, OPERATOR)
    assert caught.value.message.startswith("Connector configuration is invalid and contains the following 1 error(s):\nthere is no such")
    for config, told in ((SOURCE | {"name": " "}, "String may not be empty"), ({"name": "c"}, "contains no connector type")):
        with pytest.raises(RestError, match=told):
            plugins.check_all(config, OPERATOR)
    with pytest.raises(RestError, match=r"name matches IgniteSorce.*Did you mean IgniteSource"):
        plugins.check_all({**SOURCE, "connector.class": "IgniteSorce"}, OPERATOR)


def test_values_as_texts() -> None:
    values = [True, 5, ("a", "b"), {"x": "y"}, None, (), "text"]
    assert [plugins.text_of(value) for value in values] == ["true", "5", "a,b", '{"x": "y"}', None, None, "text"]


@pytest.mark.parametrize("setting", ["transforms", "predicates", "tasks_max"])
def test_no_answer_has_a_value_of_a_config_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setattr("ignite_kafka.common.redaction._hidden", set())
    file = tmp_path / "s.properties"
    file.write_text("key=hunter2hunter2")
    operator = replace(OPERATOR, allowed=parse_allowed([f"FileConfigProvider={tmp_path}"]))
    config = {**SOURCE, "config.providers": "f", "config.providers.f.class": "FileConfigProvider", setting: f"${{f:{file}:key}}"}
    result = plugins.validate("IgniteSourceConnector", config, operator)
    assert result["error_count"] >= 1
    assert "hunter2" not in str(result)
    with pytest.raises(RestError) as refused:
        plugins.check_all(config, operator)
    assert "hunter2" not in refused.value.message
