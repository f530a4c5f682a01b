"""What Airflow learns of a run while a trigger follows it: metrics, and the link to Spark's web UI."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_provider_ignite_kafka.airflow_api import configure_stats
from airflow_provider_ignite_kafka.links import copy as links
from airflow_provider_ignite_kafka.runs.lag import LagReader
from airflow_provider_ignite_kafka.runs.metrics import RunMetrics, counted_before, enabled
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
from ignite_kafka.common.deadline import Interval
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.state.status import RunStatus, now_ms

log = logging.getLogger(__name__)
_LAG_EVERY_S = 30.0
_LAG_TIMEOUT_S = 5.0
_AWAY = (IgniteKafkaError, OSError, AirflowException, AirflowRuntimeError)


class DeferredReport:
    """Reports a deferred run to Airflow, as :class:`.RunReport` does while the task itself follows it.

    Errors are logged: the run goes on.

    :param monitor: of the run.
    :param task: the task instance that is deferred; None: not known, so that no link is stored.
    """

    def __init__(self, monitor: RunMonitor, task: Any) -> None:
        configure_stats()
        self._monitor = monitor
        self._task = task
        self._made_ms = now_ms()
        self._lag_due = Interval(_LAG_EVERY_S)
        self._metrics: RunMetrics | None = None
        self._spark_ui = ""
        self._lagging: Mapping[str, int] = {}

    def progressed(self, status: RunStatus) -> None:
        """Report a status record of the run."""
        url = links.spark_url(status.spark_ui)
        if url and url != self._spark_ui and self._task is not None:
            self._spark_ui = url
            self._push_spark_ui()
        if enabled() and not status.already_complete:
            self._export(status)

    def _push_spark_ui(self) -> None:
        try:
            links.push_from_trigger(self._task, links.SparkLink, self._spark_ui)
        except _AWAY as error:
            log.warning("The link to Spark's web UI %s could not be stored: %s", self._spark_ui, error)

    def _export(self, status: RunStatus) -> None:
        if self._metrics is None:
            # a trigger that finds its run begun continues for another one, which has exported what was copied until
            # then
            before = status if status.started_ms < self._made_ms else self._earlier_run(status)
            self._metrics = RunMetrics(to_kafka=not self._monitor.run.sink, counted=before)
        self._metrics.update(status)
        if self._lag_due.due():
            self._metrics.lag(status.connector, self._lag(status))

    def _earlier_run(self, status: RunStatus) -> RunStatus | None:
        """The last run of the same snapshot before this one, if Kafka answers."""
        try:
            return counted_before(self._monitor.tries(f"{status.snapshot_id}/"), status) if status.snapshot_id else None
        except IgniteKafkaError as error:
            log.info("Metrics include records of earlier tries, because the status topic could not be read: %s", error)
            return None

    def _lag(self, status: RunStatus) -> Mapping[str, int]:
        """Lag by topic of a sink, else by cache; 0 where there was one before. Empty if a cluster does not answer."""
        run = self._monitor.run
        try:
            if run.sink:
                return self._monitor.lag(status)
            if not run.streams or not run.ignite_conn_id:
                return {}
            reader = LagReader(
                run.connector, run.kafka_conn_id, run.ignite_conn_id, run.internal_topic_prefix, run.secrets_file
            )
            self._lagging = {**dict.fromkeys(self._lagging, 0), **reader.read(_LAG_TIMEOUT_S).counts()}
        except _AWAY as error:
            log.info("The lag is not known: %s", error)
            return {}
        return self._lagging
