"""Connections that anybody between could read or answer: found, refused, and said where they are accepted."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint, TlsSettings
from ignite_kafka.runtime.clients import ignite_cluster, kafka_clients
from ignite_kafka.settings import transport_security as transport
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings

ANN, NOBODY = IgniteCredentials("ann", "hunter2"), IgniteCredentials()
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN", "sasl.password": "hunter2"}
OIDC = {"security.protocol": "SASL_SSL", "sasl.oauthbearer.method": "oidc"}
TOKEN = "sasl.oauthbearer.token.endpoint.url"
LOOPBACK = ["127.0.0.1:9092", "localhost:9092", "[::1]:9092", "127.8.0.1", "LOCALHOST", "SASL_PLAINTEXT://localhost:9092", "a.localhost:1"]


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
    before = events.counts().get(15185, 0)
    for _ in range(3):
        kafka_clients(settings(allow_insecure_connections=True), Secrets(kafka=SASL))
    assert events.counts()[15185] == before + 1
