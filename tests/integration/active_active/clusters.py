"""Two clusters that replicate a cache into each other by the command line, and programs that write both."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ignite_kafka.admin.lag_by_name import sink_lag, source_lag
from ignite_kafka.errors import BacklogRefused, BacklogUnavailable, KafkaUnavailable
from ignite_kafka.ignite.backlog_errors import UNKNOWN_CONNECTOR
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.entry_versions import NO_ORDER, EntryVersions
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.headers import from_messages
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.kafka.version_headers import read_versions
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from tests.integration.role_transitions.pairs import start
from tests.support import QUICK_JVM
from tests.support.processes import App
from tools.servers import IgniteCluster, KafkaBroker

CACHE = "staff"
RANKED = "grades"
"""Cache of objects, whose field `grade` decides before the time of writes."""
MOST_WAITING = 500
"""Removals that wait in a node's memory, more than the keys that the writers have."""
Version = tuple[int, int, int]
"""Rank, order and cluster of a write."""
State = tuple[Version, bytes | None]
"""Version and value of a key; None: it was removed."""


def node_options(number: int) -> tuple[str, ...]:
    """Java options of the nodes of a cluster whose cache other clusters write, too."""
    prefix = "-DIGNITE_KAFKA_ACTIVE_ACTIVE"
    return (
        *QUICK_JVM,
        f"{prefix}_CLUSTER={number}",
        f"{prefix}_CACHES={CACHE},{RANKED}",
        f"{prefix}_FIELDS={RANKED}:grade",
        f"{prefix}_MAX_TOMBSTONES={MOST_WAITING}",
    )


@dataclass(frozen=True)
class Direction:
    """A pair of connectors from one cluster to another."""

    folder: Path
    source: dict[str, Any]
    sink: dict[str, Any]
    master: str = "local[2]"

    @staticmethod
    def between(
        folder: Path, kafka: KafkaBroker, source_cluster: IgniteCluster, sink_cluster: IgniteCluster, caches: Sequence[str] = (CACHE,)
    ) -> Direction:
        """Settings of a pair that has the name of its folder."""
        name = folder.name
        topics = [f"{name}-{cache}" for cache in caches]
        common = {
            "bootstrap_servers": kafka.bootstrap, "key_converter": "ignite-binary", "value_converter": "ignite-binary",
            "topic_prefix": f"{name}-", "slots": 2, "progress_interval_ms": 500, "run_mode": "continuous", "active_active": True,
        }  # fmt: skip
        source = {
            "name": f"source-{name}", "ignite_addresses": source_cluster.addresses, "cache_whitelist": list(caches), "process_removals": True,
            "failover_policy": "BACKLOG", "internal_topic_prefix": f"in-a-{name}", "poll_interval_ms": 100, "topic_partitions": 2,
        }  # fmt: skip
        sink = {
            "name": f"sink-{name}", "ignite_addresses": sink_cluster.addresses, "topics": topics, "process_updates": True,
            "internal_topic_prefix": f"in-b-{name}", "push_interval_ms": 100, "topic_list_poll_interval_ms": 500,
        }  # fmt: skip
        return Direction(folder, {**common, **source}, {**common, **sink})

    def topic(self, cache: str) -> str:
        """Topic of a cache's changes."""
        return f"{self.folder.name}-{cache}"

    def start(self) -> App:
        """Start ``ignite-kafka replicate`` for this direction."""
        self.folder.mkdir(exist_ok=True)
        paths = [self.folder / "source.json", self.folder / "sink.json"]
        for path, settings in zip(paths, (self.source, self.sink), strict=True):
            path.write_text(json.dumps(settings))
        return start(self.folder / "log", *map(str, paths), "--master", self.master)

    def is_drained(self, clients: KafkaClients) -> bool:
        """Whether all changes are sent and all records stored; False while the pair starts."""
        try:
            changes = source_lag(SourceSettings.from_dict(self.source), Secrets())
            records = sink_lag(Topics(clients), f"connect-{self.sink['name']}", self.sink["topics"])
        except BacklogRefused as error:
            if error.where["code"] != UNKNOWN_CONNECTOR:
                raise
            return False
        except (BacklogUnavailable, KafkaUnavailable):  # the backlog, or the topic of groups, is being created
            return False
        return not any((*changes.values(), *records.values()))


@contextmanager
def running(directions: Sequence[Direction]) -> Iterator[list[App]]:
    """Pairs that run."""
    with ExitStack() as stack:
        apps = []
        for direction in directions:
            apps.append(direction.start())
            stack.callback(apps[-1].stop)
        yield apps


def newest_records(clients: KafkaClients, directions: Sequence[Direction], cache: str = CACHE) -> dict[bytes, State]:
    """Of each key, the record with the highest version in the topics of all directions."""
    newest: dict[bytes, State] = {}
    topics = Topics(clients)
    for direction in directions:
        messages = list(read_to_end(clients, topics, direction.topic(cache), [0, 1]))
        versions, valid = read_versions(from_messages(messages))
        assert valid.all()
        for message, version in zip(messages, of_writes(versions), strict=True):
            key, state = message.key(), (version, message.value())
            assert key is not None
            if state[0] > newest.get(key, ((0, 0, 0), None))[0]:
                newest[key] = state
    return newest


def states(cluster: IgniteCluster, keys: Sequence[bytes], cache: str = CACHE) -> dict[bytes, State]:
    """Version and value of keys; without keys that the cluster never had."""
    with Cluster(IgniteEndpoint(cluster.addresses)) as nodes:
        values, versions = BacklogService(nodes.connection()).entries(cache, keys)
    rows = zip(keys, values, of_writes(versions), strict=True)
    return {key: (version, value) for key, value, version in rows if version[1] != NO_ORDER}


def of_writes(versions: EntryVersions) -> list[Version]:
    """Versions as they compare."""
    return list(zip(versions.ranks.tolist(), versions.orders.tolist(), versions.clusters.tolist(), strict=True))


class Writer(threading.Thread):
    """Puts and removes random keys, each value once; it ends after so many writes.

    :param keys: number of keys, the same for all clusters.
    """

    def __init__(self, cluster: IgniteCluster, name: str, chance: random.Random, *, writes: int, keys: int) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._label = name
        self._chance = chance
        self._writes = writes
        self._keys = keys

    def run(self) -> None:
        with self._cluster.client() as client:
            cache = client.get_cache(CACHE)
            for number in range(self._writes):
                key = self._chance.randrange(self._keys)
                if self._chance.random() < 0.3:
                    cache.remove_key(key)
                else:
                    cache.put(key, f"{self._label}-{number}")
