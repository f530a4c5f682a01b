"""Blocking calls of a web server, run in a thread pool so that its event loop does not wait for Kafka."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ..errors import KafkaUnavailable

_THREADS = 4
_MOST_CALLS = 16  # calls that run or wait
_KEPT_S = 2.0
T = TypeVar("T")


class Background:
    """Thread pool for calls of Kafka and Ignite, each with a time limit.

    A call that exceeds its limit continues in its thread until the time-outs of its clients end it; its caller gets an
    error at the limit.
    """

    def __init__(self, threads: int = _THREADS, most_calls: int = _MOST_CALLS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ignite-kafka-web")
        self._most_calls = most_calls
        self._calls = 0
        self._shared: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}

    async def call(self, function: Callable[[], T], limit_s: float) -> T:
        """Run a blocking function in the pool, and await its result for at most `limit_s` seconds.

        :raises KafkaUnavailable: the function takes longer than `limit_s` seconds, or too many calls are waiting.
        """
        if self._calls >= self._most_calls:
            raise KafkaUnavailable(
                "too many requests of this server wait for Kafka", "Repeat the request in some seconds."
            )
        loop = asyncio.get_running_loop()
        self._calls += 1
        future = self._pool.submit(function)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._ended))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), limit_s)
        except TimeoutError as error:
            raise KafkaUnavailable(
                f"there was no complete answer within {limit_s:g} s",
                "Check the brokers and the Ignite nodes. A requested change may still happen: read the state again.",
            ) from error

    async def shared(self, key: Hashable, function: Callable[[], T], limit_s: float) -> T:
        """Call a function once for all requests with the same key within two seconds, to spare Kafka.

        So many viewers cost as much as a single viewer.
        """
        now = time.monotonic()
        self._shared = {
            other: entry for other, entry in self._shared.items() if not entry[1].done() or now - entry[0] < _KEPT_S
        }
        if key not in self._shared:
            self._shared[key] = now, asyncio.ensure_future(self.call(function, limit_s))
        result: T = await asyncio.shield(self._shared[key][1])
        return result

    def forget(self) -> None:
        """Forget the results of :meth:`shared` after an action, so that its effect is shown."""
        self._shared = {}

    def _ended(self) -> None:
        self._calls -= 1
