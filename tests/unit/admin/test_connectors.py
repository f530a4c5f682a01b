"""Restarts and deletions on records in memory; on a broker and nodes they are in tests/integration/admin/test_connectors.py."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.admin import connectors
from ignite_kafka.admin.connectors import RestartRequest, request_restart
from ignite_kafka.admin.target_state import NewestRun
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state import target_state
from ignite_kafka.state.configs import ConnectorRecord
from ignite_kafka.state.status import RunStatus
from tests.support.fake_messages import message

SETTINGS = SourceSettings(name="c", internal_topic_prefix="p")
RECORD = ConnectorRecord(3, run_id="r", settings={"run_mode": "continuous"})


def target(**value: object) -> tuple[bytes, bytes]:
    return b'["target","c"]', json.dumps(value).encode()


@pytest.mark.parametrize(
    ("requests", "stopped"),
    [
        ([], False),
        ([target(state="STOPPED", at_ms=1)], True),
        ([target(state="STOPPED", at_ms=1, generation=3)], False),
        ([target(state="STOPPED", at_ms=1), target(state="RUNNING", at_ms=2)], False),
        ([target(state="RUNNING", at_ms=1), (b'["target","d"]', b'{"state":"STOPPED"}')], False),
    ],
)
def test_a_restart_leaves_a_connector_stopped_whose_run_is_still_ending(
    monkeypatch: pytest.MonkeyPatch, requests: list[tuple[bytes, bytes]], stopped: bool
) -> None:
    written: list[tuple[Any, ...]] = []
    topics = SimpleNamespace(exists=lambda _: True)
    ending = NewestRun(RECORD, RunStatus("RUNNING", "c", "r", generation=3))
    monkeypatch.setattr(target_state, "read_to_end", lambda *_: iter(message(*request) for request in requests))
    monkeypatch.setattr(connectors, "_open", lambda *_: (None, topics))
    monkeypatch.setattr(connectors, "require_connector", lambda *_: ending)
    monkeypatch.setattr(connectors, "write_restart", lambda *_: written.append(("restart",)))
    monkeypatch.setattr(connectors, "write_target", lambda *written_target: written.append(written_target[4:]))
    assert request_restart(SETTINGS, Secrets()) == RestartRequest("c", "r", active=True, stopped=stopped)
    assert written == ([] if stopped else [("restart",), ("STOPPED", 3)])
