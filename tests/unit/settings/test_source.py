"""SourceSettings: strict reading, clear refusals, what the settings give."""

from __future__ import annotations

import dataclasses
import json
import pickle

import pytest

from ignite_kafka.errors import NotAvailableYet, SettingsError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.support.source_settings import build

SETTINGS, DEFAULTS = SourceSettings.definitions(), SourceSettings.defaults()


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
        ("cache_filter", "com.acme.Filter"),
    ],
)  # fmt: skip
def test_later_features_are_known_and_refused(name: str, value: object) -> None:
    with pytest.raises(NotAvailableYet, match="not available yet") as caught:
        build(**{name: value})
    assert caught.value.where == {"setting": name, "set_in": "test.json"}
    assert build(**{name: DEFAULTS[name] if DEFAULTS[name] != () else []}) == build()


@pytest.mark.parametrize("name", ["ignite_password", "sasl.password", "kafka_secret", "ssl.key.password", "password", "sasl.jaas.config"])
def test_a_secret_is_refused_and_not_shown(name: str) -> None:
    with pytest.raises(SettingsError, match="secrets file") as caught:
        build(**{name: "hunter2"})
    assert "hunter2" not in str(caught.value)


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


@pytest.mark.parametrize(("name", "most"), [("backlog_flush_freq_ms", 3_600_000), ("backlog_cache_backups", 1_000)])
def test_settings_of_the_backlog_have_the_bounds_of_the_service(name: str, most: int) -> None:
    assert getattr(SourceSettings.from_dict({"name": "c", name: most}), name) == most
    with pytest.raises(SettingsError, match=rf"out of range.*from 0 to {most}") as caught:
        SourceSettings.from_dict({"name": "c", name: most + 1})
    assert caught.value.where["setting"] == name
