"""Filters of a source, on a real node, a real broker and a real Spark session: the same rows as Spark SQL keeps, and what is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka import register
from ignite_kafka.errors import IgniteKafkaError, SettingsError, SnapshotConflict, UnsupportedType
from ignite_kafka.events import FILTER_FAILED, FILTER_NOT_MADE, MISCONFIGURED
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.state import status
from tests.support import PARTITIONS
from tests.support.kept_events import assert_kept
from tests.support.snapshot_world import ROWS, World
from tests.support.stream_world import World as StreamWorld
from tests.support.stream_world import await_that

TRADES_WHERE = (
    "price * 2 > 200 AND symbol IS NOT NULL AND upper(symbol) LIKE 'SYM%5' AND at >= TIMESTAMP '2026-01-15 00:00:00Z'"
    " AND (id % 10 = 0 OR CAST(id AS STRING) LIKE '%5' OR 10 / (id + 1) > 1)"
)


def keys_in_topic(world: World, cache: str) -> list[Any]:
    topic = f"{world.settings.topic_prefix}{world.stem}-{cache}"
    topics = Topics(world.clients)
    found = read_to_end(world.clients, topics, topic, list(range(topics.partitions(topic))))
    return sorted(json.loads(message.key() or b"") for message in found)


def keys_by_spark(world: World, cache: str, where: str) -> list[Any]:
    register(world.spark)
    options = {"addresses": ",".join(world.ignite.addresses), "cache": f"{world.stem}-{cache}"}
    frame = world.spark.read.format("ignite").options(**options).load()
    return sorted(row["_key"] for row in frame.where(where).select("_key").collect())


@pytest.mark.parametrize("converter", ["json", "ignite-binary"])
def test_a_snapshot_sends_what_spark_sql_keeps(fresh: World, converter: str) -> None:
    wanted = keys_by_spark(fresh, "trades", TRADES_WHERE)
    result = fresh.run(where=TRADES_WHERE, cache_whitelist=(f"{fresh.stem}-trades",), value_converter=converter)
    counts = result.caches[f"{fresh.stem}-trades"]
    kept = len(wanted)
    assert 0 < kept < ROWS / 2
    assert keys_in_topic(fresh, "trades") == wanted
    assert (counts.entries, counts.records, counts.filtered, counts.units_done) == (kept, kept, ROWS - kept, PARTITIONS)


def test_keys_and_plain_values_are_filtered_by_the_overrides_of_their_cache(fresh: World) -> None:
    overrides = {".*-names": {"where": "_value LIKE '%7' OR _key = 'key 1'"}, ".*-accounts": {"where": "_key.number >= 30 AND _value < 70"}}
    result = fresh.run(overrides=overrides, cache_blacklist=(f"{fresh.stem}-trades",))
    assert keys_in_topic(fresh, "names") == sorted(["key 1", *(f"key {number}" for number in (7, 17, 27, 37, 47))])
    accounts = result.caches[f"{fresh.stem}-accounts"]
    assert (accounts.records, accounts.filtered) == (5, 35)


def test_wholly_filtered_partitions_are_done_and_a_snapshot_of_them_resumes(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing or little of most partitions is sent; a run whose driver dies is continued, and sends nothing twice."""
    where, name = "id IN (5, 1700)", f"{fresh.stem}-trades"

    def stops(*_: object) -> None:
        raise IgniteKafkaError("the driver stops here")

    with monkeypatch.context() as patch:
        patch.setattr("ignite_kafka.state.configs_writer.ConfigsWriter.end_snapshot", stops)
        with pytest.raises(IgniteKafkaError, match="stops here"):
            fresh.run("s", where=where, cache_whitelist=(name,))
    with pytest.raises(SnapshotConflict, match="where was"):
        fresh.run("s", where="id = 6", cache_whitelist=(name,))
    result = fresh.run("s", where=where, cache_whitelist=(name,))
    assert result.state == status.COMPLETED
    assert (result.caches[name].records, result.caches[name].units_done) == (2, PARTITIONS)
    assert keys_in_topic(fresh, "trades") == [5, 1700]


def test_a_filter_that_keeps_nothing_completes(fresh: World) -> None:
    name = f"{fresh.stem}-trades"
    counts = fresh.run(where="id < 0", cache_whitelist=(name,), transaction_max_records=50).caches[name]
    assert (counts.entries, counts.records, counts.filtered, counts.units_done) == (0, 0, ROWS, PARTITIONS)


def test_a_function_of_the_user_filters(fresh: World) -> None:
    name = f"{fresh.stem}-trades"
    counts = fresh.run(filter="tests.support.filters:every_tenth", where="id < 1000", cache_whitelist=(name,)).caches[name]
    assert (counts.records, counts.filtered) == (100, ROWS - 100)
    with pytest.raises(SettingsError, match="cannot be imported"):
        fresh.run(filter="tests.support.filters:nobody")
    assert_kept(fresh.settings, FILTER_NOT_MADE, MISCONFIGURED)


def test_a_column_that_does_not_exist_stops_the_run(fresh: World) -> None:
    name = f"{fresh.stem}-trades"
    with pytest.raises(UnsupportedType, match="names column pricee"):
        fresh.run(where="pricee > 1", cache_whitelist=(name,))
    assert fresh.run(where="pricee > 1", cache_whitelist=(name,), error_handling_policy="LOG_ONLY").caches[name].bad == ROWS
    assert_kept(fresh.settings, FILTER_FAILED)


def test_select_sends_the_named_fields_in_their_order(fresh: World) -> None:
    name = f"{fresh.stem}-trades"
    fresh.run(select="symbol AS Name, id", where="id < 3 AND (symbol <> 'x' OR symbol IS NULL)", cache_whitelist=(name,))
    topic = f"{fresh.settings.topic_prefix}{name}"
    topics = Topics(fresh.clients)
    found = {one.key(): one.value() for one in read_to_end(fresh.clients, topics, topic, list(range(topics.partitions(topic))))}
    assert found == {
        b"0": b'{"id":0}',  # its symbol is null, and null fields are left out
        b"1": '{"Name":"SYM \u00fc 1","id":1}'.encode(),
        b"2": '{"Name":"SYM \u00fc 2","id":2}'.encode(),
    }


def folded(stream: StreamWorld, cache: str) -> dict[bytes | None, bytes | None]:
    return {key: value for key, value in dict(stream.records(cache)).items() if value is not None}


def test_a_stream_follows_what_enters_and_leaves_the_filter(stream: StreamWorld) -> None:
    stream.put("a", {key: f"{'keep' if key % 2 else 'drop'}{key}" for key in range(100)})
    with stream.running(where="_value LIKE 'keep%'") as run:
        first = {b"%d" % key: b'"keep%d"' % key for key in range(1, 100, 2)}
        await_that(lambda: folded(stream, "a") == first, "the entries that match", run)
        stream.put("a", {1: "drop again", 2: "keep2"})
        stream.remove("a", [3])
        wanted = {key: value for key, value in first.items() if key not in (b"1", b"3")} | {b"2": b'"keep2"'}
        await_that(lambda: folded(stream, "a") == wanted, "what entered and what left the filter", run)
        assert [value for key, value in stream.records("a") if key == b"1"] == [b'"keep1"', None]
        ended = run.stop()
    assert ended.error is None
    stream.put("a", {2: "drop while nobody looks", 5: "keep five"})
    with stream.running(where="_value LIKE 'keep%'") as run:
        wanted = {key: value for key, value in wanted.items() if key != b"2"} | {b"5": b'"keep five"'}
        await_that(lambda: folded(stream, "a") == wanted, "the changes since", run)
        stream.send_again(stream.units("a"))
        stream.put("a", {7: "keep seven"})
        wanted |= {b"7": b'"keep seven"'}
        await_that(lambda: folded(stream, "a") == wanted, "the same after all units are sent again", run)
        run.stop()
