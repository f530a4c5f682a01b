"""Bodies of Kafka Connect's REST interface as files of connectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connect.rest_bodies import bodies
from ignite_kafka.settings.files.both_directions import load_both
from ignite_kafka.settings.files.load import from_json, load

CONFIG = {"connector.class": "org.gridgain.kafka.source.IgniteSourceConnector", "cacheWhitelist": "City", "topicPrefix": "c-"}
CONVERTERS = {"key.converter": "StringConverter", "value.converter": "JsonConverter"}


def settings_of(data: Any) -> Any:
    return from_json(json.dumps(data).encode(), "c.json").settings()


@pytest.mark.parametrize(
    ("more", "ignored"),
    [
        ({}, []),
        ({"tasks": [{"connector": "cities", "task": 0}], "type": "source"}, ["tasks", "type"]),
        ({"initial_state": "PAUSED"}, ["initial_state"]),
    ],
)
def test_what_connect_returns_and_takes_is_a_connector(more: dict[str, Any], ignored: list[str]) -> None:
    body = {"name": "cities", "config": {**CONFIG, **CONVERTERS, "name": "cities"}, **more}
    loaded = from_json(json.dumps(body).encode(), "c.json")
    assert (loaded.settings().name, list(loaded.ignored)) == ("cities", ignored)
    assert {loaded.origin[name] for name in ignored} <= {"c.json"}


def test_all_connectors_of_an_expanded_list() -> None:
    info: dict[str, Any] = {
        name: {"info": {"name": name, "config": CONFIG, "tasks": [], "type": "source"}, "status": {}} for name in ("a", "b")
    }
    assert [(one.config["name"], one.origin) for one in bodies(info, "all.json")] == [
        ("a", "all.json, connector a"),
        ("b", "all.json, connector b"),
    ]
    with pytest.raises(SettingsError, match=r"the file holds 2 connectors: a, b \[file c.json\]. Make a file of each"):
        settings_of(info)


def test_two_names_are_an_error_that_shows_both_beside_the_others() -> None:
    with pytest.raises(SettingsError) as raised:
        settings_of({"name": "one", "config": {**CONFIG, "name": "two", "cacheWhitelst": "x"}, "offsets": []})
    what = [error.what for error in raised.value.findings]
    assert what == [
        "the connector has two names: name is 'one', config.name is 'two'",
        "there is no such key beside config",
        "there is no such setting",
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"name": "c", "connector": {"state": "RUNNING"}, "tasks": [], "type": "source"},
        {"name": "C", "error_count": 0, "groups": [], "configs": []},
        {"a": {"status": {"name": "a"}}},
        {"name": "c", "config": "text"},
        ["a", "b"],
    ],
)
def test_another_body_names_the_form_of_a_connector_s(body: Any) -> None:
    with pytest.raises(SettingsError, match=r'\[file c.json\]. Its form is {"name": …, "config": {…}}'):
        settings_of(body)


def test_a_body_without_a_name_names_its_file_and_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "put.json"
    path.write_text(json.dumps(CONFIG))
    with pytest.raises(SettingsError, match=r"name is missing \[setting name, file put.json\].*PUT /connectors/NAME/config"):
        load(path).settings()
    assert load(path).with_values({"name": "c"}, "the command line").settings().name == "c"
    properties = path.with_suffix(".properties")
    properties.write_text("cache_whitelist=City\n")
    with pytest.raises(SettingsError, match=r"name is missing \[setting name, file put.properties\]. Add name: [^.]*\. See docs"):
        load(properties).settings()


def test_a_file_of_both_directions_is_one_body(tmp_path: Path) -> None:
    path = tmp_path / "both.json"
    path.write_text(json.dumps({"name": "a", "config": {"name": "b", "source.cache_whitelist": "x", "sink.topics": "x"}}))
    with pytest.raises(SettingsError, match="two names"):
        load_both(path)
