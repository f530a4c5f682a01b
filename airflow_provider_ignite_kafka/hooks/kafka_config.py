"""Parsing of an Airflow connection of type `kafka` to librdkafka properties, with secrets apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow.providers.common.compat.sdk import BaseHook

from airflow_provider_ignite_kafka.options import allowed_kafka_options
from ignite_kafka.errors import SettingsError
from ignite_kafka.events import CONFIG_CHANGED, emit
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.client_config import by_client, canonical
from ignite_kafka.settings.client_properties import AWS_MSK_IAM, GCP, OAUTH_CALLBACK, check_trusted
from ignite_kafka.settings.key_table import GROUP_MEMBERS
from ignite_kafka.settings.secrets import split_kafka

_MSK = re.compile(r"\.kafka(-serverless)?\.[a-z0-9-]+\.amazonaws\.com", re.IGNORECASE)
# usual in connections of consumers, so omitted without an event
_EXPECTED = frozenset(
    {"group.id", "auto.offset.reset", "enable.auto.commit", "enable.auto.offset.store", "auto.commit.interval.ms"}
)
# functions that the Kafka provider takes from a connection, by name
_OBSERVERS = frozenset({"error_cb", "throttle_cb", "stats_cb", "log_cb", "on_commit"})
_OMITTED = _OBSERVERS | GROUP_MEMBERS


@dataclass(frozen=True, repr=False)
class KafkaConfig:
    """Parsed Airflow connection to a Kafka cluster: librdkafka properties by name.

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
        """Make Kafka clients with the properties of the connection alone."""
        return KafkaClients({**self.plain, **self.secrets}, self.producer, self.consumer)


def kafka_config(kafka_conn_id: str) -> KafkaConfig:
    """Look up an Airflow connection of type `kafka`, and parse the librdkafka properties in its extra.

    The extra may have properties of consumers, producers and admin clients.
    Properties that the connector sets itself (`group.id`, `acks`, `isolation.level` and others) are omitted. Event
    15001 reports each omitted property whose value would have had an effect. Properties of members of a consumer group
    are omitted, because no client of a connector is a member.

    ``oauth_cb`` names the token function, see :mod:`ignite_kafka.kafka.oauth_tokens`; for brokers of Amazon MSK and of
    Google's managed Kafka it is set automatically, as by the Kafka provider. Other functions, such as ``error_cb``, are
    omitted with event 15001.

    :raises SettingsError: ``bootstrap.servers`` is missing, or a property is unknown to librdkafka, or acts on the host
        without an administrator's permission.
    """
    extra = BaseHook.get_connection(kafka_conn_id).extra_dejson
    if not extra.get("bootstrap.servers"):
        raise SettingsError(
            "bootstrap.servers is missing", "Set it in the extra of the Kafka connection.", connection=kafka_conn_id
        )
    config = {name: _text(value) for name, value in extra.items() if name not in _OMITTED}
    for name in _OBSERVERS & extra.keys():
        reason = f"{name}: a Python function of the Airflow worker, which no client of a connector calls"
        emit(CONFIG_CHANGED, reason=reason, setting=name, set_in=f"Airflow connection {kafka_conn_id}")
    if (tokens := _tokens_of_cloud(config)) is not None:
        config.setdefault(OAUTH_CALLBACK, tokens)
    _require_token_maker(canonical(config), kafka_conn_id)
    check_trusted(config, allowed_kafka_options(), connection=kafka_conn_id)
    plain, secrets = split_kafka(config)
    parts = by_client(plain)
    for name, reason in parts.fixed.items():
        if reason and name not in _EXPECTED:
            emit(CONFIG_CHANGED, reason=f"{name}: {reason}", setting=name, set_in=f"Airflow connection {kafka_conn_id}")
    return KafkaConfig(parts.common, secrets, parts.producer, parts.consumer)


def _require_token_maker(login: Mapping[str, str], kafka_conn_id: str) -> None:
    """Refuse a login by OAUTHBEARER for which nothing makes tokens, neither `oauth_cb` nor OIDC."""
    oauth = login.get("sasl.mechanisms") == "OAUTHBEARER"
    if oauth and login.get("sasl.oauthbearer.method") != "oidc" and OAUTH_CALLBACK not in login:
        raise SettingsError(
            "OAUTHBEARER needs somebody who makes tokens",
            "Set oauth_cb to aws_msk_iam, gcp or the path of a function, or sasl.oauthbearer.method to oidc.",
            connection=kafka_conn_id,
        )


def _tokens_of_cloud(config: Mapping[str, str]) -> str | None:
    """Choose the token function for brokers of a cloud, recognized by their addresses as in the Kafka provider.

    Return None for other brokers.
    """
    servers = config["bootstrap.servers"]
    login = canonical(config)
    if (
        "cloud.goog" in servers
        and "managedkafka" in servers
        and login.get("sasl.mechanisms", "OAUTHBEARER") == "OAUTHBEARER"
    ):
        return GCP
    if (
        _MSK.search(servers)
        and login.get("sasl.mechanisms") == "OAUTHBEARER"
        and login.get("sasl.oauthbearer.method") != "oidc"
    ):
        return AWS_MSK_IAM
    return None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
