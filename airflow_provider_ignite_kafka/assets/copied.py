"""What a run has copied, as input for assets and lineage: caches and topics with counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_provider_ignite_kafka.assets.addresses import IGNITE_PORT, KAFKA_PORT, listed
from airflow_provider_ignite_kafka.assets.ignite import cache_uri
from ignite_kafka.settings.source import SourceSettings

if TYPE_CHECKING:
    from ignite_kafka.settings.connector import ConnectorSettings
    from ignite_kafka.state.status import RunStatus

KAFKA_SCHEME = "kafka"


@dataclass(frozen=True)
class CopiedCache:
    """Cache and topic that a run copied, with its counts.

    :param records: records sent; of a sink, entries stored or removed.
    :param bytes: size of keys and values.
    :param skipped: entries or records that were skipped or became dead letters.
    """

    cache: str
    topic: str
    records: int = 0
    bytes: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class Copied:
    """Clusters of a run, and the caches and topics that it copied.

    :param to_kafka: True for a source, False for a sink.
    :param ignite: addresses of the Ignite cluster, ``host:port``; the first address names the cluster.
    :param kafka: addresses of the Kafka cluster, in the same form.
    :param run: values common to all events of the run: connector, run id, snapshot id, state.
    """

    to_kafka: bool
    ignite: tuple[str, ...]
    kafka: tuple[str, ...]
    caches: tuple[CopiedCache, ...] = ()
    run: dict[str, Any] = field(default_factory=dict)

    def cache_uri(self, copied_cache: CopiedCache) -> str:
        """Return the URI of the asset of a copied cache."""
        return cache_uri(self.ignite[0], copied_cache.cache)

    def topic_uri(self, copied_cache: CopiedCache) -> str:
        """Return the URI of the asset of a copied topic, as in Airflow's Kafka provider."""
        return f"{KAFKA_SCHEME}://{self.kafka[0]}/{copied_cache.topic}"

    def target_uri(self, copied_cache: CopiedCache) -> str:
        """Return the asset URI of the topic or cache that was written."""
        return self.topic_uri(copied_cache) if self.to_kafka else self.cache_uri(copied_cache)

    def source_uri(self, copied_cache: CopiedCache) -> str:
        """Return the asset URI of the cache or topic that was read."""
        return self.cache_uri(copied_cache) if self.to_kafka else self.topic_uri(copied_cache)

    def extra(self, copied_cache: CopiedCache) -> dict[str, Any]:
        """Return the extra data of an asset event: counts of one cache and topic, and ids of the run."""
        counts = {
            "cache": copied_cache.cache,
            "topic": copied_cache.topic,
            "records": copied_cache.records,
            "bytes": copied_cache.bytes,
            "skipped": copied_cache.skipped,
        }
        return {**self.run, **counts}


def clusters_of(settings: ConnectorSettings) -> Copied:
    """Return the addresses of a connector's clusters, without caches."""
    ignite = listed(settings.ignite_endpoint.addresses, IGNITE_PORT)
    return Copied(isinstance(settings, SourceSettings), ignite, listed(settings.bootstrap_servers, KAFKA_PORT))


def copied_of(settings: ConnectorSettings, status: RunStatus | None) -> Copied:
    """Return what a run has copied, from its status record; without a record, no caches.

    A run that found its snapshot complete has copied nothing. Its status has the counts of the run that sent the
    snapshot, so they are left out.
    """
    clusters = clusters_of(settings)
    if status is None:
        return clusters
    run = {"connector": status.connector, "run_id": status.run_id, "state": status.state}
    run |= {"snapshot_id": status.snapshot_id} if status.snapshot_id else {}
    caches = []
    for name, counts in sorted(status.caches.items()):
        done = counts.records if clusters.to_kafka else counts.entries
        caches.append(
            CopiedCache(name, counts.topic)
            if status.already_complete
            else CopiedCache(name, counts.topic, done, counts.bytes, counts.bad)
        )
    return Copied(clusters.to_kafka, clusters.ignite, clusters.kafka, tuple(caches), run)
