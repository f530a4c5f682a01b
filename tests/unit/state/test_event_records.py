"""Records of a run's events."""

from __future__ import annotations

import json

import pytest

from ignite_kafka.common.event_log import add_events, count_of, format_counts, parse_counts
from ignite_kafka.state.event_records import KIND, RunEvents
from ignite_kafka.state.internal_records import InternalRecord
from ignite_kafka.state.status import keep_newest, run_id_of

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


def test_a_newer_record_replaces_a_tombstone_removes_and_an_unreadable_record_changes_nothing() -> None:
    def record(value: bytes | None) -> InternalRecord:
        return InternalRecord(KIND, "c", ("r1",), value, 1, {})

    assert (run_id_of(record(b"{}"), KIND), run_id_of(record(b"{}"))) == ("r1", None)
    values = {"r1": 1, "r2": 2}
    keep_newest(values, "r1", record(b"no JSON"), None)
    assert list(values.items()) == [("r1", 1), ("r2", 2)]
    keep_newest(values, "r1", record(b"{}"), 3)
    assert list(values.items()) == [("r2", 2), ("r1", 3)]
    keep_newest(values, "r1", record(None), None)
    assert values == {"r2": 2}


@pytest.mark.parametrize("id", ["", "-1", "x", "٣", "1" * 10, "1.0"])
def test_a_key_that_is_no_id_is_left_out(id: str) -> None:
    assert parse_counts({id: COUNTS[15120]}) == {}
