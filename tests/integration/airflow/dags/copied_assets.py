"""Copies two caches and a table; two Dags are scheduled on their topics, one through an alias and one on the asset itself.

A third Dag runs a sink whose topic has a record that cannot be stored.
"""

from __future__ import annotations

import os
from typing import Any

from airflow.sdk import DAG, Asset, AssetAlias, task

from airflow_provider_ignite_kafka.notifications.connector import ConnectorNotifier
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator

BROKER = os.environ.get("BROKER_OF_THE_TEST", "127.0.0.1:9092")
PEOPLE = Asset(uri=f"kafka://{BROKER}/assets-people")
PLACES = Asset("places_topic", f"kafka://{BROKER}/assets-places")

with DAG("copied_assets", schedule=None):
    IgniteToKafkaOperator(
        task_id="copy",
        settings={"name": "assets", "cache_whitelist": "people,places,SQL_PUBLIC_CITY", "topic_prefix": "assets-"},
        driver_memory="512m",
        outlets=[AssetAlias("copies"), PLACES],
    )

with DAG("refused_record", schedule=None):
    KafkaToIgniteOperator(
        task_id="store",
        settings={"name": "refused", "topics": "refused-cities", "topic_prefix": "refused-", "process_updates": True},
        driver_memory="512m",
        on_failure_callback=ConnectorNotifier(connector="refused", topic="alerts", message="{{ ti.task_id }} failed"),
    )


@task
def shown(uri: str, triggering_asset_events: Any = None) -> list[dict[str, Any]]:
    return [event.extra for event in triggering_asset_events.for_asset(uri=uri)]


for dag_id, asset in (("people_filled", PEOPLE), ("places_filled", PLACES)):
    with DAG(dag_id, schedule=asset):
        shown(asset.uri)
