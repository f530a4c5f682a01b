"""Sections of a connector's page: which ones it has, and an error that is that of one section alone."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ignite_kafka.plugins import connector_details
from airflow_provider_ignite_kafka.plugins.connector_details import ConnectorDetails, failed_details, read_details
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from ignite_kafka.admin.comparison_history import ConnectorComparisons
from ignite_kafka.admin.dead_letters import DeadLetterList
from ignite_kafka.admin.overview import ConnectorOverview
from ignite_kafka.admin.signals import SignalList
from ignite_kafka.errors import KafkaUnavailable, NewerFormat, SettingsError
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from tests.unit.airflow.bench import CONFIG

CLUSTER = MonitoredCluster("kafka_default", "copies")
STREAM: dict[str, Any] = {"failover_policy": "BACKLOG", "dead_letter_topic": "dead"}
COMPARED = ConnectorComparisons("c", ())
LETTERS = DeadLetterList("c", "dead")


def connector(settings: dict[str, Any] | None, **more: Any) -> ConnectorOverview:
    return ConnectorOverview("c", ConnectorState(None if settings is None else ConnectorRecord(1, 2, settings=settings)), **more)


@pytest.fixture
def kafka(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("kafka_default", conn_type="kafka", extra=CONFIG)
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS", "True")
    monkeypatch.setattr(connector_details, "read_comparisons", lambda *_: COMPARED)

    def letters(settings: Any, _secrets: Any, *, record: ConnectorRecord) -> DeadLetterList:
        assert (settings.name, settings.internal_topic_prefix, record.settings) == ("c", "copies", STREAM)
        return LETTERS

    monkeypatch.setattr(connector_details, "list_dead_letters", letters)


@pytest.mark.usefixtures("kafka")
def test_a_connector_has_the_sections_of_its_settings() -> None:
    assert read_details(CLUSTER, connector(STREAM)) == ConnectorDetails(COMPARED, LETTERS, SignalList("c", (), run_ended=False))
    for without in ({"run_mode": "once"}, {"topics": ["t"]}, None):
        assert read_details(CLUSTER, connector(without)) == ConnectorDetails(COMPARED)
    newer = connector(None, unreadable=NewerFormat("a newer version wrote it"))
    assert read_details(CLUSTER, newer) == ConnectorDetails(COMPARED)


@pytest.mark.usefixtures("kafka")
def test_an_error_is_that_of_its_section(monkeypatch: pytest.MonkeyPatch) -> None:
    away = KafkaUnavailable("away")

    def refuse(*_: Any) -> Any:
        raise away

    monkeypatch.setattr(connector_details, "read_comparisons", refuse)
    details = read_details(CLUSTER, connector(STREAM))
    assert (details.comparisons, details.letters) == (away, LETTERS)
    assert failed_details(CLUSTER, connector(STREAM), away) == ConnectorDetails(away, away, away)
    assert failed_details(CLUSTER, connector({}), away) == ConnectorDetails(away)


def test_a_missing_connection_says_where_to_make_it() -> None:
    error = read_details(MonitoredCluster("nowhere"), connector({})).comparisons
    assert isinstance(error, SettingsError)
    assert "Admin > Connections" in error.remedy
