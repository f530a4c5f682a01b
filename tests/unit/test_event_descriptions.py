"""Causes and remedies of events."""

from __future__ import annotations

import logging

from ignite_kafka.event_descriptions import CAUSES, describe_event, severity_of
from ignite_kafka.events import EVENTS, RUN_STARTED, WRITE_FAILED


def test_every_warning_and_error_has_a_cause_or_names_it_and_a_remedy() -> None:
    urgent = [event for event in EVENTS.values() if event.severity > logging.INFO]
    assert [event.id for event in urgent if event not in CAUSES] == []
    assert [event.id for event in urgent if not event.action] == []
    assert [cause for cause in CAUSES.values() if not cause.endswith(".") or "{" in cause] == []


def test_a_description_is_ready_for_json_and_an_event_of_another_version_has_none() -> None:
    assert describe_event(WRITE_FAILED.id) == {
        "id": 15040,
        "severity": "WARNING",
        "cause": CAUSES[WRITE_FAILED],
        "action": WRITE_FAILED.action,
    }
    assert describe_event(RUN_STARTED.id) == {"id": 15100, "severity": "INFO", "cause": "", "action": ""}
    assert (severity_of(19999), describe_event(19999)["action"]) == ("", "")
