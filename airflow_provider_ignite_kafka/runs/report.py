"""What Airflow learns of a run: links, metrics, asset events and lineage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ignite_kafka.assets.copied import Copied, clusters_of, copied_of
from airflow_provider_ignite_kafka.assets.events import emit_asset_events, report_hook_lineage
from airflow_provider_ignite_kafka.links import copy as links
from airflow_provider_ignite_kafka.runs.metrics import RunMetrics, enabled
from airflow_provider_ignite_kafka.runs.readings import earlier_run, read_lag
from ignite_kafka.common.deadline import Interval
from ignite_kafka.state.status import now_ms

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from airflow_provider_ignite_kafka.runs.request import Request
    from ignite_kafka.state.status import RunStatus

_LAG_EVERY_S = 30.0
_APPLICATION = re.compile(r"Spark application \S+, web UI (\S+)$")  # of ignite_kafka.app


class RunReport:
    """Reports one run of a task to Airflow.

    A task that is resumed in another process makes a new one of the same request.

    :param outlets: those of the task.
    :param kafka_conn_id: connection of the connector's Kafka.
    """

    def __init__(self, context: Context, request: Request, outlets: Sequence[Any], kafka_conn_id: str) -> None:
        self._context = context
        self._outlets = tuple(outlets)
        self.request = request
        self.copied: Copied = clusters_of(request.settings)
        self._connector_url = links.connector_url(
            kafka_conn_id, request.settings.name, request.settings.internal_topic_prefix
        )
        self._spark_ui = ""
        self._metrics: RunMetrics | None = None
        self._made_ms = now_ms()
        self._lag_due = Interval(_LAG_EVERY_S)

    def started(self) -> None:
        """Report that the run is about to start."""
        links.push(self._context, links.ConnectorLink, self._connector_url)

    def printed(self, line: str) -> None:
        """Look at a line of the app's output, which in client mode names Spark's web UI first."""
        if not self._spark_ui and (match := _APPLICATION.search(line)):
            self._push_spark_ui(match[1])

    def progressed(self, status: RunStatus) -> None:
        """Report a status record of the run that goes on."""
        if not self._spark_ui:
            self._push_spark_ui(status.spark_ui)
        # a task that found its run already begun continues for a killed one, which has exported what was copied until
        # then
        self._export(status, counted=status.started_ms < self._made_ms, lag=self._lag_due.due())

    def ended(self, status: RunStatus | None, *, succeeded: bool, counted: bool = False) -> None:
        """Report the end of the run.

        :param status: the run's last record; None if it is not known.
        :param succeeded: whether the task succeeds, too; asset events are made of such a task only.
        :param counted: whether metrics have the counts of the record already.
        """
        self.copied = copied_of(self.request.settings, status)
        if succeeded:
            emit_asset_events(self._context, self._outlets, self.copied)
        report_hook_lineage(self, self.copied)
        if status is not None:
            self._export(status, counted=counted, lag=True)
            links.push(self._context, links.SparkLink, links.history_url(status.application_id))
            links.push(
                self._context,
                links.TopicLink,
                links.topic_url({cache.topic: cache.records for cache in status.caches.values()}),
            )

    def _export(self, status: RunStatus, *, counted: bool, lag: bool) -> None:
        """Export metrics.

        :param counted: whether another process has exported the counts of the first status that this one sees.
        """
        if not enabled() or status.already_complete:
            return
        if self._metrics is None:
            before = status if counted else earlier_run(self.request, status)
            self._metrics = RunMetrics(to_kafka=self.copied.to_kafka, counted=before)
        self._metrics.update(status)
        if lag:
            self._metrics.lag(status.connector, read_lag(self.request, status))

    def _push_spark_ui(self, reported: str) -> None:
        self._spark_ui = links.spark_url(reported)
        if self._spark_ui:
            links.push(self._context, links.SparkLink, self._spark_ui)
