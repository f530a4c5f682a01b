"""Which entries a filter leaves out, and what leaves the filter."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, cast

import numpy as np
import pytest

from ignite_kafka import events
from ignite_kafka.convert.rules.failure_stages import Stage
from ignite_kafka.errors import ConditionFailed, DecodeError, UnsupportedType
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import Page
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.entry_selection import EntrySelector
from ignite_kafka.source.entry_sender import EntryBatch, EntrySender, Sent
from tests.support.bad_entries import NULL_KEY, long
from tests.support.ignite_bytes import CACHE, NULL, Types, number, page, string
from tests.unit.source.test_entry_sender import PLAN, Writer

ENTRIES = page([(long(at), number(codes.INT, at)) for at in range(4)], 3)


def send(writer: Writer, entries: Page, removed: list[bool] | None = None, **settings: Any) -> Sent:
    made = SourceSettings(name="c", **{"where": "_value >= 2", **settings})
    sender = EntrySender(TransferPlan("c", "s", 1, 16, made, (PLAN,)), cast(Any, Types()))
    gone = None if removed is None else np.array(removed)
    return sender.send(cast(Any, writer), 9, PLAN, CACHE, EntryBatch([entries], np.full(entries.rows, 3), gone))


def test_entries_that_do_not_match_are_not_sent() -> None:
    writer = Writer()
    sent = send(writer, ENTRIES)
    assert writer.sent == [(b"2", b"2"), (b"3", b"3")]
    assert (len(sent.records), sent.bad.tolist(), sent.filtered.tolist()) == (2, [], [0, 1])


@pytest.mark.parametrize("converter", ["json", "ignite-binary"])
def test_a_batch_of_which_nothing_matches_sends_nothing(converter: str) -> None:
    writer = Writer()
    sent = send(writer, ENTRIES, where="_value > 9", key_converter=converter, value_converter=converter)
    assert (writer.sent, len(sent.records), sent.filtered.tolist()) == ([], 0, [0, 1, 2, 3])


def test_an_update_that_leaves_the_filter_is_a_tombstone() -> None:
    writer = Writer()
    changes = page([(long(1), number(codes.INT, 9)), (long(1), number(codes.INT, 1)), (long(2), NULL)], 3)
    sent = send(writer, changes, [False, False, True], process_removals=True)
    assert writer.sent == [(b"1", b"9"), (b"1", None), (b"2", None)]
    assert sent.filtered.size == 0


def test_without_removals_an_update_that_leaves_the_filter_is_not_sent() -> None:
    writer = Writer()
    sent = send(writer, page([(long(1), number(codes.INT, 9)), (long(1), number(codes.INT, 1))], 3), [False, False])
    assert (writer.sent, sent.filtered.tolist()) == ([(b"1", b"9")], [1])


def test_what_leaves_the_filter_is_not_converted() -> None:
    writer = Writer()
    changes = page([(long(1), NULL_KEY), (long(2), string("b"))], 3)  # a map that JSON cannot hold
    send(writer, changes, [False, False], process_removals=True, where="_key = 2")
    assert writer.sent == [(b"1", None), (b"2", b'"b"')]


@pytest.mark.parametrize(("policy", "rows"), [("STOP_TASK", 1), ("LOG_ONLY", 2), ("DEAD_LETTER", 2)])
def test_an_entry_for_which_the_filter_fails_has_an_event_under_every_policy(
    policy: str, rows: int, caplog: pytest.LogCaptureFixture
) -> None:
    entries = page([(long(0), number(codes.INT, 5)), (long(1), string("text")), (long(2), NULL_KEY)], 3)
    with nullcontext() if policy != "STOP_TASK" else pytest.raises(UnsupportedType):
        send(Writer(), entries, error_handling_policy=policy, dead_letter_topic="dead" if policy == "DEAD_LETTER" else "")
    assert [one.__dict__["event_id"] for one in caplog.records if "event_id" in one.__dict__] == [events.FILTER_FAILED.id] * rows


def test_an_entry_for_which_the_filter_fails_is_bad_and_no_other() -> None:
    entries = page([(long(0), number(codes.INT, 5)), (long(1), string("text")), (long(2), number(codes.INT, 1)), (long(3), NULL_KEY)], 3)
    with pytest.raises(UnsupportedType, match=r"_value \(STRING\) is compared with a BIGINT.*partition 3, key b'1'"):
        send(Writer(), entries)
    writer = Writer()
    sent = send(writer, entries, error_handling_policy="DEAD_LETTER", dead_letter_topic="dead")
    assert (writer.sent, sent.bad.tolist(), sent.filtered.tolist()) == ([(b"0", b"5")], [1, 3], [2])
    components = {dict(letter.headers)["__connect.errors.class.name"] for letter in writer.dead_letters}
    assert components == {b"ignite_kafka.convert.filter.entries.EntryFilter"}
    stages = [dict(letter.headers)["__connect.errors.stage"] for letter in writer.dead_letters]
    assert [letter.key for letter in writer.dead_letters] == [long(1), long(3)]
    assert {str(stage, "utf-8") if isinstance(stage, bytes) else str(stage) for stage in stages} == {str(Stage.TRANSFORMATION)}


def test_an_entry_without_a_result_of_the_condition_is_bad_and_no_other() -> None:
    writer = Writer()
    sent = send(writer, ENTRIES, where="6 % (_value - 2) = 0", error_handling_policy="LOG_ONLY")
    assert writer.sent == [(b"0", b"0"), (b"1", b"1"), (b"3", b"3")]
    assert sent.bad.tolist() == [2]
    with pytest.raises(ConditionFailed, match="division by zero"):
        send(Writer(), ENTRIES, where="6 % (_value - 2) = 0")


def test_a_bad_entry_among_the_kept_ones_keeps_its_place() -> None:
    writer = Writer()
    entries = page([(long(0), string("a")), (long(1), NULL_KEY), (long(2), string("c")), (long(3), string("d"))], 3)
    sent = send(writer, entries, [False] * 4, where="_key > 0", error_handling_policy="LOG_ONLY")
    assert (writer.sent, sent.bad.tolist(), sent.filtered.tolist()) == ([(b"2", b'"c"'), (b"3", b'"d"')], [1], [0])


def test_a_page_without_bounds_is_no_bad_entry() -> None:
    broken = Page(3, 4, memoryview(bytes(ENTRIES.data[:-1])), True)
    with pytest.raises(DecodeError):
        send(Writer(), broken, error_handling_policy="LOG_ONLY")


KAFKA = "org.apache.kafka.connect.transforms."


def with_transforms(transforms: dict[str, dict[str, str]], predicates: dict[str, dict[str, str]] | None = None) -> dict[str, Any]:
    own = {"transforms": tuple(transforms), "transform_config": transforms, "overrides": {".*": {"topic": PLAN.topic}}}
    return own | {"predicates": tuple(predicates or ()), "predicate_config": predicates or {}}


def test_transforms_get_what_the_filter_keeps_and_each_count_names_entries_of_the_whole_batch() -> None:
    values = [number(codes.INT, 1), string("no number"), number(codes.INT, 5), NULL, number(codes.INT, 1), number(codes.INT, 7)]
    entries = page([(long(at), value) for at, value in enumerate(values)], 3)
    gone = {"gone": {"type": f"{KAFKA}predicates.RecordIsTombstone"}}
    chain = {"live": {"type": f"{KAFKA}Filter", "predicate": "gone"}, "cast": {"type": f"{KAFKA}Cast$Value", "spec": "string"}}
    writer = Writer()
    removed = [False, False, False, True, False, False]
    sent = send(writer, entries, removed, error_handling_policy="LOG_ONLY", **with_transforms(chain, gone))
    assert writer.sent == [(b"2", b'"5"'), (b"5", b'"7"')]
    assert (sent.bad.tolist(), sent.filtered.tolist(), sent.dropped.tolist()) == ([1], [0, 4], [3])


def test_an_entry_that_a_transform_refuses_keeps_its_place_among_all() -> None:
    entries = page([(long(0), string("skipped")), (long(1), string("x")), (long(2), string("2")), (long(3), string("3"))], 3)
    writer = Writer()
    chain = with_transforms({"cast": {"type": f"{KAFKA}Cast$Value", "spec": "int32"}})
    sent = send(writer, entries, [False] * 4, where="_key > 0", error_handling_policy="DEAD_LETTER", dead_letter_topic="dead", **chain)
    assert writer.sent == [(b"2", b"2"), (b"3", b"3")]
    assert (sent.bad.tolist(), sent.filtered.tolist(), sent.dropped.tolist()) == ([1], [0], [])
    assert [dict(letter.headers)["__connect.errors.class.name"] for letter in writer.dead_letters] == [f"{KAFKA}Cast$Value".encode()]


def test_an_update_that_leaves_the_filter_passes_the_transforms_as_a_removal_does() -> None:
    changes = page([(long(1), number(codes.INT, 9)), (long(1), number(codes.INT, 1)), (long(2), NULL)], 3)
    writer = Writer()
    chain = with_transforms({"hoist": {"type": f"{KAFKA}HoistField$Value", "field": "v"}})
    sent = send(writer, changes, [False, False, True], process_removals=True, **chain)
    assert writer.sent == [(b"1", b'{"v":9}'), (b"1", b'{"v":null}'), (b"2", b'{"v":null}')]
    assert (sent.filtered.size, sent.dropped.size) == (0, 0)


def test_all_entries_of_a_filter_that_keeps_all_are_the_same_pages() -> None:
    class All:
        def of_pages(self, pages: list[Page], *_: Any) -> Any:
            return np.ones(sum(one.rows for one in pages), bool), {}

    selector = EntrySelector(cast(Any, All()), cast(Any, None), CACHE, Types(), "topic", tombstones=True)
    found = selector.select([ENTRIES], None)
    assert found.pages[0] is ENTRIES
    assert (found.rows, found.removed, found.bad, found.filtered.size) == (None, None, (), 0)
