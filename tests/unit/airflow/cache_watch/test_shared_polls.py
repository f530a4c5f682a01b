"""Polls that watchers of a cluster share, on a simulated cluster whose answers the test releases."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from airflow_provider_ignite_kafka.cache_watch import shared_polls
from airflow_provider_ignite_kafka.cache_watch.shared_polls import Watch, watching
from ignite_kafka.errors import IgniteUnreachable, SettingsError
from ignite_kafka.plan.cache_changes import CacheLists, CacheState, Polled
from tests.unit.airflow.simulated_caches import caches

NAMES = [f"cache-{number}" for number in range(10)]
PATIENCE_S = 30.0


@dataclass
class SimulatedCluster:
    """A cluster; `polls` has the lists of each poll. It does not answer while `answers` is not set."""

    error: Exception | None = None
    polls: list[tuple[CacheLists, ...]] = field(default_factory=list)
    answers: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.answers.set()


@dataclass(frozen=True)
class Poller:
    simulated: SimulatedCluster
    lists: CacheLists

    @property
    def cluster(self) -> Any:
        return id(self.simulated)

    def poll_all(self, several: Iterable[CacheLists], timeout_s: float) -> Polled:
        self.simulated.polls.append(tuple(several))
        assert self.simulated.answers.wait(PATIENCE_S)
        if self.simulated.error is not None:
            raise self.simulated.error
        return {lists: SettingsError("no") if "[" in lists.whitelist else caches(*lists.whitelist) for lists in several}


def watchers(stack: ExitStack, cluster: SimulatedCluster, *names: str, timeout_s: float = PATIENCE_S) -> list[Watch]:
    return [stack.enter_context(watching(Poller(cluster, CacheLists((name,))), timeout_s)) for name in names]


async def nexts(several: list[Watch]) -> list[dict[str, CacheState]]:
    return await asyncio.gather(*(watch.next() for watch in several))


def test_ten_watchers_make_one_poll_in_an_interval_and_each_gets_its_caches() -> None:
    cluster, of_others = SimulatedCluster(), set(shared_polls._clusters)
    with ExitStack() as stack:
        ten = watchers(stack, cluster, *NAMES)
        for polls in range(1, 4):
            assert asyncio.run(nexts(ten)) == [caches(name) for name in NAMES]
            assert len(cluster.polls) == polls
        assert set(cluster.polls[0]) == {CacheLists((name,)) for name in NAMES}
    assert set(shared_polls._clusters) <= of_others


def test_a_watcher_that_asks_later_takes_the_poll_of_another_and_keeps_its_time() -> None:
    cluster = SimulatedCluster()
    with ExitStack() as stack:
        first, second = watchers(stack, cluster, "a", "b")
        asyncio.run(first.next())
        asyncio.run(second.next())
        assert len(cluster.polls) == 1
        assert abs(first.due_in(60) - second.due_in(60)) < 0.1
        assert 50 < first.due_in(60) <= 60


def test_a_watcher_gets_no_poll_that_began_before_it() -> None:
    """Its known state may be newer, and what came since would be fired as destroyed."""
    cluster = SimulatedCluster()

    async def run() -> None:
        with ExitStack() as stack:
            [first] = watchers(stack, cluster, "a")
            cluster.answers.clear()
            early = asyncio.create_task(first.next())
            await until(lambda: len(cluster.polls) == 1)
            [late] = watchers(stack, cluster, "b")
            waiting = asyncio.create_task(late.next())
            cluster.answers.set()
            assert (await early, await waiting) == (caches("a"), caches("b"))
            assert [{lists.whitelist for lists in poll} for poll in cluster.polls] == [{("a",)}, {("a",), ("b",)}]

    asyncio.run(run())


def test_a_cluster_that_hangs_blocks_neither_the_loop_nor_other_watchers_and_holds_one_thread() -> None:
    hangs, well = SimulatedCluster(), SimulatedCluster()
    hangs.answers.clear()
    before = threading.active_count()

    async def run() -> None:
        with ExitStack() as stack:
            stuck = watchers(stack, hangs, *NAMES, timeout_s=0.2)
            [other] = watchers(stack, well, "a")
            waiting = [asyncio.create_task(watch.next()) for watch in stuck]
            began = time.monotonic()
            for _ in range(5):
                assert await other.next() == caches("a")
            assert time.monotonic() - began < PATIENCE_S / 10
            for outcome in await asyncio.gather(*waiting, return_exceptions=True):
                assert isinstance(outcome, IgniteUnreachable), outcome
                assert "took more than 0.2 s" in str(outcome)
            for watch in stuck[:2]:  # the next time of some: the poll that hangs is not repeated beside it
                with pytest.raises(IgniteUnreachable):
                    await watch.next()
            assert (len(hangs.polls), threading.active_count()) == (1, before + 1)
            hangs.answers.set()
            assert await stuck[0].next() == caches(NAMES[0])

    asyncio.run(run())


def test_a_poll_that_hangs_does_not_delay_the_end_of_the_process() -> None:
    hangs = SimulatedCluster()
    hangs.answers.clear()

    async def run() -> None:
        with ExitStack() as stack:
            [watch] = watchers(stack, hangs, "a", timeout_s=0.01)
            with pytest.raises(IgniteUnreachable):
                await watch.next()

    asyncio.run(run())
    [thread] = [thread for thread in threading.enumerate() if thread.name == f"ignite-poll-{id(hangs)}"]
    assert thread.daemon
    hangs.answers.set()
    thread.join(PATIENCE_S)


def test_an_error_is_that_of_all_watchers_and_the_next_poll_may_succeed() -> None:
    cluster = SimulatedCluster(error=IgniteUnreachable("away"))
    with ExitStack() as stack:
        both = watchers(stack, cluster, "a", "b")
        for watch in both:
            with pytest.raises(IgniteUnreachable, match="away"):
                asyncio.run(watch.next())
        assert len(cluster.polls) == 1
        cluster.error = None
        assert asyncio.run(nexts(both)) == [caches("a"), caches("b")]


def test_a_pattern_that_cannot_be_used_is_an_error_of_its_watcher_alone() -> None:
    cluster = SimulatedCluster()
    with ExitStack() as stack:
        wrong, right = watchers(stack, cluster, "[", "a")
        with pytest.raises(SettingsError):
            asyncio.run(wrong.next())
        assert asyncio.run(right.next()) == caches("a")


def test_a_watcher_that_ends_does_not_end_the_poll_of_others() -> None:
    cluster = SimulatedCluster()
    cluster.answers.clear()

    async def run() -> None:
        with ExitStack() as stack:
            first, second = watchers(stack, cluster, "a", "b")
            ends, stays = asyncio.create_task(first.next()), asyncio.create_task(second.next())
            await until(lambda: len(cluster.polls) == 1)
            ends.cancel()
            with pytest.raises(asyncio.CancelledError):
                await ends
            cluster.answers.set()
            assert await stays == caches("b")

    asyncio.run(run())


async def until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)
