"""Clients, settings and secrets of the page's clusters: what a connection and a secrets file have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ignite_kafka.plugins.connections import connector_access, kafka_clients
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from ignite_kafka.errors import SettingsError
from tests.unit.airflow.bench import CONFIG


@pytest.fixture(autouse=True)
def connections(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("kafka_eu", conn_type="kafka", extra=CONFIG)
    connect("ignite_eu", conn_type="ignite", host="node", login="ignite", password="ignite-sesame", extra={"request_timeout_ms": 600_000})
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS", "True")


@pytest.fixture
def secrets_file(tmp_path: Path) -> str:
    path = tmp_path / "secrets.json"
    kafka = {name: value for name, value in CONFIG.items() if name.startswith("sasl")} | {"sasl.password": "of-the-file"}
    path.write_text(json.dumps({"ignite": {"username": "ignite", "password": "of-the-file"}, "kafka": kafka}))
    path.chmod(0o600)
    return str(path)


def test_a_cluster_has_the_addresses_and_secrets_of_its_connections() -> None:
    access = connector_access(MonitoredCluster("kafka_eu", "copies", "ignite_eu"), "c", ignite=True)
    assert (access.settings.name, access.settings.internal_topic_prefix) == ("c", "copies")
    assert (access.settings.bootstrap_servers, access.settings.ignite_addresses) == ("broker:9092", ("node:10800",))
    assert (access.secrets.kafka["sasl.password"], access.secrets.ignite.password) == ("kafka-sesame", "ignite-sesame")


def test_a_secrets_file_overrides_the_secrets_of_both_connections(secrets_file: str) -> None:
    cluster = MonitoredCluster("kafka_eu", "copies", "ignite_eu", secrets_file)
    access = connector_access(cluster, "c", ignite=True)
    assert (access.secrets.kafka["sasl.password"], access.secrets.ignite.password) == ("of-the-file", "of-the-file")
    assert kafka_clients(cluster).common["sasl.password"] == "of-the-file"


def test_a_page_waits_for_kafka_no_longer_than_a_person() -> None:
    assert kafka_clients(MonitoredCluster("kafka_eu")).patience_s == 10.0


def test_a_password_is_not_sent_in_the_clear(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("kafka_eu", conn_type="kafka", extra={**CONFIG, "security.protocol": "SASL_PLAINTEXT"})
    monkeypatch.delenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS")
    with pytest.raises(SettingsError, match="allow_insecure_connections"):
        kafka_clients(MonitoredCluster("kafka_eu"))


def test_a_call_that_needs_ignite_needs_its_connection() -> None:
    assert connector_access(MonitoredCluster("kafka_eu"), "c").settings.name == "c"
    with pytest.raises(SettingsError, match="the page has no connection for it"):
        connector_access(MonitoredCluster("kafka_eu"), "c", ignite=True)
