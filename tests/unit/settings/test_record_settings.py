"""Settings of headers, keys and times of records."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connect.names import translate
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"record_key": ("id",), "key_converter": "ignite-binary"}, "record_key.*writes whole keys alone"),
        ({"record_timestamp_field": "at", "value_converter": "ignite-binary"}, "record_timestamp_field.*writes whole values alone"),
        ({"record_key": ("id",), "run_mode": "continuous", "process_removals": True}, "a removed entry has no value"),
        ({"record_key": ("key.a", "b"), "failover_policy": "BACKLOG", "process_removals": True}, "a removed entry has no value"),
        ({"record_key": ("key.id", "ID")}, "two fields are named id"),
        ({"provenance_headers": ("host",)}, "there is no 'host'.*connector, run, cluster, cache"),
        ({"provenance_headers": ("cluster",)}, "cluster_name.*it is empty, and provenance_headers has cluster"),
        ({"provenance_headers": ("run",), "header_converter": "bytes"}, "bytes writes no texts and numbers"),
        ({"header_converter": "avro"}, "header_converter"),
        ({"header_converter_config": {"converter.encoding": "UTF-8"}}, "converter simple has no such property"),
    ],
)
def test_settings_that_contradict_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        SourceSettings(name="c", **given)


def test_settings_that_go_together() -> None:
    SourceSettings(name="c", record_key=("id",), process_removals=True)  # a snapshot sends no tombstones
    SourceSettings(name="c", record_key=("key.id",), process_removals=True, run_mode="continuous")
    SinkSettings(name="c", topics=("t",), key_policy="header", key_fields=("id",))
    with pytest.raises(SettingsError, match="with key_policy header it names the header"):
        SinkSettings(name="c", topics=("t",), key_policy="header")


def test_header_converters_of_kafka_connect() -> None:
    names = {"name": "c", "header.converter": "org.apache.kafka.connect.json.JsonConverter"}
    values, _, ignored, _, errors = translate(names, {})
    assert (ignored, errors) == ({}, ())
    settings = SourceSettings.from_dict(values)
    assert (settings.header_converter, settings.converter_properties("header")["schemas.enable"]) == ("json", "true")
    values, *_ = translate({"name": "c", "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter"}, {})
    assert SourceSettings.from_dict(values).header_converter == "simple"
