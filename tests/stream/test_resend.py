"""Units that are sent again include removals: after `clear()`, which is not captured, and after a time without capture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from ignite_kafka.ignite.types import type_codes as codes
from tests.support.ignite_bytes import Types
from tests.support.ignite_keys import key_of
from tests.support.stream_world import Part, World, await_that
from tools.servers import IgniteCluster, KafkaBroker


@pytest.fixture
def world(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, ignite, kafka)
    yield made
    made.service(lambda service: service.force_stop(made.stem, True))


def alive(world: World, cache: str) -> set[bytes]:
    """Keys whose last record is no tombstone."""
    return {key for key, value in dict(world.records(cache)).items() if key is not None and value is not None}


def test_a_partition_that_was_cleared_is_sent_again(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(-100, 300)})
    with world.running() as run:
        world.await_equal("a", run)
        with world.ignite.client() as client:
            client.get_cache(f"{world.stem}-a").clear()
        texts = sorted(alive(world, "a"))
        keys = [key_of(text, {(codes.LONG,)}, Types()) or b"" for text in texts]
        partitions, there = world.service(lambda service: service.locate(world.stem, f"{world.stem}-a", keys))
        assert not there.any()
        partition = int(partitions[0])
        lost = {text for text, place in zip(texts, partitions.tolist(), strict=True) if place == partition}
        units = world.units("a")
        world.send_again(units[partition : partition + 1])
        await_that(lambda: alive(world, "a") == set(texts) - lost, "tombstones of one partition", run)
        world.put("a", {key: f"w{key}" for key in range(10)})
        world.send_again(units)
        verified = world.await_equal("a", run)
        assert verified.entries == 10
        run.stop()
    assert alive(world, "a") == {b"%d" % key for key in range(10)}


@pytest.mark.parametrize("form", ["json", "ignite-binary"])
def test_removals_while_nothing_ran_follow_a_full_snapshot(world: World, form: str) -> None:
    world.settings = replace(world.settings, key_converter=form, value_converter=form, failover_policy="FULL_SNAPSHOT")
    world.put("a", {key: f"v{key}" for key in range(300)})
    with world.running() as run:
        world.await_equal("a", run)
        run.stop()
    world.remove("a", list(range(100)))
    with world.running() as run:
        assert world.await_equal("a", run).entries == 200
        world.put("a", {1: "back"})
        world.await_equal("a", run)
        run.stop()
    tombstones = [key for key, value in world.records("a") if value is None]
    assert len(tombstones) == len(set(tombstones)) == 100


def test_removals_of_keys_that_are_objects(world: World) -> None:
    def put(numbers: Iterable[int], value: str) -> None:
        with world.ignite.client() as client:
            client.put_binary_type("Part", schema=Part.schema)
            cache = client.get_or_create_cache(f"{world.stem}-a")
            for number in numbers:
                cache.put(Part(number, f"p{number}"), value)

    put(range(200), "v")
    with world.running() as run:
        world.await_equal("a", run)
        with world.ignite.client() as client:
            client.get_cache(f"{world.stem}-a").clear()
        put([7], "back")
        world.send_again(world.units("a"))
        assert world.await_equal("a", run).entries == 1
        run.stop()
    assert alive(world, "a") == {b'{"id":7,"name":"p7"}'}
    tombstones = [key for key, value in world.records("a") if value is None]
    assert len(tombstones) == len(set(tombstones)) == 199
