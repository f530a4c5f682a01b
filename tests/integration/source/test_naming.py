"""Topics, caches and settings by expression on a real node, a real broker and a real Spark session."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import ConfigResource
from pyignite import GenericObjectMeta
from pyignite.datatypes import LongObject, String
from pyspark.sql import SparkSession

from ignite_kafka.cli.views import plan_view
from ignite_kafka.errors import SettingsError, SnapshotConflict, TopicError
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.kafka.topics import Topics, TopicSpec, read_to_end
from ignite_kafka.run import RunRequest, run_source
from ignite_kafka.runtime.clients import ignite_cluster, kafka_clients
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.planning import make_plan
from ignite_kafka.state import status
from ignite_kafka.state.status import RunStatus
from tests.support.waiting import DEADLINE_S, wait_until
from tools.compare_topics import verify
from tools.servers import IgniteCluster, KafkaBroker


class World:
    """Caches ``<stem>-eu-orders``, ``<stem>-us-orders`` and ``<stem>-plain`` of one test, and connectors over them."""

    def __init__(self, spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> None:
        self.spark, self.ignite = spark, ignite
        self.stem = f"n{uuid.uuid4().hex[:8]}"
        common: dict[str, Any] = {"ignite_addresses": ignite.addresses, "bootstrap_servers": kafka.bootstrap}
        common |= {"internal_topic_prefix": f"in-{self.stem}", "slots": 2}
        self.source = SourceSettings(
            name=self.stem,
            cache_whitelist=(f"{self.stem}-.*",),
            topic_prefix="p-",
            topic_names={f"{self.stem}-(?<region>..)-(.*)": rf"{self.stem}.$2.${{region}}"},
            topic_partitions=1,
            **common,
        )
        self.sink = SinkSettings(
            name=f"{self.stem}-back",
            topics_regex=f".*{self.stem}[.-].*",
            cache_names={rf"{self.stem}\.(?<what>.*)\.(..)": f"{self.stem}-back-$2-${{what}}"},
            topic_prefix=f"p-{self.stem}-",
            cache_prefix=f"{self.stem}-back-",
            **common,
        )
        self.clients = kafka_clients(self.source, Secrets())
        self.put("eu-orders", {1: "eu 1", 2: "eu 2"})
        self.put("us-orders", {1: "us 1"})
        self.put("plain", {7: "seven"})

    def put(self, cache: str, values: dict[int, str]) -> None:
        with self.ignite.client() as client:
            client.get_or_create_cache(f"{self.stem}-{cache}").put_all(values)

    def entries(self, cache: str) -> dict[int, str]:
        with self.ignite.client() as client, client.get_cache(f"{self.stem}-{cache}").scan() as cursor:
            return dict(cursor)

    def run(self, snapshot_id: str | None = None, **changed: Any) -> RunStatus:
        return run_source(self.spark, RunRequest(replace(self.source, **changed), uuid.uuid4().hex, snapshot_id))

    def messages(self, topic: str) -> list[tuple[bytes | None, bytes | None]]:
        topics = Topics(self.clients)
        count = topics.existing().get(topic, 0)
        return [(one.key(), one.value()) for one in read_to_end(self.clients, topics, topic, list(range(count)))] if count else []

    def verified(self, **changed: Any) -> dict[str, bool]:
        """Whether each topic equals its cache, by the cache's name without the stem."""
        settings = replace(self.source, **changed)
        with ignite_cluster(settings, Secrets()) as cluster:
            plan = make_plan(settings, cluster, Topics(self.clients), "any", 2)
            return {one.cache.removeprefix(f"{self.stem}-"): one.equal for one in verify(plan, cluster, self.clients)}

    @contextmanager
    def running(self, **changed: Any) -> Iterator[Callable[[Callable[[], bool], str], None]]:
        """A stream beside the test; the function waits for a condition while it runs."""
        stream: dict[str, Any] = {"run_mode": "continuous", "failover_policy": "BACKLOG", "poll_interval_ms": 50, **changed}
        stream |= {"cache_list_poll_interval_ms": 300, "backlog_flush_freq_ms": 20}
        request = RunRequest(replace(self.source, **stream), uuid.uuid4().hex)
        with ThreadPoolExecutor(1) as thread:
            run = thread.submit(run_source, self.spark, request)

            def awaited(true: Callable[[], bool], what: str) -> None:
                def true_of_a_living_run() -> bool:
                    assert not run.done(), run.result()
                    return true()

                wait_until(true_of_a_living_run, what)

            try:
                yield awaited
            finally:
                request.stop.set()
                run.exception(DEADLINE_S)

    def records(self, topic: str) -> dict[Any, Any]:
        """Key and value of the last record of each key, as JSON."""
        topics = Topics(self.clients)
        count = topics.existing().get(topic, 0)
        found = read_to_end(self.clients, topics, topic, list(range(count))) if count else ()
        return {json.loads(one.key() or b""): json.loads(one.value() or b"null") for one in found}


@pytest.fixture
def world(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, ignite, kafka)
    yield made
    with ignite_cluster(made.source, Secrets()) as cluster:
        cluster.ask(lambda connection: BacklogService(connection, None).force_stop(made.stem, True))
    ignite.destroy_caches(made.stem)


def test_a_missing_topic_is_an_error_if_topics_are_not_to_be_created(world: World) -> None:
    """As for Kafka Connect, whose worker has topic.creation.enable=false, on brokers that create no topics."""
    topics = Topics(world.clients)
    there, missing = [f"{world.stem}.orders.eu", f"{world.stem}.orders.us"], f"p-{world.stem}-plain"
    topics.ensure([TopicSpec(name, 1) for name in there])
    with pytest.raises(TopicError, match="the topic does not exist, and create_topics is false") as raised:
        world.run(create_topics=False)
    assert raised.value.where["topic"] == [missing]
    assert missing not in topics.existing()
    assert not [one for name in there for one in read_to_end(world.clients, topics, name, [0])], "nothing is sent before the error"
    topics.ensure([TopicSpec(missing, 1)])
    assert world.run(create_topics=False).caches[f"{world.stem}-plain"].records == 1


def test_caches_go_to_topics_by_expression(world: World) -> None:
    assert world.run("one").state == status.COMPLETED
    names = {name: cache.topic for name, cache in world.run("one").caches.items()}
    stem = world.stem
    assert names == {f"{stem}-eu-orders": f"{stem}.orders.eu", f"{stem}-us-orders": f"{stem}.orders.us", f"{stem}-plain": f"p-{stem}-plain"}
    assert world.records(f"{stem}.orders.eu") == {1: "eu 1", 2: "eu 2"}
    assert world.records(f"{stem}.orders.us") == {1: "us 1"}
    assert world.records(f"p-{stem}-plain") == {7: "seven"}
    with pytest.raises(SettingsError, match=f"caches {stem}-eu-orders .* and {stem}-us-orders .* collide: they are one topic"):
        world.run("two", topic_names={f"{stem}-..-(.*)": "$1"})


def test_groups_decide_how_missing_topics_are_created(world: World) -> None:
    groups = {
        "eu": {"include": [r".*\.eu"], "partitions": 3, "retention.ms": "7200000"},
        "orders": {"include": [r".*\.orders\..*"], "exclude": [".*x"], "partitions": 2, "replication.factor": 1},
    }
    more: dict[str, Any] = {"topic_creation_groups": groups, "topic_config": {"cleanup.policy": "compact"}}
    shown = {one.topic: one for one in plan_view(replace(world.source, **more), Secrets()).caches}
    eu, us, plain = (f"{world.stem}.orders.eu", f"{world.stem}.orders.us", f"p-{world.stem}-plain")
    assert {name: (one.topic_partitions, one.replication_factor) for name, one in shown.items()} == {
        eu: (3, None),
        us: (2, 1),
        plain: (1, None),
    }
    world.run(**more)
    states = Topics(world.clients).describe([eu, us, plain])
    assert {name: (state.partitions, state.cleanup_policy) for name, state in states.items()} == {
        eu: (3, "delete"),
        us: (2, "delete"),
        plain: (1, "compact"),
    }
    resource = ConfigResource(ConfigResource.Type.TOPIC, eu)
    admin, _ = world.clients.admin()
    assert admin.describe_configs([resource])[resource].result()["retention.ms"].value == "7200000"


def test_topics_go_to_caches_by_expression(world: World) -> None:
    world.run()
    result = run_sink(world.spark, RunRequest(world.sink, uuid.uuid4().hex))
    assert result.state == status.COMPLETED
    for cache in ("eu-orders", "us-orders", "plain"):
        assert world.entries(f"back-{cache}") == world.entries(cache)
    together = replace(world.sink, cache_names={rf"{world.stem}\.(.*)\...": "$1"})
    with pytest.raises(SettingsError, match=r"topics .*\.eu \(by cache_names .* and .*\.us .* go to one cache"):
        run_sink(world.spark, RunRequest(together, uuid.uuid4().hex))


def test_a_new_cache_of_a_stream_gets_its_topic_by_expression(world: World) -> None:
    with world.running() as awaited:
        awaited(lambda: world.records(f"{world.stem}.orders.eu") == {1: "eu 1", 2: "eu 2"}, "the first caches are sent")
        world.put("ca-orders", {5: "ca 5"})
        awaited(lambda: world.records(f"{world.stem}.orders.ca") == {5: "ca 5"}, "the new cache is sent")
        world.put("ca-orders", {5: "ca 6"})
        awaited(lambda: world.records(f"{world.stem}.orders.ca") == {5: "ca 6"}, "its change is sent")
    stream: dict[str, Any] = {"run_mode": "continuous", "failover_policy": "BACKLOG", "backlog_flush_freq_ms": 20}
    changed = {**stream, "topic_names": {f"{world.stem}-(.*)": f"other.{world.stem}.$1"}}
    with pytest.raises(TopicError, match=rf"was sent to topic {world.stem}\.orders\.") as refused:
        world.run(**changed)
    assert "offsets reset" in str(refused.value)
    assert not [topic for topic in Topics(world.clients).existing() if topic.startswith(f"other.{world.stem}")]
    same = {f"{world.stem}-(..)-(?<what>[a-z]+)": f"{world.stem}.${{what}}.$1"}
    assert world.run(**{**stream, "run_mode": "once", "topic_names": same}).state == status.COMPLETED


def test_caches_have_settings_of_their_own(world: World) -> None:
    """One cache as Ignite's bytes, one as JSON of another form, in one connector; each topic has the uses of its own types."""
    kinds: Any = [GenericObjectMeta(f"{name}{world.stem}", (), {}, schema={"id": LongObject, "name": String}) for name in ("Raw", "Plain")]
    with world.ignite.client() as client:
        for kind, cache in zip(kinds, ("eu-orders", "us-orders"), strict=True):
            client.get_cache(f"{world.stem}-{cache}").put_all({number: kind(number, f"n{number}") for number in range(20)})
    raw = {"key_converter": "ignite-binary", "value_converter": "ignite-binary", "topic_partitions": 3}
    overrides: dict[str, Any] = {f"{world.stem}-eu-.*": raw, ".*-plain": {"topic": f"{world.stem}.renamed"}}
    assert world.run("one", overrides=overrides).state == status.COMPLETED
    assert world.verified(overrides=overrides) == {"eu-orders": True, "us-orders": True, "plain": True}
    assert world.records(f"{world.stem}.renamed") == {7: "seven"}
    eu = dict(world.messages(f"{world.stem}.orders.eu"))
    assert (b"\x04" + (3).to_bytes(8, "little")) in eu
    assert {value[:1] for value in eu.values() if value} == {b"\x67"}
    assert world.records(f"{world.stem}.orders.us")[3] == {"id": 3, "name": "n3"}
    partitions = Topics(world.clients).existing()
    assert [partitions[f"{world.stem}.{name}"] for name in ("orders.eu", "orders.us", "renamed")] == [3, 1, 1]
    keys = [json.loads(key or b"") for key, _ in world.messages(f"in-{world.stem}-types")]
    uses = {(key[1].removeprefix(f"{world.stem}."), key[2], key[4]) for key in keys if key[0] == "use" and world.stem in key[4]}
    assert uses == {("orders.eu", "any", f"Raw{world.stem}"), ("orders.us", "value", f"Plain{world.stem}")}


def test_overrides_are_fixed_in_a_snapshot(world: World) -> None:
    overrides: dict[str, Any] = {".*-plain": {"decimal_format": "NUMERIC"}}
    with pytest.raises(TopicError):
        world.run("one", overrides=overrides, topic_config={"no.such.config": "1"})
    world.run("one", overrides=overrides)
    with pytest.raises(SnapshotConflict, match="settings differ from those the snapshot was begun with: overrides was"):
        plan_view(replace(world.source, overrides={".*-plain": {"decimal_format": "BASE64"}}), Secrets(), "one")
    assert plan_view(replace(world.source, overrides=overrides), Secrets(), "one").state == "complete"


def test_topics_have_settings_of_their_own(world: World) -> None:
    topics = (f"{world.stem}.by.k1", f"{world.stem}.by.v1")
    Topics(world.clients).ensure([TopicSpec(topic, 1) for topic in topics])
    producer = Producer({"bootstrap.servers": world.sink.bootstrap_servers})
    for topic, key, value in ((f"{world.stem}.by.v1", "ignored", '{"id":7,"name":"seven"}'), (f"{world.stem}.by.k1", "8", '"eight"')):
        producer.produce(topic, value, key)
    assert producer.flush(DEADLINE_S) == 0
    by_value = {"key_policy": "value", "key_fields": ["id"], "cache_atomicity": "TRANSACTIONAL", "cache": f"{world.stem}-named"}
    sink = replace(world.sink, topics=topics, topics_regex="", overrides={r".*\.by\.v\d": by_value})
    assert run_sink(world.spark, RunRequest(sink, uuid.uuid4().hex)).state == status.COMPLETED
    with world.ignite.client() as client, client.get_cache(f"{world.stem}-named").scan() as cursor:
        assert {key: value.name for key, value in cursor} == {7: "seven"}
    assert world.entries("back-k1-by") == {8: "eight"}
    with ignite_cluster(sink, Secrets()) as cluster:
        assert cluster.cache(f"{world.stem}-named").atomicity == "TRANSACTIONAL"
        assert cluster.cache(f"{world.stem}-back-k1-by").atomicity == "ATOMIC"


def test_a_stream_has_settings_of_its_own_for_a_later_cache_and_for_tombstones(world: World) -> None:
    raw = {"key_converter": "ignite-binary", "value_converter": "ignite-binary"}
    stream: dict[str, Any] = {"overrides": {".*-(eu|ca)-.*": raw}, "process_removals": True, "failover_policy": "FULL_SNAPSHOT"}
    eu, us, ca = (f"{world.stem}.orders.{region}" for region in ("eu", "us", "ca"))
    with world.running(**stream) as awaited:
        awaited(lambda: (len(world.messages(eu)), len(world.messages(us))) == (2, 1), "the first caches are sent")
        world.put("ca-orders", {5: "ca 5"})
        awaited(lambda: [key for key, _ in world.messages(ca)] == [b"\x04" + (5).to_bytes(8, "little")], "the new cache is sent")
    with world.ignite.client() as client:
        client.get_cache(f"{world.stem}-eu-orders").remove_key(1)
        client.get_cache(f"{world.stem}-us-orders").remove_key(1)
    with world.running(**stream) as awaited:
        gone = {eu: b"\x04" + (1).to_bytes(8, "little"), us: b"1"}
        awaited(lambda: all((key, None) in world.messages(topic) for topic, key in gone.items()), "the removed keys have tombstones")
    assert world.verified(**stream) == {"eu-orders": True, "us-orders": True, "plain": True, "ca-orders": True}
