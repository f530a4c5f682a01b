"""Sends a cache again by signals and waits for them in the triggerer, and compares with a bound on the repair; Dags follow the assets."""

from __future__ import annotations

import os
from typing import Any

from airflow.sdk import DAG, Asset, task

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.snapshot_signal import SnapshotSignalOperator
from airflow_provider_ignite_kafka.operators.verify import VerifyOperator
from airflow_provider_ignite_kafka.sensors.connector_signal import ConnectorSignalSensor

CONNECTOR = "signalled"
SENT = Asset(uri=f"kafka://{os.environ.get('BROKER_OF_THE_TEST', '127.0.0.1:9092')}/signalled-cache")
CHECKED = Asset("checked nightly")
STREAM: dict[str, Any] = {
    "name": CONNECTOR,
    "cache_whitelist": ["signalled-cache"],
    "notifications_topic": "signalled-notifications",
    "slots": 2,
    "poll_interval_ms": 200,
    "progress_interval_ms": 500,
}
NIGHTLY = {"name": "nightly", "cache_whitelist": ["flights", "airlines"], "topic_prefix": "nightly-"}

with DAG("signalled_stream", schedule=None, is_paused_upon_creation=False):
    IgniteToKafkaOperator(
        task_id="copy", run_mode="continuous", failover_policy="BACKLOG", settings=STREAM, driver_memory="512m", stop_timeout_ms=200_000
    )

with DAG("signals", schedule=None, is_paused_upon_creation=False):
    SnapshotSignalOperator(
        task_id="again",
        connector=CONNECTOR,
        caches={"signalled-cache": "_value > 15"},
        outlets=[SENT],
        deferrable=True,
        poke_interval=0.5,
    )
    ConnectorSignalSensor(task_id="wait", connector=CONNECTOR, signal="by-hand", outlets=[SENT], deferrable=True, poke_interval=0.5)

with DAG("check_nightly", schedule=None, is_paused_upon_creation=False):
    VerifyOperator(
        task_id="verify",
        settings=NIGHTLY,
        direction="source",
        repair=True,
        repair_at_most=1,
        outlets=[CHECKED],
        spark_submit={"driver_memory": "512m"},
    )

with DAG("sent_again", schedule=[SENT], is_paused_upon_creation=False):

    @task
    def seen(triggering_asset_events: Any = None) -> list[dict[str, Any]]:
        """Return what the events have."""
        return [event.extra for event in triggering_asset_events[SENT]]

    seen()
