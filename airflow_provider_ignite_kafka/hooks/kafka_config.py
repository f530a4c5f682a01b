"""The Kafka provider's connection as our apps take it: librdkafka settings in two parts, what may be seen and what may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow.providers.apache.kafka.hooks.base import CALLBACK_CONFIG_KEYS, KafkaBaseHook

from airflow_provider_ignite_kafka.options import allowed_kafka_options
from ignite_kafka.client_properties import check_trusted
from ignite_kafka.errors import SettingsError
from ignite_kafka.secrets import split_kafka

_CONSUMER_ONLY = frozenset(
    {
        "group.id",
        "group.instance.id",
        "auto.offset.reset",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "auto.commit.interval.ms",
        "isolation.level",
    }
)


@dataclass(frozen=True, repr=False)
class KafkaConfig:
    """librdkafka settings of a connection, by name as librdkafka has them.

    :param plain: may stand in a file or a log.
    :param secrets: passwords, tokens and private keys.
    """

    plain: Mapping[str, str]
    secrets: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"KafkaConfig(plain={dict(self.plain)!r}, secrets={sorted(self.secrets)})"


def kafka_config(kafka_conn_id: str) -> KafkaConfig:
    """Read a connection of type `kafka`; settings of consumers (`group.id` and such) are left out, ours are fixed.

    :raises SettingsError: no brokers are named, a setting needs a Python function, which cannot travel to Spark, or librdkafka has no such
        setting, or it acts on the host and no administrator allows it.
    """
    extra = KafkaBaseHook(kafka_config_id=kafka_conn_id).get_connection(kafka_conn_id).extra_dejson
    if not extra.get("bootstrap.servers"):
        raise SettingsError("bootstrap.servers is missing", "Set it in the extra of the Kafka connection.", connection=kafka_conn_id)
    callbacks = [name for name in CALLBACK_CONFIG_KEYS if name in extra]
    mechanism = extra.get("sasl.mechanism") or extra.get("sasl.mechanisms")
    if mechanism == "OAUTHBEARER" and extra.get("sasl.oauthbearer.method") != "oidc":
        callbacks.append("oauth_cb")
    if callbacks:
        raise SettingsError(
            f"{callbacks[0]} is a Python function of the Airflow worker and cannot travel to Spark",
            "Use password, certificate or Kerberos, or OAUTHBEARER with sasl.oauthbearer.method=oidc.",
            connection=kafka_conn_id,
        )
    config = {name: _text(value) for name, value in extra.items() if name not in _CONSUMER_ONLY}
    check_trusted(config, allowed_kafka_options(), connection=kafka_conn_id)
    plain, secrets = split_kafka(config)
    return KafkaConfig(plain, secrets)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
