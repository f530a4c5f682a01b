"""Events that no other test of real servers provokes: each is read as `ignite-kafka events` reads it, after the run."""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions
from pyignite import GenericObjectMeta
from pyignite.datatypes import DecimalObject, LongObject, String, TimestampObject
from pyignite.datatypes.cache_config import WriteSynchronizationMode
from pyignite.datatypes.expiry_policy import ExpiryPolicy
from pyignite.datatypes.prop_codes import PROP_BACKUPS_NUMBER, PROP_EXPIRY_POLICY, PROP_NAME, PROP_WRITE_SYNCHRONIZATION_MODE
from pyspark.sql import SparkSession

from ignite_kafka import events
from ignite_kafka.errors import BacklogRefused, Fenced, IgniteKafkaError
from ignite_kafka.kafka.topics import Topics, TopicSpec
from ignite_kafka.state import status
from ignite_kafka.state import target_state as target
from ignite_kafka.state.internal_names import configs_topic
from tests.support.kept_events import assert_kept, kept
from tests.support.sink_connector import Running as RunningSink
from tests.support.sink_connector import Sink, trade
from tests.support.snapshot_world import World
from tests.support.stream_world import Part, await_that
from tests.support.stream_world import World as StreamWorld
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import DEADLINE_S, REQUEST_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker, SchemaRegistry

SCHEMAS = {"schemas.enable": "true"}


@pytest.fixture
def snapshots(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, ignite, kafka)
    made.settings = replace(made.settings, topic_prefix=f"{made.stem}-to-")
    yield made
    ignite.destroy_caches(made.stem)


@pytest.fixture
def stream(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[StreamWorld]:
    made = StreamWorld(spark, ignite, kafka)
    yield made
    made.service(lambda service: service.force_stop(made.stem, True))
    ignite.destroy_caches(made.stem)


def proxy_of(ignite: IgniteCluster) -> TcpProxy:
    return TcpProxy(int(ignite.address.rpartition(":")[2]))


def write(kafka: KafkaBroker, topic: str, key: bytes, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(topic, value, key, 0)
    assert producer.flush(REQUEST_S) == 0


# a source


def test_choices_of_a_snapshot(snapshots: World) -> None:
    with snapshots.ignite.client() as client:
        client.get_or_create_cache(f"{snapshots.stem}-a").put_all({key: f"v{key}" for key in range(20)})
    snapshots.run()
    assert snapshots.run(load_initial_data=False).state == status.COMPLETED
    assert_kept(snapshots.settings, events.UPDATES_NOT_CAPTURED, events.REMOVALS_NOT_SENT, events.TOPICS_MADE, events.NOTHING_TO_SEND)
    # TLS without verification to another host, which does not answer
    other = f"192.0.2.1:{uuid.uuid4().int % 60_000 + 1}"
    unverified: dict[str, Any] = {"ignite_tls_enabled": True, "ignite_tls_verify": False, "allow_insecure_connections": True}
    with pytest.raises(IgniteKafkaError):
        snapshots.run(ignite_addresses=(other,), ignite_connect_timeout_ms=1_000, retry_timeout_ms=1_000, **unverified)
    assert_kept(snapshots.settings, events.TLS_NOT_VERIFIED, events.INSECURE_CONNECTION)


def test_values_that_lose_something(snapshots: World) -> None:
    """An expiry policy, fractions of a millisecond, decimals without a scale, fields that the first value lacks."""
    name = f"{snapshots.stem}-values"
    kind = f"Value{snapshots.stem}"
    value: Any = GenericObjectMeta(kind, (), {}, schema={"a": String, "b": String, "at": TimestampObject, "price": DecimalObject})
    with snapshots.ignite.client() as client:
        cache = client.create_cache({PROP_NAME: name, PROP_EXPIRY_POLICY: ExpiryPolicy(create=datetime.timedelta(hours=1))})
        at = (datetime.datetime(2026, 1, 1), 500_000)
        # null fields have no place in a lazy schema, so either entry lacks a field of the other
        cache.put(1, value("x", None, at, decimal.Decimal("1.5")), key_hint=LongObject)
        cache.put(2, value(None, "y", at, decimal.Decimal("2.5")), key_hint=LongObject)
    snapshots.run(value_converter_config=SCHEMAS, is_schema_dynamic=False, tasks_max=1)
    snapshots.run(decimal_format="BASE64")  # without a schema, which has the scale
    assert_kept(snapshots.settings, events.ENTRIES_EXPIRE, events.FRACTIONS_CUT, events.DECIMAL_WITHOUT_SCALE, events.FIELD_LEFT_OUT)


def test_several_types_in_one_subject(snapshots: World, schema_registry: SchemaRegistry) -> None:
    with snapshots.ignite.client() as client:
        cache = client.get_or_create_cache(f"{snapshots.stem}-mixed")
        for number in (1, 2):
            kind: Any = GenericObjectMeta(f"Type{number}{snapshots.stem}", (), {}, schema={"id": LongObject})
            cache.put(number, kind(number), key_hint=LongObject)
    registry = {"schema.registry.url": schema_registry.url}
    snapshots.run(value_converter="avro", value_converter_config=registry, slots=1, error_handling_policy="LOG_ONLY")
    assert_kept(snapshots.settings, events.SEVERAL_TYPES_IN_SUBJECT)


# a stream


def test_a_backlog_that_the_nodes_refuse(stream: StreamWorld) -> None:
    stream.put("a", {1: "v"})
    with pytest.raises(BacklogRefused):
        stream.run(run_mode="once", backlog_memory_region_name="of-nobody")
    assert_kept(stream.settings, events.BACKLOG_FAILED)


def test_a_newer_run_and_partitions_that_are_sent_again(stream: StreamWorld) -> None:
    stream.put("a", {key: f"v{key}" for key in range(50)})
    with stream.running() as first:
        stream.await_equal("a", first)
        with stream.running() as second:
            with pytest.raises(Fenced):
                first.ended.result(DEADLINE_S)
            await_that(lambda: second.state(stream) == status.RUNNING, "the newer run", second)
            stream.send_again(stream.units("a")[:2])
            await_that(lambda: events.UNITS_SENT_AGAIN.id in kept(stream.settings), "their event", second)
    assert_kept(stream.settings, events.RUN_FENCED, events.UNITS_SENT_AGAIN)


def test_caches_states_and_partitions_that_change(stream: StreamWorld) -> None:
    stream.put("a", {key: f"v{key}" for key in range(50)})
    with stream.running() as run:
        stream.await_equal("a", run)
        stream.put("b", {1: "v"})
        stream.await_equal("b", run)
        stream.ask(target.PAUSED)
        await_that(lambda: run.state(stream) == status.PAUSED, "pause", run)
        run.stop()
    (admin, _), topic = stream.clients.admin(), f"{stream.stem}-a"
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result()
    wait_until(lambda: Topics(stream.clients).partitions(topic) == 3, "the new partition")
    stream.ask(target.RUNNING)
    stream.run(run_mode="once", failover_policy="FULL_SNAPSHOT")
    assert_kept(stream.settings, events.IGNITE_CONNECTED, events.CAPTURE_BEGUN, events.CAPTURE_KEPT)
    assert_kept(stream.settings, events.CACHES_CHANGED, events.TARGET_CHANGED, events.TOPIC_GREW, events.RUN_STOPPED)


def test_a_lost_capture_and_a_key_that_cannot_be_converted_back(stream: StreamWorld, kafka: KafkaBroker) -> None:
    stream.put("a", {key: f"v{key}" for key in range(50)})
    stream.run(run_mode="once")
    stream.service(lambda service: service.force_stop(stream.stem, True))
    write(kafka, f"{stream.stem}-a", b"{", b'"of another program"')
    stream.run(run_mode="once")
    assert_kept(stream.settings, events.CAPTURE_LOST, events.KEYS_NOT_READ_BACK)


def test_a_connection_that_breaks(stream: StreamWorld, ignite: IgniteCluster) -> None:
    stream.put("a", {key: f"v{key}" for key in range(50)})
    with proxy_of(ignite) as proxy, stream.running(ignite_addresses=(proxy.address,), progress_interval_ms=200) as run:
        stream.await_equal("a", run)
        TcpProxy.cut_all([proxy], 2.0)
        stream.put("a", {1: "behind the cut"})
        stream.await_equal("a", run)
        await_that(lambda: events.QUERY_FAILED.id in kept(stream.settings), "the event of the task", run)
    assert_kept(stream.settings, events.QUERY_FAILED, events.UNIT_REDONE, events.IGNITE_DISCONNECTED)


def test_keys_that_transforms_make_and_a_record_of_another_program(stream: StreamWorld, kafka: KafkaBroker) -> None:
    stream.put("parts", {key: Part(key, f"part {key}") for key in range(3)})
    prefix = stream.settings.internal_topic_prefix
    Topics(stream.clients).ensure([TopicSpec(configs_topic(prefix), 1, 1, {"cleanup.policy": "compact"})])
    write(kafka, configs_topic(prefix), b"no key of ours", b"{")
    hoist = {"type": "org.apache.kafka.connect.transforms.HoistField$Key", "field": "id"}
    stream.run(run_mode="once", transforms=("h",), transform_config={"h": hoist})
    assert_kept(stream.settings, events.TRANSFORMED_KEYS, events.RECORD_SKIPPED)


# a sink


def test_choices_of_a_sink(sink: Sink) -> None:
    sink.send([(b"1", b'{"x":"NaN","y":["NaN"]}'), (b"2", b'{"x":"NaN","y":["NaN"]}')], partition=0)
    with sink.ignite.client() as client:
        later = WriteSynchronizationMode.PRIMARY_SYNC
        client.create_cache({PROP_NAME: sink.cache, PROP_BACKUPS_NUMBER: 1, PROP_WRITE_SYNCHRONIZATION_MODE: later})
    types = f"{sink.name}-types"
    sink.make_topic(types, 1)
    write(sink.kafka, types, b'["cache","x"]', b"{")
    untyped = {"cache_key_type": "", "cache_value_type": f"Free{sink.name}", "cache_fields": {}}
    sink.run(process_updates=False, types_topic=types, **untyped)
    assert_kept(sink.settings, events.UPDATES_NOT_APPLIED, events.BACKUPS_BEHIND, events.FLOAT_GUESSED, events.TYPE_NOT_READ)


def test_a_cache_that_is_away(sink: Sink) -> None:
    sink.send([trade(1)], partition=0)
    with proxy_of(sink.ignite) as proxy, RunningSink(sink, ignite_addresses=(proxy.address,), progress_interval_ms=200) as running:
        running.awaits({1})
        proxy.most_links = 0
        proxy.cut()
        sink.send([trade(2)], partition=0)
        wait_until(lambda: running.alive and events.WRITE_FAILED.id in kept(sink.settings), "the event of the task")
        proxy.most_links = sys.maxsize
        running.awaits({1, 2})
    assert_kept(sink.settings, events.DELIVERY_CONVERGES, events.WRITE_FAILED)
