"""A store: faults of the program, errors that pass through, and classes that the source sees while a stream runs."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ignite_kafka import events
from ignite_kafka.convert.to_ignite import Entries
from ignite_kafka.errors import IgniteKafkaError, ProgramFault, TypeClash
from ignite_kafka.ignite.binary.row_values import EnumValue
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.plan.sink_plan import SinkPlan, TopicPlan
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.dead_letters import error_of, record_headers
from ignite_kafka.sink.store import Store
from ignite_kafka.state.types_topic import write_uses
from tests.support.converters import converter
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, enum, number, page
from tests.support.sink_stores import BY_DAY, KAFKA, Caches, by_day, make_router, make_store
from tests.support.to_ignite_records import consumed
from tests.support.types_log import NAME, TypesLog


class Failing:
    """A conversion that fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def convert(self, *_: object) -> Entries:
        raise self._error


def store_that_fails(error: Exception, policy: str) -> Store:
    dead_letter_topic = "dead" if policy == "DEAD_LETTER" else ""
    settings = SinkSettings(name="c", topics=("topic",), error_handling_policy=policy, dead_letter_topic=dead_letter_topic)
    store = make_store(SinkPlan("c", 1, 4, settings, (TopicPlan("topic", "id", "cache", 4),)), None)
    store._router._converters["topic"] = cast(Any, Failing(error))
    return store


@pytest.mark.parametrize("policy", ["STOP_TASK", "LOG_ONLY", "DEAD_LETTER"])
@pytest.mark.parametrize("error", [AttributeError("no field"), UnicodeDecodeError("utf-8", b"\xe9", 0, 1, "why")])
def test_a_program_fault_names_the_records_and_makes_no_bad_record(error: Exception, policy: str) -> None:
    with pytest.raises(ProgramFault) as raised:
        store_that_fails(error, policy).store([consumed([b"1", b"2", b"3"])])
    fault = raised.value
    assert fault.__cause__ is error
    assert fault.final
    assert fault.where == {"topic": "topic", "partition": 3, "first_offset": 100, "last_offset": 102}
    copy = IgniteKafkaError.from_dict(json.loads(json.dumps(fault.to_dict())))
    for part in (type(error).__name__, str(error), "test_store.py:", "fault of this program", "Report it", "first offset 100"):
        assert part in str(copy)


@pytest.mark.parametrize("error", [TypeClash("field id is of another type"), MemoryError()])
def test_other_errors_of_the_conversion_are_raised_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        store_that_fails(error, "LOG_ONLY").store([consumed([b"1"])])
    assert raised.value is error


def test_a_filter_leaves_entries_out_before_they_are_put(monkeypatch: pytest.MonkeyPatch) -> None:
    log, caches = TypesLog(), Caches()
    caches.replace_cluster(monkeypatch, log)
    where = "n >= 2 OR _offset = 100"
    settings = SinkSettings(
        name="c", topics=("topic",), types_topic=NAME, where=where, error_handling_policy="LOG_ONLY", process_updates=True
    )
    store = make_store(SinkPlan("c", 1, 4, settings, (TopicPlan("topic", "id", "cache", 4),)), caches)
    values: list[bytes | None] = [b'{"n":0,"s":"a"}', b'{"n":1}', b'{"n":', b'{"n":2}', b'{"n":3,"s":"b"}']
    stored = store.store([consumed(values)])
    found = [converter("json").convert([page([entry])], CACHE, caches.types).values[0].as_py() for entry in caches.put]
    assert [json.loads(value)["n"] for value in found] == [0, 2, 3]
    assert (stored.entries, stored.filtered) == ({("topic", 3): 3}, {("topic", 3): 1})
    assert [[bad.row for bad in records] for _, records in stored.skipped] == [[2]]


def test_a_stream_takes_the_class_that_the_source_saw_later(monkeypatch: pytest.MonkeyPatch) -> None:
    types, log, caches = Types(), TypesLog(), Caches()
    color = types.add("Color", {}, enum=("RED", "BLUE"))
    tin = types.add("Tin", {"color": codes.ENUM, "lid": codes.OBJECT, "n": codes.INT})
    caches.replace_cluster(monkeypatch, log)
    settings = SinkSettings(name="c", topics=("topic",), run_mode="continuous", types_topic=NAME, internal_topic_prefix="b")
    store = make_store(SinkPlan("c", 1, 4, settings, (TopicPlan("topic", "id", "cache", 4),)), caches)
    blue, seven = enum(EnumValue(color.type_id, 1, "")), number(codes.INT, 7)
    for fields in ((NULL, NULL), (blue, NULL), (blue, number(codes.SHORT, 3))):
        value = binary(tin, {"color": fields[0], "lid": fields[1], "n": seven})
        records = converter("json").convert([page([(seven, value)])], CACHE, types)
        write_uses(log.writer, NAME, "topic", records, types)
        stored = store.store([consumed(records.values.to_pylist(), records.keys.to_pylist())])
        assert (stored.skipped, stored.stopped) == ([], {})
        key, found = caches.put[-1]
        again = converter("json").convert([page([(key, found)])], CACHE, types)
        assert again.uses == records.uses
    reads = log.reads
    store.store([consumed(records.values.to_pylist(), records.keys.to_pylist())])
    assert (reads, log.reads) == (3, 3)


@pytest.mark.parametrize("policy", ["STOP_TASK", "DEAD_LETTER"])
def test_records_are_stored_in_the_caches_of_their_routed_topics(monkeypatch: pytest.MonkeyPatch, policy: str) -> None:
    dead = {"dead_letter_topic": "dead"} if policy == "DEAD_LETTER" else {}
    plan, caches = by_day(monkeypatch, error_handling_policy=policy, **dead)
    store = make_store(plan, caches)
    values = [b'{"x":1}', b'{"x":2}', b'{"x":3}', b"7", b'{"x":4}']
    given = replace(consumed(values, [b"1", b"2", b"3", b"4", b"5"]), times_ms=np.array([0, 86_400_000, 0, 0, 0]))
    stored = store.store([given])
    keys = {name: [number(codes.LONG, key) for key in found] for name, found in {"topic-19700101": [1, 3], "topic-19700102": [2]}.items()}
    if policy == "STOP_TASK":
        error = stored.stopped["topic", 3]
        assert (error.where["offset"], error.where["stage"], error.where["transform"]) == (103, "TRANSFORMATION", "mask")
    else:
        keys["topic-19700101"].append(number(codes.LONG, 5))
        ((_, bad),) = stored.skipped
        assert [one.row for one in bad] == [3]
        headers = dict(record_headers("c", 1, error_of(given, bad[0])))
        assert headers["__connect.errors.stage"] == b"TRANSFORMATION"
        assert headers["__connect.errors.class.name"] == f"{KAFKA}MaskField$Value".encode()
        assert headers["__connect.errors.exception.class.name"] == b"org.apache.kafka.connect.errors.DataException"
    assert caches.by_cache == keys
    assert stored.entries == {("topic", 3): sum(map(len, keys.values()))}


@pytest.mark.parametrize("in_order", [False, True])
def test_the_filter_sees_the_entries_that_transforms_make_and_the_record_that_was_read(
    monkeypatch: pytest.MonkeyPatch, in_order: bool
) -> None:
    """MaskField makes x 0, and offset 102 is left out by its number, whatever topic it is routed to."""
    where = "x = 0 AND _offset <> 102 AND _topic = 'topic'"
    plan, caches = by_day(monkeypatch, where=where, error_handling_policy="LOG_ONLY")
    store = make_store(plan, caches, in_order=in_order)
    values = [b'{"x":1}', b'{"x":2}', b'{"x":3}', b"7", b'{"x":4}']
    given = replace(consumed(values, [b"1", b"2", b"3", b"4", b"5"]), times_ms=np.array([0, 86_400_000, 0, 0, 0]))
    stored = store.store([given])
    expected = {"topic-19700101": [1, 5], "topic-19700102": [2]}
    assert caches.by_cache == {name: [number(codes.LONG, key) for key in keys] for name, keys in expected.items()}
    assert (stored.entries, stored.filtered) == ({("topic", 3): 3}, {("topic", 3): 1})
    assert [[bad.row for bad in records] for _, records in stored.skipped] == [[3]]


@pytest.mark.parametrize("in_order", [False, True])
def test_the_last_record_of_a_key_counts_whatever_topics_its_records_are_routed_to(monkeypatch: pytest.MonkeyPatch, in_order: bool) -> None:
    """A record whose time is late goes by the topic of an earlier day to the same cache."""
    day = {"transforms": "day", "transform_config": {"day": BY_DAY["transform_config"]["day"]}}
    plan, caches = by_day(monkeypatch, cache_names={"topic-.*": "orders"}, process_updates=True, **day)
    store = make_store(plan, caches, in_order=in_order)
    put: list[tuple[bytes, bytes]] = []

    def writer(_: Any, cache: CacheInfo, **__: Any) -> Any:
        assert cache.name == "orders"
        return SimpleNamespace(
            put=lambda keys, values, _: put.extend(zip(keys.to_pylist(), values.to_pylist(), strict=True)),
            remove=lambda keys, _: put.extend((key, NULL) for key in keys.to_pylist()),
            flush=lambda: None,
        )

    monkeypatch.setattr("ignite_kafka.sink.store.CacheWriter", writer)
    values = [b'{"n":1}', b'{"n":2}', b'{"n":3}', b'{"n":4}', None, b'{"n":5}']
    given = consumed(values, [b"1", b"1", b"1", b"2", b"2", b"3"])
    given = replace(given, times_ms=np.array([0, 86_400_000, 0, 86_400_000, 0, 86_400_000]))
    routed = make_router(plan, caches).route(given)
    ((cache, compared),) = routed.parts
    assert (cache, compared.rows.tolist(), routed.bad) == ("orders", [0, 1, 2, 3, 4, 5], [])
    store.store([given])
    cache_now = dict(put)
    assert cache_now.pop(number(codes.LONG, 2)) == NULL
    found = converter("json").convert([page(list(cache_now.items()))], CACHE, caches.types, in_order=True)
    assert [json.loads(value)["n"] for value in found.values.to_pylist()] == [3, 5]


@pytest.mark.parametrize("policy", ["STOP_TASK", "LOG_ONLY", "DEAD_LETTER"])
def test_a_bad_record_has_an_event_under_every_policy(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    plan, caches = by_day(monkeypatch, error_handling_policy=policy, dead_letter_topic="" if policy == "LOG_ONLY" else "dead")
    store = make_store(plan, caches)
    values = [b'{"x":1}', b"{", b'{"x":3}']
    given = replace(consumed(values), times_ms=np.zeros(3, np.int64))
    stored = store.store([given])
    (event,) = [record for record in caplog.records if record.__dict__.get("event_id") == events.OBJECT_NOT_BUILT.id]
    assert event.__dict__["event_fields"]["offset"] == int(given.offsets[1])
    noted = stored.stopping if policy == "STOP_TASK" else stored.skipped
    assert [[bad.row for bad in records] for _, records in noted] == [[1]]


def test_a_record_for_which_the_filter_fails_is_a_bad_one_with_the_class_of_filters(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log, caches = TypesLog(), Caches()
    caches.replace_cluster(monkeypatch, log)
    settings = SinkSettings(name="c", topics=("topic",), where="_value > 1", error_handling_policy="DEAD_LETTER", dead_letter_topic="dead")
    store = make_store(SinkPlan("c", 1, 4, settings, (TopicPlan("topic", "id", "cache", 4),)), caches)
    given = consumed([b"1", b'"text"', b"3"])
    stored = store.store([given])
    assert (stored.entries, stored.filtered) == ({("topic", 3): 1}, {("topic", 3): 1})
    (((_, (bad,))),) = stored.skipped
    headers = dict(record_headers("c", 1, error_of(given, bad)))
    assert headers["__connect.errors.stage"] == b"TRANSFORMATION"
    assert headers["__connect.errors.class.name"] == b"ignite_kafka.convert.filter.entries.EntryFilter"
    assert [record.__dict__["event_id"] for record in caplog.records if "event_id" in record.__dict__] == [events.FILTER_FAILED.id]
