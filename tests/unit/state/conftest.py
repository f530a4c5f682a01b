"""What tests of Kafka's records share."""

from __future__ import annotations

import pytest

from ignite_kafka import events
from ignite_kafka.state import internal_records


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ids of the events of the test, in order."""
    found: list[int] = []
    monkeypatch.setattr(internal_records, "_told", set())
    monkeypatch.setattr(events, "emit", lambda event, **_: found.append(event.id))
    return found
