"""Deletions that no request waits for: tried until they are finished, in turns, within bounds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from ignite_kafka.admin.connectors import DeletedConnector
from ignite_kafka.connect_rest import late_deletions
from ignite_kafka.connect_rest.late_deletions import LateDeletions
from ignite_kafka.errors import IgniteUnreachable
from ignite_kafka.settings.connector import ConnectorSettings
from tests.support.waiting import wait_until
from tests.unit.connect_rest.test_configuration import OPERATOR


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_deletions, "_POLL_S", 0.01)
    monkeypatch.setattr(late_deletions, "_AGAIN_S", 0.0)
    monkeypatch.setattr(late_deletions, "_SHARE", 0.0)


def replaced(monkeypatch: pytest.MonkeyPatch, finish: Callable[[str], bool]) -> LateDeletions:
    """Deletions that a function of the connector's name finishes."""

    def call(settings: ConnectorSettings, _: object) -> DeletedConnector:
        return DeletedConnector(settings.name, finish(settings.name))

    monkeypatch.setattr(late_deletions, "finish_deletion", call)
    return LateDeletions()


def await_end(deletions: LateDeletions) -> None:
    wait_until(lambda: deletions._thread is None, "the end of the thread")
    assert not deletions._pending


def test_a_deletion_is_tried_until_its_run_has_ended_and_its_nodes_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []

    def finish(name: str) -> bool:
        tries.append(name)
        if tries.count(name) == 2:
            raise IgniteUnreachable("no address answered")
        return tries.count(name) % 4 == 0

    deletions = replaced(monkeypatch, finish)
    deletions.add(OPERATOR, "a")
    deletions.add(OPERATOR, "b")
    await_end(deletions)
    assert (tries.count("a"), tries.count("b")) == (4, 4)
    deletions.add(OPERATOR, "a")
    await_end(deletions)
    assert tries.count("a") == 8, "the next deletion has a thread of its own"


def test_a_run_that_does_not_end_is_given_up_with_the_reason(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    deletions = replaced(monkeypatch, lambda _: False)
    monkeypatch.setattr(late_deletions, "PENDING_S", 0.0)
    deletions.add(OPERATOR, "a")
    await_end(deletions)
    assert "deleted connector a has not ended: its run has not ended. End it: ignite-kafka backlog cleanup a" in caplog.text


def test_a_connector_that_is_declared_again_is_not_said_to_need_a_cleanup(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    deletions = LateDeletions()
    monkeypatch.setattr(late_deletions, "PENDING_S", 0.0)
    again = DeletedConnector("a", ended=False, declared_again=True)
    monkeypatch.setattr(late_deletions, "finish_deletion", lambda *_: again)
    deletions.add(OPERATOR, "a")
    await_end(deletions)
    assert caplog.records == []


def test_a_fault_ends_neither_the_thread_nor_the_deletion(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    tries: list[str] = []

    def finish(name: str) -> bool:
        tries.append(name)
        if tries.count(name) == 1:
            raise KeyError(name)
        return True

    deletions = replaced(monkeypatch, finish)
    deletions.add(OPERATOR, "a")
    deletions.add(OPERATOR, "b")
    await_end(deletions)
    assert sorted(tries) == ["a", "a", "b", "b"]
    assert "Ending the capture of deleted connector a failed" in caplog.text
    assert "KeyError" in caplog.text


def test_deletions_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    released = threading.Event()
    deletions = replaced(monkeypatch, lambda _: released.wait(120))
    monkeypatch.setattr(late_deletions, "MOST_PENDING", 2)
    for name in ("a", "b", "c", "a"):
        deletions.add(OPERATOR, name)
    assert [record.args for record in caplog.records] == [("c", "2 others wait for the ends of their runs", "c")]
    assert sorted(deletions._pending) == ["a", "b"]
    released.set()
    await_end(deletions)


def test_a_connector_that_is_deleted_again_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, released, calls = threading.Event(), threading.Event(), list[str]()

    def finish(name: str) -> bool:
        calls.append(name)
        begun.set()
        return released.wait(120)

    deletions = replaced(monkeypatch, finish)
    deletions.add(OPERATOR, "a")
    assert begun.wait(120)
    deletions.add(OPERATOR, "a")
    released.set()
    await_end(deletions)
    assert calls == ["a", "a"]


def test_older_deletions_are_tried_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(late_deletions, "time", SimpleNamespace(monotonic=lambda: 100.0))
    monkeypatch.setattr(late_deletions, "Deadline", SimpleNamespace(after=lambda seconds: seconds))
    waits: list[object] = []
    for begun_s in (100.0, 0.0):
        pending = late_deletions._Pending(OPERATOR, begun_s)
        pending.postpone()
        waits.append(pending.again)
    assert waits == [2.0, 10.0]
