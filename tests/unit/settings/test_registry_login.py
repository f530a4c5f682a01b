"""Beside a login of a schema registry no setting says where it is sent, by whichever door the setting comes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.datasources.kafka_tx import WriteOptions
from ignite_kafka.datasources.kafka_tx_read import ReadOptions
from ignite_kafka.errors import SettingsError
from ignite_kafka.migration.migrate import migrate
from ignite_kafka.registry.config import registry_config
from ignite_kafka.registry.registries import provide_registries
from ignite_kafka.settings import registry_properties as names
from ignite_kafka.settings.connect.worker import GivenFile
from ignite_kafka.settings.converters import parse_properties
from ignite_kafka.settings.registry_login import check_registry, has_login, refuse_addresses
from ignite_kafka.settings.secrets import Secrets, dump
from tests.support.registry import config
from tests.support.setting_doors import AVRO, CLASS, CONVERTER, DOORS, Door, of_settings

URL, HERS = "schema.registry.url", {"schema.registry.url": "https://attacker.example"}
LOGIN = {"basic.auth.user.info": "app:REG-PW"}
KAFKA = {"sasl.username": "app", "sasl.password": "KAFKA-PW", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
OAUTH = {
    "sasl.oauthbearer.token.endpoint.url": "https://idp.corp/token",
    "sasl.oauthbearer.client.id": "app",
    "sasl.oauthbearer.client.secret": "CLIENT-SECRET",
}
OURS = {URL: "https://registry.corp"}

Config = Mapping[str, str]
REDIRECTED: Mapping[str, tuple[Config, Secrets]] = {
    "the password of Kafka by the URL": ({**HERS, "basic.auth.credentials.source": "SASL_INHERIT"}, Secrets(kafka=KAFKA)),
    "the registry's password by the URL": (HERS, Secrets(registry=LOGIN)),
    "the registry's password of one side by the URL": (HERS, Secrets(registry={"value.converter.basic.auth.user.info": "app:REG-PW"})),
    "a token of Kafka's identity": ({**HERS, "bearer.auth.credentials.source": "SASL_OAUTHBEARER_INHERIT"}, Secrets(kafka=OAUTH)),
    "a static token": (HERS, Secrets(registry={"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "REG-PW"})),
    "the client secret by the issuer": (
        {
            "bearer.auth.credentials.source": "OAUTHBEARER", "bearer.auth.client.id": "x",
            "bearer.auth.issuer.endpoint.url": "https://attacker.example/token",
        },
        Secrets(registry={**OURS, "bearer.auth.client.secret": "CLIENT-SECRET"}),
    ),
    "the password of Kafka instead of the registry's": (
        {"basic.auth.credentials.source": "SASL_INHERIT"}, Secrets(kafka=KAFKA, registry={**OURS, **LOGIN})
    ),
    "inherited in the secrets, by the URL": (HERS, Secrets(kafka=KAFKA, registry={"basic.auth.credentials.source": "SASL_INHERIT"})),
    "a proxy of a registry on loopback": (
        {"proxy.host": "attacker.example", "proxy.port": "8080"}, Secrets(registry={URL: "http://127.0.0.1:8081", **LOGIN})
    ),
    "a proxy and its authority": (
        {"proxy.host": "attacker.example", "proxy.port": "8080", "schema.registry.ssl.truststore.location": "./evil.pem"},
        Secrets(registry={**OURS, **LOGIN}),
    ),
    "the trust store alone": ({"schema.registry.ssl.truststore.location": "./evil.pem"}, Secrets(registry={**OURS, **LOGIN})),
    "another key store": ({"schema.registry.ssl.keystore.location": "./mine.pem"}, Secrets(registry={**OURS, **LOGIN})),
    "a login within the URL": ({"proxy.port": "80"}, Secrets(registry={URL: "https://app:REG-PW@registry.corp"})),
    "a client's certificate": (HERS, Secrets(registry={"schema.registry.ssl.keystore.location": "/me.pem"})),
}  # fmt: skip


REFUSED = (
    r"the login of the schema registry is sent, and no setting may do that \[setting value[._]converter.*secrets file, or into the Airflow"
)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("row", REDIRECTED)
def test_no_setting_sends_a_login_elsewhere(row: str, door: Door, tmp_path: Path) -> None:
    given, secrets = REDIRECTED[row]
    settings = door(tmp_path, CONVERTER, given)
    for check in (check_registry, provide_registries):
        with pytest.raises(SettingsError, match=REFUSED) as caught:
            check(settings, secrets)
        assert next(iter(sorted(names.ADDRESSES & given.keys()))) in str(caught.value)
        assert not [text for text in ("attacker", "evil", "PW", "SECRET") if text in str(caught.value)]


@pytest.mark.parametrize("row", REDIRECTED)
@pytest.mark.parametrize("reading", [True, False])
def test_no_option_of_a_data_source_does(row: str, reading: bool, tmp_path: Path) -> None:
    given, secrets = REDIRECTED[row]
    dump(secrets, path := tmp_path / "secrets.json")
    options = {f"value.converter.{name}": one for name, one in given.items()}
    options |= {"bootstrap.servers": "kafka.corp:1", "topic": "t", "secrets_file": str(path), "value.converter": "avro"}

    def use() -> None:
        made = (ReadOptions if reading else WriteOptions).of(options if reading else {**options, "name": "w"})
        made.converters["value"].register_registry()

    with pytest.raises(SettingsError, match=r"(no setting may do that|would show a secret).* \[(?:setting|option) value\.converter\."):
        use()


@pytest.mark.parametrize("row", REDIRECTED)
def test_migrate_moves_the_address_to_the_login(row: str, tmp_path: Path) -> None:
    given, secrets = REDIRECTED[row]
    everything = {**OURS, **given, **{name.removeprefix("value.converter."): one for name, one in secrets.registry.items()}}
    prefixed = {f"value.converter.{name}": one for name, one in everything.items()}
    if "schema.registry.ssl.keystore.location" in everything:
        prefixed["value.converter.schema.registry.ssl.keystore.type"] = "PEM"
    if "schema.registry.ssl.truststore.location" in everything:
        prefixed["value.converter.schema.registry.ssl.truststore.type"] = "PEM"
    made = {"name": "c", "connector.class": CLASS, "value.converter": AVRO, **prefixed}
    migrated = migrate(None, GivenFile("c.json", made, dict.fromkeys(made, "c.json")), tmp_path, "localhost:10800")
    assert migrated.findings == ()
    settings, hidden = migrated.loaded.settings(), Secrets(kafka=secrets.kafka, registry=migrated.secrets.registry)
    assert not names.ADDRESSES & settings.value_converter_config.keys()
    registry = hidden.registry_of("value")
    assert {name: registry[name] for name in names.ADDRESSES & everything.keys()} == {
        name: everything[name] for name in names.ADDRESSES & everything.keys()
    }
    if "proxy.host" not in everything or everything[URL].startswith("https"):
        registry_config(settings, hidden, "value")


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_without_a_login_settings_name_the_registry(door: Door, tmp_path: Path) -> None:
    given = {**HERS, "proxy.host": "gate", "proxy.port": "80", "schema.registry.ssl.truststore.location": "/ca.pem"}
    settings = door(tmp_path, CONVERTER, given)
    for secrets in (Secrets(), Secrets(kafka=KAFKA), Secrets(registry={"schema.registry.ssl.truststore.password": "x"})):
        check_registry(settings, secrets)
        provide_registries(settings, secrets)


def test_migrate_leaves_the_address_in_the_settings_without_a_login(tmp_path: Path) -> None:
    given = {"name": "c", "connector.class": CLASS, "value.converter": AVRO, f"value.converter.{URL}": OURS[URL]}
    migrated = migrate(None, GivenFile("c.json", given, dict.fromkeys(given, "c.json")), tmp_path, "localhost:10800")
    assert migrated.secrets.registry == {}
    assert migrated.loaded.settings().value_converter_config == OURS


def test_what_sends_no_login_stays_in_settings() -> None:
    others = {"normalize.schemas": "true", "http.read.timeout.ms": "500", "bearer.auth.scope": "registry", "max.retries": "3"}
    made = config("https://registry.corp", others, {"basic.auth.user.info": "a:b"})
    assert made.properties["http.read.timeout.ms"] == 500
    given = parse_properties("value_converter_config", "avro", {"basic.auth.credentials.source": "URL"})  # the default decides nothing
    refuse_addresses(given, {**OURS, **LOGIN}, "value_converter_config")


def test_a_login_of_the_other_side_is_none_of_this_side(tmp_path: Path) -> None:
    secrets = Secrets(registry={"key.converter.basic.auth.user.info": "app:REG-PW"})
    check_registry(of_settings(tmp_path, CONVERTER, HERS), secrets)


@pytest.mark.parametrize("name", sorted(names.ADDRESSES))
def test_each_address_is_refused(name: str) -> None:
    properties: dict[str, Any] = parse_properties("value_converter_config", "avro", {})
    with pytest.raises(SettingsError, match=f"^{name} would decide where") as caught:
        refuse_addresses({**properties, name: "another"}, LOGIN, "value_converter_config", "c.yaml, line 3")
    assert caught.value.where == {"setting": f"value_converter_config.{name}", "set_in": "c.yaml, line 3"}


@pytest.mark.parametrize("name", sorted(names.SECRETS))
def test_each_secret_is_a_login_but_the_password_of_a_trust_store(name: str) -> None:
    assert has_login({name: "x"}) is (name != names.TRUST_PASSWORD)
    assert not has_login({name: ""})
