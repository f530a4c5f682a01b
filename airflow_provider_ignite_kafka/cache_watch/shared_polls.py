"""Polls of a cluster, shared by all watchers of a process, so that each interval has only one poll.

A watcher takes the result of any poll that began after the last poll seen by it. So any number of watchers with equal
intervals need only one poll an interval. The shared streams of Airflow (3.3) begin with the arguments of one trigger;
here watchers of different caches and deferred tasks share a poll, on every version of Airflow, and a poll reads only
watched caches.

Each poll runs in a thread of its own, at most one for a cluster. A cluster that hangs occupies one thread, and neither
the event loop of the triggerer nor the executor that other triggers use. The threads do not delay the end of the
triggerer.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from airflow_provider_ignite_kafka.threads import has_ended, in_thread
from ignite_kafka.common.deadline import Deadline
from ignite_kafka.errors import IgniteUnreachable, SettingsError
from ignite_kafka.plan.cache_changes import CacheLists, CacheState, Polled


class Poller(Protocol):
    """Interface to :class:`~.poll.CachePoller`, as far as a shared poll uses it."""

    @property
    def lists(self) -> CacheLists:
        """Whitelist and blacklist that select the watcher's caches."""

    @property
    def cluster(self) -> Hashable:
        """Identity of the cluster and the login; pollers with the same identity can share polls."""

    def poll_all(self, several: Iterable[CacheLists], timeout_s: float) -> Polled:
        """Read the states of caches for several watchers' lists. Blocks."""


@dataclass(frozen=True)
class Poll:
    """Poll of a cluster, running or ended.

    :param started: beginning of the poll on the monotonic clock, in seconds.
    :param result: result of the poll, once it has ended.
    """

    started: float
    result: Future[Polled]


@dataclass
class _Polls:
    """Watchers of one cluster, and its newest poll.

    :param watchers: number of watchers by their lists.
    :param newest: the poll that began last.
    """

    watchers: Counter[CacheLists] = field(default_factory=Counter)
    newest: Poll | None = None


_lock = threading.Lock()
_clusters: dict[Hashable, _Polls] = {}


class Watch:
    """Handle by which a watcher gets the results of shared polls.

    :param timeout_s: maximum time of a poll, in seconds.
    """

    def __init__(self, poller: Poller, polls: _Polls, timeout_s: float) -> None:
        self._poller = poller
        self._polls = polls
        self._timeout_s = timeout_s
        # an earlier poll may show an older state than the state that the watcher starts from
        self._seen = time.monotonic()

    async def next(self) -> dict[str, CacheState]:
        """Wait for a poll newer than that of the previous call, and return the states of the watcher's caches.

        :raises SettingsError: a pattern cannot be used with the names of the caches.
        :raises IgniteUnreachable: the poll has not ended in time; it goes on.
        :raises Exception: any error of the poll.
        """
        deadline = Deadline.after(self._timeout_s)
        poll = await self._ended(self._current(), deadline)
        while poll.started <= self._seen:
            poll = await self._ended(self._current(), deadline)
        self._seen = poll.started
        states = poll.result.result()[self._poller.lists]
        if isinstance(states, SettingsError):
            raise states
        return states

    async def _ended(self, poll: Poll, deadline: Deadline) -> Poll:
        """Wait until a poll ends; the poll continues even if this watcher gives up."""
        if not await has_ended(poll.result, deadline):
            raise IgniteUnreachable(
                f"a poll of the cluster took more than {self._timeout_s:g} s",
                "Check its nodes, or set a longer poll_timeout",
            )
        return poll

    def due_in(self, interval_s: float) -> float:
        """Return the seconds until the watcher should poll again, an interval after the last poll began.

        So watchers with the same interval poll at the same time.
        """
        return max(0.0, self._seen + interval_s - time.monotonic())

    def _current(self) -> Poll:
        """Return a running poll, or the last one if this watcher has not seen it; else start a new poll."""
        with _lock:
            newest = self._polls.newest
            if newest is None or (newest.result.done() and newest.started <= self._seen):
                newest = self._polls.newest = self._begin(tuple(self._polls.watchers))
            return newest

    def _begin(self, several: tuple[CacheLists, ...]) -> Poll:
        started = time.monotonic()
        return Poll(
            started,
            in_thread(lambda: self._poller.poll_all(several, self._timeout_s), f"ignite-poll-{self._poller.cluster}"),
        )


@contextmanager
def watching(poller: Poller, timeout_s: float) -> Iterator[Watch]:
    """Context in which a watcher shares the polls of its cluster."""
    key = poller.cluster
    with _lock:
        polls = _clusters.setdefault(key, _Polls())
        polls.watchers[poller.lists] += 1
    try:
        yield Watch(poller, polls, timeout_s)
    finally:
        with _lock:
            polls.watchers -= Counter([poller.lists])
            hangs = polls.newest is not None and not polls.newest.result.done()
            if not polls.watchers and not hangs and _clusters.get(key) is polls:
                del _clusters[key]
