"""Caches followed with continuous queries, with steps and faults in any order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ignite_kafka.common.measurements import BATCH, LATENCY, collect
from ignite_kafka.errors import CacheDestroyed, TopicError
from ignite_kafka.events import CACHES_SENT_AGAIN, CHANGES_MISSING
from ignite_kafka.ignite.continuous_query import CacheEvents
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.source.entry_sender import EntrySender
from ignite_kafka.source.stream import query_follower, query_sender
from ignite_kafka.source.stream.batch import page_of_states
from ignite_kafka.source.stream.query_sender import slot_of_cache, tasks_of_caches
from ignite_kafka.state.slot_writer import SlotWriter
from ignite_kafka.state.status import Waiting, now_ms
from tests.support.event_log import event_log, ids
from tests.support.fake_time import FakeTime
from tests.support.followed_cache import CACHE, NEVER, World, Writer, long
from tests.support.randomness import generator


def test_entries_then_changes() -> None:
    world = World()
    for key in range(100):
        world.put(key, key)
    world.settle()
    assert len(world.topic) == 100
    assert world.folded == world.expected
    world.put(5, 500)
    world.remove(6)
    world.settle()
    assert world.topic[100:] == [(long(5), long(500)), (long(6), None)]
    assert world.folded == world.expected
    assert sum(count["c"].records for count in world.counts.values()) == 102
    assert {unit.records for unit in world.state.units.values()} == {12, 13}


def test_what_the_last_poll_brought_waits_until_the_next_one() -> None:
    world = World()
    world.step()
    assert world.follower.waiting == {"c": Waiting()}
    before_ms = now_ms()
    world.put(1, 1)
    world.put(2, 2)
    with collect() as collector:
        world.step()
    assert world.follower.waiting["c"].changes == 2
    assert before_ms <= world.follower.waiting["c"].oldest_ms <= now_ms()
    assert {name: histogram.count for name, histogram in collector.measured().durations.items()} == {BATCH: 1, LATENCY: 1}
    world.step()
    assert world.follower.waiting == {"c": Waiting()}


@pytest.mark.parametrize("past_limits", [False, True])
def test_a_load_is_small_and_counts_under_a_rate_limit(monkeypatch: pytest.MonkeyPatch, past_limits: bool) -> None:
    """With small transactions, too, which are committed at the end of each partition."""
    monkeypatch.setattr(Writer, "past_limits", past_limits)
    world = World(max_records_per_second=1)
    for key in range(80):
        world.entries[key] = key
    world.step()
    assert len(world.topic) == 10, "one partition"
    assert 5 < world.limiter.ahead_s <= 10


@pytest.mark.parametrize("failing", range(1, 9))
@pytest.mark.parametrize("takes_over", [False, True])
def test_a_load_that_fails_sends_nothing_twice(monkeypatch: pytest.MonkeyPatch, failing: int, takes_over: bool) -> None:
    """A load of eight partitions, each in several pages and committed in a transaction of its own; one of the commits fails."""
    monkeypatch.setattr(Writer, "past_limits", True)
    monkeypatch.setattr(query_follower, "MIN_BATCH_ROWS", 1)
    world = World(failover_policy="NONE")
    world.page_rows = 3
    for key in range(80):
        world.entries[key] = key
    commits = 0

    def fails() -> bool:
        nonlocal commits
        commits += 1
        return commits == failing + 1  # the first commit is of changes, of which there are none

    world.fails = fails
    world.step()
    assert len(world.topic) == 10 * (failing - 1), "whole partitions"
    if takes_over:
        world.follower = world.new_follower("the stream was interrupted")
    world.settle()
    assert sorted(world.topic) == sorted(world.expected.items())


@pytest.mark.parametrize("policy", ["NONE", "FULL_SNAPSHOT"])
@pytest.mark.parametrize("seed", range(20))
def test_the_topic_becomes_the_cache_whatever_changes_and_fails(policy: str, seed: int) -> None:
    """Changes at every point of a scan and failed commits lose nothing while the queries are alive."""
    chance, world = generator(seed), World(failover_policy=policy)

    def change() -> None:
        for _ in range(chance.randrange(4)):
            key = chance.randrange(40)
            if chance.random() < 0.3:
                world.remove(key)
            else:
                world.put(key, chance.randrange(1_000_000))

    for key in range(40):
        world.put(key, key)
    world.meanwhile, world.fails = change, lambda: chance.random() < 0.3
    for _ in range(chance.randrange(5, 60)):
        world.step()
        change()
    world.settle()
    assert world.folded == world.expected


@pytest.mark.parametrize("seed", range(20))
def test_full_snapshot_makes_up_for_lost_connections(seed: int) -> None:
    chance, world = generator(seed), World()

    def change() -> None:
        world.put(chance.randrange(40), chance.randrange(1_000_000))
        if chance.random() < 0.1:
            world.lose()

    world.meanwhile, world.fails = change, lambda: chance.random() < 0.2
    for _ in range(50):
        world.step()
        change()
    world.lose()
    world.put(1, -1)
    world.meanwhile = NEVER
    world.step()
    world.settle()
    assert world.folded == world.expected


def test_policy_none_reports_a_gap_and_goes_on() -> None:
    world = World(failover_policy="NONE")
    world.put(1, 1)
    with event_log() as emitted:
        world.settle()
        assert CHANGES_MISSING.id not in ids(emitted)
        world.lose()
        world.put(1, 2)
        world.step()
        world.settle()
        world.put(2, 3)
        world.settle()
        assert ids(emitted).count(CHANGES_MISSING.id) == 1
    assert world.topic == [(long(1), long(1)), (long(2), long(3))]


def test_a_task_that_takes_over_begins_with_a_gap() -> None:
    world = World(failover_policy="NONE")
    world.put(1, 1)
    world.settle()
    world.follower = world.new_follower("the stream was interrupted")
    with event_log() as emitted:
        world.settle()
    assert ids(emitted) == [CHANGES_MISSING.id]
    assert len(world.topic) == 1, "loaded partitions are not sent again"


def test_a_node_that_leaves_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.put(1, 1)
    world.settle()
    monkeypatch.setattr(world.follower, "_node_checks", SimpleNamespace(due=lambda: True))
    world.members.add("three")
    world.settle()
    assert len(world.topic) == 1
    world.members.discard("one")
    with event_log() as emitted:
        world.settle()
    assert ids(emitted) == [CACHES_SENT_AGAIN.id]
    assert world.topic == [(long(1), long(1))] * 2


def test_a_cache_that_may_be_another_is_followed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.put(1, 1)
    world.settle()
    queries = world.alive[0]
    queries.doubtful = ["c"]
    world.settle()
    assert queries.begun_again == ["c"]
    assert world.topic == [(long(1), long(1))] * 2
    again = CacheInfo("c", 1, 8, query_entities=(QueryEntity("java.lang.Long", "Other"),))
    monkeypatch.setattr(world, "cache", lambda name: again)
    queries.doubtful = ["c"]
    world.settle()
    assert world.sender.infos.of(CACHE) == again, "it may have other columns"
    queries.doubtful = ["c"]
    monkeypatch.setattr(world, "cache", lambda name: CacheInfo("c", 1, 16))
    with pytest.raises(CacheDestroyed, match="other partitions"):
        world.step()


def test_slots_are_closed_if_their_offsets_are_of_another_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise TopicError("another topic")

    closed: list[SlotWriter] = []
    monkeypatch.setattr(query_sender, "check_units", refused)
    monkeypatch.setattr(Writer, "close", lambda writer: closed.append(writer))
    with pytest.raises(TopicError):
        World()
    assert len(closed) == 1


def test_removals_are_left_out_on_request() -> None:
    world = World(process_removals=False)
    world.put(1, 1)
    world.settle()
    world.put(2, 2)
    world.remove(1)
    world.put(3, 3)
    world.settle()
    assert world.topic == [(long(key), long(key)) for key in (1, 2, 3)]


def test_changes_of_many_notifications_are_converted_as_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The converters' cost of a page is twenty times that of a change."""
    pages: list[tuple[int, ...]] = []
    send = EntrySender.send

    def noted(*given: Any) -> Any:
        pages.append(tuple(page.rows for page in given[5].pages))
        return send(*given)

    world = World()
    world.settle()
    monkeypatch.setattr(EntrySender, "send", noted)
    for key in range(5):
        world.put(key, key)
    world.remove(1)
    world.settle()
    assert pages == [(6,)]
    assert world.topic == [*((long(key), long(key)) for key in range(5)), (long(1), None)]


def test_a_steady_flow_of_changes_is_sent_at_each_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(batch_bytes=256 << 20)
    world.settle()
    page = page_of_states([(long(1), long(1))])
    monkeypatch.setattr(world.alive[0], "read", lambda wait_s: CacheEvents("c", page, np.array([False])))
    world.step()
    assert world.topic


def test_the_end_sends_what_has_arrived_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, what was not sent after 20 seconds was left out without a word."""
    clock = FakeTime()
    world = World(clock, failover_policy="NONE")
    world.settle()
    queries, read = world.alive[0], world.alive[0].read

    def slowly(wait_s: float) -> CacheEvents | None:
        clock.sleep(15.0)
        return read(wait_s)

    monkeypatch.setattr(queries, "read", slowly)
    for key in range(40):
        world.put(key, key)
    with event_log() as emitted:
        world.drain()
        world.follower.report_unsent()
    assert queries.ended
    assert world.folded == world.expected
    assert ids(emitted) == []


@pytest.mark.parametrize("fault", ["lost", "silent", "left"])
def test_changes_that_the_end_does_not_send_are_reported(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    clock = FakeTime()
    world = World(clock, failover_policy="NONE")
    world.put(1, 1)
    world.settle()
    queries, read = world.alive[0], world.alive[0].read
    world.put(1, 2)

    def later(wait_s: float) -> CacheEvents | None:
        clock.sleep(wait_s + 1.0)
        return read(wait_s)

    monkeypatch.setattr(queries, "read", later)
    if fault == "lost":
        queries.lost = True
    elif fault == "silent":
        queries.silent = True
    else:
        world.members.discard("one")
    with event_log() as emitted:
        world.drain()
        world.follower.report_unsent()
    assert ids(emitted) == [CHANGES_MISSING.id]


def test_a_gap_before_a_stop_that_came_first_is_reported() -> None:
    """The cluster was away from the start of the epoch to its end."""
    world = World(failover_policy="NONE")
    world.follower = world.new_follower("the stream was interrupted")
    with event_log() as emitted:
        world.follower.report_unsent()
    assert ids(emitted) == [CHANGES_MISSING.id]


def test_slots_with_caches_are_shared_by_tasks() -> None:
    caches = tuple(CachePlan(f"c{number}", number, f"t{number}", 8, 2) for number in range(6))
    plan = World().plan
    assert tasks_of_caches(plan, 8) == ((slot_of_cache(CACHE, 4),),)
    several = TransferPlan("c", "s", 1, 4, plan.settings, caches)
    slots = sorted({slot_of_cache(cache, 4) for cache in caches})
    for most in (1, 2, 8):
        tasks = tasks_of_caches(several, most)
        assert len(tasks) == min(most, len(slots))
        assert sorted(slot for task in tasks for slot in task) == slots
