"""Health events of this process: logged, counted for whoever collects them, or noted for the driver.

A log record reads ``15001 # some configuration was ignored: … {"names":[…]}``: the id, the message, the fields as JSON.
Handlers of structured logs find both as ``event_id`` and ``event_fields`` of the logging record.
"""

from __future__ import annotations

import json
import logging
import string
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from .event_log import EventCollectors
from .redaction import in_message

Note = tuple[int, tuple[tuple[str, str], ...]]  # id and fields of an event that a task has noted for the driver

MAX_NOTES = 1_000
"""Maximum number of notes of one event that a task or a run keeps, because their fields may come from records."""
_logger = logging.getLogger("ignite_kafka.events")
_collectors = EventCollectors()
collect = _collectors.collect
_lock = threading.Lock()
_noted: defaultdict[int, set[Note]] = defaultdict(set)  # by the event's id
_muted: ContextVar[bool] = ContextVar("muted", default=False)


@dataclass(frozen=True)
class Event:
    """A type of event. ``message`` is a format string, whose fields :func:`emit` expects."""

    id: int
    severity: int
    message: str
    action: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields in the message."""
        return tuple(name for _, name, _, _ in string.Formatter().parse(self.message) if name)

    def text(self, **fields: Any) -> str:
        """Return the message with its fields filled in; a missing field shows as ``?``."""
        return f"{self.id} # {self.fill(fields)}"

    def fill(self, fields: Mapping[str, Any]) -> str:
        """Return :meth:`text` without the id."""
        return self.message.format_map(defaultdict(lambda: "?", fields))


@contextmanager
def muted() -> Iterator[None]:
    """Emit nothing in this context: for settings that are read once more."""
    token = _muted.set(True)
    try:
        yield
    finally:
        _muted.reset(token)


def emit(event: Event, **fields: Any) -> None:
    """Log an event with its fields, and count it.

    :param fields: without secrets; values that JSON does not have are written as text.
    """
    if _muted.get():
        return
    if _collectors.are_open:
        shown: Mapping[str, Any] = fields
        if "reason" in fields:  # which may quote keys and values, as texts of Spark, Ignite and Kafka do
            shown = {**fields, "reason": in_message(fields["reason"])}
        _collectors.add(event.id, event.fill(shown), shown)
    if _logger.isEnabledFor(event.severity):
        text = event.text(**fields)
        details = json.dumps(fields, default=str, ensure_ascii=False, separators=(",", ":"))
        _logger.log(event.severity, "%s %s", text, details, extra={"event_id": event.id, "event_fields": fields})


def note(event: Event, **fields: str) -> None:
    """Have the driver emit an event, once in a run however many tasks note it. Fields as those of :func:`emit`.

    Notes of an event that differ are emitted each, up to :data:`MAX_NOTES`.
    """
    with _lock:
        if len(_noted[event.id]) < MAX_NOTES:
            _noted[event.id].add((event.id, tuple(sorted(fields.items()))))


def take_notes() -> frozenset[Note]:
    """The events noted in this process since the last call, which a task hands to the driver at its end."""
    with _lock:
        notes = frozenset().union(*_noted.values())
        _noted.clear()
    return notes


def unite_notes(notes: frozenset[Note], more: frozenset[Note]) -> frozenset[Note]:
    """Return the notes of both, and of each event at most :data:`MAX_NOTES`."""
    united = set(notes)
    counts = Counter(id for id, _ in notes)
    for noted in more - notes:
        if counts[noted[0]] < MAX_NOTES:
            counts[noted[0]] += 1
            united.add(noted)
    return frozenset(united)
