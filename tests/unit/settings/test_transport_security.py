"""Connections that anybody between could read or answer: found, refused, and said where they are accepted."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint, TlsSettings
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.runtime.clients import ignite_cluster, kafka_clients
from ignite_kafka.settings import transport_security as transport
from ignite_kafka.settings.client_config import canonical, one_name
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from tests.support import emitted_events, librdkafka

ANN, NOBODY = IgniteCredentials("ann", "hunter2"), IgniteCredentials()
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN", "sasl.password": "hunter2"}
OIDC = {"security.protocol": "SASL_SSL", "sasl.oauthbearer.method": "oidc"}
TOKEN = "sasl.oauthbearer.token.endpoint.url"
LOOPBACK = ["127.0.0.1:9092", "localhost:9092", "[::1]:9092", "127.8.0.1", "LOCALHOST", "SASL_PLAINTEXT://localhost:9092"]


def kafka(**config: str) -> list[str]:
    return [weakness.setting for weakness in transport.kafka_weaknesses(config)]


def ignite(address: str, tls: TlsSettings | None = None, credentials: IgniteCredentials = ANN) -> list[str]:
    endpoint = IgniteEndpoint((address,), tls or TlsSettings())
    return [weakness.setting for weakness in transport.ignite_weaknesses(endpoint, credentials)]


@pytest.mark.parametrize(
    ("config", "setting"),
    [
        (SASL, "security.protocol"),
        ({**SASL, "security.protocol": "sasl_plaintext", "sasl.mechanisms": "SCRAM-SHA-512"}, "security.protocol"),
        ({"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"}, "enable.ssl.certificate.verification"),
        ({**SASL, "security.protocol": "SASL_SSL", "enable.ssl.certificate.verification": "False"}, "enable.ssl.certificate.verification"),
        ({"security.protocol": "ssl", "ssl.endpoint.identification.algorithm": "none"}, "ssl.endpoint.identification.algorithm"),
        ({**OIDC, TOKEN: "http://id.example/token"}, TOKEN),
        ({**OIDC, TOKEN: "id.example/token"}, TOKEN),  # libcurl takes HTTP where a URL names no protocol
    ],
)
def test_kafka(config: dict[str, str], setting: str) -> None:
    assert kafka(**{"bootstrap.servers": "localhost:9092,broker:9092"}, **config) == [setting]  # one address is enough
    if setting != TOKEN:
        for address in LOOPBACK:
            assert kafka(**{"bootstrap.servers": address}, **config) == []


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"security.protocol": "SSL"},
        {**SASL, "security.protocol": "SASL_SSL"},
        {"security.protocol": "SASL_PLAINTEXT"},  # GSSAPI, librdkafka's default mechanism
        {**OIDC, TOKEN: "https://id.example/token"},
        {**OIDC, TOKEN: "http://127.0.0.1:8080/token"},
        {**OIDC, TOKEN: "http://user@localhost:8080/token"},
        {"sasl.password": "hunter2"},  # which is not used
    ],
)
def test_kafka_that_is_protected_or_has_nothing_to_hide(config: dict[str, str]) -> None:
    assert kafka(**{"bootstrap.servers": "broker:9092"}, **config) == []


TRUST = "ssl.endpoint.identification.algorithm"
VERIFY = "enable.ssl.certificate.verification"
LOGIN = {"sasl.username": "ann", "sasl.password": "hunter2"}
FORMS = [
    *({"security.protocol": "ssl", VERIFY: text} for text in ("0", "f", "F", "false", "False", "FALSE", "1", "t", "T", "true", "True")),
    *({"security.protocol": "ssl", TRUST: text} for text in ("none", " none", "\tNONE", "https", " https")),
    *({"security.protocol": text, "sasl.mechanisms": "PLAIN"} for text in (" sasl_plaintext", "\tSASL_PLAINTEXT", " sasl_ssl", "ssl")),
    {"security.protocol": "sasl_plaintext", "sasl.mechanisms": " PLAIN"},
    {"security.protocol": "sasl_plaintext", "sasl.mechanisms": "GSSAPI", "sasl.mechanism": "PLAIN"},
    {"security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI", "sasl.mechanisms": "PLAIN"},
    {"security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-256", "sasl.mechanisms": "PLAIN"},
    {"metadata.broker.list": "other:9092", "security.protocol": "sasl_plaintext", "sasl.mechanisms": "PLAIN"},
]


@pytest.mark.parametrize("config", FORMS, ids=str)
def test_kafka_settings_are_read_as_librdkafka_reads_them(config: dict[str, str]) -> None:
    given = {"bootstrap.servers": "127.0.0.1:1", **LOGIN, **config}
    read = librdkafka.read_settings(given)
    seen = {one_name(name): read.get(one_name(name), read.get(name)) for name in given if name not in LOGIN}
    seen["bootstrap.servers"] = read["metadata.broker.list"]
    assert {name: value for name, value in canonical(given).items() if name not in LOGIN} == seen
    remote = {**given, "bootstrap.servers": "broker:9092"}
    protocol, mechanism = seen["security.protocol"], seen.get("sasl.mechanisms")
    wanted = ["security.protocol"] if protocol == "sasl_plaintext" and mechanism != "GSSAPI" else []
    wanted += [VERIFY] if seen.get(VERIFY) == "false" else []
    wanted += [TRUST] if seen.get(TRUST) == "none" else []
    assert kafka(**remote) == wanted


@pytest.mark.parametrize("config", [{VERIFY: text} for text in ("no", " false", "2")] + [{"security.protocol": "2"}, {TRUST: "false"}])
def test_a_form_that_librdkafka_refuses_is_refused_by_every_client(config: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="librdkafka refuses"):
        KafkaClients({"bootstrap.servers": "127.0.0.1:1", "security.protocol": "ssl", **config}).admin()


def test_a_client_gets_what_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []
    monkeypatch.setattr("ignite_kafka.kafka.clients.AdminClient", given.append)
    KafkaClients({"bootstrap.servers": "a:1", "metadata.broker.list": "b:1", "security.protocol": " SSL", VERIFY: "F"}).admin()
    assert {name: given[0][name] for name in ("bootstrap.servers", "security.protocol", VERIFY)} == {
        "bootstrap.servers": "b:1",
        "security.protocol": "ssl",
        VERIFY: "false",
    }
    assert "metadata.broker.list" not in given[0]


def test_ignite() -> None:
    assert ignite("node:10800") == ["ignite_tls_enabled"]
    assert ignite("10.1.2.3") == ["ignite_tls_enabled"]
    assert ignite("[2001:db8::1]:10800") == ["ignite_tls_enabled"]
    assert ignite("node", TlsSettings(True, verify=False)) == ["ignite_tls_verify"]
    assert ignite("node", TlsSettings(True, verify=False, check_hostname=False), NOBODY) == ["ignite_tls_verify"]
    assert ignite("node", TlsSettings(True, check_hostname=False)) == ["ignite_tls_check_hostname"]
    assert ignite("node", TlsSettings(True)) == []
    assert ignite("node", credentials=NOBODY) == []
    for address in LOOPBACK[:5]:
        assert ignite(address) == []
        assert ignite(address, TlsSettings(True, verify=False)) == []


def settings(**values: Any) -> SourceSettings:
    return SourceSettings.from_dict({"name": "c", "ignite_addresses": "node:10800", "bootstrap_servers": "broker:9092", **values})


def test_a_connector_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(SettingsError, match=r"user and password are sent to Ignite at node:10800 without TLS.*allow_insecure_connections"):
        ignite_cluster(settings(), Secrets(ANN))
    with pytest.raises(SettingsError, match=r"credentials are sent to Kafka at broker:9092 without TLS") as caught:
        kafka_clients(settings(), Secrets(kafka=SASL))
    assert "hunter2" not in str(caught.value)
    assert caught.value.where["setting"] == "security.protocol"
    weak = {"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"}
    with pytest.raises(SettingsError, match="the certificate of Kafka at broker:9092 is not verified"):
        kafka_clients(settings(kafka_config=weak), Secrets())


def test_what_is_accepted_is_said_once() -> None:
    transport._report.cache_clear()
    before = emitted_events.counts().get(15185, 0)
    for _ in range(3):
        kafka_clients(settings(), Secrets(kafka=SASL, insecure=True))
    assert emitted_events.counts()[15185] == before + 1


def test_settings_accept_only_what_sends_no_credential() -> None:
    weak = {"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"}
    accepting = settings(allow_insecure_connections=True, kafka_config=weak)
    kafka_clients(accepting, Secrets())
    for secret in ({"sasl.password": "hunter2", "security.protocol": "SASL_SSL"}, {"ssl.key.password": "hunter2"}, SASL):
        with pytest.raises(SettingsError, match=r"a connection is not protected.*setting of that name does not cover credentials"):
            kafka_clients(accepting, Secrets(kafka=secret))
        kafka_clients(accepting, Secrets(kafka=secret, insecure=True))
    unverified = settings(allow_insecure_connections=True, ignite_tls_enabled=True, ignite_tls_verify=False)
    transport.check_ignite(unverified, Secrets())
    for login in (ANN, IgniteCredentials(key_password="hunter2")):
        with pytest.raises(SettingsError, match="the certificate of Ignite at node:10800 is not verified"):
            transport.check_ignite(unverified, Secrets(login))
        transport.check_ignite(unverified, Secrets(login, insecure=True))


@pytest.mark.parametrize("host", ["a.localhost", "localhost.localdomain", "localhost.corp", "localhost."])
def test_only_localhost_itself_is_loopback_by_name(host: str) -> None:
    assert kafka(**{"bootstrap.servers": f"{host}:1"}, **SASL) == ["security.protocol"]
    assert ignite(f"{host}:10800") == ["ignite_tls_enabled"]


def test_no_value_is_not_the_choice_none() -> None:
    assert canonical({"ssl.endpoint.identification.algorithm": None}) == {"ssl.endpoint.identification.algorithm": None}
