"""Removes the backlog of any connector."""

from __future__ import annotations

from airflow.sdk import DAG

from airflow_provider_ignite_kafka.forms import Form
from airflow_provider_ignite_kafka.operators.backlog_cleanup import BacklogCleanupOperator

FORM = Form(BacklogCleanupOperator, {"connector": "stream", "force": False})

with DAG("clean_up_backlog", schedule=None, **FORM.dag_arguments):
    BacklogCleanupOperator(task_id="clean_up", **FORM.arguments)
