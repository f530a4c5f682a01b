"""Control characters, which libraries of C read otherwise than Python: refused in names, addresses and paths, and by every Kafka client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import Producer

from ignite_kafka.errors import SettingsError
from ignite_kafka.kafka.clients import make_client
from ignite_kafka.settings.control_characters import refuse_in_line, refuse_in_lines
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.support.registry import config

CODES = [*range(0x20), 0x7F]


@pytest.mark.parametrize("code", CODES)
def test_each_is_refused_with_its_code_and_without_the_text(code: int) -> None:
    with pytest.raises(ValueError, match=rf"control character U\+{code:04X}") as caught:
        refuse_in_line(f"hunter2{chr(code)}")
    assert "hunter2" not in str(caught.value)
    if chr(code) in "\t\n\r":
        assert refuse_in_lines(f"a{chr(code)}b") == f"a{chr(code)}b"
    else:
        with pytest.raises(ValueError, match="control character"):
            refuse_in_lines(f"a{chr(code)}b")


INSERT = {"type": "org.apache.kafka.connect.transforms.InsertField$Value", "static.field": "a", "static.value": "b"}
ROUTER = {"type": "org.apache.kafka.connect.transforms.RegexRouter", "regex": "(.*)", "replacement": "$1"}
NUL: list[dict[str, Any]] = [
    {"security.protocol": "ssl", "enable.ssl.certificate.verification": "false\0x"},
    {"security.protocol": "sasl_plaintext\0", "sasl.mechanisms": "PLAIN"},
    {"security.protocol": "sasl_plaintext", "sasl.mechanisms": "PLAIN\0"},
    {"security.protocol": "ssl", "ssl.endpoint.identification.algorithm": "none\0"},
    {"bootstrap.servers": "localhost:1\0,kafka.corp"},
    {"client.id\0x": "a"},
    {"client.id": "a\x7f"},
    {"ssl.ca.location": "/ca.pem\n"},
]


@pytest.mark.parametrize("given", NUL, ids=str)
def test_no_kafka_client_is_made_with_one(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"a Kafka client is refused: .* cannot be set: it has the control character"):
        make_client(Producer, {"bootstrap.servers": "kafka.corp:1", **given})


@pytest.mark.parametrize("given", [one for one in NUL if "bootstrap.servers" not in one], ids=str)
@pytest.mark.parametrize("direction", [SourceSettings, SinkSettings])
def test_no_setting_of_a_kafka_client_has_one(given: dict[str, Any], direction: Any) -> None:
    with pytest.raises(SettingsError, match="control character"):
        direction.from_dict(
            {"name": "c", "topics": ["t"], "kafka_config": given} if direction is SinkSettings else {"name": "c", "kafka_config": given}
        )


@pytest.mark.parametrize(
    "given",
    [
        {"name": "a\0"},
        {"cache_whitelist": ["a\0b"]},
        {"cache_whitelist": "a\x7fb"},
        {"topic_names": {"a\0": "b"}},
        {"topic_prefix": "a\x01"},
        {"bootstrap_servers": "localhost\0:9092"},
        {"ignite_addresses": "localhost\0:10800"},
        {"ignite_tls_enabled": True, "ignite_tls_ca_file": "/ca.pem\0"},
        {"filter": "a.b\0:c"},
        {"where": "a = '\0'"},
        {"overrides": {"a\0": {"topic_partitions": 1}}},
        {"topic_config": {"cleanup.policy\0": "compact"}},
        {"value_converter_config": {"schemas.enable\0": "true"}},
        {"cluster_name": "a\n"},
        {"topic_config": {"cleanup.policy": "compact\0"}},
        {"value_converter_config": {"schemas.enable": "true\x07"}},
        {"transforms": ["a"], "transform_config": {"a": {**INSERT, "static.value": "x\0y"}}},
        {"transforms": ["a"], "transform_config": {"a": {**INSERT, "static.value": "x\x1by"}}},
        {"transforms": ["a"], "transform_config": {"a": {**INSERT, "static.field\0": "y"}}},
        {"transforms": ["a"], "transform_config": json.dumps({"a": {**INSERT, "static.value": "x\0y"}})},
        {"transforms": ["a"], "transform_config": {"a": {**ROUTER, "replacement": "x\0"}}},
        {"overrides": {"b": {"transforms": ["a"], "transform_config": {"a": {**INSERT, "static.value": "x\0y"}}}}},
        {"transforms": ["t"], "transform_config": {"t": {"type": "Flatten$Value", "delimiter": "\x01\0"}}},
        {"predicates": ["p"], "predicate_config": {"p": {"type": "TopicNameMatches", "pattern": "a\0"}}},
    ],
    ids=str,
)
def test_no_setting_that_names_something_has_one(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        SourceSettings.from_dict({"name": "c", **given})


def test_texts_of_several_lines_keep_their_ends() -> None:
    schema = '{"type": "string",\n\t"optional": true}'
    settings = SourceSettings.from_dict(
        {
            "name": "c",
            "where": "a = 1\n\tand b = 2",
            "cache_whitelist": "a,\n  b",
            "value_converter": "json",
            "value_converter_config": {"schemas.enable": "true", "schema.content": schema},
            "kafka_config": {"ssl.ca.pem": "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"},
            "transforms": ["t"],
            "transform_config": {"t": {"type": "Flatten$Value", "delimiter": "\x01"}},  # Hive's delimiter of fields
        }
    )
    assert settings.cache_whitelist == ("a", "b")
    assert settings.transform_config["t"]["delimiter"] == "\x01"


@pytest.mark.parametrize("given", [{"proxy.host": "gate\0"}, {"proxy.host": "u:p@gate"}, {"proxy.host": "gate/"}, {"proxy.host": "a b"}])
def test_the_proxy_of_a_registry_is_a_host(given: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"proxy\.host"):
        config("https://registry", given)


def test_the_url_of_a_registry_has_none() -> None:
    with pytest.raises(SettingsError, match="control character"):
        config("https://registry\0.corp")


def test_values_of_transforms_keep_tabs_and_ends_of_lines() -> None:
    value = "a\tb\r\nc"
    given = {"name": "c", "transforms": ["a"], "transform_config": {"a": {**INSERT, "static.value": value}}}
    assert SourceSettings.from_dict(given).transform_config["a"]["static.value"] == value
