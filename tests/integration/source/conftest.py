"""Caches of a module of tests, and a connector of each test."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from tests.support.snapshot_world import ROWS, Account, Trade, World
from tests.support.stream_world import World as StreamWorld
from tools.servers import IgniteCluster, KafkaBroker


@pytest.fixture(scope="module")
def world(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, ignite, kafka)
    start = datetime.datetime(2026, 1, 1)
    with ignite.client() as client:
        trades = client.get_or_create_cache(f"{made.stem}-trades")
        trades.put_all(
            {
                number: Trade(
                    number,
                    None if number % 7 == 0 else f"SYM \u00fc {number % 90}",
                    number / 3,
                    (start + datetime.timedelta(hours=number), 0),
                )
                for number in range(ROWS)
            }
        )
        client.get_or_create_cache(f"{made.stem}-names").put_all({f"key {number}": f"value {number}" for number in range(50)})
        client.register_binary_type(Account)
        accounts = client.get_or_create_cache(f"{made.stem}-accounts")
        for number in range(40):  # pyignite's objects cannot be keys of a dict
            accounts.put(Account(1, number), number * 2)
        client.get_or_create_cache(f"{made.stem}-empty")
        yield made
        for name in ("trades", "names", "accounts", "empty"):
            client.get_cache(f"{made.stem}-{name}").destroy()


@pytest.fixture
def fresh(world: World, unique: Callable[[str], str]) -> World:
    """The same caches, with the connector and the topics of one test."""
    made = World(world.spark, world.ignite, world.kafka)
    made.stem = world.stem
    name = unique("c")
    made.settings = replace(world.settings, name=name, topic_prefix=f"{name}-", internal_topic_prefix=f"in-{name}")
    return made


@pytest.fixture
def stream(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[StreamWorld]:
    """A test's stream and its caches."""
    made = StreamWorld(spark, ignite, kafka)
    yield made
    made.service(lambda service: service.force_stop(made.stem, True))
    ignite.destroy_caches(made.stem)
