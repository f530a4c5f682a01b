"""Bad entries by the error policy; a batch without bad entries is converted once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pytest

from ignite_kafka import events
from ignite_kafka.convert import Converters
from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.serializer import AvroSerializer
from ignite_kafka.convert.json.converter import JsonConverter
from ignite_kafka.convert.to_kafka.connect_side import ConnectSide, SchemaPolicy
from ignite_kafka.convert.to_kafka.entry_converter import EntryConverter
from ignite_kafka.errors import (
    AmbiguousKeys,
    DecodeError,
    IgniteKafkaError,
    RecordTooLarge,
    RegistryError,
    RegistryUnavailable,
    TransformFailed,
    UnknownBinaryType,
    UnsupportedType,
)
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, Page, QueryEntity, QueryField
from ignite_kafka.kafka.dead_letters import DeadLetter
from ignite_kafka.kafka.headers import pairs
from ignite_kafka.kafka.records import Records
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.entry_sender import EntryBatch, EntrySender
from tests.support import emitted_events
from tests.support.bad_entries import NULL_KEY, OF_UNKNOWN_TYPE, long
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, decimal, number, page, string, wrapped
from tests.support.registry import MemoryClient, memory_registry

PLAN = CachePlan("tested", 1, "topic", 8, 2, topic_bytes=4_000)
GOOD = page([(long(1), string("a")), (long(2), string("b"))], 3)
MIXED = page([(long(1), string("a")), (long(2), NULL_KEY), (long(3), string("c")), (long(4), NULL)], 3)
PARTITIONS = np.array([5, 6, 7, 7])


class Writer:
    """Keeps the records of a slot's transaction; records with the keys `too_large` are too large."""

    def __init__(self, *too_large: bytes) -> None:
        self.types_sent: dict[int, Any] = {}
        self.uses_sent: dict[str, Any] = {}
        self.control: list[tuple[str, bytes, bytes]] = []
        self.sent: list[tuple[bytes, bytes | None]] = []
        self.dead_letters: list[DeadLetter] = []
        self._too_large = too_large

    def send_type_record(self, topic: str, key: bytes, value: bytes) -> None:
        self.control.append((topic, key, value))

    def send(self, topic: str, partitions: int | None, records: Records, topic_id: str = "") -> None:
        self.sent += zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True)

    def send_dead_letters(self, dead_letters: Iterable[DeadLetter]) -> None:
        self.dead_letters += dead_letters

    def too_large(self, topic: str, topic_bytes: int, records: Records) -> dict[int, RecordTooLarge]:
        assert topic_bytes == 4_000
        return {row: RecordTooLarge("large", topic=topic) for row, key in enumerate(records.keys.to_pylist()) if key in self._too_large}


def send(
    writer: Writer,
    policy: str,
    entries: Page = MIXED,
    removed: list[bool] | None = None,
    *,
    cache: CacheInfo = CACHE,
    types: Types | None = None,
    value_converter: EntryConverter | None = None,
    transforms: dict[str, dict[str, str]] | None = None,
    predicates: dict[str, dict[str, str]] | None = None,
    dropped: tuple[int, ...] = (),
    conversions: str = "",
    cache_header: str = "",
) -> tuple[Records, list[int]]:
    dead_letter_topic = "dead" if "DEAD_LETTER" in (policy, conversions) else ""
    settings = SourceSettings(
        name="c", error_handling_policy=policy, conversion_error_policy=conversions, dead_letter_topic=dead_letter_topic,
        transforms=tuple(transforms or ()),
        transform_config=transforms or {}, predicates=tuple(predicates or ()), predicate_config=predicates or {},
        overrides={".*": {"topic": PLAN.topic}}, cache_header=cache_header,
    )  # fmt: skip
    converters = Converters(settings, lambda _: value_converter) if value_converter else None
    sender = EntrySender(TransferPlan("c", "s", 1, 16, settings, (PLAN,)), cast(Any, types or Types()), converters)
    gone = None if removed is None else np.array(removed)
    before = len(writer.dead_letters)
    sent = sender.send(cast(Any, writer), 9, PLAN, cache, EntryBatch([entries], PARTITIONS[: entries.rows], gone))
    assert tuple(sent.dropped.tolist()) == dropped
    assert sent.dead_letters.size == len(writer.dead_letters) - before
    assert set(sent.dead_letters.tolist()) <= set(sent.bad.tolist())
    return sent.records, sent.bad.tolist()


def test_the_default_policy_stops_the_task() -> None:
    writer = Writer()
    with pytest.raises(UnsupportedType, match="null key"):
        send(writer, "STOP_TASK")
    assert (writer.sent, writer.dead_letters) == ([], [])


PRICES = Types()
PRICE = PRICES.add("Price", {"d": codes.DECIMAL})
OF_PRICE = (long(1), wrapped(binary(PRICE, {"d": decimal(Decimal("1.5"))})))
OF_PRICES = replace(
    CACHE, query_entities=(QueryEntity("java.lang.Long", "Price", fields=(QueryField("d", "java.math.BigDecimal", scale=2),)),)
)


def price(text: str) -> bytes:
    return binary(PRICE, {"d": decimal(Decimal(text))})


def test_an_error_of_a_value_names_its_entry() -> None:
    types, cache = PRICES, OF_PRICES
    entries = page([(long(row), price(text)) for row, text in enumerate(("1.5", "1.234"))], 3)
    with pytest.raises(UnsupportedType, match=r"field d holds 1\.234.*declared scale 2.*partition 3, key b'1'"):
        send(Writer(), "STOP_TASK", entries, cache=cache, types=types)
    assert send(Writer(), "LOG_ONLY", entries, cache=cache, types=types)[1] == [1]


ONLY_CONVERTER, ONLY_CONNECTOR = (long(2), wrapped(price("1.234"))), (long(3), NULL_KEY)
"""An entry that only the converter of JSON refuses, and one that makes no Connect data."""


@pytest.mark.parametrize(
    ("policy", "conversions", "bad", "letters"),
    [("DEAD_LETTER", "LOG_ONLY", [1, 2], [3]), ("LOG_ONLY", "DEAD_LETTER", [1, 2], [2]), ("DEAD_LETTER", "", [1, 2], [2, 3])],
)
def test_each_policy_is_for_its_errors(policy: str, conversions: str, bad: list[int], letters: list[int]) -> None:
    writer, entries = Writer(), page([(long(1), wrapped(price("1.5"))), ONLY_CONVERTER, ONLY_CONNECTOR], 3)
    found = send(writer, policy, entries, cache=OF_PRICES, types=PRICES, conversions=conversions)
    assert (len(found[0]), found[1]) == (1, bad)
    assert [letter.key for letter in writer.dead_letters] == [long(key) for key in letters]


@pytest.mark.parametrize(("policy", "conversions", "key"), [("STOP_TASK", "LOG_ONLY", 3), ("LOG_ONLY", "STOP_TASK", 2)])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_policy_stops_at_its_errors_alone(policy: str, conversions: str, key: int, *, reverse: bool) -> None:
    pairs = [(long(1), wrapped(price("1.5"))), ONLY_CONVERTER, ONLY_CONNECTOR]
    writer, entries = Writer(), page(pairs[::-1] if reverse else pairs, 3)
    with pytest.raises(UnsupportedType) as stopped:
        send(writer, policy, entries, cache=OF_PRICES, types=PRICES, conversions=conversions)
    assert stopped.value.where["key"] == f"b'{key}'"
    assert writer.sent == []
    other = ONLY_CONVERTER if key == 3 else ONLY_CONNECTOR
    assert send(Writer(), policy, page([pairs[0], other], 3), cache=OF_PRICES, types=PRICES, conversions=conversions)[1] == [1]


BOXES = Types()
BOX = BOXES.add("Box", {"text": codes.STRING})
CUT_SHORT = binary(BOX, {"text": bytes([codes.STRING]) + (99).to_bytes(4, "little")})
"""An object whose own length is sound, and that of its text is not."""


@pytest.mark.parametrize(
    ("value", "error"),
    [(NULL_KEY, UnsupportedType), (OF_UNKNOWN_TYPE, UnknownBinaryType), (wrapped(CUT_SHORT), DecodeError)],
    ids=["a null key of a map", "a type without metadata", "broken bytes"],
)
def test_the_error_of_a_stopped_run_names_the_entry_by_its_key(value: bytes, error: type[IgniteKafkaError]) -> None:
    entries = page([(long(1), string("a")), (long(2), value), (long(3), string("c"))], 3)
    with pytest.raises(error) as stopped:
        send(Writer(), "STOP_TASK", entries, types=BOXES)
    assert {name: stopped.value.where[name] for name in ("cache", "partition", "key")} == {"cache": "tested", "partition": 3, "key": "b'2'"}


def test_a_page_whose_entries_cannot_be_told_apart_stops_with_its_partition() -> None:
    cut = Page(3, GOOD.rows, GOOD.data[:-1], True)
    with pytest.raises(DecodeError, match=r"cache tested, partition 3"):
        send(Writer(), "STOP_TASK", cut)


def test_a_bad_entry_is_skipped_with_an_event_that_names_it(caplog: pytest.LogCaptureFixture) -> None:
    writer = Writer()
    records, bad = send(writer, "LOG_ONLY", removed=[False, False, False, True])
    assert (len(records), bad) == (3, [1])
    assert (writer.sent, writer.dead_letters) == ([(b"1", b'"a"'), (b"3", b'"c"'), (b"4", None)], [])
    (event,) = [record for record in caplog.records if record.__dict__.get("event_id") == events.CONVERTER_FAILED.id]
    fields = event.__dict__["event_fields"]
    assert (fields["cache"], fields["partition"], fields["key"]) == ("tested", 6, "b'2'")
    assert (fields["stage"], fields["part"]) == ("TASK_POLL", "value")
    assert "null key" in fields["reason"]


def test_a_dead_letter_has_the_entrys_bytes_and_its_origin() -> None:
    writer = Writer(b"3")
    records, bad = send(writer, "DEAD_LETTER")
    assert (len(records), bad) == (2, [1, 2])
    assert [(letter.topic, letter.key, letter.value) for letter in writer.dead_letters] == [
        ("dead", long(2), NULL_KEY), ("dead", long(3), string("c"))
    ]  # fmt: skip
    names = [[name for name, _ in letter.headers] for letter in writer.dead_letters]
    assert names[0] == names[1] == [
        *(f"__connect.errors.{name}" for name in ("connector.name", "task.id", "stage", "class.name")),
        *(f"__connect.errors.exception.{name}" for name in ("class.name", "message", "stacktrace")),
        *(f"ignite_kafka.errors.{name}" for name in ("cache", "partition", "topic")),
    ]  # fmt: skip
    headers_of = [dict(letter.headers) for letter in writer.dead_letters]
    assert [headers["ignite_kafka.errors.partition"] for headers in headers_of] == [b"6", b"7"]
    assert [headers["__connect.errors.stage"] for headers in headers_of] == [b"TASK_POLL", b"KAFKA_PRODUCE"]
    assert headers_of[0]["__connect.errors.task.id"] == b"9"


def test_a_batch_of_bad_entries_sends_only_dead_letters() -> None:
    writer = Writer()
    records, bad = send(writer, "DEAD_LETTER", page([(long(1), OF_UNKNOWN_TYPE), (long(2), NULL_KEY)]))
    assert (len(records), bad, writer.sent, len(writer.dead_letters)) == (0, [0, 1], [], 2)


class CountingConverter(EntryConverter):
    """Counts its calls."""

    calls = 0

    def convert(self, *arguments: Any, **named: Any) -> Records:
        self.calls += 1
        return super().convert(*arguments, **named)


@pytest.mark.parametrize("policy", ["STOP_TASK", "LOG_ONLY", "DEAD_LETTER"])
def test_a_batch_without_bad_entries_is_converted_once(policy: str) -> None:
    writer, counting = Writer(), CountingConverter(JsonConverter("key"), JsonConverter("value"))
    assert send(writer, policy, GOOD, value_converter=counting)[1] == []
    assert (counting.calls, len(writer.sent)) == (1, 2)


def of_keys(connector: str, policy: str, *keys: bytes) -> list[int]:
    """Number of events of keys that may coincide, by batch of one entry."""
    settings = SourceSettings(name=connector, coinciding_keys=policy)
    sender = EntrySender(TransferPlan(connector, "s", 1, 16, settings, (PLAN,)), cast(Any, Types()))
    reported = []
    for key in keys:
        before = emitted_events.counts().get(events.KEYS_MAY_COINCIDE.id, 0)
        sender.send(cast(Any, Writer()), 9, PLAN, CACHE, EntryBatch([page([(key, string("v"))], 3)], PARTITIONS[:1]))
        reported.append(emitted_events.counts().get(events.KEYS_MAY_COINCIDE.id, 0) - before)
    return reported


def test_key_types_that_may_coincide_are_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    keys = long(1), number(codes.BYTE, 1), long(2), number(codes.BYTE, 2), number(codes.SHORT, 1)
    assert of_keys("reported", "EVENT", *keys) == [0, 1, 0, 0, 2]
    assert of_keys("reported", "EVENT", *keys) == [0, 0, 0, 0, 0], "another slot of this process"
    assert "keys of cache tested are of long (such as 1) and of byte (such as 1)" in caplog.text


def test_key_types_that_may_coincide_are_refused_by_the_setting() -> None:
    assert of_keys("refused", "REFUSE", long(1), string("1")) == [0, 0]
    for _ in range(2):  # and by every slot after it
        with pytest.raises(AmbiguousKeys, match=r"of long \(such as 1\) and of byte \(such as 1\), which can give the same Kafka key"):
            of_keys("refused", "REFUSE", number(codes.BYTE, 1))


@pytest.mark.parametrize("policy", ["STOP_TASK", "LOG_ONLY", "DEAD_LETTER"])
@pytest.mark.parametrize("error", [RegistryUnavailable("away"), RegistryError("refused", status=409)], ids=["away", "refusing"])
def test_a_registry_that_gives_no_id_makes_no_bad_entry_and_no_record(policy: str, error: IgniteKafkaError) -> None:
    class Refusing(MemoryClient):
        def register_schema(self, *_: Any) -> int:
            raise error

    side = ConnectSide(
        "value", AvroSerializer(memory_registry(Refusing(), retry_s=0.0), AvroOptions()), SchemaPolicy(), JsonConverter("value")
    )
    writer = Writer()
    with pytest.raises(type(error)):
        send(writer, policy, GOOD, value_converter=EntryConverter(JsonConverter("key"), side))
    assert (writer.sent, writer.dead_letters) == ([], [])


KAFKA = "org.apache.kafka.connect.transforms."
HOIST = {"hoist": {"type": f"{KAFKA}HoistField$Value", "field": "v"}}
TO_FLOAT = {"cast": {"type": f"{KAFKA}Cast$Value", "spec": "int32"}}
NUMBERS = page([(long(1), string("1")), (long(2), string("x")), (long(3), string("3")), (long(4), NULL)], 6)


def test_a_transform_that_replaces_the_null_of_a_removal_is_obeyed() -> None:
    writer = Writer()
    records, bad = send(writer, "STOP_TASK", NUMBERS, [False, False, False, True], transforms=HOIST)
    assert (len(records), bad) == (4, [])
    assert writer.sent[0] == (b"1", b'{"v":"1"}')
    assert writer.sent[3] == (b"4", b'{"v":null}')


def test_a_removal_passes_as_a_tombstone_and_filtered_entries_are_dropped() -> None:
    writer = Writer()
    predicate = {"gone": {"type": f"{KAFKA}predicates.RecordIsTombstone"}}
    live = {"live": {"type": f"{KAFKA}Filter", "predicate": "gone", "negate": "true"}}
    records, _ = send(writer, "STOP_TASK", NUMBERS, [False, False, False, True], transforms=live, predicates=predicate, dropped=(0, 1, 2))
    assert len(records) == 1
    assert writer.sent == [(b"4", None)]


def test_an_exception_of_a_transform_stops_the_task_and_names_the_entry() -> None:
    with pytest.raises(TransformFailed, match=r"transform cast throws org.apache.kafka.connect.errors.DataException") as caught:
        send(Writer(), "STOP_TASK", NUMBERS, transforms=TO_FLOAT)
    where = caught.value.where
    assert {name: where[name] for name in ("cache", "key", "transform")} == {"cache": "tested", "key": "b'2'", "transform": "cast"}


def test_an_exception_of_a_transform_makes_a_dead_letter_with_the_class_of_the_transform() -> None:
    writer = Writer()
    records, bad = send(writer, "DEAD_LETTER", NUMBERS, [False, False, False, True], transforms=TO_FLOAT)
    assert (len(records), bad) == (3, [1])
    assert writer.sent == [(b"1", b"1"), (b"3", b"3"), (b"4", None)]
    (letter,) = writer.dead_letters
    assert (letter.key, letter.value) == (long(2), string("x"))
    headers = dict(letter.headers)
    assert headers["__connect.errors.stage"] == b"TRANSFORMATION"
    assert headers["__connect.errors.class.name"] == f"{KAFKA}Cast$Value".encode()
    assert headers["__connect.errors.exception.class.name"] == b"org.apache.kafka.connect.errors.DataException"


def test_each_record_and_tombstone_has_the_header_with_its_cache() -> None:
    writer = Writer()
    records, _ = send(writer, "STOP_TASK", page([OF_PRICE, OF_PRICE], 3), [False, True], types=PRICES, cache_header="cache")
    assert records.values.null_count == 1
    assert records.headers is not None
    assert pairs(records.headers) == [[("cache", b"tested")]] * 2
    uses = [json.loads(key)[1] for _, key, _ in writer.control if key.startswith(b'["use"')]
    assert uses
    assert set(uses) == {"topic/tested"}
