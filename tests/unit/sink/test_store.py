"""A store: faults of the program, errors that pass through, and classes that the source sees while a stream runs."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from ignite_kafka.convert.to_ignite import Entries
from ignite_kafka.errors import IgniteKafkaError, ProgramFault, TypeClash
from ignite_kafka.ignite.binary.row_values import EnumValue
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.plan.sink_plan import SinkPlan, TopicPlan
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.store import Store
from ignite_kafka.state.types import write_uses
from tests.support.converters import converter
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, enum, number, page
from tests.support.to_ignite_records import GrowingTypes, consumed
from tests.support.types_log import NAME, TypesLog


class Failing:
    """A conversion that fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def convert(self, batch: Consumed) -> Entries:
        raise self._error


def store_that_fails(error: Exception, policy: str) -> Store:
    dead_letter_topic = "dead" if policy == "DEAD_LETTER" else ""
    settings = SinkSettings(name="c", topics=("topic",), error_handling_policy=policy, dead_letter_topic=dead_letter_topic)
    store = Store(SinkPlan("c", 1, 4, settings, (TopicPlan("topic", "id", "cache", 4),)), cast(Any, None), cast(Any, None))
    store._sinks["topic"] = cast(Any, (Failing(error), None))
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


class Caches:
    """A cluster without types, and the entries that were put."""

    def __init__(self) -> None:
        self.types = GrowingTypes()
        self.put: list[tuple[bytes, bytes]] = []

    def cache(self, name: str) -> CacheInfo:
        return CacheInfo(name, 1)

    def writer(self, *_: Any, **__: Any) -> Any:
        def put(keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
            self.put += zip(keys.to_pylist(), values.to_pylist(), strict=True)

        return SimpleNamespace(put=put, flush=lambda: None)


def test_a_filter_leaves_entries_out_before_they_are_put(monkeypatch: pytest.MonkeyPatch) -> None:
    log, caches = TypesLog(), Caches()
    monkeypatch.setattr("ignite_kafka.sink.store.CacheWriter", caches.writer)
    monkeypatch.setattr("ignite_kafka.sink.store.ClusterTypes", lambda _: caches.types)
    monkeypatch.setattr("ignite_kafka.sink.store.TypesTopic", lambda *_: log.topic)
    settings = SinkSettings(
        name="c",
        topics=("topic",),
        types_topic=NAME,
        where="n >= 2 OR _offset = 100",
        error_handling_policy="LOG_ONLY",
        process_updates=True,
    )
    store = Store(SinkPlan("c", 1, 4, settings, (TopicPlan("topic", "id", "cache", 4),)), cast(Any, caches), cast(Any, None))
    values: list[bytes | None] = [b'{"n":0,"s":"a"}', b'{"n":1}', b'{"n":', b'{"n":2}', b'{"n":3,"s":"b"}']
    stored = store.store([consumed(values)])
    assert [json.loads(converter("json").convert([page([entry])], CACHE, caches.types).values[0].as_py())["n"] for entry in caches.put] == [
        0,
        2,
        3,
    ]
    assert (stored.entries, stored.filtered) == ({("topic", 3): 3}, {("topic", 3): 1})
    assert [[bad.row for bad in records] for _, records in stored.skipped] == [[2]]
    assert not store.needs_times


def test_a_stream_takes_the_class_that_the_source_saw_later(monkeypatch: pytest.MonkeyPatch) -> None:
    types, log, caches = Types(), TypesLog(), Caches()
    color = types.add("Color", {}, enum=("RED", "BLUE"))
    tin = types.add("Tin", {"color": codes.ENUM, "lid": codes.OBJECT, "n": codes.INT})
    monkeypatch.setattr("ignite_kafka.sink.store.CacheWriter", caches.writer)
    monkeypatch.setattr("ignite_kafka.sink.store.ClusterTypes", lambda _: caches.types)
    monkeypatch.setattr("ignite_kafka.sink.store.TypesTopic", lambda *_: log.topic)
    settings = SinkSettings(name="c", topics=("topic",), run_mode="continuous", types_topic=NAME, internal_topic_prefix="b")
    store = Store(SinkPlan("c", 1, 4, settings, (TopicPlan("topic", "id", "cache", 4),)), cast(Any, caches), cast(Any, None))
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
