"""Clusters shown on the page, read from option ``monitored_clusters`` of section ``[ignite_kafka]``."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from airflow.providers.common.compat.sdk import conf

from airflow_provider_ignite_kafka import MONITORED_CLUSTERS
from airflow_provider_ignite_kafka.options import SECTION
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connector import NAME, ConnectorSettings
from ignite_kafka.settings.suggestions import did_you_mean

OPTION = "monitored_clusters"
_EXAMPLE = 'Write it as [{"kafka_conn_id": "kafka_default", "ignite_conn_id": "ignite_default"}].'


@dataclass(frozen=True)
class MonitoredCluster:
    """A Kafka cluster on the page, by its connection, and the prefix of its internal topics.

    :param ignite_conn_id: connection of the Ignite cluster, for the lag of sources and for *resend*; None: neither is
        available.
    :param secrets_file: path of a secrets file on the API server, which overrides the connections' secrets.
    """

    kafka_conn_id: str
    internal_topic_prefix: str = ConnectorSettings.internal_topic_prefix
    ignite_conn_id: str | None = None
    secrets_file: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Connection id and prefix, which name the cluster in the page's URLs."""
        return self.kafka_conn_id, self.internal_topic_prefix


def monitored_clusters() -> tuple[MonitoredCluster, ...]:
    """Read the clusters to show from option `monitored_clusters`, in the option's order.

    :raises SettingsError: the option is no JSON list of objects, or an object has an unknown key or a value that is no
        text.
    """
    text = conf.get(SECTION, OPTION, fallback=MONITORED_CLUSTERS) or "[]"
    try:
        items = json.loads(text)
    except ValueError as error:
        raise _wrong(f"is no JSON: {error}") from error
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _wrong("is no JSON list of objects")
    clusters = tuple(_cluster(item) for item in items)
    twice = [
        cluster.key
        for number, cluster in enumerate(clusters)
        if cluster.key in {earlier.key for earlier in clusters[:number]}
    ]
    if twice:
        raise _wrong(f"names connection {twice[0][0]!r} with prefix {twice[0][1]!r} twice")
    return clusters


def _cluster(item: dict[str, Any]) -> MonitoredCluster:
    names = [field.name for field in fields(MonitoredCluster)]
    for name, value in item.items():
        if name not in names:
            raise _wrong(
                f"has the unknown key {name!r}. {did_you_mean(name, names) or 'Known are ' + ', '.join(names)}"
            )
        if not isinstance(value, str) and not (value is None and name in ("ignite_conn_id", "secrets_file")):
            raise _wrong(f"has {name} = {value!r}, which is no text")
    if not item.get("kafka_conn_id"):
        raise _wrong("has an object without kafka_conn_id")
    try:
        NAME.parse(item.get("internal_topic_prefix", MonitoredCluster.internal_topic_prefix))
    except ValueError as error:
        raise _wrong(f"has a wrong internal_topic_prefix: {error}") from error
    return MonitoredCluster(**item)


def _wrong(what: str) -> SettingsError:
    return SettingsError(
        f"option {OPTION} of section [{SECTION}] of Airflow's configuration {what}", _EXAMPLE, setting=OPTION
    )
