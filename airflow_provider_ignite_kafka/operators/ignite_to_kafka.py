"""Operator that copies Ignite caches to Kafka topics, once or continuously."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_provider_ignite_kafka.operators.spark_copy import SparkCopyOperator
from airflow_provider_ignite_kafka.runs.names import RunNames
from airflow_provider_ignite_kafka.runs.request import Request
from ignite_kafka.settings.source import SourceSettings


class IgniteToKafkaOperator(SparkCopyOperator):
    """Operator that copies Ignite caches to Kafka topics by a Spark app, exactly once, and returns counts by cache.

    A retried task resumes its snapshot: committed entries are not sent again. A new Dag run starts a new snapshot. With
    ``run_mode="continuous"`` the app then sends changes as they happen, until ``ignite-kafka stop``, which is a success
    with ``state`` STOPPED.

    :param failover_policy: ``NONE``, ``FULL_SNAPSHOT`` or ``BACKLOG``; overrides the setting. Templated.
    :param snapshot_id: id of the snapshot. Default: ids of Dag, task, run and map index. Templated.

    Other parameters are those of ``CopyArguments`` and ``SparkAppOperator``.
    """

    app_name = "ignite_to_kafka.py"
    direction = SourceSettings
    template_fields: Sequence[str] = (*SparkCopyOperator.template_fields, "failover_policy", "snapshot_id")
    ui_color = "#fbe3d6"

    def __init__(self, *, failover_policy: str | None = None, snapshot_id: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.failover_policy = failover_policy
        self.snapshot_id = snapshot_id
        self.check_settings()

    def _request(self, names: RunNames) -> Request:
        arguments = {**self._setting_arguments(), "failover_policy": self.failover_policy}
        return self._request_of(
            self.direction, names.connector, names.run_id, self.snapshot_id or names.snapshot_id, arguments
        )
