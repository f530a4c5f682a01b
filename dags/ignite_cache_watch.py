"""Copy new Ignite caches to Kafka when they appear, by a sensor or by an asset that Airflow watches.

Unpause one of the two Dags; each copies every new cache once. A run of the sensor starts with the state of the previous
run. A run of the asset's Dag copies the caches of all events that no run has copied yet, because Airflow does not pass
every event to a run, and a copy may have failed.
"""

from __future__ import annotations

from typing import Any

import pendulum
from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import DAG, Asset, AssetWatcher, task

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.sensors.cache_watch import IgniteCacheWatchSensor
from airflow_provider_ignite_kafka.triggers.cache_watch import IgniteCacheWatchTrigger

CACHES = ["air.*", "flights.*"]
COMMON: dict[str, Any] = {
    "start_date": pendulum.datetime(2025, 1, 1, tz="UTC"),
    "catchup": False,
    "max_active_runs": 1,  # each run starts with the state of the previous one
    "render_template_as_native_obj": True,  # lists stay lists
    "default_args": {"retries": 2, "retry_delay": pendulum.duration(minutes=1)},
    "tags": ["ignite", "kafka"],
    "doc_md": __doc__,
}

with DAG(
    "ignite_cache_watch", description="Copies new Ignite caches that a sensor finds", schedule="@continuous", **COMMON
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


COPIED = Asset("ignite_new_caches_in_kafka")


@task(inlets=[NEW_CACHES, COPIED])
def new_caches(inlet_events: Any) -> dict[str, Any]:
    """Caches of the events after the last copied one; skips the run if there are none."""
    copied_before = inlet_events[COPIED]
    last = copied_before[-1].extra["last_event"] if len(copied_before) else 0
    events = [event for event in inlet_events[NEW_CACHES] if event.id > last]
    if not events:
        raise AirflowSkipException("There is no new cache since the last copy.")
    caches = sorted({pattern for event in events for pattern in event.extra["payload"]["cache_whitelist"]})
    return {"caches": caches, "last_event": events[-1].id}


@task(outlets=[COPIED])
def copied(last_event: int, outlet_events: Any) -> None:
    """Note the last copied event with the asset."""
    outlet_events[COPIED].extra = {"last_event": last_event}


with DAG(
    "ignite_cache_watch_asset",
    description="Copies new Ignite caches that an asset watcher finds",
    schedule=[NEW_CACHES],
    **COMMON,
) as asset_dag:
    found: Any = new_caches()  # type: ignore[call-arg, misc]  # Airflow fills it in
    copy = IgniteToKafkaOperator(
        task_id="copy",
        settings={"name": "new-caches-of-asset", "cache_whitelist": found["caches"], "topic_prefix": "new-"},
    )
    copy >> copied(found["last_event"])  # type: ignore[call-arg, misc]
