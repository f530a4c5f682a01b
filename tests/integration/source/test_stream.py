"""Streams on a real node with the backlog service, a real broker and a real Spark session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from confluent_kafka import OFFSET_END, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, ResourceType
from pyspark.sql import SparkSession

from ignite_kafka import events
from ignite_kafka.admin.offsets import reset
from ignite_kafka.errors import BacklogMissing, BacklogRefused, CacheDestroyed, Fenced, OffsetsLost, SettingsError, TopicError
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.runtime.clients import ignite_cluster
from ignite_kafka.runtime.epoch import Epoch
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.source.planning import make_plan
from ignite_kafka.source.stream import run as backlog
from ignite_kafka.source.stream.capture import Capture, owner_of
from ignite_kafka.source.stream.task import stream_slots
from ignite_kafka.source.topic_creation import ensure_topics
from ignite_kafka.state import status
from ignite_kafka.state import target_state as target
from ignite_kafka.state.configs import epoch_of
from ignite_kafka.state.configs_writer import ConfigsWriter
from ignite_kafka.state.internal_names import configs_topic, offsets_topic
from ignite_kafka.state.internal_records import InternalRecord
from tests.support import emitted_events
from tests.support.event_log import event_log, ids
from tests.support.kept_events import assert_kept
from tests.support.stream_world import SLOTS, Part, World, await_that
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, KafkaBroker


@pytest.fixture
def world(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, ignite, kafka)
    yield made
    made.service(lambda service: service.force_stop(made.stem, True))


def test_entries_then_changes_each_once_and_in_order(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(500)})
    with world.running() as run:
        world.await_equal("a", run)
        assert len(world.records("a")) == 500
        world.change_in_turns("a")
        world.await_equal("a", run)
        ended = run.stop()
    assert ended.state == status.STOPPED
    assert ended.error is None
    assert len(world.records("a")) == 500 + 5 * 100 + 50
    of_key = [value for key, value in world.records("a") if key == b"60"]
    assert of_key == [b'"v60"', b'"w0-60"', b'"w1-60"', b'"w2-60"', b'"w3-60"']
    assert ended.caches[f"{world.stem}-a"].records == 1_050


def test_a_later_start_continues_where_the_first_stopped(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(300)})
    with world.running() as run:
        world.await_equal("a", run)
        run.stop()
    world.put("a", {key: f"w{key}" for key in range(100)})
    world.remove("a", list(range(200, 210)))
    with world.running() as run:
        world.await_equal("a", run)
        run.stop()
    assert len(world.records("a")) == 300 + 100 + 10


def test_once_sends_the_changes_since_the_last_run_and_ends(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(300)})
    first = world.run(run_mode="once")
    assert first.state == status.COMPLETED
    assert first.caches[f"{world.stem}-a"].records == 300
    world.put("a", {key: f"w{key}" for key in range(250, 350)})
    world.remove("a", [1, 2])
    second = world.run(run_mode="once")
    assert second.caches[f"{world.stem}-a"].records == 102
    assert world.verified("a").equal
    assert world.run(run_mode="once").caches[f"{world.stem}-a"].records == 0
    assert len(world.records("a")) == 402


def test_a_deleted_topic_is_sent_whole_or_not_at_all(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(300)})
    world.run(run_mode="once")
    topics, topic = Topics(world.clients), f"{world.stem}-a"
    admin, _ = world.clients.admin()
    admin.delete_topics([topic])[topic].result()
    world.put("a", {key: f"w{key}" for key in range(100)})
    with pytest.raises(TopicError, match=f"the topic was deleted, .* `ignite-kafka offsets reset {world.stem} --cache {topic}"):
        world.run(run_mode="once")
    assert topic not in topics.existing()
    reset(world.settings, Secrets(), topic)
    with world.running() as run:
        world.await_equal("a", run)
        admin.delete_topics([topic])[topic].result()
        world.put("a", {key: f"x{key}" for key in range(10)})
        with pytest.raises(TopicError, match="was deleted during the run"):
            run.ended.result(DEADLINE_S)


def test_a_topic_that_grows_ends_the_run_and_is_not_gone_on_in(world: World) -> None:
    """Before, the second run went on: records of a key were in two partitions, and had no order."""
    world.put("a", {key: f"v{key}" for key in range(300)})
    (admin, _), topic = world.clients.admin(), f"{world.stem}-a"
    with world.running() as run:
        world.await_equal("a", run)
        await_that(world.snapshot_complete, "the end of the snapshot", run)
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result()
        await_that(lambda: Topics(world.clients).partitions(topic) == 3, "the new partition", run)
        world.put("a", {key: f"w{key}" for key in range(100)})
        with pytest.raises(TopicError, match="has 3 partitions now, and had 2 when the run was planned"):
            run.ended.result(DEADLINE_S)
    with pytest.raises(TopicError, match="has 3 partitions now, and had 2 when the cache was sent to it"):
        world.run(run_mode="once")
    assert len(list(read_to_end(world.clients, Topics(world.clients), topic, [2]))) == 0
    again = world.run(run_mode="once", failover_policy="FULL_SNAPSHOT")
    assert (again.caches[topic].records, again.events["15176"]) == (300, 1)
    world.run(run_mode="once")  # the plan has the new number now
    assert_kept(world.settings, events.TOPIC_GREW)


def test_deleted_offsets_end_the_next_run(world: World) -> None:
    """As by retention while the policy was not compact. Before, the next run sent all again in silence."""
    world.put("a", {key: f"v{key}" for key in range(30)})
    world.run(run_mode="once")
    admin, name = world.clients.admin()[0], offsets_topic(world.settings.internal_topic_prefix, world.stem)
    entry = ConfigEntry("cleanup.policy", "compact,delete", incremental_operation=AlterConfigOpType.SET)
    (altered,) = admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])]).values()
    altered.result()

    def deleted() -> bool:  # the broker learns of the policy after the controller
        try:
            for answer in admin.delete_records([TopicPartition(name, slot, OFFSET_END) for slot in range(SLOTS)]).values():
                answer.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.POLICY_VIOLATION:
                raise
            return False
        return True

    await_that(deleted, "the end of the offsets")
    with pytest.raises(OffsetsLost, match="were deleted, by retention or by a request"):
        world.run(run_mode="once")
    assert len(world.records("a")) == 30


def test_a_rate_limit_delays_no_stop(world: World) -> None:
    """At two records a second the remaining records would take minutes."""
    world.put("a", {key: f"v{key}" for key in range(500)})
    with world.running(max_records_per_second=2) as run:
        await_that(lambda: len(world.records("a")) >= 5, "the first records", run)
        stopped = run.stop()
    sent = stopped.caches[f"{world.stem}-a"].records
    assert 5 <= sent < 100
    with world.running() as run:
        world.await_equal("a", run)
        run.stop()
    assert len(world.records("a")) == 500


def epoch_of_run(world: World) -> int:
    topics, configs = Topics(world.clients), configs_topic(world.settings.internal_topic_prefix)
    records = read_to_end(world.clients, topics, configs, [0])
    return max(epoch_of(world.stem, record)[1] for record in filter(None, map(InternalRecord.of, records)))


def test_a_run_reports_progress_within_its_first_epoch(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(300)})
    with world.running(progress_interval_ms=200) as run:
        world.await_equal("a", run)
        await_that(lambda: run.records(world, "a") == 300, "entries in the status", run)
        await_that(lambda: world.snapshot_complete(), "the end of the initial load", run)
        world.put("a", {key: f"w{key}" for key in range(100)})
        await_that(lambda: run.records(world, "a") == 400, "changes in the status", run)
        assert epoch_of_run(world) == 1
        ended = run.stop()
    assert ended.caches[f"{world.stem}-a"].records == 400
    assert ended.caches[f"{world.stem}-a"].units_done == ended.caches[f"{world.stem}-a"].units


def test_tasks_that_wait_for_a_core_get_one_in_a_later_epoch(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores, four tasks of a slot each."""
    monkeypatch.setattr(backlog, "LOADING_S", 1.0)
    monkeypatch.setattr(backlog, "STREAMING_S", 1.0)
    world.put("a", {key: f"v{key}" for key in range(300)})
    with world.running(tasks_max=4) as run:
        world.await_equal("a", run)
        world.put("a", {key: f"w{key}" for key in range(300)})
        world.await_equal("a", run)
        run.stop()
    assert len(world.records("a")) == 600


def test_policy_none_begins_from_now_and_leaves_no_backlog(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(200)})
    with world.running(failover_policy="NONE") as run:
        world.await_equal("a", run)
        run.stop()
    assert world.stem not in world.service(lambda service: service.connectors())
    world.put("a", {1: "lost"})
    with world.running(failover_policy="NONE") as run:
        await_that(lambda: world.stem in world.service(lambda service: service.connectors()), "capture", run)
        await_that(lambda: run.state(world) == status.RUNNING, "start", run)
        world.put("a", {2: "sent"})
        await_that(lambda: (b"2", b'"sent"') in world.records("a"), "the change", run)
        run.stop()
    assert (b"1", b'"lost"') not in world.records("a")
    assert len(world.records("a")) == 201


def test_policy_full_snapshot_sends_all_again(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(200)})
    with world.running(failover_policy="FULL_SNAPSHOT") as run:
        world.await_equal("a", run)
        run.stop()
    world.put("a", {1: "changed"})
    with world.running(failover_policy="FULL_SNAPSHOT") as run:
        await_that(lambda: len(world.records("a")) == 400, "all entries once more", run)
        world.await_equal("a", run)
        run.stop()


def test_pause_resume_stop(world: World) -> None:
    world.put("a", {1: "v"})
    before = Counter(emitted_events.counts())
    with world.running() as run:
        world.await_equal("a", run)
        world.ask(target.PAUSED)
        await_that(lambda: run.state(world) == status.PAUSED, "pause", run)
        world.put("a", {2: "w"})
        assert len(world.records("a")) == 1
        world.ask(target.RUNNING)
        world.await_equal("a", run)
        world.ask(target.PAUSED)
        await_that(lambda: run.state(world) == status.PAUSED, "pause", run)
        world.ask(target.STOPPED)
        assert run.ended.result(DEADLINE_S).state == status.STOPPED
    emitted = Counter(emitted_events.counts()) - before
    assert [emitted[event.id] for event in (events.IGNITE_CONNECTED, events.CAPTURE_KEPT, events.IGNITE_DISCONNECTED)] == [1, 1, 1]
    assert_kept(world.settings, events.IGNITE_CONNECTED, events.CAPTURE_BEGUN, events.TARGET_CHANGED, events.CAPTURE_KEPT)
    world.ask(target.PAUSED)
    with pytest.raises(SettingsError, match="paused"):
        world.run(run_mode="once")


def test_caches_come_and_go_and_come_back(world: World) -> None:
    with world.running() as run:
        await_that(lambda: run.state(world) == status.RUNNING, "start without any cache", run)
        world.put("a", {key: f"v{key}" for key in range(100)})
        world.await_equal("a", run)
        with event_log() as emitted:
            world.destroy("a")
            await_that(lambda: events.CACHES_CHANGED.id in ids(emitted), "the end of its only cache", run)
        world.put("a", {key: f"w{key}" for key in range(100)})
        world.await_equal("a", run)
        world.put("b", {key: f"v{key}" for key in range(100)})
        world.put("a", {5: "w"})
        world.await_equal("b", run)
        world.await_equal("a", run)
        world.destroy("b")
        world.put("b", {key: f"again{key}" for key in range(50, 100)})
        await_that(lambda: (b"99", b'"again99"') in world.records("b"), "the cache that was made again", run)
        world.put("b", {200: "more"})
        await_that(lambda: (b"200", b'"more"') in world.records("b"), "its changes", run)
        world.put("a", {6: "w"})
        world.await_equal("a", run)
        assert run.stop().state == status.STOPPED
    assert_kept(world.settings, events.CACHES_CHANGED)


def test_a_cache_that_was_made_again_is_not_sent_under_the_old_capture(world: World) -> None:
    world.put("a", {1: "old"})
    settings, topics, prefix, name = world.settings, Topics(world.clients), world.settings.internal_topic_prefix, f"{world.stem}-a"
    status.StatusWriter.ensure_topic(topics, prefix, 1)
    with closing(ConfigsWriter(world.clients, topics, prefix, world.stem)) as control, ignite_cluster(settings, Secrets()) as cluster:
        capture = Capture(settings, cluster, owner_of(topics, prefix))
        captured = capture.start([name])
        plan = make_plan(settings, cluster, topics, "s", SLOTS)
        cache = captured.named(plan.caches[0], capture.deployments()[name])
        plan = ensure_topics(replace(plan, caches=(cache,), capture_id=captured.capture_id, generation=1), topics)
        control.ensure_capture_secret(control.take(SLOTS, "r", {}, 1))
        control.begin()
        control.begin_epoch(1)
        world.destroy("a")
        world.put("a", {key: f"v{key}" for key in range(40)})  # before the driver sees it
        results = list(stream_slots(plan, Secrets(), range(SLOTS), 0, Epoch(1, 0, seconds=5.0)))
    assert {type(result.error) for result in results} == {CacheDestroyed}
    assert world.records("a") == []


def test_objects_as_ignite_binary(world: World) -> None:
    world.settings = replace(world.settings, key_converter="ignite-binary", value_converter="ignite-binary")
    world.put("a", {key: Part(key, f"part {key}") for key in range(100)})
    with world.running() as run:
        world.await_equal("a", run)
        world.put("a", {key: Part(key, None) for key in range(50, 150)})
        world.remove("a", [0, 1])
        assert world.await_equal("a", run).entries == 148
        run.stop()


def test_a_second_start_fences_the_first(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(100)})
    with world.running() as first:
        world.await_equal("a", first)
        with world.running() as second:
            with pytest.raises(Fenced):
                first.ended.result(DEADLINE_S)
            world.put("a", {1: "w"})
            world.await_equal("a", second)
            second.stop()
    assert len(world.records("a")) == 101


def test_nodes_without_the_service(world: World, ignite_cluster: Callable[..., IgniteCluster]) -> None:
    bare = ignite_cluster(backlog_mib=0)
    with pytest.raises(BacklogMissing, match="no node of the cluster has the backlog service"):
        world.run(ignite_addresses=bare.addresses)


def test_a_users_cache_with_the_backlogs_name_is_not_touched(world: World) -> None:
    base = f"orders-{world.stem}"
    world.put("a", {1: "one"})
    with world.ignite.client() as client:
        orders = client.create_cache(f"{base}-{world.stem}")
        try:
            orders.put_all(dict.fromkeys(range(100), "order"))
            with pytest.raises(BacklogRefused, match="backlog_cache_name") as refused, world.running(backlog_cache_name=base) as run:
                run.ended.result(DEADLINE_S)
            assert refused.value.where["code"] == "FOREIGN_CACHE"
            assert orders.get_size() == 100
        finally:
            orders.destroy()


def test_only_its_connector_may_acknowledge_or_stop_a_capture(world: World) -> None:
    world.put("a", {1: "one"})
    with world.running() as run:
        world.await_equal("a", run)
        with pytest.raises(BacklogRefused, match="secret") as refused:
            world.service(lambda service: service.stop(world.stem, True))
        assert refused.value.where["code"] == "FORBIDDEN"
        world.put("a", {2: "two"})
        world.await_equal("a", run)
        run.stop()
