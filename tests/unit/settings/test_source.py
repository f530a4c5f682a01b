"""SourceSettings: the reference's settings, strict reading, clear refusals, one page of documentation."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from ignite_kafka import events
from ignite_kafka.errors import NotAvailableYet, SettingsError
from ignite_kafka.settings.client_config import one_name
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.support import librdkafka
from tests.unit.settings import reference_settings
from tests.unit.settings.reference_settings import ReferenceSetting

SETTINGS, DEFAULTS = SourceSettings.known(), SourceSettings.defaults()
_TYPES = {"class": "string", "long": "int"}
_NULL: dict[str, object] = {"list": (), "class": ""}


def build(**values: object) -> SourceSettings:
    return SourceSettings.from_dict({"name": "c", **values}, "test.json")


# The reference


def missing(
    reference: Iterable[ReferenceSetting], waivers: Mapping[str, str], direction: type[ConnectorSettings] = SourceSettings
) -> list[str]:
    """What is wrong with the claim that each setting of the reference is a field or is waived for a reason."""
    ours = {setting.reference: name for name, setting in direction.known().items() if setting.reference}
    names = {setting.name for setting in reference}
    wrong = [f"{name} is waived and exists" for name in waivers if name in ours]
    wrong += [f"{name} is waived and is none of the reference's" for name in waivers if name not in names]
    wrong += [f"{name} is waived without a reason" for name, reason in waivers.items() if not reason.strip()]
    wrong += [f"{ours[name]} claims {name}, which the reference has not" for name in ours if name not in names]
    wrong += [f"{setting.name} is missing" for setting in reference if setting.name not in ours and setting.name not in waivers]
    return wrong


def test_every_setting_of_the_reference_is_a_field_or_waived() -> None:
    assert missing(reference_settings.SOURCE, reference_settings.WAIVERS) == []
    assert missing(reference_settings.SINK, reference_settings.WAIVERS, SinkSettings) == []


def test_waivers_that_are_wrong_are_found() -> None:
    more = (*reference_settings.SOURCE, ReferenceSetting("notThere", "string", ""))
    assert missing(more, {}) == ["notThere is missing"]
    assert missing(more, {"notThere": "it has no meaning here"}) == []
    assert missing(more, {"notThere": " "}) == ["notThere is waived without a reason"]
    assert missing(reference_settings.SOURCE, {"batchSize": "why not"}) == ["batchSize is waived and exists"]
    assert missing(reference_settings.SOURCE, {"gone": "why not"}) == ["gone is waived and is none of the reference's"]


@pytest.mark.parametrize(
    ("direction", "setting"),
    [
        *((SourceSettings, setting) for setting in reference_settings.SOURCE),
        *((SinkSettings, setting) for setting in reference_settings.SINK),
    ],
)
def test_default_type_and_choices_are_the_reference_s(direction: type[ConnectorSettings], setting: ReferenceSetting) -> None:
    name = next(name for name, ours in direction.known().items() if ours.reference == setting.name)
    kind = direction.known()[name].type
    default = _NULL[setting.type_name] if setting.default is None else setting.default
    assert direction.defaults()[name] == reference_settings.OTHER_DEFAULTS.get(setting.name, default)
    assert kind.type_name == _TYPES.get(setting.type_name, setting.type_name)
    for choice in setting.choices:
        assert kind.parse(choice) == choice
    if setting.choices:
        with pytest.raises(ValueError, match="none of these"):
            kind.parse("OTHER")


# Reading


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("slots", " 8 ", 8),
        ("slots", "+8", 8),
        ("load_initial_data", "False", False),
        ("load_initial_data", " TRUE ", True),
        ("cache_whitelist", "a, b.* ,c", ("a", "b.*", "c")),
        ("cache_whitelist", " ", ()),
        ("cache_whitelist", ["a{1,2}"], ("a{1,2}",)),
        ("tasks_max", None, None),
        ("tasks_max", "3", 3),
        ("max_records_per_second", None, None),
        ("max_records_per_second", "1000", 1000),
        ("schema_cache_ttl_ms", "-1", -1),
        ("topic_config", {"retention.ms": 1000, "preallocate": True}, {"retention.ms": "1000", "preallocate": "true"}),
        ("key_converter", "json", "json"),
    ],
)
def test_texts_and_json_values_are_read(name: str, text: object, value: object) -> None:
    assert getattr(build(**{name: text}), name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slots", "8.0"), ("slots", 8.0), ("slots", True), ("slots", ""), ("slots", "١"), ("slots", 0), ("slots", "1_000"),
        ("load_initial_data", "yes"), ("load_initial_data", 1), ("load_initial_data", None),
        ("cache_whitelist", 5), ("cache_whitelist", ["a", 1]), ("cache_whitelist", None), ("cache_whitelist", ["*"]),
        ("cache_blacklist", "a("),
        ("topic_config", "a=b"), ("topic_config", {"a": None}), ("topic_config", {"a": ["b"]}),
        ("failover_policy", "none"), ("enum_policy", ""), ("run_mode", "twice"), ("value_converter", "xml"),
        ("max_records_per_second", 0), ("max_records_per_second", "many"),
        ("topic_partitions", 0), ("topic_partitions", -2), ("replication_factor", 0), ("tasks_max", 0), ("progress_interval_ms", 99),
        ("topic_prefix", "a b"), ("name", ""), ("name", "a/b"), ("name", "n" * 181), ("internal_topic_prefix", ""),
        ("ignite_addresses", []), ("ignite_addresses", "h:port"), ("ignite_addresses", "h:99999"), ("bootstrap_servers", ""),
        ("transaction_max_ms", 600_000), ("ignite_tls_ca_file", "/ca.pem"), ("batch_size", 0), ("backlog_cache_backups", -1),
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_named_with_its_place(name: str, value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        build(**{name: value})
    error = caught.value
    assert error.where["setting"] == name
    assert error.where["set_in"] == "test.json"
    assert error.where["allowed"] == SETTINGS[name].type.allowed
    assert name in error.what
    if SETTINGS[name].type.shown:
        assert str(value) in error.where["value"]
    assert error.exit_code == 2


def test_an_unknown_setting_names_the_closest_known_one() -> None:
    for wrong, right in {"batchsize": "batch_size", "topicPrefix": "topic_prefix", "cache_white_list": "cache_whitelist"}.items():
        with pytest.raises(SettingsError, match=rf"Did you mean {right}\?"):
            build(**{wrong: "x"})
    with pytest.raises(SettingsError, match=r"docs/settings\.md"):
        build(zzz=1)


def test_a_connector_needs_a_name() -> None:
    with pytest.raises(SettingsError, match="name is missing"):
        SourceSettings.from_dict({})


def test_places_can_differ_by_name() -> None:
    with pytest.raises(SettingsError, match="set in command line"):
        SourceSettings.from_dict({"name": "c", "slots": 0}, {"name": "a.json", "slots": "command line"})


def test_the_constructor_checks_too_and_takes_only_the_canonical_form() -> None:
    assert SourceSettings(name="c", cache_whitelist=("a",)) == build(cache_whitelist="a")
    with pytest.raises(SettingsError, match="out of range"):
        SourceSettings(name="c", slots=0)
    with pytest.raises(SettingsError, match="from_dict"):
        SourceSettings(name="c", slots="8")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="from_dict"):
        SourceSettings(name="c", value_converter="org.apache.kafka.connect.json.JsonConverter")
    with pytest.raises(dataclasses.FrozenInstanceError):
        build().slots = 3  # type: ignore[misc]


def test_json_and_pickle_both_ways() -> None:
    settings = build(cache_whitelist="a,b", producer_override={"linger.ms": 5}, tasks_max=2, ignite_addresses=["h:1", "i"])
    assert SourceSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert set(settings.to_dict()) == set(SETTINGS)
    settings.to_dict()["producer_override"]["linger.ms"] = "6"
    assert settings.producer_override == {"linger.ms": "5"}


# Not available yet


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cache_filter", "com.acme.Filter"), ("where", "a > 1"), ("select", "a"), ("transforms", "t"),
    ],
)  # fmt: skip
def test_later_features_are_known_and_refused(name: str, value: object) -> None:
    with pytest.raises(NotAvailableYet, match="not available yet") as caught:
        build(**{name: value})
    assert caught.value.where == {"setting": name, "set_in": "test.json"}
    assert build(**{name: DEFAULTS[name] if DEFAULTS[name] != () else []}) == build()


def test_converters_by_connect_s_class_names() -> None:
    binary = build(key_converter="org.gridgain.kafka.IgniteBinaryConverter", value_converter="org.gridgain.kafka.IgniteBinaryConverter")
    assert (binary.key_converter, binary.value_converter) == ("ignite-binary", "ignite-binary")
    assert build(value_converter="JsonConverter") == build()
    assert build(value_converter="ignite-binary").key_converter == "json"


def test_properties_of_converters_are_checked_and_have_defaults() -> None:
    numeric = build(value_converter_config={"decimal.format": "NUMERIC"})
    assert numeric.converter_properties("value")["decimal.format"] == "NUMERIC"
    assert numeric.converter_properties("key")["decimal.format"] == "BASE64"
    assert build(decimal_format="NUMERIC").converter_properties("key")["decimal.format"] == "NUMERIC"
    with pytest.raises(SettingsError, match=r"no such property.*key_converter_config\.decimal\.forms.*Did you mean decimal\.format"):
        build(key_converter_config={"decimal.forms": "NUMERIC"})
    with pytest.raises(SettingsError, match=r"value_converter_config\.decimal\.format.*BASE64, NUMERIC"):
        build(value_converter_config={"decimal.format": "TEXT"})
    with pytest.raises(SettingsError, match=r"a secret is no setting.*value_converter_config\.basic\.auth\.user\.info"):
        build(value_converter_config={"basic.auth.user.info": "a:b"})


def test_a_registry_has_no_records_without_a_schema() -> None:
    registry = {"schema.registry.url": "http://127.0.0.1:8081"}
    with pytest.raises(SettingsError, match="is_schemaless is wrong: value_converter avro writes values with a schema alone"):
        build(value_converter="avro", value_converter_config=registry, is_schemaless=True)
    assert build(key_converter="string", is_schemaless=True).is_schemaless


# Secrets and Kafka's names


@pytest.mark.parametrize("name", ["ignite_password", "sasl.password", "kafka_secret", "ssl.key.password", "password", "sasl.jaas.config"])
def test_a_secret_is_refused_and_not_shown(name: str) -> None:
    with pytest.raises(SettingsError, match="secrets file") as caught:
        build(**{name: "hunter2"})
    assert "hunter2" not in str(caught.value)


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
        ("kafka_config", "ssl.truststore.location", "x", "ssl.ca.location"),
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


# What the settings give


def test_clients_settings() -> None:
    settings = build(
        ignite_addresses="a:1,b:2", ignite_tls_enabled=True, ignite_tls_ca_file="ca.pem", bootstrap_servers="k:1,l:2",
        kafka_config={"security.protocol": "SSL"},
    )  # fmt: skip
    endpoint = settings.ignite_endpoint
    assert endpoint.addresses == ("a:1", "b:2")
    assert (endpoint.tls.enabled, endpoint.tls.ca_file, endpoint.tls.key_file, endpoint.tls.verify) == (True, "ca.pem", None, True)
    assert settings.kafka_common == {"bootstrap.servers": "k:1,l:2", "security.protocol": "SSL"}


def test_the_shape_holds_what_decides_records_and_nothing_else() -> None:
    one = build(topic_prefix="a-", slots=4, ignite_addresses="x", tasks_max=2, page_bytes=1 << 20)
    assert one.fixed_in_snapshot() == build(topic_prefix="a-").fixed_in_snapshot()
    assert one.fixed_in_snapshot() != build().fixed_in_snapshot()
    assert {"value_converter", "decimal_format", "enum_policy", "cache_whitelist", "load_initial_data"} <= set(one.fixed_in_snapshot())


def noticed(settings: SourceSettings) -> set[tuple[int, str]]:
    return {(event.id, str(fields["setting"])) for event, fields in settings.warnings()}


def test_defaults_that_can_lose_data_name_the_setting_that_prevents_it() -> None:
    assert noticed(build()) == {(15130, "failover_policy"), (15131, "process_removals")}
    assert noticed(build(failover_policy="FULL_SNAPSHOT")) == {(15131, "process_removals")}
    assert (15135, "error_handling_policy") in noticed(build(error_handling_policy="LOG_ONLY"))
    assert (15132, "load_initial_data") in noticed(build(load_initial_data=False))
    assert (15133, "ignite_tls_verify") in noticed(build(ignite_tls_enabled=True, ignite_tls_verify=False))


def test_settings_without_effect_are_noticed() -> None:
    no_effect = {
        "ignite_cfg": "x.xml",
        "batch_size": 5,
        "poll_interval_ms": 7,
        "backlog_cache_name": "b",
        "enable_schema_cache": True,
        "max_records_per_second": 9,
    }
    assert {name for id_, name in noticed(build(**no_effect)) if id_ == 15001} == set(no_effect)


def test_properties_of_converters_without_effect_are_noticed() -> None:
    config = {"schema.registry.url": "http://127.0.0.1:8081", "specific.avro.reader": "true"}
    noticed_ = noticed(build(value_converter="avro", value_converter_config=config))
    assert (15001, "value_converter_config.specific.avro.reader") in noticed_
    assert (15001, "value_converter_config.schema.registry.url") not in noticed_


def test_warnings_are_logged_and_counted() -> None:
    events.reset_counts()
    build(batch_size=5).emit_warnings()
    assert events.counts() == {15001: 1, 15130: 1, 15131: 1}


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("k:9092", "k:9092"),
        ("a.b:1, [::1]:2 ,10.0.0.1:65535", "a.b:1,[::1]:2,10.0.0.1:65535"),
        ("SASL_SSL://k:9093", "SASL_SSL://k:9093"),
    ],
)
def test_brokers_are_host_and_port(given: str, taken: str) -> None:
    settings = SourceSettings.from_dict({"name": "c", "bootstrap_servers": given})
    assert settings.bootstrap_servers == taken
    assert SourceSettings.from_dict(settings.to_dict()) == settings


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("foo", "'foo' has no port, such as foo:9092"),
        ("a:9092,b", "'b' has no port"),
        ("[::1]", "has no port"),
        ("", "'' is not host:port"),
        ("a:9092,", "'' is not host:port"),
        ("a:0", "has no port from 1 to 65535"),
        ("a:99999", "has no port from 1 to 65535"),
        ("a:b", "is not host:port"),
        ("::1:9092", "is not host:port"),
        ("a b:9092", "is not host:port"),
    ],
)
def test_brokers_without_a_port_are_refused(given: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        SourceSettings.from_dict({"name": "c", "bootstrap_servers": given})
    assert told in str(caught.value)
    assert caught.value.where["allowed"] == "host:port of one broker or more, with commas between"


@pytest.mark.parametrize(
    ("direction", "name"), [(SourceSettings, "page_bytes"), (SourceSettings, "batch_bytes"), (SinkSettings, "batch_bytes")]
)
def test_sizes_have_a_limit_of_256_mib(direction: type[ConnectorSettings], name: str) -> None:
    least = {"name": "c"} if direction is SourceSettings else {"name": "c", "topics": "t"}
    assert getattr(direction.from_dict({**least, name: 256 << 20}), name) == 256 << 20
    for size in ((256 << 20) + 1, (1 << 10) - 1):
        with pytest.raises(SettingsError, match=r"out of range.*from 1024 to 268435456") as caught:
            direction.from_dict({**least, name: size})
        assert caught.value.where["setting"] == name
