"""Continuous connector: every change of its caches to Kafka, including caches that appear later.

Its name and its caches are constants of this file, because three Dags share them. *Trigger* `ignite_to_kafka_stream` to start it.
`ignite-kafka stop stream`, or marking its task in the web UI, ends it after its current batch; the next start resumes there. Trigger
`ignite_backlog_cleanup` to retire it.
"""

from __future__ import annotations

from typing import Any

import pendulum
from airflow.sdk import DAG, Param, task

from airflow_provider_ignite_kafka.connector_status import connector_status
from airflow_provider_ignite_kafka.operators.backlog_cleanup import BacklogCleanupOperator
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.sensors.cache_watch import IgniteCacheWatchSensor

CONNECTOR = "stream"
CACHES = ["flights.*", "air.*"]
COMMON: dict[str, Any] = {
    "start_date": pendulum.datetime(2025, 1, 1, tz="UTC"),
    "catchup": False,
    "max_active_runs": 1,  # a newer run of a connector ends the older one
    "render_template_as_native_obj": True,  # settings keep the types of the form
    "tags": ["ignite", "kafka"],
    "doc_md": __doc__,
}

with DAG(
    "ignite_to_kafka_stream",
    description="Every change of Ignite caches to Kafka topics, exactly once, until it is stopped",
    schedule=None,
    params={
        "topic_prefix": Param("stream-", title="Topic prefix", type=["null", "string"], pattern="^[A-Za-z0-9._-]*$"),
        "failover_policy": Param(
            "BACKLOG",
            title="After a stop",
            description_md="`BACKLOG` resumes, `FULL_SNAPSHOT` sends all entries again, `NONE` loses the changes made meanwhile.",
            type="string",
            enum=["BACKLOG", "FULL_SNAPSHOT", "NONE"],
        ),
        "process_removals": Param(True, title="Send a tombstone for a removed key", type="boolean"),
    },
    default_args={"retries": 5, "retry_delay": pendulum.duration(seconds=30)},
    **COMMON,
) as dag:
    IgniteToKafkaOperator(
        task_id="copy",
        run_mode="continuous",
        failover_policy="{{ params.failover_policy }}",
        settings={
            "name": CONNECTOR,
            "cache_whitelist": CACHES,  # a cache that appears later and matches is included without a restart
            "topic_prefix": "{{ params.topic_prefix or '' }}",
            "process_removals": "{{ params.process_removals }}",
        },
    )

with DAG(
    "ignite_backlog_cleanup",
    description="Remove the capture and the backlog of a stopped connector from the Ignite nodes",
    schedule=None,
    params={
        "name": Param(CONNECTOR, title="Connector", type="string", pattern="^[A-Za-z0-9._-]{1,100}$"),
        "force": Param(
            False,
            title="Force",
            description_md="Even if it did not stop gracefully; the changes in its backlog are then lost.",
            type="boolean",
        ),
    },
    **COMMON,
) as cleanup_dag:
    BacklogCleanupOperator(task_id="clean_up", connector="{{ params.name }}", force="{{ params.force }}")


@task.sensor(poke_interval=10, timeout=3600, mode="reschedule")
def taken_up(caches: list[str]) -> bool:
    """Whether the running connector copies the caches; it includes new ones by itself."""
    run = connector_status(CONNECTOR)
    return run is not None and set(caches) <= set(run.caches)


with DAG(
    "ignite_to_kafka_stream_watch",
    description="Waits for a new Ignite cache and until the running connector copies it",
    schedule="@continuous",
    **COMMON,
) as watch_dag:
    watch = IgniteCacheWatchSensor(
        task_id="watch",
        cache_whitelist=CACHES,
        known="{{ ti.xcom_pull(task_ids='watch', key='known', include_prior_dates=True) | tojson }}",
        timeout=24 * 3600,
        soft_fail=True,  # a day without a new cache is no failure
        deferrable=True,
    )
    watch >> taken_up("{{ ti.xcom_pull(task_ids='watch')['created'] }}")  # type: ignore[arg-type]  # Airflow renders it
