"""Every property of the registry's client: honoured, ignored with a reason, or refused with a remedy; secrets stay in their file."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import IgniteKafkaError, NotAvailableYet, SettingsError, UnsupportedType
from ignite_kafka.registry.config import config_of
from ignite_kafka.registry.schema import SubjectNames
from ignite_kafka.settings import registry_properties as names
from ignite_kafka.settings.converters import parse_properties
from ignite_kafka.settings.secrets import Secrets, from_json, is_secret, to_dict
from tests.support.registry import config

URL = "https://registry:8081"
SASL = {"sasl.username": "ann", "sasl.password": "kafka"}
ISSUER = {
    "bearer.auth.credentials.source": "OAUTHBEARER",
    "bearer.auth.issuer.endpoint.url": "https://issuer/token",
    "bearer.auth.client.id": "copier",
    "bearer.auth.scope": "registry",
    "bearer.auth.logical.cluster": "lsrc-1",
    "bearer.auth.identity.pool.id": "pool-1",
}


def test_the_client_waits_and_retries_by_our_settings() -> None:
    assert dict(config(f"{URL}/, https://other:1").client) == {
        "url": f"{URL},https://other:1",
        "timeout": (60.0, 60.0, 60.0, 60.0),
        "max.retries": 0,
        "cache.latest.ttl.sec": 0,
    }


@pytest.mark.parametrize(
    ("properties", "secrets", "given"),
    [
        ({}, {"basic.auth.user.info": "u:p:q"}, {"basic.auth.user.info": "u:p:q"}),
        ({"basic.auth.credentials.source": "USER_INFO"}, {"basic.auth.user.info": "u:p"}, {"basic.auth.user.info": "u:p"}),
        ({"schema.registry.basic.auth.credentials.source": "USER_INFO"}, {"basic.auth.user.info": "u:p"},
         {"basic.auth.user.info": "u:p"}),
        ({}, {"schema.registry.url": "https://u:p%40@registry:8081"}, {"basic.auth.user.info": "u:p@", "url": URL}),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, {}, {"basic.auth.user.info": "ann:kafka"}),
        (
            {"bearer.auth.credentials.source": "STATIC_TOKEN"},
            {"bearer.auth.token": "t"},
            {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "t", "bearer.auth.logical.cluster": ""},
        ),
        (ISSUER, {"bearer.auth.client.secret": "s"}, {**ISSUER, "bearer.auth.client.secret": "s"}),
        ({"schema.registry.ssl.truststore.location": "/ca.pem"}, {}, {"ssl.ca.location": "/ca.pem"}),
        (
            {"schema.registry.ssl.keystore.location": "/me.pem", "schema.registry.ssl.keystore.type": "PEM"},
            {"schema.registry.ssl.key.password": "k"},
            {"ssl.certificate.location": "/me.pem", "ssl.key.password": "k"},
        ),
        ({"proxy.host": "gate", "proxy.port": "3128"}, {}, {"proxy": "http://gate:3128"}),
        ({"http.connect.timeout.ms": "500", "http.read.timeout.ms": "2000"}, {}, {"timeout": (0.5, 2.0, 2.0, 2.0)}),
    ],
)  # fmt: skip
def test_a_property_reaches_the_client(properties: dict[str, str], secrets: dict[str, str], given: dict[str, Any]) -> None:
    known = parse_properties("value_converter_config", "avro", {})
    of_file = {"schema.registry.url": URL, **{names.canonical(name): value for name, value in properties.items()}, **secrets}
    client = config_of("value", known, of_file, SASL).client
    assert {name: client[name] for name in given} == given
    assert ("basic.auth.user.info" in client) == ("basic.auth.user.info" in given)


def test_the_issuer_of_the_kafka_connection_is_inherited() -> None:
    kafka = {
        "sasl.oauthbearer.token.endpoint.url": "https://issuer/token",
        "sasl.oauthbearer.client.id": "copier",
        "sasl.oauthbearer.client.secret": "s",
    }
    given = {"schema.registry.url": URL, "bearer.auth.credentials.source": "SASL_OAUTHBEARER_INHERIT"}
    client = config_of("value", parse_properties("value_converter_config", "avro", {}), given, kafka).client
    assert client["bearer.auth.issuer.endpoint.url"] == "https://issuer/token"
    assert client["bearer.auth.client.secret"] == "s"
    assert client["bearer.auth.credentials.source"] == "OAUTHBEARER"


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"basic.auth.user.info": "u:p"}, "a secret is no setting.*part registry of the secrets file"),
        ({"schema.registry.ssl.keystore.key": "-----BEGIN"}, "a secret is no setting"),
        ({"bearer.auth.token": "t"}, "a secret is no setting"),
        ({"schema.registry.url": "https://u:p@registry:1"}, "has credentials; put user:password into the part registry"),
        ({"schema.registry.url": "registry:8081"}, "is not http://host:port"),
        ({"schema.registry.ssl.truststore.type": "BKS"}, "it is none of these"),
        ({"schema.registry.ssl.endpoint.identification.algorithm": ""}, "Use a certificate of its host"),
        ({"bearer.auth.credentials.source": "CUSTOM"}, "A class of Java cannot be loaded"),
        ({"value.subject.name.strategy": "com.acme.Strategy"}, "it is none of these"),
        ({"context.name.strategy": "com.acme.Context"}, "it is none of these"),
        ({"request.header.X-Tenant": "a"}, "headers of requests cannot be set"),
        ({"rule.executors": "a"}, "rules of the registry are Java code"),
        ({"use.latest.versions": "true"}, r"has no such property.*use\.latest\.version"),
        ({"use.latest.with.metadata": "app"}, "it is not name=value"),
    ],
)
def test_a_property_that_cannot_be_followed_is_refused(properties: dict[str, str], message: str) -> None:
    with pytest.raises(IgniteKafkaError, match=message) as raised:
        parse_properties("value_converter_config", "avro", properties)
    assert isinstance(raised.value, (SettingsError, NotAvailableYet))
    assert "BEGIN" not in str(raised.value)
    assert "u:p" not in str(raised.value)


def test_what_is_ignored_says_why() -> None:
    ignored = {name for name, one in names.PROPERTIES.items() if one.ignored}
    assert {"max.retries", "latest.cache.size", "url.randomize", "schema.registry.ssl.protocol"} <= ignored
    assert parse_properties("value_converter_config", "avro", {"max.retries": "5"})["max.retries"] == 5


@pytest.mark.parametrize(
    ("properties", "secrets", "message"),
    [
        ({}, {}, r"the value converter has no schema registry .*schema\.registry\.url"),
        ({"schema.registry.url": URL, "basic.auth.credentials.source": "USER_INFO"}, {}, r"missing.*basic\.auth\.user\.info"),
        ({"schema.registry.url": URL, "basic.auth.credentials.source": "SASL_INHERIT"}, {}, "the Kafka connection has no sasl"),
        ({"schema.registry.url": URL}, {"basic.auth.user.info": "user"}, "not user:password"),
        ({"schema.registry.url": URL, **ISSUER}, {}, r"missing.*bearer\.auth\.client\.secret"),
        ({"schema.registry.url": "http://registry"}, {"basic.auth.user.info": "u:p"}, "credentials are sent to .* registry without TLS"),
        ({"schema.registry.url": URL, **ISSUER, "bearer.auth.issuer.endpoint.url": "http://issuer"},
         {"bearer.auth.client.secret": "s"}, "the client secret is sent to issuer without TLS"),
        ({"schema.registry.url": "http://127.0.0.1:8081", "proxy.host": "gate", "proxy.port": "80"},
         {"basic.auth.user.info": "u:p"}, "credentials are sent to the proxy gate of the schema registry without TLS"),
        ({"schema.registry.url": "HTTP://registry"}, {"basic.auth.user.info": "u:p"}, "sent to .* registry at registry without TLS"),
    ],
)  # fmt: skip
def test_what_is_missing_or_not_protected_is_refused(properties: dict[str, str], secrets: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        config_of("value", parse_properties("value_converter_config", "avro", {}), {**properties, **secrets}, {})


def test_a_connection_without_tls_may_be_accepted_and_loopback_needs_none() -> None:
    secrets = {"basic.auth.user.info": "u:p"}
    assert config("http://registry", secrets=secrets, insecure=True).client["basic.auth.user.info"] == "u:p"
    assert config("http://127.0.0.1:8081", secrets=secrets).urls == ("http://127.0.0.1:8081",)
    assert config("http://registry").urls == ("http://registry",)  # without credentials
    for url, host in (("https://registry", "gate"), ("http://127.0.0.1:8081", "localhost")):  # TLS through the proxy; a proxy on loopback
        made = config(url, secrets={**secrets, "proxy.host": host, "proxy.port": "80"})
        assert made.client["proxy"] == f"http://{host}:80"
    assert config("http://127.0.0.1:8081", {"proxy.host": "gate", "proxy.port": "80"}).client["proxy"] == "http://gate:80"


def test_nothing_shows_a_secret() -> None:
    made = config(URL, secrets={"basic.auth.user.info": "u:p4ss"})
    assert repr(made) == f"RegistryConfig({URL})"
    assert "p4ss" not in repr(Secrets(registry={"basic.auth.user.info": "u:p4ss"}))
    assert not is_secret("basic.auth.credentials.source")


def test_the_secrets_file_has_a_part_of_the_registry() -> None:
    text = (
        '{"registry": {"schema.registry.url": "https://r", "schema.registry.basic.auth.user.info": "u:p",'
        ' "key.converter.basic.auth.user.info": "k:p"}}'
    )
    secrets = from_json(text)
    assert secrets.registry_of("value") == {"schema.registry.url": "https://r", "basic.auth.user.info": "u:p"}
    assert secrets.registry_of("key") == {"schema.registry.url": "https://r", "basic.auth.user.info": "k:p"}
    assert to_dict(secrets)["registry"] == secrets.registry
    with pytest.raises(SettingsError, match=r"unknown name .*registry\.user"):
        from_json('{"registry": {"user": "u"}}')


@pytest.mark.parametrize(
    ("strategy", "record", "subject"),
    [
        ("TopicNameStrategy", "a.Person", "people-value"),
        ("TopicNameStrategy", None, "people-value"),
        ("RecordNameStrategy", "a.Person", "a.Person"),
        ("TopicRecordNameStrategy", "a.Person", "people-a.Person"),
    ],
)
def test_subjects_are_named_as_confluents_strategies_name_them(strategy: str, record: str | None, subject: str) -> None:
    given = {"value.subject.name.strategy": f"io.confluent.kafka.serializers.subject.{strategy}"}
    assert config(URL, given).subjects.subject("people", record) == subject


def test_a_strategy_by_record_refuses_what_is_no_record() -> None:
    with pytest.raises(UnsupportedType, match=r"keys have no record's name.*Leave out key\.subject\.name\.strategy"):
        SubjectNames("RecordNameStrategy", "key").subject("people", None)
