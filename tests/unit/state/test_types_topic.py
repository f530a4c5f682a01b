"""The types topic: one record a form of a type, and what a reader makes of other records."""

from __future__ import annotations

from dataclasses import replace

from ignite_kafka import events
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.state.types_topic import type_from_json, type_key, type_to_json, write_types
from tests.support import emitted_events
from tests.support.ignite_bytes import Types
from tests.support.types_log import NAME, TypesLog


def test_a_type_is_written_again_once_it_has_grown_under_another_key() -> None:
    types, log = Types(), TypesLog()
    first = types.add("T", {"a": codes.LONG})
    for _ in range(2):
        write_types(log.writer, NAME, {first.type_id}, types)
    second = types.add("T", {"b": codes.STRING, "a": codes.LONG}, ["a"], ["a", "b"])
    write_types(log.writer, NAME, {first.type_id}, types)
    assert [type_from_json(value or b"") for _, value in log.records] == [first, second]
    assert len({key for key, _ in log.records}) == 2
    assert type_key(second) == type_key(replace(second, fields=second.fields[::-1]))


def test_records_of_older_and_newer_versions_are_read_and_others_skipped() -> None:
    emitted_events.reset()
    types, log = Types(), TypesLog()
    old, new = types.add("Old", {"a": codes.LONG}), types.add("New", {"b": codes.LONG})
    log.records += [
        (str(old.type_id).encode(), type_to_json(old)),
        (b"x", b"no JSON"), (b"x", b"[1]"), (b"x", b'{"type_id":1}'), (b"x", None),
        (type_key(new), type_to_json(new)[:-1] + b',"version":7}'),
    ]  # fmt: skip
    topic = log.topic
    topic.read()
    assert (topic.forms(old.type_id), topic.forms(new.type_id), topic.forms(1)) == ((old,), (new,), ())
    assert emitted_events.counts()[events.TYPE_NOT_READ.id] == 3
    topic.read()
    assert log.reads == 1

    log.records[:] = log.records[:1]  # deleted and made again
    topic.read()
    assert log.reads == 2
    assert topic.forms(old.type_id) == (old,)
