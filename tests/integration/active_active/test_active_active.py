"""Two clusters that both write, judged entry by entry: values, versions, removals, and the rule."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ignite_kafka import events
from ignite_kafka.errors import BacklogRefused, SettingsError
from ignite_kafka.ignite.active_active import check_active_active, check_unversioned, read_counts
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.run import run_sink
from tests.integration.active_active.clusters import (
    CACHE,
    MOST_WAITING,
    RANKED,
    Direction,
    Writer,
    newest_records,
    node_options,
    running,
    states,
)
from tests.integration.active_active.grades import grades, put_grades, remove_grades
from tests.integration.role_transitions.pairs import entries
from tests.support.kept_events import assert_kept
from tests.support.randomness import generator
from tests.support.waiting import DEADLINE_S, REQUEST_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker

WRITES, KEYS = 600, 80
REMOVED = -100


def test_caches_that_the_nodes_do_not_know_are_refused(ignite: IgniteCluster, unique: Callable[[str], str]) -> None:
    name = unique("plain")
    with ignite.client() as client, Cluster(IgniteEndpoint(ignite.addresses)) as cluster:
        cache = client.create_cache(name)
        with pytest.raises(BacklogRefused, match=f"keep no versions .*{name}"):
            check_active_active(cluster, [name])
        check_unversioned(cluster, [name])
        cache.destroy()


def test_two_clusters_that_write_the_same_keys_become_equal(
    spark: SparkSession, kafka: KafkaBroker, ignite_cluster: Callable[..., IgniteCluster], tmp_path: Path
) -> None:
    clusters = [ignite_cluster(partitions=16, java_options=node_options(number)) for number in (1, 2)]
    first, second = clusters
    folders = tmp_path / f"1-to-2-{tmp_path.name}", tmp_path / f"2-to-1-{tmp_path.name}"
    caches = CACHE, RANKED
    directions = [Direction.between(folders[0], kafka, first, second, caches), Direction.between(folders[1], kafka, second, first, caches)]
    clients = KafkaClients({"bootstrap.servers": kafka.bootstrap})
    for number, cluster in enumerate(clusters):
        with cluster.client() as client:
            cache = client.create_cache(CACHE)
            cache.put_all({-key: f"loaded-{number}-{key}" for key in range(1 + number * 10, 31 + number * 10)})
            cache.put(REMOVED, f"loaded-{number}")
        put_grades(cluster, {1: 5 - number})  # the greater grade is the older write
    with first.client() as client:
        client.get_cache(CACHE).remove_key(REMOVED)  # before there is a source

    for number, cluster in enumerate(clusters, 1):
        with cluster.client() as client:
            rows = client.sql("SELECT VALUE FROM SYS.NODE_ATTRIBUTES WHERE NAME = 'ignite-kafka.active-active'")
            expected = f"cluster {number}, caches [{RANKED}, {CACHE}], 86400000 ms, {RANKED} by field grade"
            assert list(rows) == [[expected]], "the query of docs/active-active.md"
    with Cluster(IgniteEndpoint(first.addresses)) as nodes, pytest.raises(BacklogRefused, match="allow_unversioned"):
        check_unversioned(nodes, [CACHE])
    a_record_that_names_the_cache_is_refused(spark, kafka, first, tmp_path.name)

    def are_equal() -> bool:
        """Whether nothing is on its way, and all entries are equal."""
        # what a sink stores is a change, too, so the first direction counts twice
        drained = all(direction.is_drained(clients) for direction in (*directions, directions[0]))
        return drained and entries(first) == entries(second) and grades(first) == grades(second)

    with running(directions) as apps:

        def are_at_rest() -> bool:
            assert all(app.running() for app in apps), "".join(app.output_tail() for app in apps)
            return are_equal()

        wait_until(are_at_rest, "the entries that each cluster had", poll_s=1.0)
        loaded = entries(first)
        assert loaded is not None
        assert loaded.keys() == {-key for key in range(1, 41)}
        assert grades(first) == {1: 5}
        refused = directions[0] if loaded[-11].startswith("loaded-1") else directions[1]  # it sent the older put of a key of both

        check_greater_grade_stays(first, second, are_at_rest)
        writers = [Writer(cluster, f"c{number}", generator(number), writes=WRITES, keys=KEYS) for number, cluster in enumerate(clusters)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(DEADLINE_S)
        wait_until(are_at_rest, "equal caches", poll_s=1.0)
        newest = newest_records(clients, directions)
        keys = sorted(newest)
        assert states(first, keys) == states(second, keys) == newest, "of each key the newest write of both clusters stays"
        assert len(newest) == 40 + 1 + KEYS
        wait_until(lambda: has_forgotten_removals(first), "a node that forgets removals")
        for app in apps:
            os.kill(app.pid, signal.SIGINT)
        for app in apps:
            assert app.wait(DEADLINE_S) == 0, app.output_tail()
    assert_kept(SinkSettings.from_dict(refused.sink), events.CONFLICT_DECIDED)
    assert_kept(SinkSettings.from_dict(directions[1].sink), events.REMOVALS_FORGOTTEN)
    # the source's cluster and the sink's have one number, as those of two clusters by mistake
    same = {**directions[0].sink, "name": f"same-{tmp_path.name}", "ignite_addresses": first.addresses, "run_mode": "once"}
    with pytest.raises(SettingsError, match=rf"same number, 1,.*{first.addresses[0]}.*Leave the topic of this cluster's own source out"):
        run_sink(spark, RunRequest(SinkSettings.from_dict(same), "same-number"))


def check_greater_grade_stays(first: IgniteCluster, second: IgniteCluster, are_at_rest: Callable[[], bool]) -> None:
    """Write less, equal and greater grades than those of the other cluster, also over removals of either."""
    put_grades(first, {2: 5, 3: 5, 4: 5})
    wait_until(lambda: grades(second) == dict.fromkeys(range(1, 5), 5), "grades of the other cluster")
    put_grades(second, {1: 4, 2: 6})
    remove_grades(second, [3, 4])
    assert grades(second) == {1: 5, 2: 6}, "a put of a lesser grade changes nothing in its own cluster"
    wait_until(lambda: grades(first) == {1: 5, 2: 6}, "removals of the other cluster")
    put_grades(first, {3: 4, 4: 5})
    assert grades(first) == {1: 5, 2: 6, 4: 5}, "a removal has the grade of what it removed"
    wait_until(are_at_rest, "equal grades")
    assert grades(second) == {1: 5, 2: 6, 4: 5}


def has_forgotten_removals(cluster: IgniteCluster) -> bool:
    """Remove more keys at once than may wait, and return whether the node forgot some of them."""
    keys = range(1_000, 1_000 + 10 * MOST_WAITING)
    with cluster.client() as client, Cluster(IgniteEndpoint(cluster.addresses)) as nodes:
        cache = client.get_cache(CACHE)
        cache.put_all(dict.fromkeys(keys, "burst"))
        cache.remove_keys(keys)
        return read_counts(nodes, CACHE).dropped > 0


def a_record_that_names_the_cache_is_refused(spark: SparkSession, kafka: KafkaBroker, cluster: IgniteCluster, stem: str) -> None:
    """A sink without versions whose records choose their cache by a header."""
    topic, before = f"{stem}-shop", entries(cluster)
    Topics(KafkaClients({"bootstrap.servers": kafka.bootstrap})).ensure([TopicSpec(topic, 1, 1)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(topic, b'"new"', b"1", headers=[("cache", CACHE.encode())])
    assert producer.flush(REQUEST_S) == 0
    settings = SinkSettings(
        name=f"shop-{stem}", ignite_addresses=cluster.addresses, bootstrap_servers=kafka.bootstrap, topics=(topic,), slots=1,
        cache_header="cache", header_caches=(".*",), internal_topic_prefix=f"in-c-{stem}",
    )  # fmt: skip
    with pytest.raises(BacklogRefused, match="allow_unversioned") as refused:
        run_sink(spark, RunRequest(settings, f"shop-{stem}"))
    assert refused.value.where["cache"] == CACHE
    assert entries(cluster) == before
