"""The restore part of `make demo`: the snapshot's topics into new caches, compared entry by entry and queried by SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyignite

from ignite_kafka.cli.tables import table
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.state.status import RunStatus, read_runs

from .compare_caches import CacheComparison, compare

DAG = "kafka_to_ignite_scheduled"
CONNECTOR = "restored"
PREFIX = "restored-"
_INTERNAL_TOPICS = "ignite-kafka"
_SQL = 'SELECT carrier, COUNT(*), AVG(CAST(arr_delay AS DOUBLE)) FROM "{cache}".FLIGHTS GROUP BY carrier ORDER BY COUNT(*) DESC LIMIT 3'


def compare_restored(ignite: str, kafka: str, caches: Sequence[str], say: Callable[[str], None]) -> tuple[bool, str]:
    """Compare every restored cache with its original.

    :param caches: the originals; the name of a restored cache is :data:`PREFIX` and that of its original.
    :return: whether all are equal, and the text to show.
    """
    run = list(read_runs(KafkaClients({"bootstrap.servers": kafka}), _INTERNAL_TOPICS, CONNECTOR).values())[-1]
    say("comparing every entry of the restored caches with its original")
    with Cluster(IgniteEndpoint((ignite,))) as cluster:
        found = [compare(cluster, cache, f"{PREFIX}{cache}") for cache in caches]
    original, restored = (_query(ignite, cache) for cache in ("flights", f"{PREFIX}flights"))
    answer = f'the three carriers with most flights, by SQL from "{PREFIX}flights": ' + ", ".join(
        f"{carrier} {count:,} ({delay:.1f} min late)" for carrier, count, delay in restored
    )
    verdict = "" if original == restored else f"\nNOT EQUAL: the original returns {original}"
    return all(one.equal for one in found) and original == restored, f"{_table(found, run)}\n\n{answer}{verdict}"


def _query(ignite: str, cache: str) -> list[list[object]]:
    host, port = ignite.rsplit(":", 1)
    client = pyignite.Client()
    with client.connect(host, int(port)):
        return [list(row) for row in client.sql(_SQL.format(cache=cache))]


def _table(found: Sequence[CacheComparison], run: RunStatus) -> str:
    rows = []
    for one in found:
        count = run.caches[one.other]
        rate = round(count.records / max(count.seconds, 0.001))
        word = "verified" if one.equal else f"NOT EQUAL: {one.differences}"
        rows.append((count.topic, one.other, one.entries, one.other_entries, round(count.seconds, 2), rate, word))
    return table(("topic", "cache", "entries in original", "entries", "seconds", "records/s", ""), rows)
