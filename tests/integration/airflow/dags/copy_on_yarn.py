"""On YARN, with a packed Python, by a Spark that authenticates: caches to topics, once, as a stream and verified, and topics to caches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator
from airflow_provider_ignite_kafka.operators.verify import VerifyOperator

NAMES = ("name", "conn_id", "secrets_file", "topic_prefix")
PARAMS = {name: Param("", type="string") for name in NAMES}
ON_YARN: dict[str, Any] = {
    "conn_id": "{{ params.conn_id }}",
    "secrets_file": "{{ params.secrets_file }}",
    "conf": {"spark.pyspark.python": "./env/bin/python", "spark.authenticate": "true", "spark.network.crypto.enabled": "true"},
    "spark_submit": {"archives": "hdfs:///apps/env.tar.gz#env"},
}

with DAG("copy_on_yarn", schedule=None, params=PARAMS) as copy_dag:
    IgniteToKafkaOperator(
        task_id="copy",
        settings={
            "name": "{{ params.name }}",
            "cache_whitelist": "people,places",
            "topic_prefix": "{{ params.name }}-",
            "progress_interval_ms": 500,
        },
        retries=1,
        retry_delay=timedelta(seconds=1),
        **ON_YARN,
    )

with DAG("verify_on_yarn", schedule=None, params=PARAMS) as verify_dag:
    VerifyOperator(
        task_id="verify",
        direction="source",
        settings={
            "name": "{{ params.name }}",
            "cache_whitelist": "people,places",
            "topic_prefix": "{{ params.name }}-",
            "progress_interval_ms": 500,
        },
        repair=True,
        **ON_YARN,
    )

with DAG("stream_on_yarn", schedule=None, params=PARAMS) as stream_dag:
    IgniteToKafkaOperator(
        task_id="copy",
        run_mode="continuous",
        failover_policy="FULL_SNAPSHOT",
        settings={
            "name": "{{ params.name }}",
            "cache_whitelist": "people",
            "topic_prefix": "{{ params.name }}-",
            "progress_interval_ms": 500,
        },
        stop_timeout_ms=3_000,
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
