"""New caches are copied to Kafka when they appear: by a sensor that waits for them, or by an asset that Airflow watches.

Unpause the one or the other: each copies every new cache once. A sensor's run begins where the run before it ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pendulum
from airflow.sdk import DAG, Asset, AssetWatcher, task

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.sensors.cache_watch import IgniteCacheWatchSensor
from airflow_provider_ignite_kafka.triggers.cache_watch import IgniteCacheWatchTrigger

CACHES = ["air.*", "flights.*"]
COMMON: dict[str, Any] = {
    "start_date": pendulum.datetime(2025, 1, 1, tz="UTC"),
    "catchup": False,
    "max_active_runs": 1,  # runs follow one another: each knows what the one before it saw
    "render_template_as_native_obj": True,  # lists stay lists
    "default_args": {"retries": 2, "retry_delay": pendulum.duration(minutes=1)},
    "tags": ["ignite", "kafka"],
    "doc_md": __doc__,
}

with DAG(
    "ignite_cache_watch", description="A sensor waits for new Ignite caches, then they are copied", schedule="@continuous", **COMMON
) as dag:
    watch = IgniteCacheWatchSensor(
        task_id="watch",
        cache_whitelist=CACHES,
        known="{{ ti.xcom_pull(task_ids='watch', key='known', include_prior_dates=True) | tojson }}",
        poke_interval=30,
        timeout=24 * 3600,
        soft_fail=True,  # a day without a new cache is no failure
        deferrable=True,
    )
    watch >> IgniteToKafkaOperator(
        task_id="copy",
        settings={
            "name": "new-caches",
            "cache_whitelist": "{{ ti.xcom_pull(task_ids='watch')['cache_whitelist'] }}",
            "topic_prefix": "new-",
        },
    )

NEW_CACHES = Asset(
    "ignite_new_caches",
    watchers=[
        AssetWatcher(
            name="ignite_new_caches",
            trigger=IgniteCacheWatchTrigger(cache_whitelist=CACHES, kinds=["created"], poll_interval=30),
        )
    ],
)


@task
def new_caches(triggering_asset_events: Mapping[Asset, Sequence[Any]]) -> list[str]:
    """The caches of all events that this run answers; an event that was fired twice changes nothing."""
    events = triggering_asset_events[NEW_CACHES]
    return sorted({pattern for event in events for pattern in event.extra["payload"]["cache_whitelist"]})


with DAG("ignite_cache_watch_asset", description="Airflow watches for new Ignite caches", schedule=[NEW_CACHES], **COMMON) as asset_dag:
    caches = new_caches()  # type: ignore[call-arg, misc]  # Airflow fills it in
    IgniteToKafkaOperator(
        task_id="copy",
        settings={"name": "new-caches-of-asset", "cache_whitelist": caches, "topic_prefix": "new-"},
    )
