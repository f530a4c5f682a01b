"""Health events of errors that delay or end a run, beside those of the run itself: which part failed."""

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
    """Report that slots are tried again.

    :param event: event where Ignite is the cause; None: there is none of its own.
    """
    events.emit(events.UNIT_REDONE, slot=slots, reason=str(error))
    if event is not None and isinstance(error, _OF_IGNITE):
        events.emit(event, reason=str(error), slot=slots)
    if isinstance(error, IgniteUnreachable):
        events.emit(events.IGNITE_DISCONNECTED, address=error.where.get("address", "the cluster"), reason=error.what)


def report_end(error: IgniteKafkaError) -> None:
    """Report that the backlog is what ends a run, where it is."""
    if isinstance(error, _OF_BACKLOG):
        events.emit(events.BACKLOG_FAILED, reason=str(error))
