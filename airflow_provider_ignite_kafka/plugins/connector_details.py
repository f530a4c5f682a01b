"""Sections of a connector's page beside its runs: comparisons, signals and dead letters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ignite_kafka.plugins.connections import connector_access, kafka_clients
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from airflow_provider_ignite_kafka.plugins.page_data import has_backlog
from ignite_kafka.admin.comparison_history import ConnectorComparisons, read_comparisons
from ignite_kafka.admin.dead_letters import DeadLetterList, list_dead_letters
from ignite_kafka.admin.overview import ConnectorOverview
from ignite_kafka.admin.signals import SignalList, signals_of
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.state.configs import ConnectorRecord


@dataclass(frozen=True)
class ConnectorDetails:
    """Sections of a connector's page; an error is the reason why a section cannot be read.

    :param letters: None: the connector has no dead-letter topic.
    :param signals: None: the connector cannot follow any.
    """

    comparisons: ConnectorComparisons | IgniteKafkaError
    letters: DeadLetterList | IgniteKafkaError | None = None
    signals: SignalList | IgniteKafkaError | None = None


def read_details(cluster: MonitoredCluster, connector: ConnectorOverview) -> ConnectorDetails:
    """Read the sections of a connector's page; blocks.

    Signals follow from the records of the configs and status topics that the overview has read. Comparisons and dead
    letters have topics of their own.
    """
    return ConnectorDetails(**{name: _read(section) for name, section in _sections(cluster, connector).items()})


def failed_details(
    cluster: MonitoredCluster, connector: ConnectorOverview, error: IgniteKafkaError
) -> ConnectorDetails:
    """Return the error as that of each section of the connector."""
    return ConnectorDetails(**dict.fromkeys(_sections(cluster, connector), error))


def _sections(cluster: MonitoredCluster, connector: ConnectorOverview) -> dict[str, Callable[[], Any]]:
    """Return how to read each section that the connector has, by its field of :class:`ConnectorDetails`."""
    sections: dict[str, Callable[[], Any]] = {"comparisons": lambda: _read_comparisons(cluster, connector.name)}
    record = connector.state.connector
    if record is not None and record.settings.get("dead_letter_topic"):
        sections["letters"] = lambda: _read_letters(cluster, connector.name, record)
    if connector.unreadable is None and has_backlog(connector):
        sections["signals"] = lambda: signals_of(connector)
    return sections


def _read(section: Callable[[], Any]) -> Any:
    try:
        return section()
    except IgniteKafkaError as error:
        return error
    except AirflowException as error:  # for example, the connection does not exist
        return SettingsError(str(error), "Create the connection: Admin > Connections.")


def _read_comparisons(cluster: MonitoredCluster, name: str) -> ConnectorComparisons:
    return read_comparisons(kafka_clients(cluster), cluster.internal_topic_prefix, name)


def _read_letters(cluster: MonitoredCluster, name: str, record: ConnectorRecord) -> DeadLetterList:
    access = connector_access(cluster, name)
    return list_dead_letters(access.settings, access.secrets, record=record)
