"""Copies two caches on a standalone cluster, with the web UI and the event log on."""

from __future__ import annotations

import sys

from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator

with DAG(
    "copy_on_cluster",
    schedule=None,
    params={"name": Param("", type="string"), "ui_port": Param(0, type="integer"), "event_log": Param("", type="string")},
) as dag:
    IgniteToKafkaOperator(
        task_id="copy",
        settings={"name": "{{ params.name }}", "cache_whitelist": "people,places", "topic_prefix": "{{ params.name }}-"},
        driver_memory="512m",
        executor_memory="512m",
        conf={
            "spark.pyspark.python": sys.executable,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "true",
            "spark.ui.port": "{{ params.ui_port }}",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": "file://{{ params.event_log }}",
        },
    )
