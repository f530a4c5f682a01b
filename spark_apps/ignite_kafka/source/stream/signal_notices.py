"""Turns in the life of a signal, and the events that report them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ... import events
from ...state.signal_records import Signal, SignalStatus


class SignalNotice(Enum):
    """Types of notifications about a signal, as Debezium names them; CACHE_DONE is TABLE_SCAN_COMPLETED there."""

    STARTED = "STARTED"
    IN_PROGRESS = "IN_PROGRESS"
    PAUSED = "PAUSED"
    RESUMED = "RESUMED"
    CACHE_DONE = "CACHE_DONE"
    COMPLETED = "COMPLETED"
    ABORTED = "ABORTED"
    FAILED = "FAILED"


Notify = Callable[[SignalNotice, Signal, SignalStatus, str], None]
"""Function that is called with a turn of a signal, its progress, and the cache that is done; empty for other turns."""


def emit_notice(connector: str, notice: SignalNotice, signal: Signal, status: SignalStatus) -> None:
    """Emit the event of a signal's beginning or end; other turns have no event."""
    where = {"connector": connector, "signal": signal.id}
    if notice == SignalNotice.STARTED:
        events.emit(events.SIGNAL_BEGUN, **where, caches=", ".join(signal.names[:20]))
    elif notice == SignalNotice.COMPLETED:
        events.emit(events.SIGNAL_COMPLETED, **where, records=status.total.records)
    elif notice == SignalNotice.ABORTED:
        events.emit(events.SIGNAL_ABORTED, **where, records=status.total.records)
    elif notice == SignalNotice.FAILED:
        events.emit(events.SIGNAL_FAILED, **where, reason=status.error)
