"""Snapshot or stream of chosen Ignite caches, started by *Trigger* in the web UI, which opens a form."""

from __future__ import annotations

import pendulum
from airflow.sdk import DAG

from airflow_provider_ignite_kafka.forms import Choices, Form
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator

# who may only trigger the Dag reaches no other cache
CACHES = ["flights", "airlines", "airports", "planes", "weather"]

FORM = Form(
    IgniteToKafkaOperator,
    {"name": "manual", "cache_whitelist": Choices(CACHES)},
    sections={
        "Target": {
            "topic_prefix": "manual-",
            "topic_partitions": 4,
            "key_converter": "json",
            "value_converter": "json",
        },
        "Run": {
            "run_mode": "once",
            "run_for": None,
            "load_initial_data": True,
            "error_handling_policy": "STOP_TASK",
            "dead_letter_topic": None,
            "tasks_max": 2,
        },
    },
)

with DAG(
    "ignite_to_kafka_manual",
    description="Manual: chosen Ignite caches to Kafka topics, exactly once",
    schedule=None,
    start_date=pendulum.datetime(2025, 1, 1, tz="UTC"),
    catchup=False,
    default_args={"retries": 1, "retry_delay": pendulum.duration(seconds=30)},
    tags=["ignite", "kafka"],
    doc_md=__doc__,
    **FORM.dag_arguments,
) as dag:
    IgniteToKafkaOperator(task_id="copy", **FORM.arguments)
