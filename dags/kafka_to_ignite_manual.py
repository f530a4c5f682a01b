"""Copy of chosen Kafka topics to Ignite caches, started by *Trigger* in the web UI, which opens a form."""

from __future__ import annotations

import pendulum
from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator

PARAMS = {
    "name": Param(
        "manual-sink",
        title="Connector",
        description_md="Identifies its consumer group (`connect-<name>`): a run resumes where the previous one ended.",
        type="string",
        pattern="^[A-Za-z0-9._-]{1,100}$",
    ),
    "topics": Param(
        ["manual-flights", "manual-airlines", "manual-airports", "manual-planes", "manual-weather"],
        title="Topics",
        description_md="One per line.",
        type="array",
        items={"type": "string", "pattern": "^[A-Za-z0-9._-]+$"},
        minItems=1,
    ),
    "converter": Param(
        "json",
        title="Converter",
        description_md="For keys and values: `json` without schemas, `ignite-binary` for Ignite's own bytes.",
        type="string",
        enum=["json", "ignite-binary"],
    ),
    "topic_prefix": Param(
        "manual-",
        title="Topic prefix",
        description_md="Cache = cache prefix + topic without this prefix.",
        type=["null", "string"],
        pattern="^[A-Za-z0-9._-]*$",
        section="Target",
    ),
    "cache_prefix": Param("restored-", title="Cache prefix", type=["null", "string"], section="Target"),
    "process_updates": Param(
        True,
        title="Overwrite and remove",
        description_md="Off: existing entries are unchanged.",
        type="boolean",
        section="Target",
    ),
    "error_handling_policy": Param(
        "STOP_TASK",
        title="Bad records",
        description_md="A record that cannot be stored stops the run, is skipped and logged, or goes to the dead-letter topic.",
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
}

with DAG(
    "kafka_to_ignite_manual",
    description="Manual: chosen Kafka topics to Ignite caches",
    schedule=None,
    start_date=pendulum.datetime(2025, 1, 1, tz="UTC"),
    catchup=False,
    params=PARAMS,
    render_template_as_native_obj=True,  # settings keep the types of the form
    default_args={"retries": 1, "retry_delay": pendulum.duration(seconds=30)},
    tags=["ignite", "kafka"],
    doc_md=__doc__,
) as dag:
    KafkaToIgniteOperator(
        task_id="copy",
        settings={
            "name": "{{ params.name }}",
            "topics": "{{ params.topics }}",
            "topic_prefix": "{{ params.topic_prefix or '' }}",
            "cache_prefix": "{{ params.cache_prefix or '' }}",
            "key_converter": "{{ params.converter }}",
            "value_converter": "{{ params.converter }}",
            "process_updates": "{{ params.process_updates }}",
            "error_handling_policy": "{{ params.error_handling_policy }}",
            "dead_letter_topic": "{{ params.dead_letter_topic or '' }}",
            "tasks_max": "{{ params.tasks_max }}",
        },
    )
