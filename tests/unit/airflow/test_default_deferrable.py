"""Option ``default_deferrable`` of Airflow's section ``[operators]``, which classes read when they are defined."""

from __future__ import annotations

import json
import os
import subprocess
import sys

_DEFAULTS = """
import json
from airflow.sdk import DAG
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator
from airflow_provider_ignite_kafka.sensors.cache_watch import IgniteCacheWatchSensor
from airflow_provider_ignite_kafka.sensors.connector_lag import ConnectorCaughtUpSensor, ConnectorLagSensor
with DAG("d", schedule=None):
    tasks = [
        IgniteToKafkaOperator(task_id="a", settings={}),
        KafkaToIgniteOperator(task_id="b", settings={"topics": ["t"]}),
        IgniteCacheWatchSensor(task_id="c"),
        ConnectorLagSensor(task_id="d", connector="x"),
        ConnectorCaughtUpSensor(task_id="e", connector="x"),
        IgniteToKafkaOperator(task_id="f", settings={}, deferrable=False),
    ]
print(json.dumps([task.deferrable for task in tasks]))
"""


def test_operators_and_sensors_follow_the_option_and_an_argument_overrides_it() -> None:
    environment = {**os.environ, "AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE": "True"}
    done = subprocess.run([sys.executable, "-c", _DEFAULTS], env=environment, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [True, True, True, True, True, False]


def test_without_the_option_nothing_is_deferred() -> None:
    from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
    from airflow_provider_ignite_kafka.sensors.connector_lag import ConnectorLagSensor

    assert not IgniteToKafkaOperator(task_id="a", settings={}).deferrable
    assert not ConnectorLagSensor(task_id="d", connector="x").deferrable
