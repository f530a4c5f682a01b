"""Status of a connector's newest run, for tasks that monitor it."""

from __future__ import annotations

from airflow_provider_ignite_kafka.hooks.kafka_config import kafka_config
from airflow_provider_ignite_kafka.options import INSECURE_REMEDY, allow_insecure_connections
from airflow_provider_ignite_kafka.spark.request import mask_secrets
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.transport_security import check, kafka_weaknesses
from ignite_kafka.state.status import RunStatus


def connector_status(
    connector: str, *, kafka_conn_id: str = "kafka_default", internal_topic_prefix: str = ConnectorSettings.internal_topic_prefix
) -> RunStatus | None:
    """The status record of a connector's newest run: its state and its counts by cache; None if there is none yet.

    :param kafka_conn_id: connection of the Kafka provider.
    :raises IgniteKafkaError: Kafka did not answer.
    """
    from ignite_kafka.admin.target_state import newest_run

    config = kafka_config(kafka_conn_id)
    mask_secrets(Secrets(kafka=config.secrets))
    check(kafka_weaknesses({**config.plain, **config.secrets}), allow_insecure_connections(), INSECURE_REMEDY)
    clients = config.clients()
    return newest_run(clients, Topics(clients), internal_topic_prefix, connector).run
