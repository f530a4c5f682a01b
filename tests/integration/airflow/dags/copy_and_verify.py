"""Copies two caches, and compares them with their topics."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.verify import VerifyOperator

SETTINGS = {"name": "{{ params.name }}", "cache_whitelist": "people,places", "topic_prefix": "{{ params.name }}-"}

with DAG("copy_and_verify", schedule=None, params={"name": Param("", type="string")}) as dag:
    copy = IgniteToKafkaOperator(task_id="copy", settings=SETTINGS, driver_memory="512m")
    copy >> VerifyOperator(task_id="verify", settings=SETTINGS, direction="source", spark_submit={"driver_memory": "512m"})
