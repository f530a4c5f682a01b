"""A repair only while no run of the connector is active; tests/integration/verification/test_repair_claim.py has a run that begins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.admin.target_state import NewestRun
from ignite_kafka.errors import NotStopped
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import RunStatus
from ignite_kafka.verification import repair_claim
from ignite_kafka.verification.repair_claim import Idle


def newest(generation: int, *, ended: bool) -> NewestRun:
    connector: Any = SimpleNamespace(generation=generation, slots=4, run_id="r1")
    run = RunStatus("COMPLETED" if ended else "RUNNING", "c", "r1", "s", generation, "w", 1_000, 2_000 if ended else None, {})
    return NewestRun(connector, run)


SETTINGS = SourceSettings(name="c")


def idle(monkeypatch: pytest.MonkeyPatch, found: NewestRun, *, force: bool = False) -> Idle:
    monkeypatch.setattr(repair_claim, "newest_run", lambda *_: found)
    monkeypatch.setattr(repair_claim, "Topics", lambda _: None)
    return Idle.check(cast(Any, None), SETTINGS, force=force)


def test_a_repair_beside_an_active_run_is_refused_unless_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotStopped) as raised:
        idle(monkeypatch, newest(3, ended=False))
    assert "ignite-kafka stop c" in str(raised.value)
    assert idle(monkeypatch, newest(3, ended=False), force=True).generation == 3
