"""Health events that name the failed part when an error delays or ends a run, in addition to the run's own events."""

from __future__ import annotations

from .. import events
from ..errors import (
    BacklogMissing,
    BacklogRefused,
    BacklogUnavailable,
    ChangesLost,
    IgniteKafkaError,
    IgniteUnreachable,
    WriteFailed,
)

_OF_IGNITE = (IgniteUnreachable, WriteFailed, BacklogUnavailable)
_OF_BACKLOG = (BacklogMissing, BacklogRefused, BacklogUnavailable, ChangesLost)


def report_retry(error: IgniteKafkaError, event: events.Event | None, slots: str | int) -> None:
    """Report that slots are retried.

    :param event: event to emit if Ignite is the cause; None if there is no such event.
    """
    events.emit(events.UNIT_REDONE, slot=slots, reason=str(error))
    if event is not None and isinstance(error, _OF_IGNITE):
        events.emit(event, reason=str(error), slot=slots)
    if isinstance(error, IgniteUnreachable):
        events.emit(events.IGNITE_DISCONNECTED, address=error.where.get("address", "the cluster"), reason=error.what)


def report_end(error: IgniteKafkaError) -> None:
    """Report that a wrong setting or the backlog ends a run, if it is the cause."""
    if error.exit_code == 2:
        events.emit(events.MISCONFIGURED, reason=str(error))
    if isinstance(error, _OF_BACKLOG):
        events.emit(events.BACKLOG_FAILED, reason=str(error))
