"""Waits in the triggerer for a connector that is behind."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.sensors.connector_lag import ConnectorCaughtUpSensor, ConnectorLagSensor

NAME = "{{ params.name }}"

with DAG("wait_for_lag", schedule=None, params={"name": Param("", type="string")}, is_paused_upon_creation=False):
    ConnectorLagSensor(task_id="wait", connector=NAME, max_lag=0, deferrable=True, poke_interval=1, timeout=600)

with DAG("wait_caught_up", schedule=None, params={"name": Param("", type="string")}, is_paused_upon_creation=False):
    ConnectorCaughtUpSensor(task_id="wait", connector=NAME, deferrable=True, poke_interval=1, timeout=600)
