"""Operator that copies Kafka topics to Ignite caches, once or continuously."""

from __future__ import annotations

from typing import Any

from airflow_provider_ignite_kafka.operators.spark_copy import SparkCopyOperator
from airflow_provider_ignite_kafka.runs.names import RunNames
from airflow_provider_ignite_kafka.runs.request import Request
from ignite_kafka.settings.sink import SinkSettings


class KafkaToIgniteOperator(SparkCopyOperator):
    """Operator that copies Kafka topics to Ignite caches by a Spark app, in each key's order, and returns counts.

    A run resumes at the committed offsets of the connector's consumer group (``connect-<name>``) and ends at the
    topics' end offsets of its start, so that each scheduled run copies the records since the last one. With
    ``run_mode="continuous"`` it runs until ``ignite-kafka stop``, which is a success with ``state`` STOPPED. A retried
    task resumes at the committed offsets; records stored after them are stored again, with the same values.

    Parameters are those of ``CopyArguments`` and ``SparkAppOperator``.
    """

    app_name = "kafka_to_ignite.py"
    direction = SinkSettings
    ui_color = "#d6e6fb"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check_settings()

    def _request(self, names: RunNames) -> Request:
        return self._request_of(self.direction, names.connector, names.run_id, arguments=self._setting_arguments())
