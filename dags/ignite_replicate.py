"""The same caches on another Ignite cluster: by a snapshot every night, or by a stream that is started by hand.

The connection `ignite_default` is the cluster that is copied, `ignite_other` the other one. The sink creates missing
caches like those of the source: tables, indexes and affinity keys included.
"""

from __future__ import annotations

from typing import Any

import pendulum
from airflow.sdk import DAG

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator

OTHER = "ignite_other"
CONVERTERS = {"key_converter": "ignite-binary", "value_converter": "ignite-binary"}
COMMON: dict[str, Any] = {
    "start_date": pendulum.datetime(2025, 1, 1, tz="UTC"),
    "catchup": False,
    "max_active_runs": 1,  # a newer run of a connector ends the older one
    "default_args": {"retries": 2, "retry_delay": pendulum.duration(minutes=5)},
    "tags": ["ignite", "kafka"],
    "doc_md": __doc__,
}


def source(prefix: str, **more: Any) -> dict[str, Any]:
    """Settings of a source."""
    return {
        "name": f"{prefix}-source",
        "cache_whitelist": ["flights", "air.*"],
        "topic_prefix": f"{prefix}-",
        **CONVERTERS,
        **more,
    }


def sink(prefix: str, **more: Any) -> dict[str, Any]:
    """Settings of the sink that reads what the source of that prefix writes."""
    topics = {"topics_regex": f"{prefix}-.*", "topic_prefix": f"{prefix}-", "process_updates": True}
    return {"name": f"{prefix}-sink", **topics, **CONVERTERS, **more}


with DAG(
    "ignite_replicate", description="Every night: caches to another Ignite cluster", schedule="0 3 * * *", **COMMON
) as dag:
    copy = IgniteToKafkaOperator(task_id="copy", settings=source("replica"))
    store = KafkaToIgniteOperator(task_id="store", ignite_conn_id=OTHER, settings=sink("replica"))
    copy >> store

with DAG(
    "ignite_replicate_stream", description="Every change of caches to another Ignite cluster", schedule=None, **COMMON
) as stream_dag:
    # side by side; `ignite-kafka stop NAME` ends each after its current batch
    IgniteToKafkaOperator(
        task_id="copy",
        run_mode="continuous",
        failover_policy="BACKLOG",
        settings=source("mirror", process_removals=True),
    )
    KafkaToIgniteOperator(task_id="store", ignite_conn_id=OTHER, run_mode="continuous", settings=sink("mirror"))
