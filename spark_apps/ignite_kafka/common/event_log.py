"""Counts of events by id, with their newest texts, small enough for a Kafka record."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Annotated

from .python_compat import UTC
from .typed_json import Milliseconds, Range

KEPT_TEXTS = 5
"""Number of newest occurrences whose text is kept, per event."""
MOST_TEXT = 500
"""Maximum length of a kept text in characters."""
MOST_FIELDS = 12
"""Maximum number of fields kept per occurrence."""
_MOST_FIELD = 200  # characters
_MOST_SEEN = 100  # occurrences of an event: the newest of every task
MOST_BYTES = 800_000
"""Maximum size of a run's events in bytes, so that their record stays below the 1 MB that brokers accept by default."""
_MOST_DIGITS = 9  # of an id


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


def format_counts(counts: EventCounts, most_bytes: int = MOST_BYTES) -> dict[str, EventCount]:
    """Return counts as records have them: with ids as texts, in at most so many bytes.

    Counts are always kept. If all texts are too large, the newest of each event is left, without fields; else none.
    """
    for keep in (_keep_all, _keep_newest, _keep_none):
        formatted = {str(id): keep(count) for id, count in counts.items()}
        if len(json.dumps({id: asdict(count) for id, count in formatted.items()})) <= most_bytes:
            break
    return formatted


def _keep_all(count: EventCount) -> EventCount:
    return count


def _keep_newest(count: EventCount) -> EventCount:
    return replace(count, newest=tuple(replace(occurrence, fields={}) for occurrence in count.newest[-1:]))


def _keep_none(count: EventCount) -> EventCount:
    return replace(count, newest=())


def parse_counts(counts: Mapping[str, EventCount]) -> dict[int, EventCount]:
    """Return counts of a record by id; a key that is no id is left out."""
    ids = [id for id in counts if id.isascii() and id.isdigit() and len(id) <= _MOST_DIGITS]
    return {int(id): counts[id] for id in ids}


def format_time(at_ms: int) -> str:
    """Return a time by ISO 8601, in UTC, with milliseconds."""
    moment = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}Z"


class OccurrenceReader:
    """Finds the occurrences that were added to counts since the last look.

    A count may lose its older texts, and get them back later: a task's reports are shortened, its last one is not.

    :param seen: counts whose occurrences are known already.
    """

    def __init__(self, seen: EventCounts | None = None) -> None:
        self._seen: dict[int, dict[tuple[int, str], None]] = {}  # by id, oldest first
        self.added(seen or {})

    def added(self, counts: EventCounts) -> list[tuple[int, Occurrence]]:
        """Return id and text of the occurrences that no call before has seen, oldest first."""
        added = []
        for id, count in counts.items():
            seen = self._seen.setdefault(id, {})
            for occurrence in count.newest:
                place = occurrence.at_ms, occurrence.text
                if place not in seen:
                    seen[place] = None
                    added.append((id, occurrence))
            for place in list(seen)[:-_MOST_SEEN]:
                del seen[place]
        return sorted(added, key=lambda event: event[1].at_ms)


def event_totals(counts: EventCounts) -> dict[str, int]:
    """Return how often each event occurred, by its id as text, as in the record of a run."""
    return {str(id): count.count for id, count in counts.items()}


class EventLog:
    """Counts of the events that this process emits during a run or task."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self._counts: dict[int, EventCount] = {}
        self.recorded: EventCounts = {}
        """Counts that an earlier process of the run has recorded."""

    def counts(self) -> dict[int, EventCount]:
        """Return the counts so far, by event id."""
        with self._lock:
            return dict(self._counts)

    def merge(self, counts: EventCounts) -> None:
        """Add counts of another process."""
        with self._lock:
            for id, count in counts.items():
                self.add(id, count)

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
