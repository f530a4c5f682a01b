"""Lag of a connector: a stream's changes in the backlog, a sink's unstored records, or an unfinished snapshot.

The lag is read from the connector's records in Kafka, from a sink's consumer group, and for a stream from the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..ignite.cluster import Cluster
from ..kafka.clients import KafkaClients
from ..kafka.partition_lag import PartitionLag, counts_by_name, open_by_name, partition_lags
from ..kafka.topics import Topics
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..state.configs import read_connector
from ..state.status import COMPLETED, RunStatus, read_progress, read_run
from .lag_by_name import backlog_lag
from .recorded_settings import recorded_settings

NEVER_STARTED = "NEVER_STARTED"
UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class ConnectorLag:
    """Lag of a connector.

    :param state: state of its newest run; ``NEVER_STARTED`` without a run, ``UNKNOWN`` if the run wrote no status.
    :param loaded: for a stream, whether the initial data is sent and no partition must be sent again from its cache;
        for a snapshot, whether it is complete; for a sink always True.
    :param behind: partitions with a lag.
    :param names: caches (source) or topics (sink) of its newest run.
    :param sends_again: whether a partition of a stream must be sent again from its cache, which :attr:`loaded` is False
        for; its lost changes are in no lag.
    """

    connector: str
    state: str
    loaded: bool = False
    behind: tuple[PartitionLag, ...] = field(default=())
    names: frozenset[str] = frozenset()
    sends_again: bool = False

    @property
    def is_readable(self) -> bool:
        """Whether the connector has a run with a readable lag."""
        return self.state not in (NEVER_STARTED, UNKNOWN)

    def counts(self) -> dict[str, int]:
        """Return the number of records or changes to copy, by topic (sink) or cache (source), without zeros."""
        return _drop_zeros(counts_by_name(self.behind))

    def open_counts(self) -> dict[str, int]:
        """Return the number of records behind open transactions, by topic of a sink, without zeros."""
        return _drop_zeros(open_by_name(self.behind))

    def to_dict(self) -> dict[str, Any]:
        """Return the lag as JSON values.

        The names are ``connector``, ``state``, ``loaded``, ``sends_again``, ``lag`` (by cache or topic), ``total``,
        ``open`` (by topic).
        """
        counts = self.counts()
        own = {name: value for name, value in asdict(self).items() if name not in ("behind", "names")}
        return {**own, "lag": counts, "total": sum(counts.values()), "open": self.open_counts()}


def read_lag(clients: KafkaClients, prefix: str, connector: str, connect: Callable[[], Cluster]) -> ConnectorLag:
    """Read a connector's lag.

    :param prefix: setting `internal_topic_prefix`.
    :param connect: opens the Ignite cluster; called for a stream of changes only.
    :raises IgniteKafkaError: a cluster did not answer.
    """
    topics = Topics(clients)
    record = read_connector(clients, topics, prefix, connector).connector
    if record is None:
        return ConnectorLag(connector, NEVER_STARTED)
    run = read_run(clients, prefix, connector, record.run_id)
    state = UNKNOWN if run is None else run.state
    if not record.is_source:
        sink = recorded_settings(SinkSettings, record)
        names = list_topics(sink, topics)
        return ConnectorLag(
            connector, state, True, _keep_behind(partition_lags(topics, sink.group_id, names)), frozenset(names)
        )
    settings = recorded_settings(SourceSettings, record)
    caches = frozenset(run.caches if run else ())
    if not settings.streams:
        return ConnectorLag(connector, state, _is_completed(run), names=caches)
    loaded = _is_completed(run) or _is_loaded(clients, prefix, connector, record.generation)
    with connect() as cluster:
        lag = backlog_lag(cluster, connector)
    loaded = loaded and not lag.sends_again
    behind = _keep_behind(lag.partitions())
    return ConnectorLag(connector, state, loaded, behind, caches.union(lag.caches), lag.sends_again)


def _keep_behind(partitions: Iterable[PartitionLag]) -> tuple[PartitionLag, ...]:
    return tuple(partition for partition in partitions if partition.count or partition.open)


def _drop_zeros(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _is_completed(run: RunStatus | None) -> bool:
    return run is not None and run.state == COMPLETED


def _is_loaded(clients: KafkaClients, prefix: str, connector: str, generation: int) -> bool:
    """Return whether every task of the newest run has sent the initial data."""
    tasks = [task for task in read_progress(clients, prefix, connector).values() if task.generation == generation]
    return bool(tasks) and all(task.loaded for task in tasks)


def list_topics(settings: SinkSettings, topics: Topics) -> list[str]:
    """Return the sorted names of the topics that a sink currently reads."""
    from ..sink.planning import chosen_topics, known_topics

    return chosen_topics(settings, known_topics(settings, topics))


def marks_of(lag: ConnectorLag) -> dict[str, int]:
    """Return the end of each partition with a lag, by ``name/partition``, for :func:`ahead_of`."""
    return {f"{partition.name}/{partition.partition}": partition.end for partition in lag.behind}


def ahead_of(lag: ConnectorLag, marks: Mapping[str, int]) -> dict[str, int]:
    """Return the ends from :func:`marks_of` that the connector has not reached yet."""
    positions = {f"{partition.name}/{partition.partition}": partition.position for partition in lag.behind}
    return {label: end for label, end in marks.items() if positions.get(label, end) < end}
