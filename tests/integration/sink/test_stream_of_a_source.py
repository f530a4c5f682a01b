"""A sink follows topics that a source streams into, by converters with schemas: each key is the very key of the source's cache."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ignite_kafka.ignite.binary import decode_rows, raw_entries
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.topic_names import types_topic
from ignite_kafka.sink.run import run_sink
from ignite_kafka.state import status
from tests.support.stream_world import Running, World, await_that
from tests.support.typed_entries import DECIMALS, ENUMS, ORDERS, UUIDS, TypedCaches
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, KafkaBroker, SchemaRegistry

COPY = "copy-of-"


@pytest.fixture
def world(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, ignite, kafka)
    yield made
    made.service(lambda service: service.force_stop(made.stem, True))
    ignite.destroy_caches(made.stem, COPY + made.stem)


@contextmanager
def storing(world: World, converters: dict[str, Any]) -> Iterator[Running]:
    """A continuous run of a sink that reads the topics of the world's connector; see :meth:`World.running`."""
    settings = SinkSettings(
        name=f"{world.stem}-sink",
        ignite_addresses=world.settings.ignite_addresses,
        bootstrap_servers=world.settings.bootstrap_servers,
        topics_regex=f"{world.stem}-.*",
        cache_prefix=COPY,
        internal_topic_prefix=f"in-{world.stem}-sink",
        types_topic=types_topic(world.settings.internal_topic_prefix),
        run_mode="continuous",
        process_updates=True,
        push_interval_ms=100,
        slots=2,
        tasks_max=1,
        **converters,
    )
    with ThreadPoolExecutor(1) as thread:
        request = RunRequest(settings, uuid.uuid4().hex)
        run = Running(request, thread.submit(run_sink, world.spark, request))
        try:
            yield run
        finally:
            request.stop.set()
            run.ended.exception(DEADLINE_S)


@pytest.mark.parametrize("form", ["avro", pytest.param("json", marks=pytest.mark.long("avro"))])
def test_puts_updates_and_removals_reach_the_other_cache(form: str, world: World, schema_registry: SchemaRegistry) -> None:
    config = {"schema.registry.url": schema_registry.url} if form == "avro" else {"schemas.enable": "true"}
    converters: dict[str, Any] = {
        "key_converter": form, "value_converter": form, "key_converter_config": config, "value_converter_config": config,
    }  # fmt: skip
    world.settings = replace(world.settings, tasks_max=1, field_nullability_policy="EAGER", **converters)
    caches = TypedCaches(world.ignite, world.stem, (ORDERS, DECIMALS, ENUMS, UUIDS))
    caches.put(range(40), 1)
    with world.running() as source:
        await_that(lambda: all(len(world.messages(kind)) == 40 for kind in caches.kinds), "the topics", source)
        small = {"batch_bytes": 4_096} if form == "json" else {}  # bytes end batches, so schemas are cut from values as they are read
        with storing(world, converters | small) as sink:
            await_copies(caches, source, sink)
            caches.put(range(20), 2)
            caches.remove(range(30, 40))
            caches.put(range(35, 60), 3)
            await_copies(caches, source, sink)
            caches.put(range(10, 20), 4, note="grown")  # the value type has one more field
            caches.remove(range(12, 15))
            await_copies(caches, source, sink)
            caches.clear()  # is not captured: the tombstones are those of the reconciliation
            caches.put(range(5), 5)
            for kind in caches.kinds:
                world.send_again(world.units(kind))
            await_copies(caches, source, sink)
            assert sink.stop().state == status.STOPPED
        source.stop()


def await_copies(caches: TypedCaches, *runs: Running) -> None:
    """Wait until each cache has its entries in the copy, under the bytes of its keys."""
    for kind in caches.kinds:
        wanted = contents(caches.ignite, caches.name(kind))
        assert len(wanted) == len(caches.last(kind))
        await_contents(caches.ignite, COPY + caches.name(kind), wanted, *runs)


def await_contents(ignite: IgniteCluster, cache: str, wanted: dict[bytes, Any], *runs: Running) -> None:
    await_that(lambda: contents(ignite, cache) == wanted, f"the entries of {cache}", *runs)


def contents(ignite: IgniteCluster, cache: str) -> dict[bytes, Any]:
    """Keys of a cache in Ignite's binary form, and their values; a field may be null or absent. Empty without the cache."""
    found: dict[bytes, Any] = {}
    with Cluster(IgniteEndpoint(ignite.addresses)) as cluster:
        if cache not in cluster.cache_names():
            return found
        info = cluster.cache(cache)
        for page in scan_partitions(cluster, info, range(info.partitions)):
            rows = decode_rows([page], info, cluster)
            found |= {key: value for (key, _), (_, value) in zip(raw_entries(page, cache), rows, strict=True)}
    return found
