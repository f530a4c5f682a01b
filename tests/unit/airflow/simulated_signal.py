"""Progress of a simulated signal, poll by poll, and what operators request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from airflow_provider_ignite_kafka.runs.signals import signal_to_dict
from ignite_kafka.admin.signals import RequestedSignals, SignalView
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.signal_records import CacheSelection, SignalCount


def progress(state: str, done: int = 5, error: str = "") -> dict[str, Any]:
    """A signal that has sent seven records, of one cache of ten partitions."""
    ended = 9 if state in ("COMPLETED", "ABORTED", "FAILED") else None
    counts = {"flights": SignalCount(10, done, 7)}
    return signal_to_dict(SignalView("one", state, ("flights",), ended_ms=ended, counts=counts, left_s=3.4, error=error))


def simulate(monkeypatch: pytest.MonkeyPatch, *polls: dict[str, Any] | Exception | None) -> list[Any]:
    """Let connectors have these; the list holds those that are left."""
    left = list(polls)

    def read(_settings: SourceSettings, _secrets: object, _signal: str, _clients: object) -> dict[str, Any] | None:
        poll = left.pop(0)
        if isinstance(poll, Exception):
            raise poll
        return poll

    monkeypatch.setattr("ignite_kafka.admin.signals.read_signal", read)
    monkeypatch.setattr("airflow_provider_ignite_kafka.runs.signals.signal_to_dict", lambda poll: poll)
    monkeypatch.setattr("airflow_provider_ignite_kafka.runs.signals.connection_clients", lambda *_: None)
    return left


def requests(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None, *, run_ended: bool = False) -> list[Any]:
    """What operators request, instead of a connector."""
    requested: list[Any] = []

    def request(reader: Any, selections: Sequence[CacheSelection], signal: str) -> RequestedSignals:
        if error is not None:
            raise error
        requested.append((reader.connector, list(selections), signal))
        return RequestedSignals(reader.connector, "snapshot", (signal,), run_ended)

    monkeypatch.setattr("airflow_provider_ignite_kafka.runs.signals.SignalReader.request", request)
    return requested
