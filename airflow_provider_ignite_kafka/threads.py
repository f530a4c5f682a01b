"""Blocking calls of triggers, each in a daemon thread of its own, awaited up to a deadline.

Airflow's triggerer runs the blocking calls of all triggers in one executor: calls that hang would use it up, and delay
its end.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from airflow_provider_ignite_kafka.airflow_api import ask_supervisor_in
from ignite_kafka.common.deadline import Deadline

T = TypeVar("T")


def in_thread(function: Callable[[], T], name: str) -> Future[T]:
    """Call a function in a new daemon thread, in this context, so that it logs where its caller does."""
    future: Future[T] = Future()
    context = contextvars.copy_context()
    try:
        loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:  # of no trigger
        loop = None

    def call() -> None:
        ask_supervisor_in(loop)
        try:
            result = context.run(function)
        except BaseException as error:  # noqa: BLE001  # raised again where the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=call, name=name, daemon=True).start()
    return future


class RepeatedCall(Generic[T]):
    """A blocking call that is made again and again, each time in a thread of its own and never beside itself."""

    def __init__(self, function: Callable[[], T], name: str) -> None:
        self._function = function
        self._name = name
        self._running: Future[T] | None = None

    async def ended(self, deadline: Deadline) -> Future[T] | None:
        """The call after its end; None if it goes on at the deadline: the next await continues to wait for it."""
        if self._running is None:
            self._running = in_thread(self._function, self._name)
        if not await has_ended(self._running, deadline):
            return None
        ended = self._running
        self._running = None
        return ended


async def once(function: Callable[[], T], name: str) -> T:
    """Result of a call in a thread of its own; whoever stops waiting does not cancel it."""
    future = in_thread(function, name)
    await asyncio.wait([waiting := asyncio.wrap_future(future)])
    return waiting.result()


async def has_ended(future: Future[Any], deadline: Deadline) -> bool:
    """Wait for the end of a call, at most until a deadline; the end of the one that waits does not cancel it."""
    waiting = asyncio.wrap_future(future)
    waiting.add_done_callback(_retrieve)
    await asyncio.wait([waiting], timeout=deadline.remaining())
    return future.done()


def _retrieve(future: asyncio.Future[Any]) -> None:
    """Note that an error is known.

    Python logs errors of futures that nobody asked for, such as that of a call given up.
    """
    if not future.cancelled():
        future.exception()
