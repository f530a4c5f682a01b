"""Counts and newest texts of events."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.common.event_log import (
    KEPT_TEXTS,
    MOST_FIELDS,
    MOST_TEXT,
    EventCollectors,
    EventCount,
    Occurrence,
    OccurrenceReader,
    add_events,
    count_of,
    event_totals,
    format_counts,
    format_time,
    parse_counts,
)
from ignite_kafka.state.event_records import RunEvents

TIMES = st.lists(st.integers(0, 10_000), min_size=1, max_size=20)


def count(times: list[int]) -> EventCount:
    return add_events(*({1: count_of(at_ms, f"at {at_ms}", {})} for at_ms in times))[1]


@given(TIMES, TIMES)
def test_the_sum_has_the_number_the_bounds_and_the_newest_texts(first: list[int], second: list[int]) -> None:
    total = count(first) + count(second)
    times = sorted([*first, *second])
    assert (total.count, total.first_ms, total.last_ms) == (len(times), times[0], times[-1])
    assert [occurrence.at_ms for occurrence in total.newest] == times[-KEPT_TEXTS:]
    assert total == count(second) + count(first)


def test_texts_and_fields_are_shortened() -> None:
    (occurrence,) = count_of(7, "x" * 10_000, {f"field {number}": "y" * 10_000 for number in range(100)}).newest
    assert (len(occurrence.text), len(occurrence.fields)) == (MOST_TEXT, MOST_FIELDS)
    assert max(map(len, occurrence.fields.values())) < MOST_TEXT


def test_the_largest_record_is_accepted_by_a_broker() -> None:
    """A broker accepts 1 MB by default. There are about a hundred ids, and a character has at most twelve bytes in JSON."""
    fields = {f"{number:030}": "\U0001f600" * 1_000 for number in range(100)}
    full = add_events(*({id: count_of(at_ms, "\U0001f600" * 1_000, fields)} for id in range(100) for at_ms in range(KEPT_TEXTS)))
    record = RunEvents("c", "r", format_counts(full)).to_json()
    assert len(record) < 1_000_000
    read = RunEvents.from_dict(json.loads(record)).counts
    assert {id: of_id.count for id, of_id in read.items()} == dict.fromkeys(range(100), KEPT_TEXTS)
    assert {len(of_id.newest) for of_id in read.values()} == {1}


def test_an_open_log_gets_what_is_emitted_meanwhile() -> None:
    collectors = EventCollectors()
    collectors.add(1, "before", {})
    with collectors.collect() as outer:
        collectors.add(1, "one", {"n": 1})
        with collectors.collect() as inner:
            collectors.add(2, "two", {})
    collectors.add(1, "after", {})
    assert {id: of_id.count for id, of_id in outer.counts().items()} == {1: 1, 2: 1}
    assert list(inner.counts()) == [2]
    (occurrence,) = outer.counts()[1].newest
    assert occurrence == Occurrence(occurrence.at_ms, "one", {"n": "1"})


def test_counts_of_another_process_are_added() -> None:
    collectors = EventCollectors()
    with collectors.collect() as log:
        collectors.add(1, "here", {})
        log.merge({1: count([5]), 2: count([7])})
    assert event_totals(log.counts()) == {"1": 2, "2": 1}
    assert [occurrence.text for occurrence in log.counts()[1].newest] == ["at 5", "here"]


def test_only_occurrences_that_were_added_are_new() -> None:
    reader = OccurrenceReader({1: count([5])})
    now = add_events({1: count([5])}, {1: count([9]), 2: count([7])})
    assert [(id, occurrence.at_ms) for id, occurrence in reader.added(now)] == [(2, 7), (1, 9)]
    assert reader.added(now) == []


def test_texts_that_a_shortened_report_left_out_are_not_new_when_they_come_back() -> None:
    whole = {id: add_events(*({id: count_of(at_ms, "x" * 400, {"at": at_ms})} for at_ms in range(5)))[id] for id in range(10)}
    reader = OccurrenceReader(whole)
    shortened = parse_counts(format_counts(whole, 6_000))
    assert shortened != whole
    assert reader.added(shortened) == reader.added(whole) == []


def test_times_have_milliseconds_and_their_zone() -> None:
    assert format_time(1_764_244_805_250) == "2025-11-27T12:00:05.250Z"
    assert format_time(0) == "1970-01-01T00:00:00.000Z"
