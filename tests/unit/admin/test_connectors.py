"""Restarts and deletions on records in memory; on a broker and nodes they are in tests/integration/admin/test_connectors.py."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.admin import backlog, connectors
from ignite_kafka.admin.backlog import CleanupResult
from ignite_kafka.admin.connectors import DeletedConnector, RestartRequest, finish_deletion, request_restart
from ignite_kafka.admin.overview import ConnectorOverview, Report
from ignite_kafka.admin.target_state import NewestRun
from ignite_kafka.errors import BacklogRefused, NotStopped
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state import target_state
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.declared_connectors import Cleanup, Declaration
from ignite_kafka.state.status import RunStatus
from tests.support.fake_messages import message

SETTINGS = SourceSettings(name="c", internal_topic_prefix="p")
NOW_MS = 1_800_000_000_000
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


class Nodes:
    """Records of a deleted connector whose newest run has begun, and the calls that end its capture."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run: RunStatus | None = RunStatus("RUNNING", "c", "r", generation=3)
        self.deletion = Declaration(None, 3, NOW_MS - 1_000)
        self.reported_ms = NOW_MS - 1_000
        self.cleanups: list[dict[str, Any]] = []
        self.finished: list[Cleanup] = []
        monkeypatch.setattr(connectors, "time", SimpleNamespace(time=lambda: NOW_MS / 1000))
        monkeypatch.setattr(connectors, "_open", lambda *_: (None, None))
        monkeypatch.setattr(connectors, "newest_report", lambda *_: (NewestRun(RECORD, self.run), self.reported_ms))
        monkeypatch.setattr(connectors, "read_declaration", lambda *_: self.deletion)
        monkeypatch.setattr(connectors, "write_cleanup", lambda *written: self.finished.append(written[3]))
        monkeypatch.setattr(backlog, "cleanup", self.clean)

    def clean(self, *_: object, **options: Any) -> CleanupResult:
        self.cleanups.append(options)
        return CleanupResult("c", "service", "cache")


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    return Nodes(monkeypatch)


def test_a_run_that_reports_keeps_its_capture(nodes: Nodes) -> None:
    assert finish_deletion(SETTINGS, Secrets()) == DeletedConnector("c", ended=False)
    assert finish_deletion(SETTINGS, Secrets(), "an earlier run") == DeletedConnector("c", ended=False)
    assert (nodes.cleanups, nodes.finished) == ([], [])


@pytest.mark.parametrize("state", ["RUNNING", "PAUSED"])
def test_the_capture_of_a_run_that_was_killed_here_ends_at_once(nodes: Nodes, state: str) -> None:
    nodes.run = RunStatus(state, "c", "r", generation=3)
    assert finish_deletion(SETTINGS, Secrets(), "r").ended
    assert nodes.cleanups == [{"force": False, "discard": True, "lost_run": "r"}], "its own capture by its secret alone"
    assert nodes.finished == [Cleanup(nodes.deletion.at_ms, nodes.reported_ms)]


def test_the_capture_of_a_lost_run_ends(nodes: Nodes) -> None:
    nodes.reported_ms = NOW_MS - 61_000
    assert finish_deletion(SETTINGS, Secrets()).backlog == CleanupResult("c", "service", "cache")
    assert nodes.cleanups == [{"force": False, "discard": True, "lost_run": "r"}]


@pytest.mark.parametrize("run", [None, RunStatus("PAUSED", "c", "r", generation=3)])
def test_a_run_without_reports_is_lost_once_it_ignored_its_stop(nodes: Nodes, run: RunStatus | None) -> None:
    nodes.run = run
    nodes.reported_ms = 0 if run is None else NOW_MS - 900_000
    assert not finish_deletion(SETTINGS, Secrets()).ended
    nodes.deletion = Declaration(None, 3, NOW_MS - 601_000)
    assert finish_deletion(SETTINGS, Secrets()).ended


def test_a_run_that_began_after_the_deletion_is_not_lost(nodes: Nodes) -> None:
    nodes.deletion = Declaration(None, 2, NOW_MS - 601_000)
    nodes.reported_ms = NOW_MS - 601_000
    assert not finish_deletion(SETTINGS, Secrets()).ended


@pytest.mark.parametrize("ended_ms", [None, 5])
def test_a_connector_that_was_declared_again_keeps_its_capture(nodes: Nodes, ended_ms: int | None) -> None:
    nodes.run = RunStatus("STOPPED", "c", "r", generation=3, ended_ms=ended_ms)
    nodes.deletion = Declaration({}, None, NOW_MS)
    assert finish_deletion(SETTINGS, Secrets()) == DeletedConnector("c", ended=False, declared_again=True)
    assert (nodes.cleanups, nodes.finished) == ([], [])


def test_an_ended_run_is_cleaned_as_before(nodes: Nodes) -> None:
    nodes.run = RunStatus("FAILED", "c", "r", generation=3, ended_ms=5)
    assert finish_deletion(SETTINGS, Secrets()).ended
    assert nodes.cleanups == [{"force": False, "discard": True, "lost_run": ""}]


@pytest.mark.parametrize(("lost_run", "refused"), [("r", False), ("an earlier run", True), ("", True)])
def test_the_nodes_are_cleaned_of_the_lost_run_alone(monkeypatch: pytest.MonkeyPatch, lost_run: str, refused: bool) -> None:
    newest = NewestRun(RECORD, RunStatus("RUNNING", "c", "r", generation=3))
    monkeypatch.setattr(backlog, "kafka_clients", lambda *_: SimpleNamespace(check=lambda: None))
    monkeypatch.setattr(backlog, "Topics", lambda clients: None)
    monkeypatch.setattr(backlog, "owner_of", lambda *_: "owner")
    monkeypatch.setattr(backlog, "newest_run", lambda *_: newest)
    with pytest.raises(NotStopped) if refused else nullcontext():
        backlog._check_ended(SETTINGS, Secrets(), {"owner": "owner"}, discard=True, lost_run=lost_run)
    with pytest.raises(BacklogRefused):
        backlog._check_ended(SETTINGS, Secrets(), {"owner": "another"}, discard=True, lost_run=lost_run)


def test_a_report_after_the_cleanup_makes_the_deletion_unfinished() -> None:
    run = RunStatus("RUNNING", "c", "r", generation=3)
    state = ConnectorState(RECORD)
    deleted = ConnectorOverview("c", state, {"r": run}, (Report(7, run),), declaration=Declaration(None, 3, 5))
    assert deleted.must_be_cleaned
    assert not replace(deleted, cleanup=Cleanup(5, 7)).must_be_cleaned
    assert replace(deleted, cleanup=Cleanup(4, 7)).must_be_cleaned, "of an earlier deletion"
    assert replace(deleted, cleanup=Cleanup(5, 7), reports=(Report(8, run),)).must_be_cleaned, "the run lives"
    assert not replace(deleted, declaration=Declaration({})).must_be_cleaned
