"""Events: ids and severities of the reference, ours from 15100, logged as records, counted."""

from __future__ import annotations

import ast
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from ignite_kafka import events
from ignite_kafka.common import event_emission
from ignite_kafka.common.redaction import set_log_values
from ignite_kafka.events import EVENTS, Event
from tests.support import emitted_events

# The reference's monitoring page, without 15011: an entry whose type has no schema is a bad entry (15070)
REFERENCE = {
    15000: "ERROR", 15001: "INFO", 15010: "ERROR", 15020: "ERROR", 15030: "WARNING", 15040: "WARNING", 15050: "ERROR",
    15051: "ERROR", 15060: "INFO", 15061: "INFO", 15070: "ERROR",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    emitted_events.reset()
    yield
    emitted_events.reset()


def test_every_event_of_the_reference_has_its_id_and_severity() -> None:
    assert {id_: logging.getLevelName(event.severity) for id_, event in EVENTS.items() if id_ < 15100} == REFERENCE


def test_ids_are_given_once_and_ours_go_on_from_15100() -> None:
    named = [value for value in vars(events).values() if isinstance(value, Event)]
    assert len({event.id for event in named}) == len(named) == len(EVENTS)
    assert all(15000 <= event.id <= 15070 or 15100 <= event.id < 15300 for event in named)
    assert len(EVENTS) > len(REFERENCE) + 10


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda event: str(event.id))
def test_each_event_is_logged_as_a_record_with_its_fields(event: Event, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ignite_kafka.events")
    fields = {name: f"<{name}>" for name in event.fields}
    events.emit(event, **fields)
    (record,) = caplog.records
    assert record.levelno == event.severity
    text, details = record.getMessage().split(" {", 1)
    assert text.startswith(f"{event.id} # ")
    assert json.loads("{" + details) == fields == record.__dict__["event_fields"]
    assert all(value in text for value in fields.values())
    assert record.__dict__["event_id"] == event.id
    assert emitted_events.counts() == {event.id: 1}


def test_a_kept_text_hides_its_reason_where_values_are_not_logged() -> None:
    set_log_values(False)
    try:
        with events.collect() as log:
            events.emit(events.UNIT_REDONE, slot=1, reason="the key anna is no number")
    finally:
        set_log_values(True)
    (occurrence,) = log.counts()[events.UNIT_REDONE.id].newest
    assert occurrence.text == "slot 1 restarts after its last commit: (hidden: log_values is false)"
    assert occurrence.fields == {"slot": "1", "reason": "(hidden: log_values is false)"}


@pytest.mark.parametrize("event", [event for event in EVENTS.values() if event.severity > logging.INFO], ids=lambda event: str(event.id))
def test_each_warning_and_error_says_what_to_do(event: Event) -> None:
    assert event.action


def test_fields_too_few_or_too_many_or_not_json_lose_no_event(caplog: pytest.LogCaptureFixture) -> None:
    events.emit(events.UNIT_REDONE, slot=3, place={1, 2}.__class__)
    assert "15120 # slot 3 restarts after its last commit: ?" in caplog.text
    assert "<class 'set'>" in caplog.text


def test_events_are_counted_also_where_nobody_logs() -> None:
    logger = logging.getLogger("ignite_kafka.events")
    logger.disabled = True
    try:
        for _ in range(3):
            events.emit(events.RUN_STARTED, connector="c", run_id="r", generation=1)
    finally:
        logger.disabled = False
    assert emitted_events.counts() == {15100: 3}


def test_notes_of_an_event_are_bounded_in_a_task_and_in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_emission, "MAX_NOTES", 2)

    def notes(*fields: str) -> frozenset[events.Note]:
        events.take_notes()
        for name in fields:
            events.note(events.FIELD_DISCARDED, cache="c", field=name)
        events.note(events.TABLE_GREW, cache="c", table="t", columns="a")
        return events.take_notes()

    first = notes("a", "b", "c")
    assert [dict(fields).get("field") for _, fields in sorted(first)] == [None, "a", "b"]
    assert events.unite_notes(first, notes("d")) == first
    assert events.unite_notes(notes("d"), first) >= notes("d")
    assert len(events.unite_notes(notes("d"), first)) == len(first)


NOT_KEPT = {events.CAPTURE_OPEN, events.OUTCOME_UNKNOWN}
"""Events of data sources, which have no run, and of a broker that is away, which takes no record."""


def test_every_event_is_read_back_from_the_status_topic_on_real_servers() -> None:
    """By tests/support/kept_events.py: a test of real servers provokes it, and reads it as `ignite-kafka events` does."""
    read: set[str] = set()
    for folder in ("integration", "faults"):
        for path in (Path(__file__).parents[1] / folder).rglob("test_*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "assert_kept":
                    read |= {argument.attr for argument in node.args if isinstance(argument, ast.Attribute)}
                    read |= {argument.id for argument in node.args if isinstance(argument, ast.Name)}
    named = {name: value for name, value in vars(events).items() if isinstance(value, Event)}
    assert len(named) > 60
    assert [name for name, event in named.items() if name not in read and event not in NOT_KEPT] == []


def test_an_action_has_no_place_for_a_value() -> None:
    """Pages and the command line show it as it is."""
    assert [event.id for event in EVENTS.values() if "{" in event.action] == []
