"""Settings of a source, as a file gives them."""

from __future__ import annotations

from ignite_kafka.settings.source import SourceSettings


def build(**values: object) -> SourceSettings:
    """Settings with a name and these values, read from a file `test.json`."""
    return SourceSettings.from_dict({"name": "c", **values}, "test.json")
