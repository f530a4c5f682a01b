"""Exact meanings of keys of Kafka Connect and of the reference, and keys that are ignored or refused with a reason."""

from __future__ import annotations

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connect.keys import apply_key_rules
from ignite_kafka.settings.connect.names import translate
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.files.load import LoadedSettings, from_properties
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

SOURCE, SINK = "name=c\nconnector.class=IgniteSource\n", "name=c\nconnector.class=IgniteSink\ntopics=t\n"


def load(text: str, head: str = SOURCE) -> LoadedSettings:
    return from_properties(f"{head}{text}".encode(), "c.properties")


def settings(text: str, head: str = SOURCE) -> ConnectorSettings:
    return load(text, head).settings()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("producer.override.acks=1", "changed to all"),
        ("producer.enable.idempotence=false", "changed to true"),
        ("consumer.override.enable.auto.commit=true", "changed to false"),
        ("producer.override.interceptor.classes=com.acme.I", "Java class"),
        ("producer.override.max.block.ms=1", "message.timeout.ms"),
        ("producer.override.partitioner.class=org.apache.kafka.clients.producer.internals.DefaultPartitioner", "murmur2_random"),
        ("producer.override.confluent.monitoring.interceptor.topic=x", "Confluent"),
        ("value.converter.plugin.version=[1.0,)", "installed version"),
        (
            "value.converter.schemas.enable=false\nvalue.converter=org.apache.kafka.connect.storage.StringConverter",
            "string does not read it",
        ),
        ("key.converter.connect.meta.data=false\nkey.converter=JsonConverter", "json does not read it"),
        ("consumer.override.request.timeout.ms=1", "socket.timeout.ms"),
        ("consumer.override.session.timeout.ms=30000", "no client joins a consumer group"),
        ("consumer.heartbeat.interval.ms=3000", "no client joins a consumer group"),
        ("consumer.override.max.poll.interval.ms=300000", "no client joins a consumer group"),
        ("consumer.override.group.instance.id=w1", "no client joins a consumer group"),
        ("consumer.security.protocol=SSL", "that of its producer"),
        ("consumer.override.group.id=x", "no consumer group"),
        ("ssl.protocol=TLSv1.3", "negotiate it"),
    ],
)
def test_keys_without_use_are_ignored_with_their_reason(line: str, reason: str) -> None:
    loaded = load(line)
    loaded.settings()
    assert reason in loaded.ignored[line.partition("=")[0]]
    assert loaded.origin[line.partition("=")[0]] == "c.properties, line 3"


@pytest.mark.parametrize("line", ["acks=all", "acks=-1", "enable.idempotence=TRUE", "request.timeout.ms=30000"])
def test_values_that_need_no_change_stay(line: str) -> None:
    loaded = load(f"producer.override.{line}")
    assert loaded.ignored == {}
    assert loaded.settings().producer_override


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "producer.override.partitioner.class=com.acme.P",
            "sends a key's records to another partition .*Leave it out if the keys may move",
        ),
        ("producer.transactional.id=mine", "fence its former runs.* Leave it out"),
        ("consumer.override.isolation.level=read_uncommitted", "would be stored"),
        ("producer.override.sasl.login.callback.handler.class=com.acme.H", "Use sasl.oauthbearer.method"),
    ],
)
def test_keys_that_would_do_harm_are_refused_with_a_way_out(line: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        settings(line)
    assert caught.value.where["set_in"] == "c.properties, line 3"


def test_a_connector_has_the_security_of_the_client_that_moves_its_records() -> None:
    text = "producer.security.protocol=SASL_SSL\nconsumer.override.security.protocol=SSL\nsecurity.protocol=PLAINTEXT"
    assert settings(text).kafka_config == {"security.protocol": "SASL_SSL"}
    assert settings(text, SINK).kafka_config == {"security.protocol": "SSL"}
    assert settings("security.protocol=SSL").kafka_config == {"security.protocol": "SSL"}


def test_the_connector_s_override_wins_over_the_worker_s_client_settings() -> None:
    for text in ("producer.linger.ms=1\nproducer.override.linger.ms=2", "producer.override.linger.ms=2\nproducer.linger.ms=1"):
        assert settings(text).producer_override == {"linger.ms": "2"}
    assert settings("bootstrap.servers=a:1\nproducer.override.bootstrap.servers=b:2").bootstrap_servers == "b:2"
    assert settings("bootstrap.servers=a:1\nproducer.override.bootstrap.servers=b:2", SINK).bootstrap_servers == "a:1"


def test_transactions_and_groups_have_the_names_that_were_given() -> None:
    assert settings("producer.override.transaction.timeout.ms=900000").transaction_timeout_ms == 900_000
    found = settings("consumer.override.group.id=their-group", SINK)
    assert isinstance(found, SinkSettings)
    assert found.group_id == "their-group"


def test_a_name_with_blanks_keeps_its_consumer_group() -> None:
    found = settings("", "name= my sink \nconnector.class=IgniteSink\ntopics=t\n")
    assert isinstance(found, SinkSettings)
    assert (found.name, found.group_id) == ("my-sink", "connect-my sink ")
    with pytest.raises(SettingsError, match="another form"):
        settings("", "name=my sink\ntopics=t\n")  # ours: the name is what it says


@pytest.mark.parametrize(
    ("text", "policy", "of_conversions", "topic"),
    [
        ("errorHandlingPolicy=LOG_ONLY", "LOG_ONLY", "STOP_TASK", ""),
        ("errors.tolerance=all", "STOP_TASK", "LOG_ONLY", ""),
        ("errors.tolerance=none\nerrorHandlingPolicy=STOP_TASK", "STOP_TASK", "STOP_TASK", ""),
        ("errors.tolerance=all\nerrorHandlingPolicy=LOG_ONLY", "LOG_ONLY", "LOG_ONLY", ""),
        ("errors.tolerance=all\nerrorHandlingPolicy=STOP_TASK", "STOP_TASK", "LOG_ONLY", ""),
        ("errors.tolerance=none\nerrorHandlingPolicy=LOG_ONLY", "LOG_ONLY", "STOP_TASK", ""),
        ("errors.tolerance=all\nerrorHandlingPolicy=STOP_TASK\nerrors.deadletterqueue.topic.name=d", "STOP_TASK", "DEAD_LETTER", "d"),
        ("errors.tolerance=all\nerrorHandlingPolicy=LOG_ONLY\nerrors.deadletterqueue.topic.name=d", "LOG_ONLY", "DEAD_LETTER", "d"),
        ("errorHandlingPolicy=LOG_ONLY\nerrors.deadletterqueue.topic.name=d", "LOG_ONLY", "STOP_TASK", "d"),
        ("errors.deadletterqueue.topic.name=d", "STOP_TASK", "STOP_TASK", "d"),
        ("errors.tolerance=none\nerrorHandlingPolicy=LOG_ONLY\nerrors.deadletterqueue.topic.name=d", "LOG_ONLY", "STOP_TASK", "d"),
    ],
)
def test_the_two_policies_are_independent(text: str, policy: str, of_conversions: str, topic: str) -> None:
    found = settings(text, SINK)
    assert (found.error_handling_policy, found.conversion_policy, found.dead_letter_topic) == (policy, of_conversions, topic)


def test_without_a_class_of_kafka_connect_one_policy_covers_all() -> None:
    found = settings("errorHandlingPolicy=LOG_ONLY", "name=c\ntopics=t\n")
    assert (found.error_handling_policy, found.conversion_policy) == ("LOG_ONLY", "LOG_ONLY")


def test_a_source_has_no_dead_letters_without_tolerance() -> None:
    loaded = load("errors.deadletterqueue.topic.name=d")
    assert "the first error stops" in loaded.ignored["errors.deadletterqueue.topic.name"]
    assert loaded.settings().dead_letter_topic == ""


def test_our_own_policy_needs_no_tolerance() -> None:
    found = settings("error_handling_policy=DEAD_LETTER\ndead_letter_topic=d", SINK)
    assert (found.error_handling_policy, found.dead_letter_topic) == ("DEAD_LETTER", "d")
    mixed = settings("errorHandlingPolicy=DEAD_LETTER\nerrors.deadletterqueue.topic.name=d", SINK)
    assert (mixed.error_handling_policy, mixed.dead_letter_topic) == ("DEAD_LETTER", "d")


def test_key_policies_of_the_reference() -> None:
    found = settings("keyPolicy=value", SINK)
    assert isinstance(found, SinkSettings)
    assert (found.key_policy, found.key_fields) == ("value", ())
    loaded = load("keyPolicy=kafka\nkeyFields=id", SINK)
    assert "topic, partition and offset" in loaded.ignored["keyFields"]
    loaded.settings()


@pytest.mark.parametrize("given", ["numeric", "Numeric", "NUMERIC"])
def test_decimal_format_of_each_side_in_any_case(given: str) -> None:
    found = settings(f"value.converter.decimal.format={given}\nkey.converter.decimal.format=base64")
    assert [found.converter_properties(side)["decimal.format"] for side in ("key", "value")] == ["BASE64", "NUMERIC"]


def test_an_empty_list_of_groups_and_the_default_group_s_include() -> None:
    found = load(
        "topic.creation.groups=\ntopic.creation.a.include=.*\ntopic.creation.default.include=.*\ntopic.creation.default.partitions=3"
    )
    made = found.settings()
    assert (made.to_dict()["topic_creation_groups"], made.to_dict()["topic_partitions"], made.to_dict()["topic_config"]) == ({}, 3, {})


def test_replication_of_dead_letters_is_theirs_alone() -> None:
    text = "errors.tolerance=all\nerrors.deadletterqueue.topic.name=d\nerrors.deadletterqueue.topic.replication.factor=1"
    found = settings(f"{text}\ntopic.creation.default.replication.factor=3")
    assert (found.dead_letter_copies, found.replication_factor) == (1, 3)
    assert settings("replication_factor=2").dead_letter_copies == 2


def test_what_was_renamed_is_known() -> None:
    keys = apply_key_rules({"producer.override.security.protocol": "SSL", "security.protocol": "PLAINTEXT"}, {}, sink=False)
    assert keys.values == {"kafka_config.security.protocol": "SSL"}
    assert keys.renamed == {"kafka_config.security.protocol": "producer.override.security.protocol"}
    assert keys.ignored == {"security.protocol": "producer.override.security.protocol takes precedence"}


@pytest.mark.parametrize("name", ["value.converter", "value_converter"])
def test_a_registry_of_a_converter_by_its_name_of_ours_is_read(name: str) -> None:
    url = "value.converter.schema.registry.url=http://r:8081\n"
    assert settings(f"{name}=avro\n{url}").converter_properties("value")["schema.registry.url"] == ("http://r:8081",)
    assert "uses no schema registry" in load(f"{name}=string\n{url}").ignored["value.converter.schema.registry.url"]


def test_a_null_is_an_error_that_names_its_key() -> None:
    given = {
        "name": "c", "connector.class": "IgniteSinkConnector", "topics": "t", "key.converter": None, "value.converter.schemas.enable": None,
        "producer.override.acks": None, "transforms": "a", "transforms.a.type": "ExtractField$Value", "transforms.a.field": None,
    }  # fmt: skip
    with pytest.raises(SettingsError) as raised:
        LoadedSettings(*translate(given, {})).settings()
    assert [(error.what, error.where["setting"]) for error in raised.value.findings] == [
        ("its value is null", name)
        for name in ("key.converter", "value.converter.schemas.enable", "producer.override.acks", "transforms.a.field")
    ]


def test_a_null_of_a_mapping_is_named() -> None:
    given = {"value_converter_config": {"a": None, "b": "x", "c": None}, "transform_config": {"t": {"field": None}}}
    with pytest.raises(SettingsError) as raised:
        SourceSettings.from_dict({"name": "c", **given})
    what = [error.what for error in raised.value.findings]
    assert what == [
        "value_converter_config is wrong: a, c: null is no text",
        "transform_config is wrong: t.field: null is no text",
    ]


@pytest.mark.parametrize(
    ("kind", "name", "written"),
    [
        ("IgniteSource", "acks", "producer.override.acks"),
        ("IgniteSource", "linger.ms", "producer.override.linger.ms"),
        ("IgniteSink", "fetch.min.bytes", "consumer.override.fetch.min.bytes"),
    ],
)
def test_a_bare_property_of_a_client_is_answered_with_its_prefix(kind: str, name: str, written: str) -> None:
    *_, errors = translate({"connector.class": kind, "name": "c", name: "1"}, {})
    assert [error.remedy for error in errors] == [f"It is a property of Kafka's clients: write {written}"]
