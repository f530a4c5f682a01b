"""Records that a sink cannot convert or store: it stops, skips them, or sends them to the dead letters."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ignite_kafka.errors import RecordRefused, RecordTooLarge
from ignite_kafka.plan.slots import slot_of
from ignite_kafka.registry.client import Registry
from ignite_kafka.registry.schema import AVRO, RegistrySchema
from tests.support.ignite_bytes import string
from tests.support.randomness import generator
from tests.support.registry import config
from tests.support.sink_connector import Record, Sink, cache_of_short_symbols, expected, trade

BAD: tuple[tuple[str, Record, str, str, str], ...] = (
    ("broken JSON", (b"7", b'{"id":'), "VALUE_CONVERTER", "", "JSON"),
    ("trailing bytes", (b"7", b'{"id":7} x'), "VALUE_CONVERTER", "", "JSON"),
    ("not UTF-8", (b"7", b'{"symbol":"\xff"}'), "VALUE_CONVERTER", "", "UTF-8"),
    ("a text for a number", trade(7, price="much"), "TASK_PUT", "value", "price"),
    ("a number that is too large", trade(7, id=1 << 63), "TASK_PUT", "value", "id"),
    ("a name twice", (b"7", b'{"id":7,"id":8}'), "TASK_PUT", "value", "id"),
    ("no object", (b"7", b"[1]"), "TASK_PUT", "value", ""),
    ("no key", (None, trade(7)[1]), "TASK_PUT", "key", "key"),
    ("a tombstone without a key", (None, None), "TASK_PUT", "key", "key"),
    ("a key of another type", (b'"seven"', trade(7)[1]), "TASK_PUT", "key", ""),
)
HEADERS = [("trace", b"a\xff"), ("trace", None), ("__connect.errors.topic", b"of another connector")]


def send_bad(sink: Sink) -> list[int]:
    """Send each bad record between two good ones of keys from 100 on; return the offsets of the bad ones."""
    for number, (_, bad, *_) in enumerate(BAD):
        sink.send([trade(100 + number)], partition=0)
        sink.send([bad], partition=0, headers=HEADERS)
    sink.send([trade(100 + len(BAD))], partition=0)
    return list(range(1, 2 * len(BAD), 2))


@pytest.mark.parametrize(("kind", "bad", "stage", "part", "reason"), BAD, ids=[case[0].replace(" ", "-") for case in BAD])
def test_a_bad_record_stops_the_run_with_all_before_it_stored(
    sink: Sink, kind: str, bad: Record, stage: str, part: str, reason: str
) -> None:
    sink.send([trade(1), trade(2), bad, trade(3)], partition=0)
    with pytest.raises(RecordRefused) as stopped:
        sink.run()
    of_entry = {"part": part} if part else {}
    if stage == "TASK_PUT" and bad[0] is not None:
        of_entry["key"] = bad[0].decode()
    assert stopped.value.where == {"topic": sink.topic, "partition": 0, "offset": 2, "stage": stage, **of_entry}, kind
    assert reason in stopped.value.what
    assert (set(sink.entries()), sink.group()[0]) == ({1, 2}, 2)


def test_bad_records_go_to_the_dead_letters_as_kafka_connect_sends_them(sink: Sink) -> None:
    offsets, dead_topic = send_bad(sink), f"{sink.name}-dead"
    counts = sink.run(error_handling_policy="DEAD_LETTER", dead_letter_topic=dead_topic).caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (2 * len(BAD) + 1, len(BAD) + 1, len(BAD))
    assert sink.entries() == {number: expected(number) for number in range(100, 101 + len(BAD))}
    assert sink.group()[0] == 2 * len(BAD) + 1
    originals = {message.offset(): message for message in sink.messages(sink.topic) if message.partition() == 0}
    found = sink.messages(dead_topic)
    exception = "ignite_kafka.errors.RecordRefused"
    for letter, offset, (kind, bad, stage, part, reason) in zip(found, offsets, BAD, strict=True):
        assert (letter.key(), letter.value(), letter.timestamp()) == (*bad, originals[offset].timestamp()), kind
        headers = cast(list[tuple[str, bytes]], letter.headers())
        assert headers[: len(HEADERS)] == HEADERS, kind
        context = dict(headers[len(HEADERS) :])
        message = context.pop("__connect.errors.exception.message").decode()
        trace = context.pop("__connect.errors.exception.stacktrace").decode()
        assert reason in message, kind
        key = f", key {bad[0].decode()}" if stage == "TASK_PUT" and bad[0] is not None else ""
        where = f"offset {offset}{key}, stage {stage}{f', part {part}' if part else ''}"
        assert trace.startswith(f"{exception}: {message} [topic {sink.topic}, partition 0, {where}]"), kind
        assert context == {
            "__connect.errors.topic": sink.topic.encode(),
            "__connect.errors.partition": b"0",
            "__connect.errors.offset": b"%d" % offset,
            "__connect.errors.connector.name": sink.name.encode(),
            "__connect.errors.task.id": b"%d" % slot_of(sink.topic, 0, 2),
            "__connect.errors.stage": stage.encode(),
            "__connect.errors.class.name": b"ignite_kafka.convert.to_ignite.record_converter.RecordConverter",
            "__connect.errors.exception.class.name": exception.encode(),
        }, kind


@pytest.mark.parametrize("form", ["avro", "string", "ignite-binary"])
def test_dead_letters_have_the_records_bytes_whatever_the_converter(sink: Sink, form: str, request: pytest.FixtureRequest) -> None:
    settings: dict[str, Any] = {"value_converter": form, "cache_value_type": "java.lang.String", "cache_fields": {}}
    good, bad = (string("good"), (b"7", b"\x67\0\xff")) if form == "ignite-binary" else (b"good", (b'"seven"', b"\xff"))
    if form == "avro":
        url = request.getfixturevalue("schema_registry").url
        settings["value_converter_config"] = {"schema.registry.url": url}
        with Registry(config(url)) as registry:
            id = registry.registered(f"{sink.topic}-value", RegistrySchema('"string"', AVRO)).id
        good = b"\0" + id.to_bytes(4, "big") + b"\x08good"
        bad = b"7", good[:-1]
    sink.send([(b"1", good), bad, (b"2", good)], partition=0)
    dead_topic = f"{sink.name}-dead"
    counts = sink.run(error_handling_policy="DEAD_LETTER", dead_letter_topic=dead_topic, **settings).caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (3, 2, 1)
    assert [(letter.key(), letter.value()) for letter in sink.messages(dead_topic)] == [bad]
    with sink.ignite.client() as client, client.get_cache(sink.cache).scan() as cursor:
        assert dict(cursor) == {1: "good", 2: "good"}


def test_bad_records_are_skipped_and_counted(sink: Sink) -> None:
    send_bad(sink)
    counts = sink.run(error_handling_policy="LOG_ONLY").caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (2 * len(BAD) + 1, len(BAD) + 1, len(BAD))
    assert sink.entries() == {number: expected(number) for number in range(100, 101 + len(BAD))}
    assert sink.group()[0] == 2 * len(BAD) + 1


@pytest.mark.parametrize(
    ("policy", "conversions", "wanted"),
    [("LOG_ONLY", "DEAD_LETTER", "VALUE_CONVERTER"), ("DEAD_LETTER", "LOG_ONLY", "TASK_PUT")],
)
def test_each_policy_decides_about_dead_letters_of_its_errors(sink: Sink, policy: str, conversions: str, wanted: str) -> None:
    send_bad(sink)
    dead_topic = f"{sink.name}-dead"
    policies = {"error_handling_policy": policy, "conversion_error_policy": conversions}
    counts = sink.run(**policies, dead_letter_topic=dead_topic).caches[sink.cache]
    assert (counts.entries, counts.bad) == (len(BAD) + 1, len(BAD))
    letters = [(letter.key(), letter.value()) for letter in sink.messages(dead_topic)]
    assert letters == [bad for _, bad, stage, *_ in BAD if stage == wanted]


def test_the_record_that_stops_a_run_follows_the_skipped_ones_in_the_dead_letters(sink: Sink) -> None:
    send_bad(sink)
    dead_topic = f"{sink.name}-dead"
    with pytest.raises(RecordRefused):
        sink.run(conversion_error_policy="DEAD_LETTER", dead_letter_topic=dead_topic)
    assert [(letter.key(), letter.value()) for letter in sink.messages(dead_topic)] == [bad for _, bad, *_ in BAD[:4]]


@pytest.mark.parametrize(("policy", "conversions", "offset"), [("STOP_TASK", "LOG_ONLY", 7), ("LOG_ONLY", "STOP_TASK", 1)])
def test_a_run_stops_at_the_first_error_whose_policy_is_to_stop(sink: Sink, policy: str, conversions: str, offset: int) -> None:
    send_bad(sink)
    with pytest.raises(RecordRefused) as stopped:
        sink.run(error_handling_policy=policy, conversion_error_policy=conversions)
    assert stopped.value.where["offset"] == offset
    assert (set(sink.entries()), sink.group()[0]) == (set(range(100, 100 + (offset + 1) // 2)), offset)


def test_a_refused_put_follows_the_policy_of_the_connector(sink: Sink) -> None:
    cache_of_short_symbols(sink)
    sink.send([trade(1), (b"5", b"{"), trade(2, symbol="far too long"), trade(3)], partition=0)
    with pytest.raises(RecordRefused) as stopped:
        sink.run(conversion_error_policy="LOG_ONLY")
    assert (stopped.value.where["offset"], stopped.value.where["stage"]) == (2, "TASK_PUT")
    assert (sink.entries(), sink.group()[0]) == ({1: expected(1)}, 2)


def test_many_bad_records_of_a_batch_go_to_the_dead_letters_in_order(sink: Sink) -> None:
    sink.send([(b"%d" % number, b"{" if number % 3 else trade(number)[1]) for number in range(900)])
    dead_topic = f"{sink.name}-dead"
    counts = sink.run(error_handling_policy="DEAD_LETTER", dead_letter_topic=dead_topic).caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (900, 300, 600)
    assert sorted(int(letter.key() or b"") for letter in sink.messages(dead_topic)) == [number for number in range(900) if number % 3]
    assert set(sink.entries()) == set(range(0, 900, 3))


def test_a_dead_letter_topic_that_refuses_the_record_stops_the_run(sink: Sink) -> None:
    dead_topic = f"{sink.name}-dead"
    sink.make_topic(dead_topic, 1, **{"max.message.bytes": "2000"})
    sink.send([trade(1), (b"2", generator(3).randbytes(6_000)), trade(3)], partition=0)
    with pytest.raises(RecordTooLarge, match=f"{dead_topic}"):
        sink.run(error_handling_policy="DEAD_LETTER", dead_letter_topic=dead_topic)
    assert (sink.group()[0], sink.messages(dead_topic)) == (0, [])


def test_a_value_that_a_column_refuses_stops_the_run_with_all_before_it_stored(sink: Sink) -> None:
    cache_of_short_symbols(sink)
    sink.send([trade(1), trade(2), trade(2, symbol="far too long"), trade(3), trade(1, price=7.0)], partition=0)
    with pytest.raises(RecordRefused, match=r"column 'SYMBOL' is too long\. Maximum length: 8, actual length: 12") as stopped:
        sink.run()
    place = {"topic": sink.topic, "partition": 0, "offset": 2, "key": "2"}
    assert stopped.value.where == {**place, "stage": "TASK_PUT", "cache": sink.cache}
    assert (sink.entries(), sink.group()[0]) == ({1: expected(1), 2: expected(2)}, 2)


@pytest.mark.parametrize("policy", ["LOG_ONLY", "DEAD_LETTER"])
def test_values_that_a_column_refuses_are_bad_records(sink: Sink, policy: str) -> None:
    cache_of_short_symbols(sink)
    refused = {7, 8, 100, 299}
    records = [trade(number, symbol="far too long") if number in refused else trade(number) for number in range(300)]
    broken = [(b"50", b"{"), trade(60, symbol="far too long, and not the first of its key")]
    sink.send([*records, *broken], partition=0)
    dead_topic = f"{sink.name}-dead"
    named = {"dead_letter_topic": dead_topic} if policy == "DEAD_LETTER" else {}
    counts = sink.run(error_handling_policy=policy, **named).caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (302, 296, 6)
    assert sink.entries() == {number: expected(number) for number in range(300) if number not in refused}
    assert sink.group()[0] == 302
    if named:
        keys = [int(letter.key() or b"") for letter in sink.messages(dead_topic)]
        stages = [dict(cast(Any, letter.headers()))["__connect.errors.stage"] for letter in sink.messages(dead_topic)]
        assert keys == [*sorted(refused), 50, 60]
        assert stages == [b"TASK_PUT"] * 4 + [b"VALUE_CONVERTER", b"TASK_PUT"]
