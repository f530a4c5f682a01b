"""Report of a followed run to Airflow: metrics, and links to the connector's page, Spark's UI and the topic."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_provider_ignite_kafka.links import copy as links
from airflow_provider_ignite_kafka.runs.lag import RunLag
from airflow_provider_ignite_kafka.runs.metrics import RunMetrics, enabled
from ignite_kafka.common.deadline import Interval
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.state.status import now_ms

if TYPE_CHECKING:
    from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
    from ignite_kafka.state.status import RunStatus

log = logging.getLogger(__name__)
_LAG_EVERY_S = 30.0
_APPLICATION = re.compile(r"Spark application \S+, web UI (\S+)$")  # of ignite_kafka.app

Push = Callable[[type[links.PushedLink], str], None]
"""Function that stores the URL of a task's link; an empty URL removes the link."""


class RunReport:
    """Reporter of a run's metrics and links to Airflow, used by a task, sensor or trigger.

    A process that continues for another process makes its own report, which exports only counts not exported before.

    :param monitor: monitor of the run.
    :param push: stores a link; None: the task is unknown, so no link is stored.
    :param lag: reads the lag; None: read with the run's connections.
    """

    def __init__(self, monitor: RunMonitor, push: Push | None = None, lag: RunLag | None = None) -> None:
        self._monitor = monitor
        self._push = push
        self._lag = lag or RunLag.by_connection(monitor)
        self._lag_due = Interval(_LAG_EVERY_S)
        self._made_ms = now_ms()
        self._metrics: RunMetrics | None = None
        self._spark_ui = ""

    def started(self) -> None:
        """Store the task's link to the connector's page, before the run starts."""
        run = self._monitor.run
        self._store(
            links.ConnectorLink, links.connector_url(run.kafka_conn_id, run.connector, run.internal_topic_prefix)
        )

    def printed(self, line: str) -> None:
        """Search a line of the app's output for the URL of Spark's web UI, to link it early."""
        if match := _APPLICATION.search(line):
            self._link_spark_ui(match[1])

    def progressed(self, status: RunStatus) -> None:
        """Export the metrics of a new status record, and link Spark's web UI."""
        self._link_spark_ui(status.spark_ui)
        # the process that followed the run until now has exported the counts from before this report was made
        self._export(status, exported=status.started_ms < self._made_ms, with_lag=self._lag_due.due())

    def ended(self, status: RunStatus, *, exported: bool = False) -> None:
        """Export the metrics of the run's last status record, and link Spark's history and the topic.

        :param exported: whether another process has exported the counts of the record.
        """
        self._export(status, exported=exported, with_lag=True)
        self._store(links.SparkLink, links.history_url(status.application_id))
        records = Counter[str]()
        for cache in status.caches.values():
            records[cache.topic] += cache.records
        self._store(links.TopicLink, links.topic_url(records))

    def _export(self, status: RunStatus, *, exported: bool, with_lag: bool) -> None:
        """Export the counts of a status record to Airflow's metrics, and the lag if `with_lag`.

        :param exported: whether another process has exported the counts of the first record seen by this process.
        """
        if not enabled() or status.already_complete:
            return
        if self._metrics is None:
            before = status if exported else self._earlier_run(status)
            self._metrics = RunMetrics(to_kafka=not self._monitor.run.sink, counted=before)
        self._metrics.update(status)
        if with_lag:
            self._metrics.lag(status.connector, self._lag.read(status))

    def _earlier_run(self, status: RunStatus) -> RunStatus | None:
        """Find the last run of the same snapshot, because metrics must not count its records again."""
        try:
            return self._monitor.earlier_run(status)
        except IgniteKafkaError as error:
            log.info("Metrics include records of earlier tries, because the status topic could not be read: %s", error)
            return None

    def _link_spark_ui(self, reported: str) -> None:
        """Store the task's link to Spark's web UI whenever the reported URL is new."""
        url = links.spark_url(reported)
        if url and url != self._spark_ui:
            self._spark_ui = url
            self._store(links.SparkLink, url)

    def _store(self, link: type[links.PushedLink], url: str) -> None:
        if self._push is not None:
            self._push(link, url)


def push_from_trigger(task: Any) -> Push | None:
    """Make a function that stores a deferred task's links, logging errors, because the run continues.

    :param task: the task instance of the trigger; None: unknown.
    """
    if task is None:
        return None

    def push(link: type[links.PushedLink], url: str) -> None:
        try:
            links.push_from_trigger(task, link, url)
        except (IgniteKafkaError, OSError, AirflowException, AirflowRuntimeError) as error:
            log.warning("The link %s to %s could not be stored: %s", link.name, url, error)

    return push
