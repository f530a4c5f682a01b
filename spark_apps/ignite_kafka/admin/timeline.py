"""Events of a connector: those derived from its records in Kafka, and the newest texts kept by its runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..events import (
    EVENTS,
    OUTCOME_UNKNOWN,
    RUN_COMPLETED,
    RUN_FAILED,
    RUN_FENCED,
    RUN_STARTED,
    RUN_STOPPED,
    SNAPSHOT_SUPERSEDED,
    TARGET_CHANGED,
    Event,
)
from ..state import status
from ..state.status import RunStatus
from .overview import ConnectorOverview

_DERIVED = {
    event.id
    for event in (
        RUN_STARTED, RUN_COMPLETED, RUN_STOPPED, RUN_FAILED, RUN_FENCED, OUTCOME_UNKNOWN, TARGET_CHANGED,
        SNAPSHOT_SUPERSEDED,
    )
}  # fmt: skip
_ENDS = {
    status.STOPPED: RUN_STOPPED,
    status.FAILED: RUN_FAILED,
    status.FENCED: RUN_FENCED,
    status.UNKNOWN: OUTCOME_UNKNOWN,
}


@dataclass(frozen=True)
class TimedEvent:
    """An event at ``at_ms`` (milliseconds since 1970); ``text`` begins with the event's id."""

    at_ms: int
    event: Event
    text: str


def timeline(connector: ConnectorOverview, most: int) -> list[TimedEvent]:
    """Return the newest events of a connector, newest first.

    :param most: maximum number of events.
    """
    newest_first = sorted(_list_events(connector), key=lambda event: event.at_ms, reverse=True)
    return newest_first[:most]


def _list_events(connector: ConnectorOverview) -> Iterator[TimedEvent]:
    for run in connector.runs.values():
        yield from _list_run_events(connector, run)
    if connector.target is not None:
        yield _make_timed(
            connector.target.at_ms, TARGET_CHANGED, connector=connector.name, state=connector.target.state
        )
    ends = {run.snapshot_id: run.ended_ms or run.started_ms for run in connector.runs.values()}
    for snapshot_id, end in connector.state.ended.items():
        if end["superseded_by"] and snapshot_id in ends:
            names = {"connector": connector.name, "snapshot_id": snapshot_id, "newer": end["superseded_by"]}
            yield _make_timed(ends[snapshot_id], SNAPSHOT_SUPERSEDED, **names)
    for id, count in connector.events.items():
        if id in EVENTS and id not in _DERIVED:
            for occurrence in count.newest:
                yield TimedEvent(occurrence.at_ms, EVENTS[id], f"{id} # {occurrence.text}")


def _list_run_events(connector: ConnectorOverview, run: RunStatus) -> Iterator[TimedEvent]:
    names = {"connector": run.connector, "run_id": run.run_id, "generation": run.generation}
    yield _make_timed(run.started_ms, RUN_STARTED, **names)
    if run.ended_ms is not None:
        reason = str(connector.shown_error(run) or "no reason given")
        yield _make_timed(run.ended_ms, _ENDS.get(run.state, RUN_COMPLETED), reason=reason, **names)


def _make_timed(at_ms: int, event: Event, **fields: object) -> TimedEvent:
    return TimedEvent(at_ms, event, event.text(**fields))
