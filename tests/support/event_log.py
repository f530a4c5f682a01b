"""Events of the library as a test sees them: in its log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Emitted = list[tuple[int, dict[str, Any]]]
"""Id and fields of each event, in order."""


class _Handler(logging.Handler):
    def __init__(self, found: Emitted) -> None:
        super().__init__()
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        self._found.append((vars(record)["event_id"], vars(record)["event_fields"]))


def ids(emitted: Emitted) -> list[int]:
    """Ids of events, in order."""
    return [number for number, _ in emitted]


@contextmanager
def event_log() -> Iterator[Emitted]:
    """The events that are emitted inside the block."""
    found: Emitted = []
    handler, logger = _Handler(found), logging.getLogger("ignite_kafka.events")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield found
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
