"""Events about a failure of Ignite or of the backlog service, or a wrong setting, that delays or ends a run."""

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
    """Emit the events of a retry of slots, and of a failure of Ignite if that is the cause.

    :param event: event to emit if Ignite is the cause; None if there is no such event.
    """
    events.emit(events.UNIT_REDONE, slot=slots, reason=str(error))
    if event is not None and isinstance(error, _OF_IGNITE):
        events.emit(event, reason=str(error), slot=slots)
    if isinstance(error, IgniteUnreachable):
        events.emit(events.IGNITE_DISCONNECTED, address=error.where.get("address", "the cluster"), reason=error.what)


def report_end(error: IgniteKafkaError) -> None:
    """Emit the event of the cause, if a wrong setting or a backlog error ends the run."""
    if error.exit_code == 2:
        events.emit(events.MISCONFIGURED, reason=str(error))
    if isinstance(error, _OF_BACKLOG):
        events.emit(events.BACKLOG_FAILED, reason=str(error))
