"""Lag of a sink, a stream and a snapshot on real servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ignite_kafka.admin.connector_lag import NEVER_STARTED, ConnectorLag, ahead_of, marks_of, read_lag
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.runtime.clients import ignite_cluster
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.state import status
from tests.support.sink_connector import Sink, trade
from tests.support.stream_world import World, await_that
from tools.servers import IgniteCluster, KafkaBroker


@pytest.fixture
def world(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, ignite, kafka)
    yield made
    made.service(lambda service: service.force_stop(made.stem, True))


def no_cluster() -> Cluster:
    raise AssertionError("Ignite is not needed")


def of_world(world: World) -> ConnectorLag:
    return read_lag(world.clients, world.settings.internal_topic_prefix, world.stem, lambda: ignite_cluster(world.settings, Secrets()))


def test_a_sink_is_behind_by_the_offsets_that_its_group_has_not_committed(
    spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker
) -> None:
    sink = Sink(spark, ignite, kafka)

    def lag() -> ConnectorLag:
        return read_lag(sink.clients, sink.settings.internal_topic_prefix, sink.name, no_cluster)

    assert (lag().state, lag().known) == (NEVER_STARTED, False)
    sink.send([trade(number) for number in range(300)])
    sink.run()
    assert lag() == ConnectorLag(sink.name, status.COMPLETED, True)
    sink.send([trade(number) for number in range(30)], partition=1)
    behind = lag()
    assert behind.counts() == {sink.topic: 30}
    marks = marks_of(behind)
    sink.send([trade(number) for number in range(5)], partition=0)
    assert ahead_of(lag(), marks) == marks == {f"{sink.topic}/1": 130}
    sink.run()
    sink.send([trade(number) for number in range(7)], partition=1)
    assert lag().counts() == {sink.topic: 7}
    assert ahead_of(lag(), marks) == {}


def test_a_stream_is_behind_by_the_changes_in_its_backlog(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(50)})
    assert world.run(run_mode="once").state == status.COMPLETED
    assert of_world(world) == ConnectorLag(world.stem, status.COMPLETED, True)
    world.put("a", {key: f"w{key}" for key in range(20)})
    await_that(lambda: of_world(world).counts() == {f"{world.stem}-a": 20}, "all changes in the backlog")
    marks = marks_of(of_world(world))
    with world.running() as run:
        await_that(lambda: not ahead_of(of_world(world), marks) and of_world(world).loaded, "the changes to be sent", run)
        assert of_world(world).state == status.RUNNING
        world.put("a", {1: "more"})
        world.await_equal("a", run)
        run.stop()


def test_a_snapshot_is_loaded_once_it_is_complete(world: World) -> None:
    world.put("a", {key: f"v{key}" for key in range(50)})
    world.run(run_mode="once", failover_policy="NONE")
    assert read_lag(world.clients, world.settings.internal_topic_prefix, world.stem, no_cluster) == ConnectorLag(
        world.stem, status.COMPLETED, True
    )
