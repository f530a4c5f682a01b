"""Two caches in one topic by a header with their names, and back into two caches, on real servers."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from confluent_kafka import Producer
from pyignite import GenericObjectMeta
from pyignite.datatypes import LongObject, String
from pyspark.sql import SparkSession

from ignite_kafka.errors import TopicError
from ignite_kafka.kafka.cache_headers import cache_in
from ignite_kafka.kafka.topics import Topics, TopicSpec, read_to_end
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.topic_names import types_topic
from ignite_kafka.sink.run import run_sink
from ignite_kafka.state.status import RunStatus
from tests.support.stream_world import World, await_that
from tests.support.verified_results import counts, verified
from tests.support.waiting import REQUEST_S
from tools.servers import IgniteCluster, KafkaBroker, SchemaRegistry

COPY = "copy-of-"
ORDERS, RETURNS = "orders", "returns"


@pytest.fixture
def world(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, ignite, kafka)
    topic = f"{made.stem}-shop"
    made.settings = replace(made.settings, topic_names={".*": topic}, cache_header="cache", key_converter="json", value_converter="json")
    yield made
    made.service(lambda service: service.force_stop(made.stem, True))
    ignite.destroy_caches(made.stem, COPY + made.stem)


class Stored:
    """A sink of the world's topic into copies of its caches."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.settings = SinkSettings(
            name=f"{world.stem}-sink",
            ignite_addresses=world.settings.ignite_addresses,
            bootstrap_servers=world.settings.bootstrap_servers,
            topics=(f"{world.stem}-shop",),
            cache_header="cache",
            header_caches=(f"{world.stem}-(orders|returns)",),
            cache_prefix=COPY,
            internal_topic_prefix=f"in-{world.stem}-sink",
            types_topic=types_topic(world.settings.internal_topic_prefix),
            process_updates=True,
            error_handling_policy="LOG_ONLY",
            slots=2,
            delivery="strict",
        )

    def run(self) -> RunStatus:
        return run_sink(self._world.spark, RunRequest(self.settings, uuid.uuid4().hex))

    def entries(self, cache: str) -> dict[int, Any]:
        return contents(self._world, f"{COPY}{self._world.stem}-{cache}")


def contents(world: World, cache: str) -> dict[int, Any]:
    with world.ignite.client() as client, client.get_cache(cache).scan() as cursor:
        return dict(cursor)


def source_entries(world: World, cache: str) -> dict[int, Any]:
    return contents(world, f"{world.stem}-{cache}")


def written(world: World) -> list[tuple[str, bytes, bytes | None]]:
    """The topic's records: last name in the header without the connector's stem, key and value."""
    topics, topic = Topics(world.clients), f"{world.stem}-shop"
    if topic not in topics.existing():
        return []
    records = []
    for message in read_to_end(world.clients, topics, topic, [0, 1]):
        name: Any = cache_in(cast(Any, message.headers()), "cache")
        records.append(((name or b"").decode().removeprefix(f"{world.stem}-"), message.key() or b"", message.value()))
    return records


def last_values(world: World) -> dict[str, dict[bytes, bytes]]:
    """By the name in their header, the last value of each key that was not removed after it."""
    last: dict[str, dict[bytes, bytes]] = defaultdict(dict)
    for name, key, value in written(world):
        last[name].pop(key, None)
        if value is not None:
            last[name][key] = value
    return last


def count_names(world: World) -> Counter[str]:
    return Counter(name for name, _, _ in written(world))


def send_foreign(world: World, *names: str | None) -> None:
    """Write a record of key 1 for each name in the header; None: without the header."""
    producer = Producer({"bootstrap.servers": world.settings.bootstrap_servers})
    for name in names:
        producer.produce(f"{world.stem}-shop", b'"foreign"', b"1", headers=None if name is None else [("cache", name.encode())])
    assert producer.flush(REQUEST_S) == 0


def test_two_caches_with_equal_keys_share_a_topic_and_come_back_as_two(world: World) -> None:
    world.put(ORDERS, {key: f"order {key}" for key in range(40)})
    world.put(RETURNS, {key: f"return {key}" for key in range(30)})
    sink = Stored(world)
    orders = {b"%d" % key: b'"order %d"' % key for key in range(40) if key not in range(10, 20)} | {b"5": b'"order five"'}
    returns = {b"%d" % key: b'"return %d"' % key for key in range(30) if key not in range(15, 25)}
    with world.running() as source:
        await_that(world.snapshot_complete, "the snapshot", source)
        world.put(ORDERS, {5: "order five"})
        world.remove(ORDERS, list(range(10, 20)))
        world.remove(RETURNS, list(range(15, 25)))
        await_that(lambda: last_values(world) == {ORDERS: orders, RETURNS: returns}, "changes and removals", source)
        with world.ignite.client() as client:
            client.get_cache(f"{world.stem}-{RETURNS}").clear()  # is not captured: the tombstones are those of the reconciliation
        world.put(RETURNS, {1: "return one"})
        world.send_again(world.units(RETURNS))
        await_that(lambda: last_values(world)[RETURNS] == {b"1": b'"return one"'}, "tombstones of the cleared cache", source)
        source.stop()
    assert last_values(world)[ORDERS] == orders, "the reconciliation removes no key of the other cache"
    assert set(count_names(world)) == {ORDERS, RETURNS}
    sink.run()
    for cache, size in ((ORDERS, 30), (RETURNS, 1)):
        assert sink.entries(cache) == source_entries(world, cache)
        assert len(sink.entries(cache)) == size
    of_source, of_sink = verified(world), verified(world, sink.settings)
    for found in (of_source, of_sink):
        assert {name: (one.equal, one.result.entries) for name, one in found.items() if one.result.entries} == {
            ORDERS: (True, 30), RETURNS: (True, 1)
        }  # fmt: skip


@pytest.mark.long("test_two_caches_with_equal_keys_share_a_topic_and_come_back_as_two")
def test_repairs_send_and_store_records_of_their_cache_alone(world: World) -> None:
    """A cache that another program changed, and records that name no admitted cache."""
    world.settings = replace(world.settings, run_mode="once", failover_policy="NONE")
    world.put(ORDERS, {key: f"order {key}" for key in range(4)})
    world.put(RETURNS, {key: f"return {key}" for key in range(4)})
    world.run()
    sink = Stored(world)
    send_foreign(world, None, "ignite-sys-cache", f"{world.stem}-other")
    status = sink.run()
    assert sum(one.bad for one in status.caches.values()) == 3
    assert (sink.entries(ORDERS), sink.entries(RETURNS)) == (source_entries(world, ORDERS), source_entries(world, RETURNS))
    world.put(ORDERS, {1: "changed"})
    world.remove(ORDERS, [2])
    found = verified(world)
    assert (counts(found[ORDERS]), found[RETURNS].equal) == ((3, 4, 0, 1, 1), True)
    before = count_names(world)
    assert verified(world, repair=True)[ORDERS].repaired == 2
    assert count_names(world) - before == {ORDERS: 2}
    sink.run()
    with world.ignite.client() as client:
        client.get_cache(f"{COPY}{world.stem}-{RETURNS}").remove_key(3, key_hint=LongObject)
    repaired = verified(world, sink.settings, repair=True)
    assert (repaired[ORDERS].equal, repaired[RETURNS].repaired) == (True, 1)
    assert (sink.entries(ORDERS), sink.entries(RETURNS)) == (source_entries(world, ORDERS), source_entries(world, RETURNS))


@pytest.mark.long("test_two_caches_with_equal_keys_share_a_topic_and_come_back_as_two")
def test_a_compacted_topic_is_refused_before_anything_is_sent(world: World) -> None:
    world.put(ORDERS, {1: "order"})
    topics = Topics(world.clients)
    topics.ensure([TopicSpec(f"{world.stem}-shop", 2, 1, {"cleanup.policy": "compact"})])
    with pytest.raises(TopicError, match="is compacted"):
        world.run(run_mode="once", failover_policy="NONE")
    assert written(world) == []


def put_objects(world: World) -> None:
    """Objects of another type in each cache, under equal keys."""
    order: Any = GenericObjectMeta(f"Order{world.stem}", (), {}, schema={"id": LongObject, "customer": String})
    returned: Any = GenericObjectMeta(f"Return{world.stem}", (), {}, schema={"reason": LongObject})
    world.put(ORDERS, {key: order(key, f"c{key}") for key in range(8)})
    world.put(RETURNS, {key: returned(-key) for key in range(6)})


def registry_converters(form: str, registry: SchemaRegistry, strategy: str) -> dict[str, Any]:
    url = {"schema.registry.url": registry.url}
    value = {**url, "value.subject.name.strategy": strategy}
    return {"key_converter": form, "key_converter_config": url, "value_converter": form, "value_converter_config": value}


@pytest.mark.parametrize("form", ["avro", pytest.param("json-schema", marks=pytest.mark.long("avro"))])
def test_values_of_two_types_share_a_topic_if_each_has_a_subject(form: str, world: World, schema_registry: SchemaRegistry) -> None:
    once: dict[str, Any] = {"run_mode": "once", "failover_policy": "NONE"}
    converters = registry_converters(form, schema_registry, "TopicRecordNameStrategy")
    world.settings = replace(world.settings, **once, **converters)
    put_objects(world)
    world.run()
    sink = Stored(world)
    sink.settings = replace(sink.settings, **converters, error_handling_policy="STOP_TASK")
    sink.run()
    for cache, size in ((ORDERS, 8), (RETURNS, 6)):
        assert fields(sink.entries(cache)) == fields(source_entries(world, cache))
        assert len(sink.entries(cache)) == size


def fields(entries: dict[int, Any]) -> dict[int, tuple[str, dict[str, Any]]]:
    return {key: (value.type_name, {name: getattr(value, name) for name in value.schema}) for key, value in entries.items()}
