"""The comparison of sinks whose transforms choose the cache of each record, on real servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyignite.datatypes import LongObject
from pyspark.sql import SparkSession

from tests.support.sink_connector import Sink, expected, trade
from tests.support.verified_results import counts, verified
from tests.support.waiting import REQUEST_S

KAFKA = "org.apache.kafka.connect.transforms."
BY_DAY = {"type": f"{KAFKA}TimestampRouter", "timestamp.format": "yyyyMMdd"}
NEW_YEAR_MS, DAY_MS = 1_767_225_600_000, 86_400_000  # 2026-01-01


def chain(**transforms: dict[str, str]) -> dict[str, Any]:
    """Settings of transforms, by alias."""
    return {"transforms": tuple(transforms), "transform_config": transforms}


def send_on(sink: Sink, day: int, number: int) -> None:
    producer = Producer({"bootstrap.servers": sink.kafka.bootstrap})
    key, value = trade(number)
    producer.produce(sink.topic, value, key, 0, timestamp=NEW_YEAR_MS + day * DAY_MS)
    assert producer.flush(REQUEST_S) == 0


def by_day(sink: Sink, **more: Any) -> Sink:
    """The same sink, with one cache for each day."""
    sink.settings = replace(sink.settings, **chain(day=BY_DAY), **more)
    return sink


def cache_names(sink: Sink) -> set[str]:
    with sink.ignite.client() as client:
        return {name for name in client.get_cache_names() if name.startswith(sink.cache)}


def test_caches_of_days_are_compared_and_repaired(sink: Sink) -> None:
    by_day(sink)
    for day, number in ((0, 1), (1, 2), (0, 3), (2, 4), (2, 5)):
        send_on(sink, day, number)
    sink.run()
    first, second, third = (f"{sink.cache}-2026010{day}" for day in (1, 2, 3))
    found = verified(sink)
    assert {name: counts(one) for name, one in found.items()} == {
        "20260101": (2, 2, 0, 0, 0), "20260102": (1, 1, 0, 0, 0), "20260103": (2, 2, 0, 0, 0)
    }  # fmt: skip
    with sink.ignite.client() as client:
        client.get_cache(first).remove_key(1, key_hint=LongObject)
        client.get_cache(first).put(99, client.get_cache(first).get(3, key_hint=LongObject), key_hint=LongObject)
        client.get_cache(third).destroy()
    found = verified(sink)
    assert {name: counts(one) for name, one in found.items()} == {
        "20260101": (2, 2, 1, 0, 1), "20260102": (1, 1, 0, 0, 0), "20260103": (0, 2, 2, 0, 0)
    }  # fmt: skip
    (absent,) = found["20260103"].result.examples
    assert "the cache does not exist, and 2 records of" in absent
    assert cache_names(sink) == {first, second}, "a comparison creates no cache"
    repaired = verified(sink, repair=True)
    assert {name: (one.repaired, one.equal) for name, one in repaired.items()} == {
        "20260101": (1, False), "20260102": (0, True), "20260103": (2, True)
    }  # fmt: skip
    assert sink.entries(third) == {4: expected(4), 5: expected(5)}
    assert set(sink.entries(first)) == {1, 3, 99}, "an entry without a record stays"


def test_several_topics_go_to_one_cache(sink: Sink) -> None:
    """The routers map the topics to one cache: their keys are compared with it, and a bad record with no cache."""
    other = f"{sink.name}-in-other"
    sink.make_topic(other, 1)
    route = {"type": f"{KAFKA}RegexRouter", "regex": ".*", "replacement": f"{sink.topic}-all"}
    tombstones = {"predicates": ("live",), "predicate_config": {"live": {"type": f"{KAFKA}predicates.RecordIsTombstone"}}}
    routed = chain(route={**route, "predicate": "live", "negate": "true"}, mask={"type": f"{KAFKA}MaskField$Value", "fields": "symbol"})
    more: dict[str, Any] = {**routed, **tombstones, "error_handling_policy": "LOG_ONLY"}
    sink.settings = replace(sink.settings, topics=(sink.topic, other), **more)
    sink.send([trade(number) for number in range(9)])
    sink.send([*(trade(number) for number in range(5, 20)), (b"7", b"7")], partition=0, topic=other)
    sink.run()
    found = verified(sink)
    assert counts(found["all"]) == (20, 24, 0, 0, 0)
    assert found["all"].result.topic == f"{sink.topic}, {other}"
    assert found["other"].result.skipped == 1
    assert all(one.equal for one in found.values())
    with sink.ignite.client() as client:
        client.get_cache(f"{sink.cache}-all").remove_key(6, key_hint=LongObject)
    assert verified(sink, repair=True)["all"].repaired == 1
    assert set(sink.entries(f"{sink.cache}-all")) == set(range(20))


def test_topics_that_own_transforms_give(sink: Sink, spark: SparkSession, tmp_path: Path, unique: Callable[[str], str]) -> None:
    module = unique("own").replace("-", "_")
    path = tmp_path / f"{module}.py"
    path.write_text(
        "import pyarrow as pa\nimport pyarrow.compute as pc\nfrom ignite_kafka import transform_function\n\n\n"
        "@transform_function\ndef by_parity(batch):\n"
        "    keys = batch['key'].cast(pa.string()).cast(pa.int64())\n"
        "    odd = pc.equal(pc.bit_wise_and(keys, 1), 1)\n"
        "    topics = pc.if_else(odd, pc.binary_join_element_wise(batch['topic'], 'odd', '-'), batch['topic'])\n"
        "    return batch.set_column(batch.schema.get_field_index('topic'), 'topic', topics)\n"
    )
    spark.sparkContext.addPyFile(str(path))
    sink.settings = replace(sink.settings, **chain(own={"type": f"{module}:by_parity"}))
    sink.send([trade(number) for number in range(10)])
    sink.run()
    assert set(sink.entries(f"{sink.cache}-odd")) == {1, 3, 5, 7, 9}
    found = verified(sink)
    assert {name: counts(one) for name, one in found.items()} == {"cache": (5, 5, 0, 0, 0), "odd": (5, 5, 0, 0, 0)}


@pytest.mark.long("test_topics_that_own_transforms_give")
def test_headers_choose_the_cache(sink: Sink) -> None:
    """The setup of docs/routing.md: equal keys go to the cache that the name of a header chooses, or to that of the topic."""
    routers = {
        kind: {"type": f"{KAFKA}RegexRouter", "regex": sink.topic, "replacement": f"{sink.topic}-{kind}", "predicate": kind}
        for kind in ("orders", "returns")
    }
    predicates = {kind: {"type": f"{KAFKA}predicates.HasHeaderKey", "name": kind} for kind in routers}
    sink.settings = replace(sink.settings, **chain(**routers), predicates=tuple(predicates), predicate_config=predicates)
    sink.send([trade(number) for number in range(3)], partition=0, headers=[("orders", b"")])
    sink.send([trade(number, symbol="returned") for number in range(2)], partition=0, headers=[("returns", b"")])
    sink.send([trade(7), (b"2", None)], partition=0)
    sink.send([(b"1", None)], partition=0, headers=[("orders", b"")])
    sink.run()
    assert set(sink.entries(f"{sink.cache}-orders")) == {0, 2}
    assert {key: value["symbol"] for key, value in sink.entries(f"{sink.cache}-returns").items()} == dict.fromkeys(range(2), "returned")
    found = verified(sink)
    assert {name: counts(one) for name, one in found.items()} == {
        "orders": (2, 4, 0, 0, 0), "returns": (2, 2, 0, 0, 0), "cache": (1, 2, 0, 0, 0)
    }  # fmt: skip


@pytest.mark.parametrize("percent", [30, 100])
def test_a_sample_of_the_caches_of_days(percent: int, sink: Sink) -> None:
    by_day(sink)
    sink.send([trade(number) for number in range(600)])
    sink.run()
    found = verified(sink, percent=percent)
    (only,) = found.values()
    assert 0 < only.result.entries == only.result.records <= 600
    assert (only.result.entries == 600) == (percent == 100)
