"""A client of others (kafka-connect-py of PyPI) drives `ignite-kafka serve` over TLS, with a login."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from kafka_connect import KafkaConnect

from tests.support.connect_distributed import RestServer, ignite_kafka_serve
from tools.servers import Certificates, IgniteCluster, KafkaBroker

CONFIG = {"connector.class": "IgniteSinkConnector", "topics": "orders", "tasks.max": "2", "autoRestart.maxRestarts": "3"}
PEM = serialization.Encoding.PEM


@pytest.fixture(scope="module")
def secured(kafka: KafkaBroker, ignite: IgniteCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RestServer, Path]]:
    """A server that runs no connector, with a user, and the file of its certificate's authority."""
    place = tmp_path_factory.mktemp("secured")
    certificates = Certificates(place).make()
    key, certificate, _ = pkcs12.load_key_and_certificates(certificates.server_store.read_bytes(), certificates.password.encode())
    assert key is not None
    assert certificate is not None
    (place / "cert.pem").write_bytes(certificate.public_bytes(PEM))
    (place / "key.pem").write_bytes(key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    users = place / "users.json"
    users.write_text(json.dumps({"ann": "correct horse"}))
    users.chmod(0o600)
    arguments = ["--kafka", kafka.bootstrap, "--ignite", ignite.address, "--internal-topic-prefix", f"{place.name}-rest", "--no-runs"]
    arguments += ["--tls-cert", str(place / "cert.pem"), "--tls-key", str(place / "key.pem"), "--users", str(users)]
    login = {"Authorization": f"Basic {base64.b64encode(b'ann:correct horse').decode()}"}
    tls = ssl.create_default_context(cafile=str(certificates.ca))
    with ignite_kafka_serve(place, arguments, headers=login, tls=tls) as server:
        yield server, certificates.ca


@pytest.fixture
def client(secured: tuple[RestServer, Path], monkeypatch: pytest.MonkeyPatch) -> KafkaConnect:
    server, authority = secured
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority))
    return KafkaConnect(server.url, auth="ann:correct horse")


def test_a_client_of_others_manages_connectors(client: KafkaConnect) -> None:
    assert client.get_cluster_info()["version"].startswith("4.3")
    assert {plugin["type"] for plugin in client.list_connector_plugins()} == {"source", "sink"}
    assert client.validate_connector_config("IgniteSinkConnector", {**CONFIG, "name": "c"})["error_count"] == 0
    assert client.create_connector({"name": "c", "config": CONFIG})["config"] == {**CONFIG, "name": "c"}
    assert client.update_connector("c", {**CONFIG, "tasks.max": "4"})["type"] == "sink"
    assert client.get_connector_config("c")["tasks.max"] == "4"
    assert client.list_connectors() == ["c"]
    assert client.get_connector_status("c")["connector"]["state"] == "UNASSIGNED", "nothing runs connectors here"
    client.pause_connector("c")
    assert client.list_connectors(expand="status", state="PAUSED")["c"]["status"]["connector"]["state"] == "PAUSED"
    client.resume_connector("c")
    client.stop_connector("c")
    assert client.get_connector_status("c")["connector"]["state"] == "STOPPED"
    client.restart_connector("c", include_tasks=True, only_failed=True)
    assert client.list_connector_tasks("c") == []
    assert client.list_connector_topics("c") == {"c": {"topics": []}}
    client.delete_connector("c")
    assert client.list_connectors() == []
    with pytest.raises(requests.HTTPError, match="404"):
        client.get_connector("c")


def test_without_the_login_nothing_is_told(secured: tuple[RestServer, Path], client: KafkaConnect) -> None:
    server, _ = secured
    client.auth = ("ann", "wrong horse")
    with pytest.raises(requests.HTTPError, match="401"):
        client.list_connectors()
    for headers in ({"Authorization": "Bearer x"}, {"Origin": "https://evil.example"}):
        reply = server.call("GET", "/connectors", headers=headers)
        assert reply.status in (401, 403)
        assert reply.body.keys() == {"error_code", "message"}


def test_large_bodies_are_refused_before_they_are_kept(secured: tuple[RestServer, Path]) -> None:
    server, _ = secured
    assert server.call("POST", "/connectors", b" " * 3_000_000).status == 413
