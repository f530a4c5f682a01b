"""One copy for each group of caches, side by side; a function returns the settings of each.

Each group has a connector of its own, whose name does not depend on the order or the number of groups: a group that is
added or removed leaves the others' offsets and snapshots alone.
"""

from __future__ import annotations

import pendulum
from airflow.sdk import DAG, task

GROUPS = {"flights": ["flights"], "places": ["airports", "weather"], "fleet": ["airlines", "planes"]}

with DAG(
    "ignite_to_kafka_mapped",
    description="Every night: groups of Ignite caches to Kafka topics, side by side",
    schedule="0 4 * * *",
    start_date=pendulum.datetime(2025, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,  # a newer run of a connector ends the older one
    default_args={"retries": 2, "retry_delay": pendulum.duration(minutes=5)},
    tags=["ignite", "kafka"],
    doc_md=__doc__,
) as dag:

    @task.ignite_to_kafka(
        settings={"topic_prefix": "mapped-"},
        map_index_template="{{ task.op_kwargs['group'] }}",  # the name of each task in the web UI
    )
    def copy(group: str) -> dict[str, object]:
        """Settings of one group."""
        return {"name": f"mapped-{group}", "cache_whitelist": GROUPS[group]}

    copy.expand(group=sorted(GROUPS))
