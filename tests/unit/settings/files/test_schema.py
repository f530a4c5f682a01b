"""JSON Schema of connector files: it accepts what is accepted, names what is wrong, and knows every setting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import ignite_kafka.settings
from ignite_kafka.settings.files import schema as file_schema
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.unit.settings.files.test_connector_files import strimzi

DOCUMENT = file_schema.document()
VALIDATOR = jsonschema.Draft7Validator(DOCUMENT)


def errors(text: str) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(yaml.safe_load(text))]


def test_it_is_a_schema_that_ships_with_the_library() -> None:
    jsonschema.Draft7Validator.check_schema(DOCUMENT)
    shipped = Path(ignite_kafka.settings.__path__[0]) / "connector.schema.json"
    assert json.loads(shipped.read_text()) == DOCUMENT


@pytest.mark.parametrize("direction", [SourceSettings, SinkSettings])
def test_every_setting_has_its_default_and_help(direction: Any) -> None:
    connector = "IgniteSink" if direction is SinkSettings else "IgniteSource"
    for name, setting in direction.definitions().items():
        if name == "name":
            continue
        value = direction.defaults()[name]
        document = {"name": "c", "class": connector, "config": {name: list(value) if isinstance(value, tuple) else value}}
        assert [error.message for error in VALIDATOR.iter_errors(document)] == [], name
        part = DOCUMENT["definitions"]["sink" if direction is SinkSettings else "source"]["properties"][name]
        described = DOCUMENT["definitions"][part["$ref"].removeprefix("#/definitions/")]
        assert described["description"].startswith(setting.help)


@pytest.mark.parametrize("connector", ["IgniteSource", "IgniteSink"])
def test_filters_fields_and_transforms_are_known_in_both_directions(connector: str) -> None:
    config = """
      {where: price > 1, filter: "a.b:c", select: price AS p, transforms: [m], transform_config: {m: {type: "a.b:c", predicate: o}},
       predicates: [o], predicate_config: {o: {type: x.RecordIsTombstone}}, overrides: {a: {where: n = 1, select: n, transforms: []}}}
    """
    assert errors(f"name: c\nclass: {connector}\nconfig: {config}") == []
    for wrong in ("where: 1", "select: [a]", "filter: no function", "transforms: 1", "selct: a"):
        assert errors(f"name: c\nclass: {connector}\nconfig: {{{wrong}}}") != [], wrong


@pytest.mark.parametrize(
    "text",
    [
        "name: c",
        "name: c\nclass: IgniteSource\nconfig: {cache_whitelist: [a, b], tasks_max: 2, process_removals: true}",
        "name: c\nconfig: {cache_whitelist: 'a,b', tasks_max: '2', process_removals: 'true', schema_cache_ttl_ms: -1}",
        "name: c\nconfig: {cacheWhitelist: a, tasks.max: 2, key.converter: StringConverter, overrides: {a: {topic: b}}}",
        "name: c\nstate: paused\ndag: {schedule: '@daily', tags: [a]}\ntask: {retries: 2, conf: {spark.a: 1}}",
        "name: c\noffsets: [{partition: {cache: a, partition: 0}, offset: {sent: 3}}, {partition: {cache: a, partition: 1}, offset: null}]",
        strimzi(),
        strimzi("v1beta2", annotation="alter"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {offsets.json: ''}",
    ],
)
def test_what_is_accepted(text: str) -> None:
    assert errors(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "class: IgniteSource",
        "name: a b",
        "name: c\nconfig: {cache_whitlist: [a]}",
        "name: c\nclass: IgniteSink\nconfig: {cache_whitelist: [a]}",
        "name: c\nclass: IgniteSource\nconfig: {topics: [a]}",
        "name: c\nconfig: {tasks_max: 0}",
        "name: c\nconfig: {tasks_max: many}",
        "name: c\nconfig: {schema_cache_ttl_ms: -2}",
        "name: c\nconfig: {failover_policy: BACKLOGS}",
        "name: c\nconfig: {process_removals: perhaps}",
        "name: c\nstate: halted",
        "name: c\ndag: {scheduled: x}",
        "name: c\ntask: {retries: -1}",
        "name: c\noffsets: [{partition: {cache: a}, offset: {}}]",
        strimzi(state="halted"),
        strimzi().replace("tasksMax", "taskMax"),
        strimzi().replace("kafka.strimzi.io", "strimzi.example"),
        strimzi().replace("IgniteSourceConnector", "OtherConnector"),
        "kind: Deployment\nmetadata: {name: a}",
    ],
)
def test_what_is_wrong(text: str) -> None:
    assert errors(text) != []
