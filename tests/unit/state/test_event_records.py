"""Records of a run's events."""

from __future__ import annotations

import json

import pytest

from ignite_kafka.common.event_log import add_events, count_of
from ignite_kafka.state.event_records import RunEvents, format_counts, parse_counts

COUNTS = add_events({15120: count_of(5, "slot 1 restarts", {"slot": 1})}, {15120: count_of(7, "slot 2 restarts", {"slot": 2})})


def test_a_record_is_read_as_it_was_written() -> None:
    record = RunEvents("c", "r", format_counts(COUNTS))
    assert RunEvents.from_dict(json.loads(record.to_json())).counts == COUNTS


def test_texts_are_left_out_before_counts() -> None:
    whole = len(json.dumps(json.loads(RunEvents("c", "r", format_counts(COUNTS)).to_json())))
    newest = parse_counts(format_counts(COUNTS, whole - 60))[15120]
    assert (newest.count, [occurrence.text for occurrence in newest.newest]) == (2, ["slot 2 restarts"])
    assert newest.newest[0].fields == {}
    none = parse_counts(format_counts(COUNTS, 10))[15120]
    assert (none.count, none.first_ms, none.last_ms, none.newest) == (2, 5, 7, ())


@pytest.mark.parametrize("id", ["", "-1", "x", "٣", "1" * 10, "1.0"])
def test_a_key_that_is_no_id_is_left_out(id: str) -> None:
    assert parse_counts({id: COUNTS[15120]}) == {}
