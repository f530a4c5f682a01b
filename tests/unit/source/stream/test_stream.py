"""Reader and sender of a stream over a cache and a backlog in memory: the topic becomes the cache, whatever happens meanwhile."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ignite_kafka.ignite.backlog_units import ASKED, MISSED
from ignite_kafka.source.stream.unit_reader import WHOLE_BACKLOG
from tests.support.backlog_changes import PARTITIONS
from tests.support.backlog_simulator import Simulator
from tests.support.randomness import examples
from tests.support.stream_task import Task

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


def follow(simulator: Simulator, task: Task | None, steps: list[tuple[str, Any]]) -> None:
    for name, what in steps:
        if task is None:
            getattr(simulator, name)(what)
        elif name == "batch":
            task.batch()
        elif name == "epoch":
            task.end()
        elif name == "later":
            simulator.later(40.0)
            task.batch()
        elif name == "primary_dies":
            sent = simulator.primary_dies(int(what))
            if sent:
                simulator.failing.clear()
                task.batch()  # the task that has sent the update lives until it sees that: see docs/delivery.md
        elif name == "fail":
            simulator.failing.add(str(what))
        elif name == "meanwhile":
            step, write, key = what
            simulator.meanwhile[step].append(partial(getattr(simulator, write), key))
        elif name == "mark":
            simulator.mark_all(int(what))
        elif name == "clear_cache":
            simulator.clear_cache()
            simulator.mark_all(ASKED)
        else:
            getattr(simulator, name)(what)


def settled(simulator: Simulator, steps: list[Any]) -> None:
    task = Task(simulator)
    follow(simulator, task, steps)
    task.settle()
    task.stop()
    assert simulator.fold == simulator.entries
    assert simulator.steps_back() == []


@settings(max_examples=examples(150))
@given(before=st.lists(WRITES, max_size=8), steps=st.lists(st.one_of(WRITES, WRITES, BATCH), max_size=40))
def test_writes_alone_come_once_and_in_order(before: list[Any], steps: list[Any]) -> None:
    simulator = Simulator()
    follow(simulator, None, before)
    settled(simulator, steps)


@settings(max_examples=examples(400))
@given(before=st.lists(WRITES, max_size=6), steps=st.lists(st.one_of(WRITES, WRITES, BATCH, FAULTS), max_size=50))
def test_the_topic_becomes_the_cache_whatever_happens(before: list[Any], steps: list[Any]) -> None:
    simulator = Simulator()
    follow(simulator, None, before)
    settled(simulator, steps)


RESTARTS = st.one_of(
    st.tuples(st.just("fail"), st.sampled_from(["acknowledge", "commit 0", "commit 1", "lookup"])),
    st.tuples(st.just("put_back"), PLACES),
    st.tuples(st.sampled_from(["node_joins", "epoch", "new_journal"]), st.just(0)),
)


@settings(max_examples=examples(400))
@given(before=st.lists(WRITES, max_size=6), steps=st.lists(st.one_of(WRITES, WRITES, BATCH, RESTARTS), max_size=60))
@example(before=[], steps=[("put_through", 0), BATCHED, ("put_through", PARTITIONS), BATCHED, ("put_back", 0), ("epoch", 0), BATCHED])
@example(before=[], steps=[BATCHED, ("put_through", 0), ("fail", "acknowledge"), BATCHED, ("node_joins", 0), BATCHED])
@example(before=[("put", 0)], steps=[BATCHED, ("node_joins", 0), BATCHED])
def test_nothing_comes_twice_while_no_node_dies(before: list[Any], steps: list[Any]) -> None:
    """Tasks end and begin, backups write changes that were sent long before, nodes join: no record is repeated."""
    simulator = Simulator()
    simulator.bytes_for_all = WHOLE_BACKLOG  # a unit that has more is sent again
    follow(simulator, None, before)
    settled(simulator, steps)
    assert simulator.repeated() == []


REMAKES = st.one_of(
    st.tuples(st.sampled_from(["remake", "epoch"]), st.just(0)),
    st.tuples(st.just("meanwhile"), st.tuples(st.sampled_from(["lookup", "scan", "changed"]), st.sampled_from(["remake", "put"]), KEYS)),
    st.tuples(st.just("put_back"), PLACES),
    st.tuples(st.just("mark"), st.just(MISSED)),
)


@settings(max_examples=examples(400))
@given(before=st.lists(WRITES, max_size=6), steps=st.lists(st.one_of(WRITES, BATCH, REMAKES), max_size=40))
@example(before=[], steps=[("remake", 0), ("put", 1), BATCHED])
@example(before=[("put", 1)], steps=[("meanwhile", ("changed", "remake", 0)), ("meanwhile", ("scan", "put", 1)), BATCHED, BATCHED])
def test_a_cache_that_is_made_again_comes_once(before: list[Any], steps: list[Any]) -> None:
    """Entries of the new cache are sent only under its own incarnation, even if the old one was not completely loaded."""
    simulator = Simulator()
    simulator.bytes_for_all = WHOLE_BACKLOG
    follow(simulator, None, before)
    settled(simulator, steps)
    if not any(name == "mark" for name, _ in steps):  # a unit that is sent again repeats what it has
        assert simulator.repeated() == []


BATCHES = [BATCHED] * 2


def test_only_committed_records_are_counted() -> None:
    simulator = Simulator()
    task = Task(simulator)
    task.settle()
    counted = task.counts
    follow(simulator, task, [*(("put_through", key) for key in range(PARTITIONS)), ("fail", "commit 1"), BATCHED])
    assert simulator.topic
    assert sum(count.records for counts in counted.values() for count in counts.values()) == len(simulator.topic)
    task.settle()
    task.stop()
    assert len(simulator.topic) == PARTITIONS


def test_only_changed_units_are_read() -> None:
    simulator = Simulator()
    task = Task(simulator)
    task.settle()

    def reads(*steps: Any) -> list[list[int]]:
        simulator.reads.clear()
        follow(simulator, task, [*steps, *BATCHES])
        return [sorted(partitions) for partitions in simulator.reads]

    every = list(range(PARTITIONS))
    assert reads() == []
    assert reads(("put_through", 1)) == [[1]]
    assert reads(*[("put_through", 2)] * 4) == [[2], [2]]  # more than one answer holds
    assert reads(("put_through", 3), ("fail", "commit 1")) == [[3], every]  # the task begins anew
    assert reads(("put_back", 3)) == [[3]]
    assert reads(("new_journal", 0)) == [every]
    simulator.later(40.0)  # so that no key is looked up after the next change
    simulator.node_dies()
    assert reads() == [every, every]
    simulator.now_s += 5.0
    assert reads() == [every]
    assert reads() == []
    task.stop()


def test_every_unit_is_read_after_a_node_left_between_two_calls() -> None:
    simulator = Simulator()
    task = Task(simulator)
    follow(simulator, task, [("put_through", 0), *BATCHES])
    task.settle()
    simulator.later(40.0)
    simulator.meanwhile["changed"].append(simulator.node_dies)
    simulator.reads.clear()
    follow(simulator, task, [("put_through", 1), ("batch", 0)])
    assert [sorted(partitions) for partitions in simulator.reads[:2]] == [[1], list(range(PARTITIONS))]
    task.settle()
    task.stop()
    assert simulator.fold == simulator.entries


def test_a_unit_stays_marked_for_loading_after_a_task_that_cleared_its_mark() -> None:
    settled(Simulator(), [("put", 0), ("put", 1), *BATCHES, ("clear_cache", 0), ("fail", "scan"), *BATCHES])


def test_a_late_change_of_an_expired_key() -> None:
    settled(Simulator(), [("batch", 0), ("put", 0), ("expire", 0), ("batch", 0)])


def test_changes_that_only_a_dead_node_had_are_looked_up_by_a_new_reader() -> None:
    simulator = Simulator()
    simulator.put(0)
    simulator.primary_dies(0)
    settled(simulator, [])
    assert simulator.fold == {}


def test_changes_of_a_failed_task_are_looked_up_when_their_node_dies() -> None:
    simulator = Simulator()
    settled(simulator, [("put", 1), ("fail", "acknowledge"), *BATCHES, ("primary_dies", 1)])
    assert simulator.fold == {}


def test_a_first_scan_on_a_node_that_dies_during_it_is_repeated() -> None:
    simulator = Simulator()

    def die() -> None:
        simulator.units[1].primary.clear()  # what it captured dies with it
        simulator.primary_dies(1)

    simulator.meanwhile["changed"].append(partial(simulator.put, 1))
    simulator.meanwhile["scan"] += [lambda: None] * (PARTITIONS - 1) + [die]
    settled(simulator, [BATCHED])
    assert simulator.undone
    assert simulator.fold == {}


def test_a_scan_on_a_node_that_dies_later_is_repeated() -> None:
    simulator = Simulator()
    settled(simulator, [("put", 1), ("mark", ASKED), *BATCHES, ("primary_dies", 1)])
    assert simulator.fold == {}


def test_a_change_supersedes_a_state_that_was_looked_up_before_it() -> None:
    settled(Simulator(), [("put", 0), *BATCHES, ("expire", 0), ("meanwhile", ("lookup", "put", 0)), ("batch", 0)])


def test_a_change_supersedes_an_entry_that_was_scanned_before_it() -> None:
    simulator = Simulator()
    simulator.put(0)
    settled(simulator, [("meanwhile", ("scan", "put", 0))])


def test_a_key_that_returns_during_reconciliation_gets_no_tombstone() -> None:
    settled(Simulator(), [("put", 0), *BATCHES, ("clear_cache", 0), ("meanwhile", ("lookup", "put", 0)), *BATCHES, *BATCHES])
