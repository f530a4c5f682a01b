"""Copies on YARN: two caches to topics, and one topic to a cache, with a packed Python, by a Spark that authenticates."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator

NAMES = ("name", "conn_id", "secrets_file", "topic_prefix")
PARAMS = {**{name: Param("", type="string") for name in NAMES}, "max_records_per_second": Param(None, type=["null", "integer"])}
ON_YARN: dict[str, Any] = {
    "conn_id": "{{ params.conn_id }}",
    "secrets_file": "{{ params.secrets_file }}",
    "conf": {"spark.pyspark.python": "./env/bin/python", "spark.authenticate": "true"},
    "spark_submit": {"archives": "hdfs:///apps/env.tar.gz#env"},
    "stop_timeout_ms": 100_000,
}

with DAG("copy_on_yarn", schedule=None, params=PARAMS, render_template_as_native_obj=True) as copy_dag:
    IgniteToKafkaOperator(
        task_id="copy",
        settings={
            "name": "{{ params.name }}",
            "cache_whitelist": "people,places",
            "topic_prefix": "{{ params.name }}-",
            "max_records_per_second": "{{ params.max_records_per_second }}",
            "progress_interval_ms": 500,
        },
        retries=1,
        retry_delay=timedelta(seconds=1),
        **ON_YARN,
    )

with DAG("store_on_yarn", schedule=None, params=PARAMS) as store_dag:
    KafkaToIgniteOperator(
        task_id="copy",
        settings={
            "name": "{{ params.name }}",
            "topics": ["{{ params.topic_prefix }}people", "{{ params.topic_prefix }}places"],
            "topic_prefix": "{{ params.topic_prefix }}",
            "key_converter": "json",
            "value_converter": "json",
        },
        **ON_YARN,
    )
