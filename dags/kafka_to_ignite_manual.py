"""Kafka topics to Ignite caches, started by hand: *Trigger* in the web UI opens a form with the topics and the caches."""

from __future__ import annotations

import pendulum
from airflow.sdk import DAG, Param

from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator

PARAMS = {
    "name": Param(
        "manual-sink",
        title="Connector",
        description_md="Names its consumer group (`connect-<name>`): a run goes on where the one before ended.",
        type="string",
        pattern="^[A-Za-z0-9._-]{1,100}$",
    ),
    "topics": Param(
        ["manual-flights", "manual-airlines", "manual-airports", "manual-planes", "manual-weather"],
        title="Topics",
        description_md="One a line.",
        type="array",
        items={"type": "string", "pattern": "^[A-Za-z0-9._-]+$"},
        minItems=1,
    ),
    "converter": Param(
        "json",
        title="Converter",
        description_md="Of keys and values: `json` without schemas, `ignite-binary` the bytes that Ignite holds.",
        type="string",
        enum=["json", "ignite-binary"],
    ),
    "topic_prefix": Param(
        "manual-",
        title="Topic prefix",
        description_md="Cache = cache prefix + topic without this.",
        type=["null", "string"],
        pattern="^[A-Za-z0-9._-]*$",
        section="Where to",
    ),
    "cache_prefix": Param("restored-", title="Cache prefix", type=["null", "string"], section="Where to"),
    "process_updates": Param(
        True,
        title="Overwrite and remove",
        description_md="Off: an entry that is there stays as it is.",
        type="boolean",
        section="Where to",
    ),
    "error_handling_policy": Param(
        "STOP_TASK",
        title="A record that cannot be stored",
        description_md="Stops the run, is passed over and logged, or goes to the dead-letter topic.",
        type="string",
        enum=["STOP_TASK", "LOG_ONLY", "DEAD_LETTER"],
        section="How",
    ),
    "dead_letter_topic": Param(
        None,
        title="Dead-letter topic",
        description_md="With DEAD_LETTER alone.",
        type=["null", "string"],  # the form refuses an empty field of any other type
        pattern="^[A-Za-z0-9._-]*$",
        section="How",
    ),
    "tasks_max": Param(2, title="Tasks at the same time", type="integer", minimum=1, maximum=1_000, section="How"),
}

with DAG(
    "kafka_to_ignite_manual",
    description="By hand: chosen Kafka topics to Ignite caches",
    schedule=None,
    start_date=pendulum.datetime(2025, 1, 1, tz="UTC"),
    catchup=False,
    params=PARAMS,
    render_template_as_native_obj=True,  # settings keep the types of the form: lists, numbers, booleans; texts stay texts
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
