"""Stream for some hours, as during a migration: afterwards its capture is removed from the Ignite nodes, whatever happened.

*Trigger* opens a form with the duration. Retries resume. When the run is over, the teardown task ends the capture and
drops changes that were not sent, so the next run of the Dag begins with all entries. A failure is logged with what the
connector has copied until then.
"""

from __future__ import annotations

import logging
from typing import Any

import pendulum
from airflow.sdk import DAG

from airflow_provider_ignite_kafka.connector_status import connector_status
from airflow_provider_ignite_kafka.forms import Choices, Form
from airflow_provider_ignite_kafka.operators.backlog_cleanup import BacklogCleanupOperator
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator

CONNECTOR = "temporary"
POOL = (
    "default_pool"  # a pool with as many slots as streams that Spark can run: `airflow pools set streams 2 "Streams"`
)

FORM = Form(
    IgniteToKafkaOperator,
    {"run_for": "8:00:00", "cache_whitelist": Choices(["flights.*", "air.*"]), "topic_prefix": "temporary-"},
    settings={"name": CONNECTOR, "run_mode": "continuous", "failover_policy": "BACKLOG", "process_removals": True},
)


def report_failure(context: Any) -> None:
    """Log what failed and what was copied; a notifier, such as that of Slack or PagerDuty, can take its place."""
    run = connector_status(CONNECTOR)
    copied = {} if run is None else {cache: counts.records for cache, counts in run.caches.items()}
    task, error = context["task_instance"], context.get("exception")
    logging.getLogger(__name__).error("%s.%s failed: %s. Records copied: %s", task.dag_id, task.task_id, error, copied)


with DAG(
    "ignite_to_kafka_temporary",
    description="Changes of Ignite caches to Kafka topics for some hours, then no trace on the nodes",
    schedule=None,
    start_date=pendulum.datetime(2025, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,  # a newer run of a connector ends the older one
    default_args={"retries": 2, "retry_delay": pendulum.duration(seconds=30), "on_failure_callback": report_failure},
    tags=["ignite", "kafka"],
    doc_md=__doc__,
    **FORM.dag_arguments,
) as dag:
    copy = IgniteToKafkaOperator(task_id="copy", pool=POOL, **FORM.arguments)
    # no setups=: a teardown whose setup has failed would not run. Forced, because a stream that failed has not stopped
    # gracefully.
    copy >> BacklogCleanupOperator(task_id="clean_up", connector=CONNECTOR, force=True).as_teardown()
