"""The data source `ignite-backlog` in a Spark session, on a real node with the backlog service."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyignite.datatypes.expiry_policy import ExpiryPolicy
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.datasources.ignite_backlog import IgniteBacklogDataSource
from ignite_kafka.errors import BacklogRefused
from ignite_kafka.ignite.backlog_units import UNIT
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.ignite.protocol import cache_id
from ignite_kafka.settings import secrets
from ignite_kafka.settings.secrets import Secrets
from tests.support.backlog_query import Trade, World, fold, kinds
from tests.support.waiting import DEADLINE_S, wait_until
from tools.servers import IgniteCluster


@pytest.fixture
def world(spark: SparkSession, ignite: IgniteCluster, unique: Callable[[str], str], tmp_path: Path) -> Iterator[World]:
    """A cache with three entries from before the capture."""
    spark.dataSource.register(IgniteBacklogDataSource)
    made = World(spark, ignite, unique("changes"), unique("stream"), tmp_path / "checkpoint")
    made.put({key: Trade(f"before {key}", 0) for key in range(-3, 0)})
    yield made
    for query in spark.streams.active:
        query.stop()
    made.service(lambda service: service.stop(made.connector, True))
    with ignite.client() as client:
        client.get_cache(made.cache).destroy()


def test_every_change_comes_once_in_the_order_of_its_key(world: World) -> None:
    query = world.start()
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=1)
    world.put({key: Trade(f"first {key}", key) for key in range(200)})
    world.await_all(query)

    def change(cache: Any) -> None:
        for key in range(50):
            cache.put(key, Trade(f"second {key}", key))
            cache.put(key, Trade(f"third {key}", key))
        for key in range(-3, 30):
            cache.remove_key(key)

    world.write(change)
    world.await_all(query)
    query.stop()
    assert kinds(world.rows) == {"created": 200, "updated": 100, "removed": 33}
    assert fold(world.rows) == world.content()
    assert len({(row["_partition"], row["_number"]) for row in world.rows}) == 333
    numbers: dict[int, list[int]] = defaultdict(list)
    for row in world.rows:
        numbers[row["_key"]].append(row["_number"])
    assert all(each == sorted(each) for each in numbers.values())
    assert all(before < row["_time"] < before + timedelta(minutes=10) for row in world.rows)


def test_a_restarted_query_continues(world: World) -> None:
    query = world.start()
    world.put({key: Trade(f"first {key}", key) for key in range(100)})
    world.await_all(query)
    query.stop()
    world.put({key: Trade(f"second {key}", key) for key in range(50, 150)})
    query = world.start()
    world.await_all(query)
    query.stop()
    assert kinds(world.rows) == {"created": 150, "updated": 50}  # nothing is lost, and delivered changes are recognised
    assert fold(world.rows, {-3: "before -3", -2: "before -2", -1: "before -1"}) == world.content()


def test_a_failed_batch_is_repeated_whole(world: World) -> None:
    world.fail_on = lambda rows: any(row["buyer"] == "poison" for row in rows)
    query = world.start()
    world.put({key: Trade(f"first {key}", key) for key in range(100)})
    world.await_all(query)

    def poison(cache: Any) -> None:
        cache.remove_key(7)
        cache.put(3, Trade("poison", 3))

    world.write(poison)
    with pytest.raises(StreamingQueryException, match="the sink fails"):
        query.awaitTermination(int(DEADLINE_S))
    world.put({4: Trade("later", 4)})
    world.fail_on = lambda rows: False
    query = world.start()
    world.await_all(query)
    query.stop()
    failed = next(batch for batch, given in world.batches.items() if len(given) > 1)
    assert set(world.batches[failed][0]) <= set(world.batches[failed][-1])
    assert fold(world.rows, {-3: "before -3", -2: "before -2", -1: "before -1"}) == world.content()


def test_a_catch_up_ends_and_acknowledges(world: World) -> None:
    world.catch_up()
    assert world.rows == []
    for turn in range(3):
        world.put({key: Trade(f"turn {turn} of {key}", key) for key in range(300)})
        world.service(lambda service: service.barrier(world.connector))
        world.catch_up(max_bytes="4096")  # many batches
        assert len(world.rows) == 300 * (turn + 1)
    assert fold(world.rows, {-3: "before -3", -2: "before -2", -1: "before -1"}) == world.content()
    assert len(world.batches) > 6


def test_a_batch_read_shows_the_backlog(world: World) -> None:
    assert world.waiting().count() == 0
    world.put({key: Trade(f"first {key}", key) for key in range(100)})
    world.write(lambda cache: cache.remove_key(-1))
    world.service(lambda service: service.barrier(world.connector))
    for _ in range(2):
        assert kinds(world.waiting().collect()) == {"created": 100, "removed": 1}
    world.catch_up()
    assert kinds(world.rows) == {"created": 100, "removed": 1}


def test_two_connectors_do_not_disturb_each_other(world: World, tmp_path: Path) -> None:
    other = World(world.spark, world.ignite, world.cache, f"{world.connector}-other", tmp_path / "other")
    queries = [(each, each.start()) for each in (world, other)]
    world.put({key: Trade(f"first {key}", key) for key in range(100)})
    for each, query in queries:
        each.await_all(query)
    queries[0][1].stop()
    world.put({1: Trade("second", 1)})
    other.await_all(queries[1][1])
    queries[1][1].stop()
    assert kinds(world.rows) == {"created": 100}
    assert kinds(other.rows) == {"created": 100, "updated": 1}
    other.service(lambda service: service.stop(other.connector, True))
    world.catch_up()
    assert kinds(world.rows) == {"created": 100, "updated": 1}


def test_an_expired_key_is_reported(world: World) -> None:
    query = world.start()
    policy = ExpiryPolicy(create=timedelta(milliseconds=300))
    world.write(lambda cache: cache.with_expire_policy(expiry_policy=policy).put(5, Trade("brief", 5)))

    def expired() -> bool:
        world.await_all(query)
        return "expired" in kinds(world.rows)

    wait_until(expired, "the change that reports the expiry")
    query.stop()
    last = world.rows[-1]
    assert (last["_key"], last["_change"], last["buyer"], last["_number"]) == (5, "expired", None, None)


def test_lost_changes_end_the_query_or_are_reloaded(world: World) -> None:
    world.put({1: Trade("first", 1)})
    query = world.start()
    world.put({2: Trade("second", 2)})
    world.await_all(query)
    query.stop()
    world.service(lambda service: service.stop(world.connector, True))
    world.put({3: Trade("third", 3)})
    with pytest.raises(StreamingQueryException, match="on_loss = reload"):
        world.catch_up()
    world.catch_up(on_loss="reload")
    loaded = [row for row in world.rows if row["_change"] == "loaded"]
    assert fold(loaded) == world.content()
    world.put({4: Trade("fourth", 4)})
    world.service(lambda service: service.barrier(world.connector))
    world.catch_up()
    assert [row["_key"] for row in world.rows if row["_change"] == "created"] == [2, 4]


def test_requested_partitions_are_sent_again(world: World) -> None:
    query = world.start()
    world.put({1: Trade("first", 1)})
    world.await_all(query)
    (row,) = world.rows
    units = np.zeros(1, UNIT)
    status = world.service(lambda service: service.status(world.connector))
    units["cache_id"], units["partition"] = cache_id(world.cache), row["_partition"]
    units["incarnation"] = status[f"incarnation.{world.cache}"]
    world.service(lambda service: service.mark(world.connector, units))
    world.await_all(query)
    world.put({1: Trade("second", 1)})
    world.await_all(query)
    query.stop()
    mine = [(row["_change"], row["buyer"]) for row in world.rows if row["_key"] == 1]
    assert mine == [("created", "first"), ("loaded", "first"), ("updated", "second")]


def test_columns_of_an_empty_cache_are_given(world: World) -> None:
    world.write(lambda cache: cache.clear())
    with pytest.raises(PySparkException, match="columns are not known"):
        world.waiting()
    given = "_key long, buyer string, amount long, _change string, _number long, _partition int, _time timestamp"
    reader = world.spark.read.format("ignite-backlog").options(**world.options()).schema(given)
    assert reader.load().count() == 0
    world.put({1: Trade("first", 1)})
    world.service(lambda service: service.barrier(world.connector))
    assert [row["buyer"] for row in reader.load().collect()] == ["first"]


def test_nodes_without_the_service(spark: SparkSession, ignite_cluster: Callable[..., IgniteCluster], tmp_path: Path) -> None:
    spark.dataSource.register(IgniteBacklogDataSource)
    world = World(spark, ignite_cluster(backlog_mib=0), "trades", "stream", tmp_path / "checkpoint")
    world.put({1: Trade("first", 1)})
    with pytest.raises(StreamingQueryException, match="no node of the cluster has the backlog service"):
        world.catch_up()
    with pytest.raises(PySparkException, match="no node of the cluster has the backlog service"):
        world.waiting().collect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"connector": ""}, "'connector' of ignite-backlog is missing"),
        ({"connector": "a/b"}, "name is wrong"),
        ({"password": "hunter2"}, "secrets_file"),
        ({"on_loss": "ignore"}, "fail or reload"),
        ({"max_bytes": "much"}, "max_bytes"),
        ({"partitions": "1-3"}, "has no option 'partitions'"),
        ({"cache": "no-such-cache"}, "no such cache"),
    ],
)
def test_a_bad_option_ends_with_its_own_message(world: World, options: dict[str, str], message: str) -> None:
    with pytest.raises(PySparkException) as raised:
        world.spark.readStream.format("ignite-backlog").options(**world.options(**options)).load()
    assert message in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_a_name_that_captures_something_else_is_refused(world: World, unique: Callable[[str], str]) -> None:
    with world.ignite.client() as client:
        client.get_or_create_cache(name := unique("else"))
        world.service(lambda service: service.start(world.connector, {"backlogOwner": "data source ignite-backlog"}, [name]))
        with pytest.raises(StreamingQueryException, match=f"the connector captures {name} already"):
            world.catch_up()
        assert f"incarnation.{name}" in world.service(lambda service: service.status(world.connector))
        world.service(lambda service: service.stop(world.connector, destroy=True))
        world.service(lambda service: service.start(world.connector, {"backlogOwner": "kafka/connect"}, [name]))
        with pytest.raises(StreamingQueryException, match="captures for 'kafka/connect', not for 'data source ignite-backlog'"):
            world.catch_up()
        client.get_cache(name).destroy()


def test_a_capture_with_the_secret_of_its_secrets_file_is_the_querys_alone(world: World, tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    secrets.dump(Secrets(IgniteCredentials(backlog_secret="a secret of many characters")), file)
    query = world.start(secrets_file=str(file))
    for turn in range(2):
        world.put({key: Trade(f"turn {turn}", key) for key in range(20)})
        world.await_all(query)
    assert kinds(world.rows) == {"created": 20, "updated": 20}
    assert world.service(lambda service: service.units(world.connector)).count.sum() <= 20, "the first turn is acknowledged"
    query.stop()
    with pytest.raises(BacklogRefused, match="secret") as refused:
        world.service(lambda service: service.stop(world.connector, True))
    assert refused.value.where["code"] == "FORBIDDEN"
    world.service(lambda service: service.force_stop(world.connector, True))
