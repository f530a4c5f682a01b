"""Copies two caches; one immediate retry."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator

with DAG("copy_with_retry", schedule=None, params={"name": Param("", type="string")}) as dag:
    IgniteToKafkaOperator(
        task_id="copy",
        settings={"name": "{{ params.name }}", "cache_whitelist": "people,places", "topic_prefix": "{{ params.name }}-"},
        driver_memory="512m",
        retries=1,
        retry_delay=timedelta(seconds=1),
    )
