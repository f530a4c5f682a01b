"""Signals whose ends are no longer recorded: they are refused and named, and nobody waits for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.admin import signals
from ignite_kafka.admin.signals import read_signal, request_snapshot
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.signal_records import CacheSelection, Signal, SignalStatus
from ignite_kafka.state.signals import SignalFold

SETTINGS = SourceSettings(name="c", run_mode="continuous")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Signal]:
    """Signals that are requested of a connector with an ended, a waiting and a forgotten one."""
    requests: list[Signal] = []
    fold = SignalFold("c")
    fold.requests = {"waiting": Signal("waiting", (CacheSelection("a"),))}
    fold.ends = {"ended": SignalStatus("ended", "COMPLETED", 1, 2)}
    fold.forgotten = ("forgotten",)
    source: Any = (None, None, SimpleNamespace(ended=False))
    monkeypatch.setattr(signals, "_source_stream", lambda *_: source)
    monkeypatch.setattr(signals, "read_signals", lambda *_: fold)
    monkeypatch.setattr(signals, "read_signal_progress", lambda *_: {})
    monkeypatch.setattr(signals, "write_signal", lambda *more: requests.append(more[-1]))
    return requests


@pytest.mark.usefixtures("written")
def test_the_end_of_a_forgotten_signal_is_an_error_and_an_unknown_one_is_not() -> None:
    states = [read_signal(SETTINGS, Secrets(), id) for id in ("ended", "waiting", "unknown")]
    assert [view and view.state for view in states] == ["COMPLETED", "WAITING", None]
    with pytest.raises(SettingsError, match="its end is no longer recorded") as forgotten:
        read_signal(SETTINGS, Secrets(), "forgotten")
    assert forgotten.value.where == {"connector": "c", "signal": "forgotten"}


def test_an_id_that_has_ended_is_not_requested_again(written: list[Signal]) -> None:
    assert request_snapshot(SETTINGS, Secrets(), [CacheSelection("a")], "ended").repeated
    with pytest.raises(SettingsError, match="use a new id"):
        request_snapshot(SETTINGS, Secrets(), [CacheSelection("a")], "forgotten")
    assert not written
    for _ in range(2):
        request_snapshot(SETTINGS, Secrets(), [CacheSelection("a")], "new")
    assert len({signal.identity for signal in written}) == 2
