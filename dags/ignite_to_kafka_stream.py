"""Continuous connector: every change of its caches to Kafka, including caches that appear later.

Its name and its caches are constants of this file, because three Dags share them. *Trigger* `ignite_to_kafka_stream` to
start it. `ignite-kafka stop stream`, or marking its task in the web UI, ends it after its current batch; the next start
resumes there. Trigger `ignite_backlog_cleanup` to retire it; with *force* a person must approve.
"""

from __future__ import annotations

from typing import Any

import pendulum
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, task

from airflow_provider_ignite_kafka.connector_status import connector_status
from airflow_provider_ignite_kafka.forms import Choices, Form
from airflow_provider_ignite_kafka.operators.backlog_cleanup import BacklogCleanupOperator
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.sensors.cache_watch import IgniteCacheWatchSensor

CONNECTOR = "stream"
CACHES = ["flights.*", "air.*"]
COMMON: dict[str, Any] = {
    "start_date": pendulum.datetime(2025, 1, 1, tz="UTC"),
    "catchup": False,
    "max_active_runs": 1,  # a newer run of a connector ends the older one
    "tags": ["ignite", "kafka"],
    "doc_md": __doc__,
}

STREAM = Form(
    IgniteToKafkaOperator,
    {"topic_prefix": "stream-", "failover_policy": "BACKLOG", "process_removals": True, "run_for": None},
    # a cache that appears later and matches is included without a restart
    settings={"name": CONNECTOR, "run_mode": "continuous", "cache_whitelist": CACHES},
)

with DAG(
    "ignite_to_kafka_stream",
    description="Every change of Ignite caches to Kafka topics, exactly once, until it is stopped",
    schedule=None,
    default_args={"retries": 5, "retry_delay": pendulum.duration(seconds=30)},
    **COMMON,
    **STREAM.dag_arguments,
) as dag:
    IgniteToKafkaOperator(task_id="copy", **STREAM.arguments)

CLEANUP = Form(BacklogCleanupOperator, {"connector": Choices([CONNECTOR]), "force": False})

with DAG(
    "ignite_backlog_cleanup",
    description="Remove the capture and the backlog of a stopped connector from the Ignite nodes",
    schedule=None,
    **COMMON,
    **CLEANUP.dag_arguments,
) as cleanup_dag:

    @task.branch
    def forced(params: dict[str, Any]) -> str:
        """The next task: a person approves that changes are lost."""
        return "approve" if params["force"] else "clean_up"

    approve = ApprovalOperator(
        task_id="approve",
        subject="Lose the changes of connector {{ params.connector }} that were not sent?",
        body="`force` removes the backlog although the connector did not stop gracefully. *Reject* keeps it.",
    )
    clean_up = BacklogCleanupOperator(
        task_id="clean_up", trigger_rule="none_failed_min_one_success", **CLEANUP.arguments
    )
    choice: Any = forced()  # type: ignore[call-arg, misc]  # Airflow fills it in
    choice >> [approve, clean_up]
    approve >> clean_up


@task.sensor(poke_interval=10, timeout=3600, mode="reschedule")
def taken_up(caches: list[str]) -> bool:
    """Whether the running connector copies the caches; it includes new ones by itself."""
    run = connector_status(CONNECTOR)
    return run is not None and set(caches) <= set(run.caches)


with DAG(
    "ignite_to_kafka_stream_watch",
    description="Waits for a new Ignite cache and until the running connector copies it",
    schedule="@continuous",
    render_template_as_native_obj=True,  # lists stay lists
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
