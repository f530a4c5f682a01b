"""Comparison of the nightly topics with their caches, part by part: each key within a week.

Each night compares the keys that were not compared for the longest time, as many as a week requires; the first night
compares all. Differences fail the task. Without any, the asset gets an event, and the second Dag works on verified
data.
"""

from __future__ import annotations

from typing import Any

import pendulum
from airflow.sdk import DAG, Asset, task

from airflow_provider_ignite_kafka.operators.verify import VerifyOperator

VERIFIED = Asset("verified nightly")
COMMON: dict[str, Any] = {
    "start_date": pendulum.datetime(2025, 1, 1, tz="UTC"),
    "catchup": False,
    "max_active_runs": 1,
    "tags": ["ignite", "kafka"],
    "doc_md": __doc__,
}

with DAG(
    "ignite_verify",
    description="Every night: a part of the topics is compared with its caches, all within a week",
    schedule="0 4 * * *",  # after ignite_to_kafka_snapshot, whose connector it compares
    default_args={"retries": 2, "retry_delay": pendulum.duration(minutes=5)},
    **COMMON,
) as dag:
    VerifyOperator(
        task_id="verify",
        direction="source",
        within="7d",
        settings={
            "name": "nightly",
            "cache_whitelist": ["flights", "airlines", "airports", "planes", "weather"],
            "topic_prefix": "nightly-",
        },
        outlets=[VERIFIED],
    )

with DAG("ignite_verified", description="Works on topics that equal their caches", schedule=[VERIFIED], **COMMON):

    @task
    def report(triggering_asset_events: Any = None) -> None:
        """Print what was compared."""
        for event in triggering_asset_events[VERIFIED]:
            print(
                f"{event.extra['entries']} entries are equal; all were compared since {event.extra['all_compared_since']}"
            )

    report()
