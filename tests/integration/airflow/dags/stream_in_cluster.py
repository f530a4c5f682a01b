"""Streams one cache by an app on YARN, followed by the triggerer or by the task."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator

PARAMS = {name: Param("", type="string") for name in ("name", "cache", "run_for")}

for dag_id, deferrable in (("stream_deferred", True), ("stream_cleared", True), ("stream_followed", False)):
    with DAG(dag_id, schedule=None, params=PARAMS, is_paused_upon_creation=False) as dag:
        IgniteToKafkaOperator(
            task_id="copy",
            run_mode="continuous",
            failover_policy="BACKLOG",
            deferrable=deferrable,
            run_for="{{ params.run_for }}",
            conn_id="spark_cluster",
            settings={
                "name": "{{ params.name }}",
                "cache_whitelist": "{{ params.cache }}",
                "topic_prefix": "{{ params.name }}-",
                "slots": 2,
                "poll_interval_ms": 200,
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
            retries=2,
            retry_delay=timedelta(seconds=1),
        )
    globals()[dag_id] = dag
