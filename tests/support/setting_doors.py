"""The ways in which settings come in: each makes settings of a source from the properties that one setting of it holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.files import load
from ignite_kafka.settings.files.connector_files import read_folder
from ignite_kafka.settings.source import SourceSettings

CLASS, AVRO = "org.gridgain.kafka.source.IgniteSourceConnector", "io.confluent.connect.avro.AvroConverter"
CONVERTER = "value_converter_config"
_PREFIXES = {CONVERTER: "value.converter.", "producer_override": "producer.override.", "consumer_override": "consumer.override."}

Door = Callable[[Path, str, Mapping[str, str]], ConnectorSettings]


def of_settings(_: Path, setting: str, properties: Mapping[str, str]) -> ConnectorSettings:
    """A mapping, as of an operator."""
    return SourceSettings.from_dict({"name": "c", "value_converter": "avro", setting: properties})


def of_json_text(_: Path, setting: str, properties: Mapping[str, str]) -> ConnectorSettings:
    """A JSON file."""
    return load.from_json(json.dumps({"name": "c", "value_converter": "avro", setting: properties}).encode(), "c.json").settings()


def of_overrides(_: Path, setting: str, properties: Mapping[str, str]) -> ConnectorSettings:
    """The overrides of a cache, as a text."""
    given = {"value_converter": "avro", **properties} if setting == "" else {"value_converter": "avro", setting: properties}
    return SourceSettings.from_dict({"name": "c", "overrides": json.dumps({"orders": given})})


def of_properties(_: Path, setting: str, properties: Mapping[str, str]) -> ConnectorSettings:
    """A ``.properties`` file."""
    lines = [f"{name}={value}" for name, value in _connect(setting, properties).items()]
    return load.from_properties("\n".join(["name=c", *lines]).encode(), "c.properties").settings()


def of_yaml(folder: Path, setting: str, properties: Mapping[str, str]) -> ConnectorSettings:
    """A connector file in YAML."""
    config = {"cache_whitelist": "orders", "value_converter": "avro", setting: properties}
    return _of_folder(folder, {"name": "c", "config": config})


def of_strimzi(folder: Path, setting: str, properties: Mapping[str, str]) -> ConnectorSettings:
    """A KafkaConnector of Strimzi."""
    config = {"cacheWhitelist": "orders", "key.converter": "IgniteBinaryConverter", **_connect(setting, properties)}
    del config["connector.class"]
    head = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnector", "metadata": {"name": "c"}}
    return _of_folder(folder, {**head, "spec": {"class": CLASS, "config": config}})


def _connect(setting: str, properties: Mapping[str, str]) -> dict[str, str]:
    prefix = _PREFIXES.get(setting, f"{setting}.")
    return {"connector.class": CLASS, "value.converter": AVRO, **{f"{prefix}{name}": value for name, value in properties.items()}}


def _of_folder(folder: Path, document: Any) -> ConnectorSettings:
    (folder / "c.yaml").write_text(json.dumps(document))  # which is YAML, too
    read = read_folder(folder)
    for one in read.broken:
        raise one.error
    (connector,) = read.connectors
    return connector.settings()


DOORS: tuple[Door, ...] = (of_settings, of_json_text, of_overrides, of_properties, of_yaml, of_strimzi)


PlainDoor = Callable[[Path, Mapping[str, str]], ConnectorSettings]


def plain_settings(_: Path, settings: Mapping[str, str]) -> ConnectorSettings:
    """A mapping, as of an operator."""
    return SourceSettings.from_dict({"name": "c", **settings})


def plain_json(_: Path, settings: Mapping[str, str]) -> ConnectorSettings:
    """A JSON file."""
    return load.from_json(json.dumps({"name": "c", **settings}).encode(), "c.json").settings()


def plain_properties(_: Path, settings: Mapping[str, str]) -> ConnectorSettings:
    """A ``.properties`` file."""
    lines = [f"{name}={value}" for name, value in {"name": "c", "connector.class": CLASS, **settings}.items()]
    return load.from_properties("\n".join(lines).encode(), "c.properties").settings()


def plain_yaml(folder: Path, settings: Mapping[str, str]) -> ConnectorSettings:
    """A connector file in YAML."""
    return _of_folder(folder, {"name": "c", "config": {"cache_whitelist": "orders", **settings}})


def plain_strimzi(folder: Path, settings: Mapping[str, str]) -> ConnectorSettings:
    """A KafkaConnector of Strimzi."""
    head = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnector", "metadata": {"name": "c"}}
    config = {"cacheWhitelist": "orders", "key.converter": "IgniteBinaryConverter", "value.converter": "IgniteBinaryConverter", **settings}
    return _of_folder(folder, {**head, "spec": {"class": CLASS, "config": config}})


PLAIN_DOORS: tuple[PlainDoor, ...] = (plain_settings, plain_json, plain_properties, plain_yaml, plain_strimzi)
