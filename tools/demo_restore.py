"""The way back in `make demo`: the topics of the snapshot into new caches, by the example Dag, compared entry by entry and asked by SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyignite

from ignite_kafka.cli.tables import table
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.state.status import RunStatus, read_runs

from .compare_caches import Compared, compare

DAG = "kafka_to_ignite_scheduled"
CONNECTOR = "restored"
PREFIX = "restored-"
_INTERNAL_TOPICS = "ignite-kafka"
_SQL = 'SELECT carrier, COUNT(*), AVG(CAST(arr_delay AS DOUBLE)) FROM "{cache}".FLIGHTS GROUP BY carrier ORDER BY COUNT(*) DESC LIMIT 3'


def restored(ignite: str, kafka: str, caches: Sequence[str], say: Callable[[str], None]) -> tuple[bool, str]:
    """Whether every restored cache equals the one that it came from, and what is to be shown of it.

    :param caches: the first caches, of which each has a copy of that name behind the prefix.
    """
    run = list(read_runs(KafkaClients({"bootstrap.servers": kafka}), _INTERNAL_TOPICS, CONNECTOR).values())[-1]
    say("comparing every entry of the restored caches with that of the first ones")
    with Cluster(IgniteEndpoint((ignite,))) as cluster:
        found = [compare(cluster, cache, f"{PREFIX}{cache}") for cache in caches]
    first, again = (_asked(ignite, cache) for cache in ("flights", f"{PREFIX}flights"))
    answer = f'the three carriers with most flights, by SQL from "{PREFIX}flights": ' + ", ".join(
        f"{carrier} {count:,} ({delay:.1f} min late)" for carrier, count, delay in again
    )
    verdict = "" if first == again else f"\nNOT EQUAL: the first cache answers {first}"
    return all(one.equal for one in found) and first == again, f"{_table(found, run)}\n\n{answer}{verdict}"


def _asked(ignite: str, cache: str) -> list[list[object]]:
    host, port = ignite.rsplit(":", 1)
    client = pyignite.Client()
    with client.connect(host, int(port)):
        return [list(row) for row in client.sql(_SQL.format(cache=cache))]


def _table(found: Sequence[Compared], run: RunStatus) -> str:
    rows = []
    for one in found:
        count = run.caches[one.other]
        rate = round(count.records / max(count.seconds, 0.001))
        word = "verified" if one.equal else f"NOT EQUAL: {one.differences}"
        rows.append((count.topic, one.other, one.entries, one.other_entries, round(count.seconds, 2), rate, word))
    return table(("topic", "cache", "entries first", "entries now", "seconds", "records/s", ""), rows)
