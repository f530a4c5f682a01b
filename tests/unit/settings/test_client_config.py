"""Properties of Kafka's clients in the settings: names of Java and of librdkafka, secrets, what is not to be set."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.client_config import one_name
from tests.support import librdkafka
from tests.support.source_settings import build


@pytest.mark.parametrize("mapping", ["kafka_config", "producer_override", "consumer_override"])
@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.pem", "ssl.truststore.password", "sasl.oauthbearer.client.secret"])
def test_a_secret_inside_a_mapping_is_refused_and_not_shown(mapping: str, name: str) -> None:
    with pytest.raises(SettingsError, match="is a secret") as caught:
        build(**{mapping: {name: "hunter2", "client.id": "hunter3"}})
    assert "hunter" not in str(caught.value)


def test_names_of_java_clients_become_librdkafka_s() -> None:
    settings = build(
        producer_override={"max.request.size": 5_000_000, "buffer.memory": "33554432", "linger.ms": 5},
        consumer_override={"fetch.max.wait.ms": 50},
    )
    assert settings.producer_override == {"message.max.bytes": "5000000", "queue.buffering.max.kbytes": "32768", "linger.ms": "5"}
    assert settings.consumer_override == {"fetch.wait.max.ms": "50"}


@pytest.mark.parametrize(
    ("mapping", "name", "value", "message"),
    [
        ("producer_override", "max.block.ms", "1", "use message.timeout.ms"),
        ("producer_override", "partitioner.class", "x", "use partitioner"),
        ("producer_override", "interceptor.classes", "x", "Java classes cannot run here"),
        ("kafka_config", "ssl.truststore.certificates", "x", "use ssl.ca.pem"),
        ("producer_override", "transactional.id", "x", "not yours to set"),
        ("producer_override", "transaction.timeout.ms", "1", "use the setting transaction_timeout_ms"),
        ("kafka_config", "bootstrap.servers", "h:1", "use the setting bootstrap_servers"),
        ("producer_override", "acks", "1", "must be all"),
        ("producer_override", "enable.idempotence", "false", "must be true"),
        ("consumer_override", "isolation.level", "read_uncommitted", "must be read_committed"),
        ("producer_override", "linger", "1", r"Did you mean linger\.ms\?"),
        ("producer_override", "fetch.min.bytes", "1", "not a setting of librdkafka for this kind of client"),
        ("kafka_config", "linger.ms", "1", "not a setting of librdkafka for this kind of client"),
        ("producer_override", "buffer.memory", "many", "whole number of bytes"),
    ],
)
def test_kafka_settings_that_cannot_work_say_why(mapping: str, name: str, value: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        build(**{mapping: {name: value}})
    assert name in caught.value.what


def test_two_names_of_one_kafka_setting_must_agree() -> None:
    with pytest.raises(SettingsError, match="different values"):
        build(producer_override={"max.request.size": 1000, "message.max.bytes": 2000})


@pytest.mark.parametrize(
    ("alias", "name", "value"),
    [
        ("delivery.timeout.ms", "message.timeout.ms", "90000"),
        ("queue.buffering.max.ms", "linger.ms", "5"),
        ("compression.codec", "compression.type", "zstd"),
        ("request.required.acks", "acks", "all"),
        ("message.send.max.retries", "retries", "9"),
        ("max.in.flight", "max.in.flight.requests.per.connection", "2"),
    ],
)
def test_librdkafka_s_two_names_of_one_setting_are_one(alias: str, name: str, value: str) -> None:
    assert build(producer_override={alias: value}).producer_override == {name: value}
    with pytest.raises(SettingsError, match=r"different values|must be all"):
        build(producer_override={alias: value, name: "1"})


def test_what_is_not_to_be_set_is_not_to_be_set_by_another_name() -> None:
    with pytest.raises(SettingsError, match=r"auto\.commit\.enable is not yours to set"):
        build(consumer_override={"auto.commit.enable": "true"})
    with pytest.raises(SettingsError, match=r"request\.required\.acks must be all"):
        build(producer_override={"request.required.acks": "1"})


def test_each_alias_of_the_installed_librdkafka_has_one_name(tmp_path: Path) -> None:
    aliases = librdkafka.aliases(tmp_path / "names.md")
    refused = {"metadata.broker.list", "bootstrap.servers"}  # under both names
    secret = {name for pair in aliases for name in pair if name.startswith("sasl.oauthbearer.")}  # nothing of the project sets them
    assert {pair for pair in aliases if one_name(pair[0]) != one_name(pair[1]) and not set(pair) <= refused | secret} == set()
    assert len(aliases) > 8
