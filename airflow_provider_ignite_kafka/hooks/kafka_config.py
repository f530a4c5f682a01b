"""Connection of the Kafka provider as librdkafka properties by kind of client, with secrets apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow.providers.apache.kafka.hooks.base import CALLBACK_CONFIG_KEYS, KafkaBaseHook

from airflow_provider_ignite_kafka.options import allowed_kafka_options
from ignite_kafka.errors import SettingsError
from ignite_kafka.events import CONFIG_CHANGED, emit
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.client_config import by_client, canonical
from ignite_kafka.settings.client_properties import check_trusted
from ignite_kafka.settings.secrets import split_kafka

# usual in connections of consumers, so omitted without an event
_EXPECTED = frozenset({"group.id", "auto.offset.reset", "enable.auto.commit", "enable.auto.offset.store", "auto.commit.interval.ms"})
_GROUP_MEMBER = "group.instance.id"


@dataclass(frozen=True, repr=False)
class KafkaConfig:
    """librdkafka properties of a connection, by name.

    :param plain: properties of every client; like `producer` and `consumer` they hold no secret.
    :param secrets: passwords, tokens and private keys of every client.
    :param producer, consumer: properties of one kind of client.
    """

    plain: Mapping[str, str]
    secrets: Mapping[str, str] = field(default_factory=dict)
    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={dict(getattr(self, name))!r}" for name in ("plain", "producer", "consumer"))
        return f"KafkaConfig({shown}, secrets={sorted(self.secrets)})"

    def clients(self) -> KafkaClients:
        """Clients with only the properties of the connection."""
        return KafkaClients({**self.plain, **self.secrets}, self.producer, self.consumer)


def kafka_config(kafka_conn_id: str) -> KafkaConfig:
    """Read a connection of type `kafka`, whose extra may hold properties of consumers, producers and admin clients.

    Properties that the connector sets itself (`group.id`, `acks`, `isolation.level` and others) are omitted. Event 15001 reports each one
    whose value would have had an effect.

    :raises SettingsError: ``bootstrap.servers`` is missing, or a property is unknown to librdkafka, needs a Python function, or acts on the
        host without an administrator's permission.
    """
    extra = KafkaBaseHook(kafka_config_id=kafka_conn_id).get_connection(kafka_conn_id).extra_dejson
    if not extra.get("bootstrap.servers"):
        raise SettingsError("bootstrap.servers is missing", "Set it in the extra of the Kafka connection.", connection=kafka_conn_id)
    callbacks = [name for name in CALLBACK_CONFIG_KEYS if name in extra]
    login = canonical(extra)
    if login.get("sasl.mechanisms") == "OAUTHBEARER" and login.get("sasl.oauthbearer.method") != "oidc":
        callbacks.append("oauth_cb")
    if callbacks:
        raise SettingsError(
            f"{callbacks[0]} is a Python function of the Airflow worker and cannot be sent to Spark",
            "Use password, certificate or Kerberos, or OAUTHBEARER with sasl.oauthbearer.method=oidc.",
            connection=kafka_conn_id,
        )
    config = {name: _text(value) for name, value in extra.items() if name != _GROUP_MEMBER}
    check_trusted(config, allowed_kafka_options(), connection=kafka_conn_id)
    plain, secrets = split_kafka(config)
    parts = by_client(plain)
    for name, reason in parts.fixed.items():
        if reason and name not in _EXPECTED:
            emit(CONFIG_CHANGED, reason=f"{name}: {reason}", setting=name, set_in=f"Airflow connection {kafka_conn_id}")
    return KafkaConfig(parts.common, secrets, parts.producer, parts.consumer)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
