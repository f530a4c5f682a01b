"""Events that this process has emitted since the last reset."""

from __future__ import annotations

from contextlib import ExitStack

from ignite_kafka import events
from ignite_kafka.common.event_log import EventLog

_open = ExitStack()
_log: EventLog = _open.enter_context(events.collect())


def counts() -> dict[int, int]:
    """Number of times each event was emitted, by id."""
    return {id: count.count for id, count in _log.counts().items()}


def reset() -> None:
    """Begin a new log."""
    global _log
    _open.close()
    _log = _open.enter_context(events.collect())
