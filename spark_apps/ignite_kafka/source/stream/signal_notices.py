"""Turns in the life of a signal, as events and as notifications."""

from __future__ import annotations

from collections.abc import Callable

from ... import events
from ...runtime.notifications import Turn
from ...state.signal_records import Signal, SignalStatus

Notify = Callable[[Turn, Signal, SignalStatus, str], None]
"""Function that is called with a turn of a signal, its progress, and the cache that is done; empty for other turns."""


def emit_turn(connector: str, turn: Turn, signal: Signal, status: SignalStatus) -> None:
    """Emit the event of a signal's beginning or end; other turns have no event."""
    where = {"connector": connector, "signal": signal.id}
    if turn == Turn.STARTED:
        events.emit(events.SIGNAL_BEGUN, **where, caches=", ".join(signal.names[:20]))
    elif turn == Turn.COMPLETED:
        events.emit(events.SIGNAL_COMPLETED, **where, records=status.total.records)
    elif turn == Turn.ABORTED:
        events.emit(events.SIGNAL_ABORTED, **where, records=status.total.records)
    elif turn == Turn.FAILED:
        events.emit(events.SIGNAL_FAILED, **where, reason=status.error)


def turn_details(signal: Signal, status: SignalStatus, cache: str) -> dict[str, object]:
    """Return the additional data of a notification about a signal.

    :param cache: the cache that is done; empty for other turns.
    """
    if cache:
        return {"current_collection_in_progress": cache, "total_rows_scanned": status.caches[cache].records}
    total = status.total
    details: dict[str, object] = {
        "data_collections": ",".join(signal.names),
        "records": total.records,
        "partitions": total.units,
        "partitions_done": total.units_done,
    }
    left_s = status.left_s()
    if left_s is not None:
        details["seconds_left"] = round(left_s)
    return {**details, "reason": status.error} if status.error else details
