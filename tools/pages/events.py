"""Page of the health events, generated from their definitions."""

from __future__ import annotations

import logging

from ignite_kafka.event_descriptions import CAUSES
from ignite_kafka.events import EVENTS, Event

_HEAD = """# Events

Each event is one log record of the logger `ignite_kafka.events`: id, message and fields as JSON. Handlers of structured
logs find them as `event_id` and `event_fields`. Ids below 15100 and their severities are those of the GridGain Kafka
Connector; ids from 15100 belong to this project. `{name}` in a message stands for a field. How often each occurred in
the runs of a connector: [`ignite-kafka events`](monitor.md#events).

| id | severity | message | usual cause | what to do |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the whole page."""
    return _HEAD + "".join(_format_row(event) for _, event in sorted(EVENTS.items()))


def _format_row(event: Event) -> str:
    cells = [
        str(event.id),
        logging.getLevelName(event.severity).lower(),
        event.message,
        CAUSES.get(event, ""),
        event.action,
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
