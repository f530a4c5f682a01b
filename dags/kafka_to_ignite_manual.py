"""Copy of chosen Kafka topics to Ignite caches, started by *Trigger* in the web UI, which opens a form."""

from __future__ import annotations

import pendulum
from airflow.sdk import DAG

from airflow_provider_ignite_kafka.forms import Choices, Form
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator

TOPICS = ["manual-flights", "manual-airlines", "manual-airports", "manual-planes", "manual-weather"]

FORM = Form(
    KafkaToIgniteOperator,
    {"name": "manual-sink", "topics": Choices(TOPICS), "key_converter": "json", "value_converter": "json"},
    sections={
        "Target": {"topic_prefix": "manual-", "cache_prefix": "restored-", "process_updates": True},
        "Run": {
            "run_mode": "once",
            "run_for": None,
            "error_handling_policy": "STOP_TASK",
            "dead_letter_topic": None,
            "tasks_max": 2,
        },
    },
)

with DAG(
    "kafka_to_ignite_manual",
    description="Manual: chosen Kafka topics to Ignite caches",
    schedule=None,
    start_date=pendulum.datetime(2025, 1, 1, tz="UTC"),
    catchup=False,
    default_args={"retries": 1, "retry_delay": pendulum.duration(seconds=30)},
    tags=["ignite", "kafka"],
    doc_md=__doc__,
    **FORM.dag_arguments,
) as dag:
    # the prefixes of the form, too, lead to no other cache
    KafkaToIgniteOperator(task_id="copy", allowed_caches=["restored-.*"], **FORM.arguments)
