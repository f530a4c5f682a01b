"""Deletions that are finished beside the keeper: bounded, repeated after errors, and never awaited."""

from __future__ import annotations

import threading

import pytest

from ignite_kafka.admin.connectors import DeletedConnector
from ignite_kafka.connect_rest import deletions
from ignite_kafka.connect_rest.deletions import Deletions
from ignite_kafka.errors import IgniteUnreachable
from ignite_kafka.settings.connector import ConnectorSettings
from tests.support.waiting import wait_until
from tests.unit.connect_rest.test_configuration import OPERATOR


def idle(begun: Deletions) -> bool:
    return not any(thread.is_alive() for thread in begun._threads.values())


def test_a_deletion_is_tried_again_after_an_error_and_no_sooner(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    asked: list[str] = []

    def finish(settings: ConnectorSettings, _: object, dead_run: str) -> DeletedConnector:
        asked.append(f"{settings.name} {dead_run}")
        raise IgniteUnreachable("no address answered")

    monkeypatch.setattr(deletions, "finish_deletion", finish)
    begun = Deletions(OPERATOR)
    for _ in range(2):
        begun.advance(["c"], {"c": "r"})
        wait_until(lambda: idle(begun), "the call")
    assert asked == ["c r"]
    assert "The capture of deleted connector c has not ended: " in caplog.text
    begun._again_at["c"] = 0.0
    begun.advance(["c"], {})
    wait_until(lambda: idle(begun), "the call")
    assert asked == ["c r", "c "]
    begun.advance([], {})
    assert not begun._again_at, "its next deletion is another one"


def test_calls_that_hang_are_few_and_are_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    asked: list[str] = []

    def finish(settings: ConnectorSettings, *_: object) -> DeletedConnector:
        asked.append(settings.name)
        released.wait(120)
        return DeletedConnector(settings.name, ended=True)

    monkeypatch.setattr(deletions, "finish_deletion", finish)
    names = [f"c{number}" for number in range(9)]
    begun = Deletions(OPERATOR)
    for _ in range(3):
        begun.advance(names, {})
    assert sorted(begun._threads) == names[:4]
    assert all(thread.daemon for thread in begun._threads.values()), "the end of the server does not wait"
    released.set()

    def advanced() -> bool:
        begun.advance(names, {})
        return len(asked) == len(names)

    wait_until(advanced, "all deletions")
    assert sorted(asked) == names
