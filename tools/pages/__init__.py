"""Pages of docs/ generated from the code: ``make pages`` writes them, a test compares them."""

from __future__ import annotations

from ignite_kafka.settings.files import schema as file_schema

from . import commands, connect_keys, events, house, metrics, options, settings

PAGES = {
    "commands.md": commands.page,
    "commands.schema.json": commands.schemas,
    "settings.md": settings.page,
    "options.md": options.page,
    "events.md": events.page,
    "metrics.md": metrics.page,
    "connect-keys.md": connect_keys.page,
    "house.md": house.page,
    "connector.schema.json": file_schema.text,
    "../spark_apps/ignite_kafka/settings/connector.schema.json": file_schema.text,  # ships in the wheel
}
"""Name of the file in docs/, and the function that returns its text."""
