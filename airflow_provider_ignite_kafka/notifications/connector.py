"""Notifier that sends a record with a task's result and its connector's status to a Kafka topic."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.notifier import BaseNotifier
from airflow.providers.common.compat.sdk import redact

from airflow_provider_ignite_kafka.connector_status import newest_status
from airflow_provider_ignite_kafka.runs.kafka_access import connection_clients
from airflow_provider_ignite_kafka.threads import once
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.events import EVENTS
from ignite_kafka.kafka.single_record import write_record
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.state.event_records import read_run_events
from ignite_kafka.state.status import now_ms

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from ignite_kafka.common.event_log import EventCounts
    from ignite_kafka.kafka.clients import KafkaClients
    from ignite_kafka.state.status import RunStatus

_TASK = ("dag_id", "task_id", "run_id", "map_index", "try_number", "state")


class ConnectorNotifier(BaseNotifier):
    """Notifier that writes a record to a Kafka topic when a task fails, is retried, succeeds or misses a deadline.

    Use it for `on_failure_callback`, `on_retry_callback`, `on_success_callback` and deadline alerts.

    Key: the connector's name. Value: JSON with ``connector``, ``at_ms``, ``message``, the task (``dag_id``,
    ``task_id``, ``run_id``, ``map_index``, ``try_number``, ``state``), ``exception``, and ``status`` of the connector's
    newest run (``state``, ``run_id``, ``records``, ``skipped``, ``error`` with its remedy, and ``events``: the run's
    warnings and errors, the last one first, with ``id``, ``severity``, ``count``, ``last_ms``, the newest ``text`` and
    what to do, ``action``; null if there is no status or it cannot be read). Secrets that Airflow masks in logs are
    masked.

    :param connector: name of the connector. Templated.
    :param topic: existing topic for the records. Templated.
    :param message: text of the record, chosen by the Dag's author. Templated.
    :param kafka_conn_id: connection of the Kafka provider, for the topic and the status. Templated.
    :param internal_topic_prefix: value of this setting of the connector.
    :param secrets_file: path of a secrets file where the callback runs. Templated.
    """

    template_fields: Sequence[str] = ("connector", "topic", "message", "kafka_conn_id", "secrets_file")

    def __init__(
        self,
        *,
        connector: str,
        topic: str,
        message: str = "",
        kafka_conn_id: str = "kafka_default",
        internal_topic_prefix: str = ConnectorSettings.internal_topic_prefix,
        secrets_file: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connector = connector
        self.topic = topic
        self.message = message
        self.kafka_conn_id = kafka_conn_id
        self.internal_topic_prefix = internal_topic_prefix
        self.secrets_file = secrets_file

    def notify(self, context: Context) -> None:
        """Write the record, and wait for the brokers' confirmation.

        :raises SettingsError: the connection cannot be used.
        :raises TopicError: the topic does not exist.
        :raises KafkaUnavailable: the brokers did not confirm the record in time.
        """
        clients = connection_clients(self.kafka_conn_id, self.secrets_file or None)
        value = {
            "connector": self.connector,
            "at_ms": now_ms(),
            "message": self.message,
            **_task_of(context),
            "exception": _text(dict(context).get("exception")),
            "status": self._status(clients),
        }
        self._write(clients, json.dumps(redact(value)).encode())

    async def async_notify(self, context: Context) -> None:
        """Write the record from the triggerer, for deadline alerts, whose context has no task."""
        await once(lambda: self.notify(context), f"notify-{self.connector}")

    def _status(self, clients: KafkaClients) -> dict[str, Any] | None:
        try:
            run = newest_status(clients, self.connector, self.internal_topic_prefix)
            if run is None:
                return None
            counts = read_run_events(clients, self.internal_topic_prefix, self.connector, run.run_id)
        except IgniteKafkaError as error:
            self.log.warning("The status of connector %s could not be read: %s", self.connector, error)
            return None
        return {**_summary(run), "events": _warnings(counts)}

    def _write(self, clients: KafkaClients, value: bytes) -> None:
        Topics(clients).partitions(self.topic)  # a producer would wait for a topic that does not exist
        write_record(clients, self.topic, self.connector.encode(), value, "the notification", connector=self.connector)


def _task_of(context: Context) -> dict[str, Any]:
    """Read dag_id, task_id, run_id and state from a context; a Dag's own callback has no task."""
    values: Mapping[str, Any] = dict(context)
    task = values.get("ti")
    dag = values.get("dag")
    names = {name: getattr(task, name, None) for name in _TASK}
    names["dag_id"] = names["dag_id"] or getattr(dag, "dag_id", None)
    names["run_id"] = names["run_id"] or values.get("run_id")
    return {name: value if isinstance(value, int) else _text(value) for name, value in names.items()}


def _text(value: object) -> str | None:
    return None if value is None else str(value.value if isinstance(value, Enum) else value)


def _warnings(counts: EventCounts) -> list[dict[str, Any]]:
    """Return the warnings and errors among a run's events, the last one first."""
    listed = [
        {
            "id": id,
            "severity": logging.getLevelName(EVENTS[id].severity),
            "count": count.count,
            "last_ms": count.last_ms,
            "text": count.newest[-1].text if count.newest else None,
            "action": EVENTS[id].action,
        }
        for id, count in counts.items()
        if id in EVENTS and EVENTS[id].severity > logging.INFO
    ]
    return sorted(listed, key=lambda event: -event["last_ms"])


def _summary(run: RunStatus) -> dict[str, Any]:
    counts = run.caches.values()
    return {
        "state": run.state,
        "run_id": run.run_id,
        "records": sum(cache.records for cache in counts),
        "skipped": sum(cache.bad for cache in counts),
        "error": None if run.error is None else dict(run.error),
    }
