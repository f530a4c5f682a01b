"""Every 15 minutes: new records of some Kafka topics to Ignite caches, in the order of each key.

A run stores what came after the last run, whatever its logical date. A backfill would do nothing else, so Airflow
refuses to create one.
"""

from __future__ import annotations

import pendulum
from airflow.sdk import DAG

from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator

with DAG(
    "kafka_to_ignite_scheduled",
    description="Every 15 minutes: Kafka topics to Ignite caches",
    schedule="*/15 * * * *",
    start_date=pendulum.datetime(2025, 1, 1, tz="UTC"),
    catchup=False,
    allowed_run_types=["scheduled", "manual"],  # type: ignore[list-item]  # Airflow converts texts
    max_active_runs=1,  # a newer run of a connector ends the older one
    default_args={"retries": 2, "retry_delay": pendulum.duration(minutes=5)},
    tags=["ignite", "kafka"],
    doc_md=__doc__,
) as dag:
    KafkaToIgniteOperator(
        task_id="copy",
        settings={
            "name": "restored",
            "topics": ["nightly-flights", "nightly-airlines", "nightly-airports", "nightly-planes", "nightly-weather"],
            "topic_prefix": "nightly-",
            "cache_prefix": "restored-",
            "cache_template": "{name}",  # a missing cache is created like the cache that its topic came from
            "process_updates": True,
            "progress_interval_ms": 2_000,
        },
    )
