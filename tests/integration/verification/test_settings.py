"""Comparisons in both directions with converters, filters, transforms, key policies and skipped records, on real servers."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from confluent_kafka import Message, Producer
from pyignite.datatypes import LongObject

from ignite_kafka.errors import CacheNotFound, EntriesRefused, TopicError
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.verification.connector import check_connector
from ignite_kafka.verification.result import VerifyOptions
from tests.support.sink_connector import Record, Running, Sink, cache_of_short_symbols, expected, trade
from tests.support.snapshot_world import ROWS, World
from tests.support.verified_results import counts, verified
from tests.support.waiting import REQUEST_S
from tools.servers import SchemaRegistry

KAFKA = "org.apache.kafka.connect.transforms."
MASK: dict[str, Any] = {"transforms": ("mask",), "transform_config": {"mask": {"type": f"{KAFKA}MaskField$Value", "fields": "symbol"}}}


@dataclass(frozen=True)
class Way:
    """Settings of both directions and of each one, and the numbers of records and entries that pass the filters."""

    both: dict[str, Any] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)
    sink: dict[str, Any] = field(default_factory=dict)
    records: int = ROWS
    entries: int = ROWS


def with_registry(converter: str, registry: SchemaRegistry, *sides: str) -> Way:
    url = {"schema.registry.url": registry.url}
    given: dict[str, Any] = {f"{side}_converter{end}": value for side in sides for end, value in (("", converter), ("_config", url))}
    return Way(given, source={"field_nullability_policy": "EAGER"})


SCHEMAS = {f"{side}_converter_config": {"schemas.enable": "true"} for side in ("key", "value")}
BINARY = {f"{side}_converter": "ignite-binary" for side in ("key", "value")}
WAYS: dict[str, Callable[[Any], Way]] = {
    "avro": lambda request: with_registry("avro", request.getfixturevalue("schema_registry"), "key", "value"),
    "json-schema": lambda request: with_registry("json-schema", request.getfixturevalue("schema_registry"), "value"),
    "ignite-binary": lambda _: Way(BINARY, sink={"cache_value_type": "", "cache_key_type": "", "cache_fields": {}}),
    "schemas": lambda _: Way(SCHEMAS),
    "filters": lambda _: Way(source={"where": "id < 1000", "select": "id, symbol"}, sink={"where": "id >= 400"}, records=1000, entries=600),
    "transforms": lambda _: Way(MASK),
    "key of the value": lambda _: Way(sink={"key_policy": "value", "key_fields": ("id",)}),
}


@pytest.mark.parametrize(
    ("way", "thorough"),
    [
        *((way, False) for way in WAYS if way not in ("json-schema", "schemas")),
        ("schemas", True),
        pytest.param("schemas", False, marks=pytest.mark.long("avro")),
        pytest.param("json-schema", False, marks=pytest.mark.long("avro")),
        pytest.param("filters", True, marks=pytest.mark.long("schemas")),
    ],
)
def test_differences_are_found_and_repaired_whatever_the_settings(
    way: str, thorough: bool, fresh: World, sink: Sink, request: pytest.FixtureRequest
) -> None:
    chosen = WAYS[way](request)
    fresh.settings = replace(fresh.settings, cache_whitelist=(f"{fresh.stem}-trades",), **chosen.both, **chosen.source)
    topic, cache = f"{fresh.settings.topic_prefix}{fresh.stem}-trades", f"{sink.cache}-copied"
    fresh.run()
    fields = {"id": "java.lang.Long", "symbol": "java.lang.String", "price": "java.lang.Double", "at": "java.sql.Timestamp"}
    here: dict[str, Any] = {"topics": (topic,), "topic_prefix": topic, "cache_prefix": cache, "cache_fields": fields}
    sink.settings = replace(sink.settings, **{**here, **chosen.both, **chosen.sink})
    sink.run()
    assert counts(verified(fresh, thorough=thorough)["trades"]) == (chosen.records, chosen.records, 0, 0, 0)
    assert counts(verified(sink)["copied"]) == (chosen.entries, chosen.entries, 0, 0, 0)
    part = verified(sink, percent=20)["copied"].result
    assert 0 < part.entries == part.records < chosen.entries / 2
    _repair_of_a_sink(sink, cache, chosen)
    _repair_of_a_source(fresh, sink, topic, thorough=thorough)


def _repair_of_a_sink(sink: Sink, cache: str, chosen: Way) -> None:
    with sink.ignite.client() as client:
        damaged = client.get_cache(cache)
        damaged.put(501, damaged.get(502, key_hint=LongObject), key_hint=LongObject)
        damaged.remove_key(503, key_hint=LongObject)
    found = verified(sink)["copied"]
    assert counts(found) == (chosen.entries - 1, chosen.entries, 1, 1, 0)
    assert any("no entry of key 503" in text for text in found.result.examples), found.result.examples
    assert verified(sink, repair=True)["copied"].repaired == 2
    assert counts(verified(sink)["copied"]) == (chosen.entries, chosen.entries, 0, 0, 0)


def _repair_of_a_source(fresh: World, sink: Sink, topic: str, *, thorough: bool) -> None:
    first, second, *_ = by_key(sink.messages(topic)).items()
    producer = Producer({"bootstrap.servers": fresh.kafka.bootstrap, "partitioner": "murmur2_random"})
    for key, value in ((first[0], None), (second[0], first[1]), (b"no entry", b"left over")):
        producer.produce(topic, value, key)
    assert producer.flush(REQUEST_S) == 0
    found = verified(fresh, thorough=thorough)["trades"].result
    assert (found.missing + found.different, found.unexpected) == (2, 1)
    assert verified(fresh, repair=True)["trades"].repaired == 3
    assert verified(fresh, thorough=thorough)["trades"].equal
    after = by_key(sink.messages(topic))
    assert (after.pop(b"no entry"), after[first[0]], after[second[0]]) == (None, first[1], second[1])


def by_key(messages: list[Message]) -> dict[bytes | None, bytes | None]:
    """The last value of each key."""
    return {message.key(): message.value() for message in messages}


@pytest.mark.parametrize("policy", ["LOG_ONLY", "DEAD_LETTER"])
def test_skipped_records_of_a_sink_are_no_differences(policy: str, sink: Sink) -> None:
    letters: dict[str, Any] = {"dead_letter_topic": f"{sink.name}-dead"} if policy == "DEAD_LETTER" else {}
    sink.settings = replace(sink.settings, error_handling_policy=policy, **letters)
    sink.send([trade(number) for number in range(30)])
    sink.send([(b"3", b'{"id":"no number"}'), (b"90", b"{")], partition=0)
    sink.run()
    found = verified(sink)["cache"]
    assert (counts(found), found.result.skipped, found.equal) == ((30, 32, 0, 0, 0), 2, True)
    assert any("a record cannot be converted to an entry" in text for text in found.result.examples)


def test_records_that_the_cache_refused_are_no_differences_if_they_are_dead_letters(sink: Sink) -> None:
    cache_of_short_symbols(sink)
    sink.settings = replace(sink.settings, error_handling_policy="DEAD_LETTER", dead_letter_topic=f"{sink.name}-dead")
    assert verified_after(sink, [trade(number) for number in range(30)]) == ((30, 30, 0, 0, 0), 0)
    refused = [trade(40, symbol="far too long"), trade(9, symbol="too long, and not the first")]
    assert verified_after(sink, refused) == ((30, 32, 0, 0, 0), 2)
    found = verified(sink)["cache"]
    assert any(f"the cache refused the record of key 9, which is in {sink.name}-dead" in text for text in found.result.examples)
    assert found.equal

    with sink.ignite.client() as client:
        client.get_cache(sink.cache).remove_key(3, key_hint=LongObject)
    repaired = verified(sink, repair=True)["cache"]
    assert (counts(repaired), repaired.result.skipped, repaired.repaired) == ((29, 32, 1, 0, 0), 2, 1)
    assert sink.entries() == {number: expected(number) for number in range(30)}
    assert verified_after(sink, [trade(40)]) == ((31, 33, 0, 0, 0), 1)
    with sink.ignite.client() as client:
        client.get_cache(sink.cache).remove_key(40, key_hint=LongObject)
    assert counts(verified(sink)["cache"]) == (30, 33, 1, 0, 0), "the letter is of another value of the key"


def verified_after(sink: Sink, records: list[Record]) -> tuple[tuple[int, int, int, int, int], int]:
    """Run the sink with further records of one partition; the counts, and the number of skipped keys."""
    sink.send(records, partition=0)
    sink.run()
    found = verified(sink)["cache"]
    return counts(found), found.result.skipped


def test_records_that_the_cache_refused_are_differences_without_dead_letters(sink: Sink) -> None:
    cache_of_short_symbols(sink)
    sink.settings = replace(sink.settings, error_handling_policy="LOG_ONLY")
    records = [trade(1), trade(2, symbol="far too long"), trade(3), trade(3, symbol="far too long")]
    assert verified_after(sink, records) == ((2, 4, 1, 1, 0), 0)
    with pytest.raises(EntriesRefused, match="too long"):
        verified(sink, repair=True)
    assert verified_after(sink, []) == ((2, 4, 1, 1, 0), 0)


def test_removals_and_overwritten_entries_of_a_sink_without_updates(sink: Sink) -> None:
    sink.settings = replace(sink.settings, process_updates=False)
    sink.send([trade(number) for number in range(30)])
    sink.send([(b"7", None), trade(9, price=77.5), (b"50", None)], partition=0)
    sink.run()
    assert counts(verified(sink)["cache"]) == (30, 33, 0, 0, 0)
    with sink.ignite.client() as client:
        client.get_cache(sink.cache).remove_key(7, key_hint=LongObject)
    assert counts(verified(sink)["cache"]) == (29, 33, 1, 0, 0)
    assert verified(sink, repair=True)["cache"].equal
    assert set(sink.entries()) == set(range(30))


def test_a_sink_whose_cache_is_lost_is_filled_again(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    sink.run()
    with sink.ignite.client() as client:
        client.get_cache(sink.cache).destroy()
    with pytest.raises(CacheNotFound, match="1 of 1 caches of the connector do not exist") as caught:
        check_connector(sink.settings, Secrets(), VerifyOptions())
    assert "--repair creates and fills them" in str(caught.value)
    repaired = verified(sink, repair=True)["cache"]
    assert (counts(repaired), repaired.repaired, repaired.equal) == ((0, 30, 30, 0, 0), 30, True)
    assert counts(verified(sink)["cache"]) == (30, 30, 0, 0, 0)


def test_a_cache_whose_topic_does_not_exist_is_missing(fresh: World) -> None:
    with pytest.raises(TopicError, match="no topic of the connector exists"):
        check_connector(fresh.settings, Secrets(), VerifyOptions())
    names = replace(fresh.settings, cache_whitelist=(f"{fresh.stem}-names",))
    run_snapshot(fresh.spark, RunRequest(names, uuid.uuid4().hex, None))
    found = verified(fresh)
    assert counts(found["names"]) == (50, 50, 0, 0, 0)
    assert (counts(found["trades"]), found["trades"].equal) == ((ROWS, 0, ROWS, 0, 0), False)
    assert "does not exist: run the connector" in found["trades"].result.examples[0]
    assert found["empty"].equal, "there is nothing to send"


def test_records_of_an_open_transaction_are_not_waited_for(fresh: World) -> None:
    """The records of a producer that died are never committed."""
    fresh.run()
    producer = Producer({"bootstrap.servers": fresh.kafka.bootstrap, "transactional.id": fresh.settings.name + "-other"})
    producer.init_transactions(REQUEST_S)
    producer.begin_transaction()
    producer.produce(f"{fresh.settings.topic_prefix}{fresh.stem}-names", b'"open"', b'"key 1"')
    assert producer.flush(REQUEST_S) == 0
    try:
        assert all(one.equal for one in verified(fresh).values())
    finally:
        producer.abort_transaction(REQUEST_S)


def test_caches_that_a_stream_with_routers_makes_meanwhile_are_no_differences(sink: Sink) -> None:
    by_day: dict[str, Any] = {
        "transforms": ("day",),
        "transform_config": {"day": {"type": f"{KAFKA}TimestampRouter", "timestamp.format": "yyyy"}},
    }
    sink.settings = replace(sink.settings, slots=1, **by_day)
    sink.send([trade(number) for number in range(30)])
    sink.run()
    with Running(sink) as running:  # it holds one of the session's two cores
        (name,) = verified(sink)
        sink.send([trade(number) for number in range(30, 60)])
        running.awaits(set(range(60)), f"{sink.cache}-{name}")
        assert all(one.result.missing == 0 for one in verified(sink).values())
