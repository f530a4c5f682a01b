"""Streams on two real nodes without the backlog service, with continuous queries of the thin client."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pyignite
import pytest
from confluent_kafka import Message
from pyignite.datatypes.prop_codes import PROP_BACKUPS_NUMBER, PROP_NAME
from pyspark.sql import SparkSession

from ignite_kafka.admin.signals import read_signal, request_snapshot
from ignite_kafka.cli.main import main
from ignite_kafka.errors import BacklogMissing, CacheNotFound, IgniteUnreachable, SettingsError
from ignite_kafka.events import CACHES_SENT_AGAIN, CHANGES_MISSING, QUERIES_BEGUN
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.continuous_query import ContinuousQueries
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.plan.slots import slot_of
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.source.stream.signal_check import NEEDS_SERVICE
from ignite_kafka.state import status
from ignite_kafka.state import target_state as target
from ignite_kafka.state.signal_records import CacheSelection
from tests.support import QUICK_JVM
from tests.support.bad_entries import NULL_KEY, OF_UNKNOWN_TYPE, long, put_bytes
from tests.support.kept_events import assert_kept
from tests.support.stream_world import SLOTS, Running, World, await_that
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, Jars, KafkaBroker


@pytest.fixture(scope="module")
def nodes(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    options: dict[str, Any] = {"data_region_mib": 1_024, "backlog_mib": 0, "java_options": QUICK_JVM}
    with IgniteCluster(tmp_path_factory.mktemp("bare"), jars=jars, nodes=2, **options) as started:
        yield started


@pytest.fixture
def world(spark: SparkSession, nodes: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, nodes, kafka)
    made.settings = replace(made.settings, failover_policy="FULL_SNAPSHOT")
    with nodes.client() as client:
        client.create_cache({PROP_NAME: f"{made.stem}-a", PROP_BACKUPS_NUMBER: 1})
    yield made
    nodes.destroy_caches(made.stem)


def await_change(world: World, run: Running, key: int) -> None:
    """Write until a change of a key arrives, which proves that the queries have restarted."""
    turn = iter(range(1_000_000))

    def arrived() -> bool:
        world.put("a", {key: f"turn {next(turn)}"})
        return any(found == str(key).encode() for found, _ in world.records("a"))

    await_that(arrived, f"a change of key {key}", run)


def seen(run: Running, event: int) -> int:
    """End the run, and return its number of events with an id."""
    return dict(run.stop().events).get(str(event), 0)


def dead_letters(world: World, topic: str) -> dict[bytes | None, Message]:
    """Key to dead letter; no key comes twice."""
    topics = Topics(world.clients)
    found = list(read_to_end(world.clients, topics, topic, list(range(topics.existing().get(topic, 0)))))
    letters = {letter.key(): letter for letter in found}
    assert len(letters) == len(found)
    return letters


def test_entries_then_changes_and_removals_in_order(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(500)})
    with world.running() as run:
        world.await_equal("a", run)
        assert len(world.records("a")) == 500
        world.change_in_turns("a")
        world.await_equal("a", run)
        world.put("a", {900: "before the stop"})
        ended = run.stop()
    assert (ended.state, ended.error) == (status.STOPPED, None)
    assert world.verified("a").equal, "a graceful stop sends earlier changes"
    assert len(world.records("a")) == 500 + 5 * 100 + 50 + 1
    of_key = [value for key, value in world.records("a") if key == b"60"]
    assert of_key == [b'"v60"', b'"w0-60"', b'"w1-60"', b'"w2-60"', b'"w3-60"']
    assert ended.caches[f"{world.stem}-a"].records == 1_051
    assert ended.caches[f"{world.stem}-a"].units_done == 1_024
    assert seen(run, QUERIES_BEGUN.id) == 1
    assert_kept(world.settings, QUERIES_BEGUN)


def test_policy_none_begins_from_now_and_reports_what_it_may_miss(world: World, nodes: IgniteCluster) -> None:
    world.put("a", {key: f"v{key}" for key in range(200)})
    none: dict[str, Any] = {"failover_policy": "NONE"}
    with world.running(**none) as run:
        world.await_equal("a", run)
        assert seen(run, CHANGES_MISSING.id) == 0
    world.put("a", {1: "lost"})
    with TcpProxy(int(nodes.address.rpartition(":")[2])) as proxy, world.running(**none, ignite_addresses=(proxy.address,)) as run:
        await_change(world, run, 1_000)
        proxy.cut()
        await_change(world, run, 1_001)
        assert seen(run, CHANGES_MISSING.id) == 1
    assert_kept(world.settings, CHANGES_MISSING)
    assert (b"1", b'"lost"') not in world.records("a")
    assert sum(value == b'"v7"' for _, value in world.records("a")) == 1


def test_a_stop_sends_all_that_was_collected_although_the_task_is_behind(world: World) -> None:
    """Sending it takes more than the 20 s after which a stop left the rest out."""
    slow: dict[str, Any] = {"failover_policy": "NONE", "filter": "tests.support.filters:slowly", "batch_bytes": 1 << 14}
    with world.running(**slow) as run:
        await_that(world.snapshot_complete, "the end of the load", run)
        await_change(world, run, 1_000)
        world.put("a", {key: f"{key:0900d}" for key in range(5_000)})
        ended = run.stop()
        assert seen(run, CHANGES_MISSING.id) == 0
    assert ended.state == status.STOPPED
    assert world.verified("a").equal


def test_full_snapshot_sends_all_again_after_each_gap(world: World, nodes: IgniteCluster) -> None:
    world.put("a", {key: f"v{key}" for key in range(200)})
    with world.running() as run:
        world.await_equal("a", run)
    world.put("a", {1: "changed"})
    with TcpProxy(int(nodes.address.rpartition(":")[2])) as proxy, world.running(ignite_addresses=(proxy.address,)) as run:
        await_that(lambda: len(world.records("a")) == 400, "all entries once more", run)
        proxy.cut()
        world.put("a", {2: "in the gap"})
        world.await_equal("a", run)
        await_that(lambda: len(world.records("a")) >= 600, "all entries once more", run)
        assert seen(run, CACHES_SENT_AGAIN.id) == 1
    assert_kept(world.settings, CACHES_SENT_AGAIN)
    assert world.verified("a").equal


def test_a_signal_fails_with_its_reason_and_the_stream_goes_on(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.settings = replace(world.settings, notifications_topic=f"notices-{world.stem}")
    world.put("a", dict.fromkeys(range(20), "entry"))
    with world.running(progress_interval_ms=300) as run:
        world.await_equal("a", run)
        request_snapshot(world.settings, Secrets(), [CacheSelection(f"{world.stem}-a")], "again")

        def ended() -> bool:
            signal = read_signal(world.settings, Secrets(), "again")
            return signal is not None and signal.ended_ms is not None

        await_that(ended, "the end of the signal", run)
        world.put("a", {20: "later"})
        world.await_equal("a", run)
        prefix = world.settings.internal_topic_prefix
        places = ("--kafka", world.settings.bootstrap_servers, "--internal-topic-prefix", prefix)
        assert main(["-q", "status", world.stem, *places]) == 0
        run.stop()
    assert f"signal again is FAILED; {NEEDS_SERVICE}" in capsys.readouterr().out
    assert len(world.records("a")) == 21, "nothing was sent again"
    notices = [
        json.loads(notice.value() or b"") for notice in read_to_end(world.clients, Topics(world.clients), f"notices-{world.stem}", [0])
    ]
    [failed] = [notice for notice in notices if notice["aggregate_type"] == "Incremental Snapshot"]
    assert (failed["id"], failed["type"], failed["additional_data"]["reason"]) == ("again", "FAILED", NEEDS_SERVICE)


def test_no_scanned_entry_follows_a_newer_change(world: World) -> None:
    """A writer changes and removes keys while the cache is scanned."""
    world.put("a", dict.fromkeys(range(20000), "old" * 50))
    stop, written = threading.Event(), threading.Event()

    def write() -> None:
        with world.ignite.client() as client:
            cache, turn = client.get_cache(f"{world.stem}-a"), 0
            while not stop.is_set():
                turn += 1
                cache.put_all(dict.fromkeys(range(turn % 50, 20000, 50), f"new {turn}"))
                cache.remove_keys(list(range((turn + 7) % 50, 20_000, 400)))
                written.set()

    writer = threading.Thread(target=write)
    with world.running(batch_bytes=1 << 16, page_bytes=1 << 12) as run:
        writer.start()
        try:
            await_that(world.snapshot_complete, "the initial load", run)
            assert written.is_set()
        finally:
            stop.set()
            writer.join(DEADLINE_S)
        world.await_equal("a", run)


def test_a_killed_node_is_a_gap(world: World, nodes: IgniteCluster) -> None:
    world.put("a", {key: f"v{key}" for key in range(300)})
    client = pyignite.Client(partition_aware=False)  # of the remaining node
    with world.running() as run, client.connect("127.0.0.1", int(nodes.address.rpartition(":")[2])):
        cache = client.get_cache(f"{world.stem}-a")
        world.await_equal("a", run)
        nodes.kill(1)
        try:
            cache.put_all(dict.fromkeys(range(100), "after the kill"))
            world.await_equal("a", run)
            await_that(lambda: sum(value == b'"v250"' for _, value in world.records("a")) > 1, "the entries once more", run)
            cache.remove_keys([200, 201])
            world.await_equal("a", run)
            assert seen(run, CACHES_SENT_AGAIN.id) >= 1
        finally:
            nodes.start_node(1)


def test_caches_that_come_and_pauses_are_gaps(world: World) -> None:
    world.put("a", {1: "v"})
    with world.running() as run:
        world.await_equal("a", run)
        world.put("b", {key: f"v{key}" for key in range(100)})
        world.await_equal("b", run)
        world.put("b", {5: "w"})
        world.await_equal("b", run)
        world.ask(target.PAUSED)
        await_that(lambda: run.state(world) == status.PAUSED, "pause", run)
        world.put("a", {2: "while paused"})
        world.ask(target.RUNNING)
        world.await_equal("a", run)
        world.destroy("b")
        world.put("a", {3: "w"})
        world.await_equal("a", run)
        assert run.stop().state == status.STOPPED


def test_a_cache_that_is_made_again_at_once_is_followed(world: World) -> None:
    world.put("a", dict.fromkeys(range(100), "old"))
    with world.running() as run:
        world.await_equal("a", run)
        world.destroy("a")
        world.put("a", dict.fromkeys(range(50, 150), "new"))
        await_that(lambda: (b"149", b'"new"') in world.records("a"), "the recreated cache", run)
        world.put("a", {200: "more"})
        await_that(lambda: (b"200", b'"more"') in world.records("a"), "its changes", run)


def test_an_update_that_leaves_the_filter_sends_a_tombstone(world: World) -> None:
    world.put("a", {1: "keep 1", 2: "keep 2", 4: "drop 4"})
    with world.running(where="_value LIKE 'keep%'") as run:
        await_that(lambda: len(world.records("a")) == 2, "the entries", run)
        world.put("a", {1: "drop 1", 3: "keep 3"})
        await_that(lambda: len(world.records("a")) == 4, "the changes", run)
    wanted = [(b"1", b'"keep 1"'), (b"2", b'"keep 2"'), (b"1", None), (b"3", b'"keep 3"')]
    assert sorted(world.records("a"), key=str) == sorted(wanted, key=str)
    assert [value for key, value in world.records("a") if key == b"1"] == [b'"keep 1"', None]


def test_bad_changes_become_dead_letters_and_later_changes_are_sent(world: World) -> None:
    """A bad entry, then changes: good, bad and good of one key, and a bad one of another. A later run repeats no dead letter."""
    cache, topic = f"{world.stem}-a", f"letters-{world.stem}"
    letters: dict[str, Any] = {"failover_policy": "NONE", "error_handling_policy": "DEAD_LETTER", "dead_letter_topic": topic}
    wanted = {long(1_001): OF_UNKNOWN_TYPE, long(5): NULL_KEY, long(1_002): OF_UNKNOWN_TYPE}
    world.put("a", {key: f"v{key}" for key in range(100)})
    put_bytes(world.ignite, cache, {long(1_001): OF_UNKNOWN_TYPE})
    with world.running(**letters) as run:
        await_that(world.snapshot_complete, "the initial load", run)
        world.put("a", {5: "before"})
        put_bytes(world.ignite, cache, {key: wanted[key] for key in (long(5), long(1_002))})
        world.put("a", {5: "after", 1_003: "new"})
        await_that(lambda: (b"1003", b'"new"') in world.records("a"), "the last change", run)
        counts = run.stop().caches[cache]
    assert [value for key, value in world.records("a") if key == b"5"] == [b'"v5"', b'"before"', b'"after"']
    assert (counts.records, counts.bad, counts.units_done) == (len(world.records("a")), len(wanted), 1_024)
    found = dead_letters(world, topic)
    assert {key: letter.value() for key, letter in found.items()} == wanted
    headers = dict(cast(list[tuple[str, bytes]], found[long(1_002)].headers()))
    message = headers.pop("__connect.errors.exception.message")
    assert b"no metadata of a binary type" in message
    assert headers.pop("__connect.errors.exception.stacktrace").startswith(b"ignite_kafka.errors.UnknownBinaryType: " + message)
    assert headers == {
        "__connect.errors.connector.name": world.stem.encode(),
        "__connect.errors.task.id": b"%d" % slot_of(cache, 0, SLOTS),
        "__connect.errors.stage": b"TASK_POLL",
        "__connect.errors.class.name": b"ignite_kafka.convert.to_kafka.entry_converter.EntryConverter",
        "__connect.errors.exception.class.name": b"ignite_kafka.errors.UnknownBinaryType",
        "ignite_kafka.errors.cache": cache.encode(),
        "ignite_kafka.errors.partition": b"-1",
        "ignite_kafka.errors.topic": cache.encode(),
    }
    with world.running(**letters) as run:
        await_change(world, run, 1_004)
        assert run.stop().caches[cache].bad == 0
    assert dead_letters(world, topic).keys() == wanted.keys()


def test_what_needs_the_service_is_refused_by_name(world: World) -> None:
    world.put("a", {1: "v"})
    with pytest.raises(BacklogMissing, match="FULL_SNAPSHOT or NONE"):
        world.run(failover_policy="BACKLOG", run_mode="once")
    with pytest.raises(SettingsError, match=r"provenance_headers is wrong: .* does not tell partition and update_counter"):
        world.run(provenance_headers=("cache", "partition", "update_counter"))


def test_queries_end_with_cache_cluster_or_connection(world: World, nodes: IgniteCluster) -> None:
    def queries(*caches: str) -> ContinuousQueries:
        connection = ThinConnection(IgniteEndpoint(nodes.addresses), IgniteCredentials())
        return ContinuousQueries(connection, caches, 100, expired=True)

    with pytest.raises(CacheNotFound):
        queries(f"{world.stem}-none")
    begun = queries(f"{world.stem}-a")
    world.put("a", {1: "v"})
    found = begun.read(DEADLINE_S)
    assert found is not None
    assert (found.page.rows, found.removed.tolist()) == (1, [False])
    begun.end()
    while not begun.ended:
        begun.read(0.1)
    begun.close()
    assert begun.lost
    with pytest.raises(IgniteUnreachable):
        begun.read(0.1)
