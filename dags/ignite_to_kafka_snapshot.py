"""Snapshot of some caches every night; each logical date sends their entries once, over any number of retries and runs.

A snapshot has the entries of the time when it runs, whatever its logical date. So a backfill fills in nights without a
snapshot, and sends nothing for the others.
"""

from __future__ import annotations

import pendulum
from airflow.sdk import DAG

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator

with DAG(
    "ignite_to_kafka_snapshot",
    description="Every night: Ignite caches to Kafka topics, exactly once",
    schedule="0 2 * * *",
    start_date=pendulum.datetime(2025, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,  # a newer run of a connector ends the older one
    default_args={"retries": 2, "retry_delay": pendulum.duration(minutes=5)},
    tags=["ignite", "kafka"],
    doc_md=__doc__,
) as dag:
    IgniteToKafkaOperator(
        task_id="copy",
        snapshot_id="{{ ts | default(run_id) }}",  # a run without a logical date has no ts
        settings={
            "name": "nightly",
            "cache_whitelist": ["flights", "airlines", "airports", "planes", "weather"],
            "topic_prefix": "nightly-",
            "failover_policy": "FULL_SNAPSHOT",
            "progress_interval_ms": 2_000,
        },
    )
