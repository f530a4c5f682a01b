"""Lag by name: of a sink's topics, from its consumer group, and of a source's caches, from its backlog on the nodes."""

from __future__ import annotations

from collections.abc import Iterable

from ..ignite.cluster import Cluster
from ..kafka.partition_lag import counts_by_name, partition_lags
from ..kafka.topics import Topics
from ..runtime.clients import ignite_cluster
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..source.stream.backlog_lag import BacklogLag, read_backlog_lag
from .backlog import call_service


def sink_lag(topics: Topics, group: str, names: Iterable[str]) -> dict[str, int]:
    """Return the number of records that a sink has not stored yet, by topic; see :func:`.partition_lags`."""
    return counts_by_name(partition_lags(topics, group, names))


def backlog_lag(cluster: Cluster, connector: str) -> BacklogLag:
    """Read a source's lag through a cluster; raise the errors of :func:`.read_backlog_lag`."""
    return read_backlog_lag(lambda question: call_service(cluster, question), connector)


def source_lag(settings: ConnectorSettings, secrets: Secrets) -> dict[str, int]:
    """Return the number of changes that a source has not sent yet, by cache; 0 for a cache without changes.

    :raises BacklogRefused, BacklogMissing, BacklogUnavailable, IgniteUnreachable: as :func:`.read_backlog_lag`.
    """
    with ignite_cluster(settings, secrets) as cluster:
        return backlog_lag(cluster, settings.name).counts()
