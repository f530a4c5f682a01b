"""Bad entries by the error policy; a batch without bad entries is converted once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pytest

from ignite_kafka import events
from ignite_kafka.convert import Converters
from ignite_kafka.convert.to_kafka.entry_converter import EntryConverter
from ignite_kafka.convert.to_kafka.json import JsonConverter
from ignite_kafka.errors import AmbiguousKeys, RecordTooLarge, UnsupportedType
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, Page, QueryEntity, QueryField
from ignite_kafka.kafka.dead_letters import DeadLetter
from ignite_kafka.kafka.records import Records
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.entry_sender import EntrySender
from tests.support.bad_entries import NULL_KEY, OF_UNKNOWN_TYPE, long
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, decimal, number, page, string

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

    def send_control(self, topic: str, key: bytes, value: bytes) -> None:
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
) -> tuple[Records, list[int]]:
    dead_letter_topic = "dead" if policy == "DEAD_LETTER" else ""
    settings = SourceSettings(name="c", error_handling_policy=policy, dead_letter_topic=dead_letter_topic)
    converters = Converters(settings, lambda _: value_converter) if value_converter else None
    sender = EntrySender(TransferPlan("c", "s", 1, 16, settings, (PLAN,)), cast(Any, types or Types()), converters)
    gone = None if removed is None else np.array(removed)
    sent = sender.send(cast(Any, writer), 9, PLAN, cache, [entries], PARTITIONS[: entries.rows], gone)
    return sent.records, sent.bad.tolist()


def test_the_default_policy_stops_the_task() -> None:
    writer = Writer()
    with pytest.raises(UnsupportedType, match="null key"):
        send(writer, "STOP_TASK")
    assert (writer.sent, writer.dead_letters) == ([], [])


def test_an_error_of_a_value_names_its_entry() -> None:
    types = Types()
    kind = types.add("Price", {"d": codes.DECIMAL})
    amounts = [binary(kind, {"d": decimal(Decimal(text))}) for text in ("1.5", "1.234")]
    cache = replace(
        CACHE, query_entities=(QueryEntity("java.lang.Long", "Price", fields=(QueryField("d", "java.math.BigDecimal", scale=2),)),)
    )
    entries = page([(long(row), value) for row, value in enumerate(amounts)], 3)
    with pytest.raises(UnsupportedType, match=r"field d holds 1\.234.*declared scale 2.*partition 3, key b'1'"):
        send(Writer(), "STOP_TASK", entries, cache=cache, types=types)
    assert send(Writer(), "LOG_ONLY", entries, cache=cache, types=types)[1] == [1]


def test_a_bad_entry_is_skipped_with_an_event_that_names_it(caplog: pytest.LogCaptureFixture) -> None:
    writer = Writer()
    records, bad = send(writer, "LOG_ONLY", removed=[False, False, False, True])
    assert (len(records), bad) == (3, [1])
    assert (writer.sent, writer.dead_letters) == ([(b"1", b'"a"'), (b"3", b'"c"'), (b"4", None)], [])
    (event,) = [record for record in caplog.records if record.__dict__.get("event_id") == events.CONVERTER_FAILED.id]
    fields = event.__dict__["event_fields"]
    assert (fields["cache"], fields["partition"], fields["key"], fields["stage"]) == ("tested", 6, "b'2'", "VALUE_CONVERTER")
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
    assert [headers["__connect.errors.stage"] for headers in headers_of] == [b"VALUE_CONVERTER", b"KAFKA_PRODUCE"]
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
        before = events.counts().get(events.KEYS_MAY_COINCIDE.id, 0)
        sender.send(cast(Any, Writer()), 9, PLAN, CACHE, [page([(key, string("v"))], 3)], PARTITIONS[:1])
        reported.append(events.counts().get(events.KEYS_MAY_COINCIDE.id, 0) - before)
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
