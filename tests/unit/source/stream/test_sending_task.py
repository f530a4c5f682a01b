"""Tasks of streams: their progress, their results, and a commit without an answer."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.errors import KafkaUnavailable, OutcomeUnknown
from ignite_kafka.runtime.counts import SlotResult
from ignite_kafka.runtime.epoch import Epoch
from ignite_kafka.runtime.task_loop import TaskServices
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.source.stream import query_task, sending_task
from tests.support.followed_cache import World, Writer, long


class End:
    """The end of an epoch, after some steps."""

    def __init__(self, steps: int) -> None:
        self._steps = iter(range(steps))

    def reached(self, wait_s: float) -> bool:
        return next(self._steps, None) is None

    def ended(self, wait_s: float) -> bool:
        return False

    def close(self) -> None: ...


def run(monkeypatch: pytest.MonkeyPatch, world: World, steps: int) -> tuple[SlotResult, list[bool]]:
    """The result of a task that follows a cache, and whether all was loaded in each of its reports."""
    reports: list[bool] = []
    status: Any = SimpleNamespace(progress=lambda connector, slot, progress: reports.append(progress.loaded))
    opened, clock = End(steps), count(1.0, 60.0)
    services = TaskServices(status, lambda: opened, lambda: next(clock))  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(TaskServices, "of", lambda *_: services)
    monkeypatch.setattr(sending_task, "slot_clients", lambda *_: None)
    monkeypatch.setattr(sending_task, "slot_opener", lambda *_: lambda slot: Writer(world))
    monkeypatch.setattr(query_task, "ignite_cluster", lambda *_: nullcontext(world))
    monkeypatch.setattr(query_task, "Topics", lambda *_: None)
    monkeypatch.setattr(query_task, "QueryFollower", lambda *_: world.follower)
    (result,) = query_task.QueryTask(world.plan, Secrets(), [world.state.slot], 0, Epoch(1, 0)).run()
    return result, reports


def test_the_end_of_the_initial_load_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(progress_interval_ms=1_000_000)
    for key in range(16):
        world.entries[key] = key
    result, reports = run(monkeypatch, world, 5)
    assert (result.error, result.loaded, result.finished) == (None, True, False)
    assert result.caches["c"].records == len(world.topic) == 16
    assert reports[-1], "the end"
    assert reports.count(True) == 1
    assert world.folded == {long(key): long(key) for key in range(16)}


def test_a_commit_without_an_answer_is_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.entries[1] = 1
    world.fails = lambda: True
    result, _ = run(monkeypatch, world, 5)
    assert type(result.error) is KafkaUnavailable
    monkeypatch.setattr(Writer, "commit_requested", True)
    result, _ = run(monkeypatch, world, 5)
    assert isinstance(result.error, OutcomeUnknown)
    assert result.error.where == {"connector": "c", "slots": str(world.state.slot)}
    assert "its last changes may be in the topics twice" in result.error.remedy
