"""Reader and sender of a stream over a cache and a backlog in memory: whatever happens in between, the topic becomes the cache."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ignite_kafka.ignite.backlog_service import ASKED, MISSED
from ignite_kafka.source.stream import backlog_reader as reading
from ignite_kafka.source.stream import sender as sending
from tests.unit.source.stream.backlog_simulator import PARTITIONS, Task, World

KEYS = st.integers(0, 7)
PLACES = st.integers(0, PARTITIONS - 1)
WRITES = st.one_of(st.tuples(st.sampled_from(["put", "put", "remove", "begin", "end"]), KEYS), st.tuples(st.just("flush"), PLACES))
FAULTS = st.one_of(
    st.tuples(st.sampled_from(["put_back", "primary_dies", "give_up"]), PLACES),
    st.tuples(st.just("expire"), KEYS),
    st.tuples(st.just("fail"), st.sampled_from(["acknowledge", "commit 0", "commit 1", "lookup", "scan", "clear"])),
    st.tuples(
        st.just("meanwhile"),
        st.tuples(
            st.sampled_from(["lookup", "scan", "changed"]),
            st.sampled_from(["put", "put_through", "remove", "begin", "end", "expire"]),
            KEYS,
        ),
    ),
    st.tuples(st.just("mark"), st.sampled_from([ASKED, MISSED])),
    st.tuples(st.sampled_from(["clear_cache", "epoch", "later", "new_journal"]), st.just(0)),
)
BATCHED = ("batch", 0)
BATCH = st.just(BATCHED)


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


def follow(world: World, task: Task | None, steps: list[tuple[str, Any]]) -> None:
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
        elif name == "meanwhile":
            step, write, key = what
            world.meanwhile[step].append(partial(getattr(world, write), key))
        elif name == "mark":
            world.mark_all(int(what))
        elif name == "clear_cache":
            world.clear_cache()
            world.mark_all(ASKED)
        else:
            getattr(world, name)(what)


def settled(world: World, steps: list[Any]) -> None:
    task = Task(world)
    follow(world, task, steps)
    task.settle()
    task.stop()
    assert world.fold == world.entries
    assert world.steps_back() == []


@settings(max_examples=150)
@given(before=st.lists(WRITES, max_size=8), steps=st.lists(st.one_of(WRITES, WRITES, BATCH), max_size=40))
def test_writes_alone_come_once_and_in_order(before: list[Any], steps: list[Any]) -> None:
    world = World()
    follow(world, None, before)
    settled(world, steps)


@settings(max_examples=400)
@given(before=st.lists(WRITES, max_size=6), steps=st.lists(st.one_of(WRITES, WRITES, BATCH, FAULTS), max_size=50))
def test_the_topic_becomes_the_cache_whatever_happens(before: list[Any], steps: list[Any]) -> None:
    world = World()
    follow(world, None, before)
    settled(world, steps)


RESTARTS = st.one_of(
    st.tuples(st.just("fail"), st.sampled_from(["acknowledge", "commit 0", "commit 1", "lookup"])),
    st.tuples(st.just("put_back"), PLACES),
    st.tuples(st.sampled_from(["node_joins", "epoch", "new_journal"]), st.just(0)),
)


@settings(max_examples=400)
@given(before=st.lists(WRITES, max_size=6), steps=st.lists(st.one_of(WRITES, WRITES, BATCH, RESTARTS), max_size=60))
@example(before=[], steps=[("put_through", 0), BATCHED, ("put_through", PARTITIONS), BATCHED, ("put_back", 0), ("epoch", 0), BATCHED])
@example(before=[], steps=[BATCHED, ("put_through", 0), ("fail", "acknowledge"), BATCHED, ("node_joins", 0), BATCHED])
@example(before=[("put", 0)], steps=[BATCHED, ("node_joins", 0), BATCHED])
def test_nothing_comes_twice_while_no_node_dies(before: list[Any], steps: list[Any]) -> None:
    """Tasks end and begin, backups write what was sent long since, nodes join: none of it is a reason to repeat."""
    world = World()
    world.bytes_for_all = reading._WHOLE_BACKLOG  # a unit that has more is sent again
    follow(world, None, before)
    settled(world, steps)
    assert world.repeated() == []


REMAKES = st.one_of(
    st.tuples(st.sampled_from(["remake", "epoch"]), st.just(0)),
    st.tuples(st.just("meanwhile"), st.tuples(st.sampled_from(["lookup", "scan", "changed"]), st.sampled_from(["remake", "put"]), KEYS)),
    st.tuples(st.just("put_back"), PLACES),
    st.tuples(st.just("mark"), st.just(MISSED)),
)


@settings(max_examples=400)
@given(before=st.lists(WRITES, max_size=6), steps=st.lists(st.one_of(WRITES, BATCH, REMAKES), max_size=40))
@example(before=[], steps=[("remake", 0), ("put", 1), BATCHED])
@example(before=[("put", 1)], steps=[("meanwhile", ("changed", "remake", 0)), ("meanwhile", ("scan", "put", 1)), BATCHED, BATCHED])
def test_a_cache_that_is_made_again_comes_once(before: list[Any], steps: list[Any]) -> None:
    """What the new cache has is sent under its own incarnation alone, however much of the old one is left to be loaded."""
    world = World()
    world.bytes_for_all = reading._WHOLE_BACKLOG
    follow(world, None, before)
    settled(world, steps)
    if not any(name == "mark" for name, _ in steps):  # a unit that is sent again repeats what it has
        assert world.repeated() == []


BATCHES = [BATCHED] * 2


def test_only_what_is_committed_counts() -> None:
    world = World()
    task = Task(world)
    task.settle()
    sender = task.sender
    follow(world, task, [*(("put_through", key) for key in range(PARTITIONS)), ("fail", "commit 1"), BATCHED])
    assert world.topic
    assert sum(count.records for counts in sender._counts.values() for count in counts.values()) == len(world.topic)
    task.settle()
    task.stop()
    assert len(world.topic) == PARTITIONS


def test_only_units_that_may_have_news_are_asked() -> None:
    world = World()
    task = Task(world)
    task.settle()

    def asked(*steps: Any) -> list[list[int]]:
        world.asked.clear()
        follow(world, task, [*steps, *BATCHES])
        return [sorted(partitions) for partitions in world.asked]

    every = list(range(PARTITIONS))
    assert asked() == []
    assert asked(("put_through", 1)) == [[1]]
    assert asked(*[("put_through", 2)] * 4) == [[2], [2]]  # more than one answer holds
    assert asked(("put_through", 3), ("fail", "commit 1")) == [[3], every]  # the task begins anew
    assert asked(("put_back", 3)) == [[3]]
    assert asked(("new_journal", 0)) == [every]
    world.later(40.0)  # so that no key is looked up after the next change
    world.node_dies()
    assert asked() == [every, every]
    world.now_s += 5.0
    assert asked() == [every]
    assert asked() == []
    task.stop()


def test_a_node_that_goes_between_two_questions_has_every_unit_asked() -> None:
    world = World()
    task = Task(world)
    follow(world, task, [("put_through", 0), *BATCHES])
    task.settle()
    world.later(40.0)
    world.meanwhile["changed"].append(world.node_dies)
    world.asked.clear()
    follow(world, task, [("put_through", 1), ("batch", 0)])
    assert [sorted(partitions) for partitions in world.asked[:2]] == [[1], list(range(PARTITIONS))]
    task.settle()
    task.stop()
    assert world.fold == world.entries


def test_a_resend_outlives_a_task_that_has_cleared_the_mark() -> None:
    settled(World(), [("put", 0), ("put", 1), *BATCHES, ("clear_cache", 0), ("fail", "scan"), *BATCHES])


def test_a_change_that_was_written_before_its_key_expired_and_came_later() -> None:
    settled(World(), [("batch", 0), ("put", 0), ("expire", 0), ("batch", 0)])


def test_what_only_a_dead_node_had_is_looked_up_by_a_new_reader() -> None:
    world = World()
    world.put(0)
    world.primary_dies(0)
    settled(world, [])
    assert world.fold == {}


def test_what_a_failed_task_sent_is_looked_up_once_its_node_dies() -> None:
    world = World()
    settled(world, [("put", 1), ("fail", "acknowledge"), *BATCHES, ("primary_dies", 1)])
    assert world.fold == {}


def test_what_was_scanned_first_of_all_on_a_node_that_dies_meanwhile_is_sent_again() -> None:
    world = World()

    def die() -> None:
        world.units[1].primary.clear()  # what it captured dies with it
        world.primary_dies(1)

    world.meanwhile["changed"].append(partial(world.put, 1))
    world.meanwhile["scan"] += [lambda: None] * (PARTITIONS - 1) + [die]
    settled(world, [BATCHED])
    assert world.undone
    assert world.fold == {}


def test_what_was_scanned_on_a_node_that_dies_is_sent_again() -> None:
    world = World()
    settled(world, [("put", 1), ("mark", ASKED), *BATCHES, ("primary_dies", 1)])
    assert world.fold == {}


def test_a_change_counts_more_than_a_state_that_was_looked_up_before_it() -> None:
    settled(World(), [("put", 0), *BATCHES, ("expire", 0), ("meanwhile", ("lookup", "put", 0)), ("batch", 0)])


def test_a_change_counts_more_than_an_entry_that_was_scanned_before_it() -> None:
    world = World()
    world.put(0)
    settled(world, [("meanwhile", ("scan", "put", 0))])


def test_a_key_that_comes_back_while_it_is_swept_stays() -> None:
    settled(World(), [("put", 0), *BATCHES, ("clear_cache", 0), ("meanwhile", ("lookup", "put", 0)), *BATCHES, *BATCHES])
