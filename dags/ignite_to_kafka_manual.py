"""Snapshot of chosen Ignite caches, started by *Trigger* in the web UI, which opens a form."""

from __future__ import annotations

import pendulum
from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator

PARAMS = {
    "name": Param(
        "manual",
        title="Connector",
        description_md="Identifies its offsets and its transactions. A newer run of a connector ends the older one.",
        type="string",
        pattern="^[A-Za-z0-9._-]{1,100}$",
    ),
    "cache_whitelist": Param(
        ["flights", "airlines", "airports", "planes", "weather"],
        title="Caches",
        description_md="Regular expressions, one per line; a cache is copied if its whole name matches one of them. All caches: `.*`",
        type="array",
        items={"type": "string"},
        minItems=1,
    ),
    "cache_blacklist": Param(
        [],
        title="Excluded caches",
        description_md="Regular expressions, one per line, applied after the list above.",
        type="array",
        items={"type": "string"},
    ),
    "topic_prefix": Param(
        "manual-",
        title="Topic prefix",
        description_md="Topic = prefix + cache.",
        type=["null", "string"],
        pattern="^[A-Za-z0-9._-]*$",
        section="Target",
    ),
    "topic_partitions": Param(4, title="Partitions of a new topic", type="integer", minimum=1, maximum=10_000, section="Target"),
    "converter": Param(
        "json",
        title="Converter",
        description_md="For keys and values: `json` as Kafka's JsonConverter without schemas, `ignite-binary` for Ignite's own bytes.",
        type="string",
        enum=["json", "ignite-binary"],
        section="Target",
    ),
    "error_handling_policy": Param(
        "STOP_TASK",
        title="Bad entries",
        description_md="An entry that cannot be sent stops the run, is skipped and logged, or goes to the dead-letter topic.",
        type="string",
        enum=["STOP_TASK", "LOG_ONLY", "DEAD_LETTER"],
        section="Run",
    ),
    "dead_letter_topic": Param(
        None,
        title="Dead-letter topic",
        description_md="Used with DEAD_LETTER.",
        type=["null", "string"],  # the form refuses an empty field of another type
        pattern="^[A-Za-z0-9._-]*$",
        section="Run",
    ),
    "tasks_max": Param(2, title="Parallel tasks", type="integer", minimum=1, maximum=1_000, section="Run"),
    "load_initial_data": Param(True, title="Send existing entries", type="boolean", section="Run"),
}

with DAG(
    "ignite_to_kafka_manual",
    description="Manual: chosen Ignite caches to Kafka topics, exactly once",
    schedule=None,
    start_date=pendulum.datetime(2025, 1, 1, tz="UTC"),
    catchup=False,
    params=PARAMS,
    render_template_as_native_obj=True,  # settings keep the types of the form
    default_args={"retries": 1, "retry_delay": pendulum.duration(seconds=30)},
    tags=["ignite", "kafka"],
    doc_md=__doc__,
) as dag:
    IgniteToKafkaOperator(
        task_id="copy",
        settings={
            "name": "{{ params.name }}",
            "cache_whitelist": "{{ params.cache_whitelist }}",
            "cache_blacklist": "{{ params.cache_blacklist }}",
            "topic_prefix": "{{ params.topic_prefix or '' }}",
            "topic_partitions": "{{ params.topic_partitions }}",
            "key_converter": "{{ params.converter }}",
            "value_converter": "{{ params.converter }}",
            "error_handling_policy": "{{ params.error_handling_policy }}",
            "dead_letter_topic": "{{ params.dead_letter_topic or '' }}",
            "tasks_max": "{{ params.tasks_max }}",
            "load_initial_data": "{{ params.load_initial_data }}",
        },
    )
