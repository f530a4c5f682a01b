"""Stores one topic in a cache with an app on YARN, followed by the triggerer."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator

PARAMS = {name: Param("", type="string") for name in ("name", "cache", "run_for")}

with DAG("sink_deferred", schedule=None, params=PARAMS, is_paused_upon_creation=False) as dag:
    KafkaToIgniteOperator(
        task_id="copy",
        run_mode="continuous",
        deferrable=True,
        run_for="{{ params.run_for }}",
        conn_id="spark_cluster",
        settings={
            "name": "{{ params.name }}",
            "topics": ["{{ params.name }}-{{ params.cache }}"],
            "topic_prefix": "{{ params.name }}-",
            "key_converter": "json",
            "value_converter": "json",
            "process_updates": True,
            "slots": 2,
            "progress_interval_ms": 500,
        },
        driver_memory="512m",
        conf={
            "spark.pyspark.python": "./env/bin/python",
            "spark.authenticate": "true",
            "spark.network.crypto.enabled": "true",
        },
        spark_submit={"archives": "hdfs:///apps/env.tar.gz#env"},
        stop_timeout_ms=100_000,
        retries=0,
    )
