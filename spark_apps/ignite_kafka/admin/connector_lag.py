"""What a connector has yet to copy.

Changes in the backlog of a stream, records that a sink has not stored, a snapshot without an end.

All is read by the connector's name from its own records in Kafka, from the consumer group of a sink, and from the nodes
for a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..ignite.cluster import Cluster
from ..kafka.clients import KafkaClients
from ..kafka.partition_lag import PartitionLag, partition_lags
from ..kafka.topics import Topics
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..state.configs import read_connector
from ..state.status import COMPLETED, RunStatus, read_progress, read_run
from . import backlog
from .lag import source_partitions, summed
from .recorded_settings import recorded_settings

NEVER_STARTED = "NEVER_STARTED"
UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class ConnectorLag:
    """What a connector has yet to copy.

    :param state: of its newest run; ``NEVER_STARTED`` if there was none, ``UNKNOWN`` if it wrote no status.
    :param loaded: whether the initial data of a stream is sent and no partition waits to be sent again from its cache,
        or a snapshot is complete; always true of a sink.
    :param behind: partitions that are behind.
    :param names: the caches of a source and the topics of a sink that its newest run copies.
    """

    connector: str
    state: str
    loaded: bool = False
    behind: tuple[PartitionLag, ...] = field(default=())
    names: frozenset[str] = frozenset()

    @property
    def is_readable(self) -> bool:
        """Whether there is a run whose lag can be read."""
        return self.state not in (NEVER_STARTED, UNKNOWN)

    def counts(self) -> dict[str, int]:
        """Records or changes to copy, by topic of a sink and by cache of a source.

        Those that are not behind are left out.
        """
        return _positive(summed((partition.name, partition.count) for partition in self.behind))

    def open_counts(self) -> dict[str, int]:
        """Records behind transactions that are open, by topic of a sink; topics without any are left out."""
        return _positive(summed((partition.name, partition.open) for partition in self.behind))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: ``connector``, ``state``, ``loaded``, ``lag`` by cache or topic, ``total``, ``open`` by topic."""
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
        names = topics_read(sink, topics)
        return ConnectorLag(
            connector, state, True, _behind(partition_lags(topics, sink.group_id, names)), frozenset(names)
        )
    settings = recorded_settings(SourceSettings, record)
    caches = frozenset(run.caches if run else ())
    if not settings.streams:
        return ConnectorLag(connector, state, _completed(run), names=caches)
    loaded = _completed(run) or _loaded(clients, prefix, connector, record.generation)
    with connect() as cluster:
        view = backlog.status_of(cluster, connector)
    loaded = loaded and not any(unit.sent_again for unit in view.units)
    return ConnectorLag(
        connector, state, loaded, _behind(source_partitions(view)), caches.union(cache.cache for cache in view.caches)
    )


def _behind(partitions: Iterable[PartitionLag]) -> tuple[PartitionLag, ...]:
    return tuple(partition for partition in partitions if partition.count or partition.open)


def _positive(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _completed(run: RunStatus | None) -> bool:
    return run is not None and run.state == COMPLETED


def _loaded(clients: KafkaClients, prefix: str, connector: str, generation: int) -> bool:
    """Whether every task of the newest run reports that the initial data is sent."""
    tasks = [task for task in read_progress(clients, prefix, connector).values() if task.generation == generation]
    return bool(tasks) and all(task.loaded for task in tasks)


def topics_read(settings: SinkSettings, topics: Topics) -> list[str]:
    """Sorted names of the topics that a sink currently reads."""
    from ..sink.planning import chosen_topics, known_topics

    return chosen_topics(settings, known_topics(settings, topics))


def marks_of(lag: ConnectorLag) -> dict[str, int]:
    """The ends of the partitions that are behind, by ``name/partition``: see :func:`ahead_of`."""
    return {f"{partition.name}/{partition.partition}": partition.end for partition in lag.behind}


def ahead_of(lag: ConnectorLag, marks: Mapping[str, int]) -> dict[str, int]:
    """The marks that are still ahead of the connector."""
    behind = {f"{partition.name}/{partition.partition}": partition.position for partition in lag.behind}
    return {place: end for place, end in marks.items() if behind.get(place, end) < end}
