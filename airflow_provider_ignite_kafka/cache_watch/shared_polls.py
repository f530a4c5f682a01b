"""Polls that all watchers of a cluster in one process share.

A watcher takes the result of any poll that began after its own last one. So watchers with equal intervals need one poll
in an interval, however many they are. The shared streams of Airflow (3.3) begin with the arguments of one trigger; here
watchers of different caches and deferred tasks share a poll, on every version of Airflow, and a poll reads no cache
that nobody watches.

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
    """The members of :class:`~.poll.CachePoller` that a shared poll needs."""

    @property
    def lists(self) -> CacheLists:
        """Selection of the watcher's caches."""

    @property
    def cluster(self) -> Hashable:
        """Equal for pollers that can share polls."""

    def poll_all(self, several: Iterable[CacheLists], timeout_s: float) -> Polled:
        """States of the caches of several lists; blocks."""


@dataclass(frozen=True)
class Poll:
    """A poll.

    :param started: time of its begin on the monotonic clock, in seconds.
    :param result: its result, once it has ended.
    """

    started: float
    result: Future[Polled]


@dataclass
class _Polls:
    """The polls of one cluster.

    :param watchers: number of watchers by their lists.
    :param newest: the poll that began last.
    """

    watchers: Counter[CacheLists] = field(default_factory=Counter)
    newest: Poll | None = None


_lock = threading.Lock()
_clusters: dict[Hashable, _Polls] = {}


class Watch:
    """One watcher's view of the polls of a cluster.

    :param timeout_s: seconds in which a poll must have ended.
    """

    def __init__(self, poller: Poller, polls: _Polls, timeout_s: float) -> None:
        self._poller = poller
        self._polls = polls
        self._timeout_s = timeout_s
        # a poll that began earlier may show a state older than the one that the watcher starts from
        self._seen = time.monotonic()

    async def next(self) -> dict[str, CacheState]:
        """States of the watcher's caches, from a poll that began after the one of the last call.

        :raises SettingsError: a pattern cannot be used with the names of the caches.
        :raises IgniteUnreachable: the poll has not ended in time; it is left alone.
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
        """Wait for the end of a poll, which the end of a watcher does not cancel."""
        if not await has_ended(poll.result, deadline):
            raise IgniteUnreachable(
                f"a poll of the cluster took more than {self._timeout_s:g} s",
                "Check its nodes, or set a longer poll_timeout",
            )
        return poll

    def due_in(self, interval_s: float) -> float:
        """Seconds until the next poll is due, an interval after the begin of the last one.

        So watchers of one interval keep one time.
        """
        return max(0.0, self._seen + interval_s - time.monotonic())

    def _current(self) -> Poll:
        """Return the running poll, else the newest one if the watcher has not seen it, else a new one."""
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
    """Take part in the polls of a cluster."""
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
