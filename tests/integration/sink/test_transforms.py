"""Topics through Kafka Connect's transforms and own ones into the caches of their routed topics, on real servers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ignite_kafka.errors import RecordRefused
from tests.support.sink_connector import Running, Sink, expected, trade
from tests.support.waiting import REQUEST_S

KAFKA = "org.apache.kafka.connect.transforms."
MASK = {"type": f"{KAFKA}MaskField$Value", "fields": "symbol"}
BY_DAY = {"type": f"{KAFKA}TimestampRouter", "timestamp.format": "yyyyMMdd"}
NEW_YEAR_MS, DAY_MS = 1_767_225_600_000, 86_400_000  # 2026-01-01
BAD = (b"7", b"7")  # a number has no fields


def chain(**transforms: dict[str, str]) -> dict[str, Any]:
    """Settings of transforms, by alias."""
    return {"transforms": tuple(transforms), "transform_config": transforms}


def masked(number: int) -> dict[str, Any]:
    return {**expected(number), "symbol": ""}


def send_on(sink: Sink, day: int, number: int) -> None:
    producer = Producer({"bootstrap.servers": sink.kafka.bootstrap})
    key, value = trade(number)
    producer.produce(sink.topic, value, key, 0, timestamp=NEW_YEAR_MS + day * DAY_MS)
    assert producer.flush(REQUEST_S) == 0


def test_records_are_transformed_and_go_to_the_cache_of_the_routed_topic(sink: Sink) -> None:
    tombstones = {"predicates": ("gone",), "predicate_config": {"gone": {"type": f"{KAFKA}predicates.RecordIsTombstone"}}}
    transforms = chain(
        live={"type": f"{KAFKA}Filter", "predicate": "gone"},
        mask=MASK,
        route={"type": f"{KAFKA}RegexRouter", "regex": "(.*)", "replacement": "$1-masked"},
    )
    sink.send([trade(number) for number in range(30)], partition=0)
    sink.send([(b"3", None)], partition=0)
    cache = f"{sink.cache}-masked"
    counts = sink.run(**transforms, **tombstones).caches[cache]
    assert (counts.records, counts.entries, counts.bad) == (31, 30, 0)
    assert sink.entries(cache) == {number: masked(number) for number in range(30)}
    assert sink.group()[0] == 31  # a dropped record is behind the offset, too
    with sink.ignite.client() as client:
        assert sink.cache not in client.get_cache_names()


def test_caches_of_topics_by_time_are_created_with_their_first_records(sink: Sink) -> None:
    for day, number in ((0, 1), (1, 2), (0, 3)):
        send_on(sink, day, number)
    result = sink.run(**chain(day=BY_DAY))
    assert {name: (one.records, one.entries) for name, one in result.caches.items()} == {sink.cache: (3, 3)}
    assert sink.entries(f"{sink.cache}-20260101") == {1: expected(1), 3: expected(3)}
    assert sink.entries(f"{sink.cache}-20260102") == {2: expected(2)}
    with sink.ignite.client() as client:
        assert sink.cache not in client.get_cache_names()


def test_topics_by_time_of_one_cache_keep_the_order_of_a_key(sink: Sink) -> None:
    """Updates whose times go back and forth between two days are routed to two topics, which one cache stands for."""
    producer = Producer({"bootstrap.servers": sink.kafka.bootstrap})
    for number in range(2_000):
        key, value = trade(number % 20)
        value = (value or b"").replace(b'"symbol"', f'"seq": {number}, "symbol"'.encode())
        producer.produce(sink.topic, value, key, number % 20 % 2, timestamp=NEW_YEAR_MS + number * 7 % 2 * DAY_MS)
    assert producer.flush(REQUEST_S) == 0
    sink.run(**chain(day=BY_DAY), cache_names={f"{sink.topic}-.*": sink.cache}, batch_size=100)
    assert {key: value["seq"] for key, value in sink.entries().items()} == {key: 1_980 + key for key in range(20)}


def test_a_stream_creates_the_cache_of_a_day_when_it_comes(sink: Sink) -> None:
    send_on(sink, 0, 1)
    with Running(sink, **chain(day=BY_DAY, mask=MASK)) as running:
        running.awaits({1}, f"{sink.cache}-20260101")
        send_on(sink, 1, 2)
        running.awaits({2}, f"{sink.cache}-20260102")
    assert sink.entries(f"{sink.cache}-20260102") == {2: masked(2)}


def test_an_exception_stops_the_run_with_all_before_it_stored(sink: Sink) -> None:
    sink.send([trade(1), trade(2), BAD, trade(3)], partition=0)
    with pytest.raises(RecordRefused, match="transform mask throws") as stopped:
        sink.run(**chain(mask=MASK))
    where = stopped.value.where
    assert {name: where[name] for name in ("topic", "partition", "offset", "stage", "transform")} == {
        "topic": sink.topic, "partition": 0, "offset": 2, "stage": "TRANSFORMATION", "transform": "mask"
    }  # fmt: skip
    assert (sink.entries(), sink.group()[0]) == ({1: masked(1), 2: masked(2)}, 2)


def test_an_exception_makes_a_dead_letter_with_the_original_bytes(sink: Sink) -> None:
    dead_topic = f"{sink.name}-dead"
    sink.send([trade(1), BAD, (b"8", b'{"id":'), trade(2)], partition=0, headers=[("trace", b"a")])
    counts = sink.run(**chain(mask=MASK), error_handling_policy="DEAD_LETTER", dead_letter_topic=dead_topic).caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (4, 2, 2)
    assert sink.entries() == {1: masked(1), 2: masked(2)}
    found = sink.messages(dead_topic)
    assert [(one.key(), one.value()) for one in found] == [BAD, (b"8", b'{"id":')]
    headers = [dict(cast(list[tuple[str, bytes]], one.headers())) for one in found]
    assert [one["trace"] for one in headers] == [b"a", b"a"]
    assert [one["__connect.errors.stage"] for one in headers] == [b"TRANSFORMATION", b"VALUE_CONVERTER"]
    assert headers[0]["__connect.errors.class.name"] == MASK["type"].encode()
    assert headers[0]["__connect.errors.exception.class.name"] == b"org.apache.kafka.connect.errors.DataException"
    assert [one["__connect.errors.offset"] for one in headers] == [b"1", b"2"]


def test_an_own_transform_is_shipped_with_the_app(sink: Sink, spark: SparkSession, tmp_path: Path, unique: Callable[[str], str]) -> None:
    module = unique("own").replace("-", "_")
    path = tmp_path / f"{module}.py"
    path.write_text(
        "import pyarrow as pa\nimport pyarrow.compute as pc\nfrom ignite_kafka import transform_function\n\n\n"
        "@transform_function\ndef even(batch):\n"
        "    keys = batch['key'].cast(pa.string()).cast(pa.int64())\n"
        "    return batch.filter(pc.equal(pc.bit_wise_and(keys, 1), 0))\n"
    )
    spark.sparkContext.addPyFile(str(path))
    sink.send([trade(number) for number in range(10)])
    counts = sink.run(**chain(own={"type": f"{module}:even"})).caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (10, 5, 0)
    assert set(sink.entries()) == {0, 2, 4, 6, 8}
