"""Reader and sender of a stream over a cache and a backlog in memory: whatever happens in between, the topic becomes the cache."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.pipelines.stream import reading, sending
from ignite_kafka.thin.service import ASKED, MISSED
from tests.unit.pipelines.stream.world import PARTITIONS, Task, World

KEYS = st.integers(0, 7)
PLACES = st.integers(0, PARTITIONS - 1)
WRITES = st.one_of(st.tuples(st.sampled_from(["put", "put", "remove", "begin", "end"]), KEYS), st.tuples(st.just("flush"), PLACES))
FAULTS = st.one_of(
    st.tuples(st.sampled_from(["put_back", "primary_dies", "give_up"]), PLACES),
    st.tuples(st.just("expire"), KEYS),
    st.tuples(st.just("fail"), st.sampled_from(["acknowledge", "commit 0", "commit 1", "lookup", "scan", "clear"])),
    st.tuples(st.just("mark"), st.sampled_from([ASKED, MISSED])),
    st.tuples(st.sampled_from(["clear_cache", "epoch", "later"]), st.just(0)),
)
BATCH = st.tuples(st.just("batch"), st.just(0))


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is that of the world made last."""
    worlds: list[World] = []
    clock = SimpleNamespace(monotonic=lambda: worlds[-1].now_s, time=lambda: worlds[-1].now_s)
    for module in (reading, sending):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(World, "__init__", _recorded(World.__init__, worlds))


def _recorded(make: Any, worlds: list[World]) -> Any:
    def made(world: World) -> None:
        make(world)
        worlds.append(world)

    return made


def follow(world: World, task: Task | None, steps: list[tuple[str, int | str]]) -> None:
    for name, what in steps:
        if task is None:
            getattr(world, name)(what)
        elif name == "batch":
            task.batch()
        elif name == "epoch":
            task.end()
        elif name == "later":
            world.later(40.0)
            task.batch()
        elif name == "primary_dies":
            sent = world.primary_dies(int(what))
            if sent:
                world.failing.clear()
                task.batch()  # the task that has sent the update lives until it sees that: see docs/delivery.md
        elif name == "fail":
            world.failing.add(str(what))
        elif name == "mark":
            world.mark_all(int(what))
        elif name == "clear_cache":
            world.clear_cache()
            world.mark_all(ASKED)
        else:
            getattr(world, name)(what)


@settings(max_examples=150)
@given(before=st.lists(WRITES, max_size=8), steps=st.lists(st.one_of(WRITES, WRITES, BATCH), max_size=40))
def test_writes_alone_come_once_and_in_order(before: list[Any], steps: list[Any]) -> None:
    world = World()
    follow(world, None, before)
    task = Task(world)
    follow(world, task, steps)
    task.settle()
    task.stop()
    assert world.fold == world.entries
    assert world.steps_back() == []


@settings(max_examples=400)
@given(before=st.lists(WRITES, max_size=6), steps=st.lists(st.one_of(WRITES, WRITES, BATCH, FAULTS), max_size=50))
def test_the_topic_becomes_the_cache_whatever_happens(before: list[Any], steps: list[Any]) -> None:
    world = World()
    follow(world, None, before)
    task = Task(world)
    follow(world, task, steps)
    task.settle()
    task.stop()
    assert world.fold == world.entries
    assert world.steps_back() == []
