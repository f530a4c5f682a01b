"""Lags of many connectors within a time limit: those read longest ago first, the others as they were read before.

A sink's lag needs a consumer of its group, and a source's a request to its nodes. Each takes from 5 ms to some seconds,
so a page of 500 connectors does not wait for all: the next page has the others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeAlias

from ignite_kafka.errors import IgniteKafkaError

WAIT_S = 0.3
"""Time for which the list waits for new lags, in seconds."""
_SINK_THREADS = 8
Lag: TypeAlias = Mapping[str, int] | IgniteKafkaError | None
"""Records or changes to copy by topic or cache, the error that prevented reading them, or None: there is no lag."""
Read: TypeAlias = Callable[[], Lag]


class LagReader:
    """Reader of lags with the last answer about each connector; threads may share it."""

    def __init__(self) -> None:
        self._sinks = ThreadPoolExecutor(_SINK_THREADS, thread_name_prefix="ignite-kafka-lag")
        # one, so that a source whose nodes do not answer is known before the next source is asked
        self._sources = ThreadPoolExecutor(1, thread_name_prefix="ignite-kafka-lag-source")
        self._lock = threading.Lock()
        self._lags: dict[str, Lag] = {}
        self._read_s: dict[str, float] = {}

    def read(
        self, sinks: Mapping[str, Read], sources: Mapping[str, Read], wait_s: float = WAIT_S, needed: str | None = None
    ) -> dict[str, Lag]:
        """Return the last answer about each connector that has one.

        :param sinks: reads the lag of each sink, by name; ``sources`` in the same way, one after the other.
        :param wait_s: time to wait for new answers, in seconds.
        :param needed: connector whose new answer is awaited in any case.
        """
        deadline = time.monotonic() + wait_s
        futures: dict[str, Future[None]] = {}
        for pool, reads in ((self._sinks, sinks), (self._sources, sources)):
            for name in sorted(reads, key=lambda each: (each != needed, self._read_s.get(each, 0.0), each)):
                futures[name] = pool.submit(self._keep, name, reads[name])
        wait([future for name, future in futures.items() if name == needed])
        wait(futures.values(), max(0.0, deadline - time.monotonic()))
        for future in futures.values():
            future.cancel()  # what has begun goes on, and its answer is kept
        with self._lock:
            return {name: self._lags[name] for name in futures if name in self._lags}

    def _keep(self, name: str, read: Read) -> None:
        lag = read()
        with self._lock:
            self._lags[name] = lag
            self._read_s[name] = time.monotonic()
