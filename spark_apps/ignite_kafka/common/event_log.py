"""Counts of events by id, with their newest texts, small enough for a Kafka record."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated

from .typed_json import Milliseconds, Range

KEPT_TEXTS = 5
"""Number of newest occurrences whose text is kept, per event."""
MOST_TEXT = 500
"""Maximum length of a kept text in characters."""
MOST_FIELDS = 12
"""Maximum number of fields kept per occurrence."""
_MOST_FIELD = 200  # characters


@dataclass(frozen=True)
class Occurrence:
    """One occurrence of an event.

    :param at_ms: milliseconds since 1970.
    :param text: message with its fields filled in, without the id.
    """

    at_ms: Milliseconds
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EventCount:
    """Count of an event, with its newest occurrences, oldest first."""

    count: Annotated[int, Range(0, 1 << 53)]
    first_ms: Milliseconds
    last_ms: Milliseconds
    newest: tuple[Occurrence, ...] = ()

    def __add__(self, other: EventCount) -> EventCount:
        newest = sorted((*self.newest, *other.newest), key=lambda occurrence: occurrence.at_ms)
        return EventCount(
            self.count + other.count,
            min(self.first_ms, other.first_ms),
            max(self.last_ms, other.last_ms),
            tuple(newest[-KEPT_TEXTS:]),
        )


EventCounts = Mapping[int, EventCount]
"""Counts of events, by event id."""


def count_of(at_ms: int, text: str, fields: Mapping[str, object]) -> EventCount:
    """Return the count for one occurrence, with its text and fields shortened.

    :param fields: values that are no text are written as Python's ``str`` writes them.
    """
    kept = {name: _shorten(str(value), _MOST_FIELD) for name, value in list(fields.items())[:MOST_FIELDS]}
    return EventCount(1, at_ms, at_ms, (Occurrence(at_ms, _shorten(text, MOST_TEXT), kept),))


def add_events(*counts: EventCounts) -> dict[int, EventCount]:
    """Add up the counts of several sources, by event id."""
    total: dict[int, EventCount] = {}
    for of_source in counts:
        for id, count in of_source.items():
            total[id] = total[id] + count if id in total else count
    return dict(sorted(total.items()))


class EventLog:
    """Counts of the events that this process emits during a run or task."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self._counts: dict[int, EventCount] = {}

    def counts(self) -> dict[int, EventCount]:
        """Return the counts so far, by event id."""
        with self._lock:
            return dict(self._counts)

    def add(self, id: int, count: EventCount) -> None:
        """Add to the count of an event; the caller must hold the lock."""
        self._counts[id] = self._counts[id] + count if id in self._counts else count


class EventCollectors:
    """The open event logs of this process; each gets every event that is emitted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logs: list[EventLog] = []

    @property
    def are_open(self) -> bool:
        """Whether any event log is open."""
        return bool(self._logs)

    def add(self, id: int, text: str, fields: Mapping[str, object]) -> None:
        """Add an event that occurs now to every open log."""
        count = count_of(int(time.time() * 1000), text, fields)
        with self._lock:
            for log in self._logs:
                log.add(id, count)

    @contextmanager
    def collect(self) -> Iterator[EventLog]:
        """Return a context with a log of the events that this process emits meanwhile."""
        log = EventLog(self._lock)
        with self._lock:
            self._logs.append(log)
        try:
            yield log
        finally:
            with self._lock:
                self._logs.remove(log)


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
