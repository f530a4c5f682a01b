"""Waits for caches and copies them; two assets are watched by equal triggers."""

from __future__ import annotations

from airflow.sdk import DAG, Asset, AssetWatcher, Param, task

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.sensors.cache_watch import IgniteCacheWatchSensor
from airflow_provider_ignite_kafka.triggers.cache_watch import IgniteCacheWatchTrigger

PARAMS = {"copy": Param(True, type="boolean"), "topic_prefix": Param("", type="string")}

with DAG("watch_caches", schedule=None, params=PARAMS, render_template_as_native_obj=True):
    watch = IgniteCacheWatchSensor(
        task_id="watch",
        cache_whitelist=["watched-.*"],
        known="{{ ti.xcom_pull(task_ids='watch', key='known', include_prior_dates=True) | tojson }}",
        poke_interval=1,
        timeout=300,
        deferrable=True,
    )

    @task.short_circuit
    def wanted(params: dict[str, bool]) -> bool:
        return params["copy"]

    copy = IgniteToKafkaOperator(
        task_id="copy",
        settings={
            "name": "{{ params.topic_prefix }}",
            "cache_whitelist": "{{ ti.xcom_pull(task_ids='watch')['cache_whitelist'] }}",
            "topic_prefix": "{{ params.topic_prefix }}",
        },
        driver_memory="512m",
    )
    watch >> wanted() >> copy  # type: ignore[call-arg, misc]  # Airflow fills it in


def watched(name: str) -> Asset:
    return Asset(name, watchers=[AssetWatcher(name=name, trigger=IgniteCacheWatchTrigger(cache_whitelist=["asset-.*"], poll_interval=1))])


with DAG("watch_asset", schedule=(watched("watched") | watched("watched-too")), is_paused_upon_creation=False):

    @task
    def nothing() -> None:
        pass

    nothing()
