"""Operator that copies Kafka topics to Ignite caches, once or continuously: connections and settings in, counts per cache out."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_ignite_kafka.operators.spark_copy import RunNames, SparkCopyOperator
from airflow_provider_ignite_kafka.spark.request import Clusters, Request, build_request
from ignite_kafka.settings.sink import SinkSettings


class KafkaToIgniteOperator(SparkCopyOperator):
    """Copy Kafka topics to Ignite caches by a Spark app, in the order of each key; return the counts of each cache.

    A run goes on where the connector's consumer group (``connect-<name>``) stands and ends where the topics ended when it began: a schedule
    moves what has come since. With ``run_mode="continuous"`` it goes on until ``ignite-kafka stop`` asks it to end, which is success, with
    ``state`` STOPPED. A retried task goes on from the committed offsets; what was stored after them is stored again, the same values.

    Parameters: :class:`.SparkCopyOperator`.
    """

    app_name = "kafka_to_ignite.py"
    ui_color = "#d6e6fb"

    def _request(self, names: RunNames) -> Request:
        return build_request(
            self.settings,
            SinkSettings,
            Clusters.of(self.ignite_conn_id, self.kafka_conn_id),
            default_connector=names.connector,
            run_id=names.run_id,
            secrets_file=Path(self.secrets_file) if self.secrets_file else None,
            arguments={"run_mode": self.run_mode},
        )
