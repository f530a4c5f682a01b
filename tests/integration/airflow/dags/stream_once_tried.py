"""Sends changes of one cache until it is stopped; a killed run is not retried."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator

with DAG("stream_once_tried", schedule=None, params={"name": Param("", type="string"), "cache": Param("", type="string")}):
    IgniteToKafkaOperator(
        task_id="copy",
        run_mode="continuous",
        failover_policy="BACKLOG",
        settings={
            "name": "{{ params.name }}",
            "cache_whitelist": "{{ params.cache }}.*",
            "topic_prefix": "{{ params.name }}-",
            "process_removals": True,
            "slots": 2,
            "poll_interval_ms": 200,
            "progress_interval_ms": 500,
            "cache_list_poll_interval_ms": 500,
        },
        driver_memory="512m",
        stop_timeout_ms=200_000,
    )
