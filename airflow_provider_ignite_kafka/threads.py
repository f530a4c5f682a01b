"""Blocking calls of triggers, each in its own daemon thread, so that a hanging call blocks nothing else.

Airflow's triggerer runs the blocking calls of all triggers in one executor: hanging calls would use up the
executor, and delay its end.
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
    """Call a function in a new daemon thread that logs to the caller's log."""
    future: Future[T] = Future()
    context = contextvars.copy_context()
    try:
        loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:  # not called by a trigger
        loop = None

    def call() -> None:
        ask_supervisor_in(loop)
        try:
            result = context.run(function)
        except BaseException as error:  # noqa: BLE001  # raised again when the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=call, name=name, daemon=True).start()
    return future


class RepeatedCall(Generic[T]):
    """Repeated blocking call, such as a poll, never started while an earlier call still hangs."""

    def __init__(self, function: Callable[[], T], name: str) -> None:
        self._function = function
        self._name = name
        self._running: Future[T] | None = None

    async def ended(self, deadline: Deadline) -> Future[T] | None:
        """Start the call unless it still runs, and await its end; None at the deadline."""
        if self._running is None:
            self._running = in_thread(self._function, self._name)
        if not await has_ended(self._running, deadline):
            return None
        ended = self._running
        self._running = None
        return ended


async def once(function: Callable[[], T], name: str) -> T:
    """Await a call in its own thread; the call goes on even if its caller is cancelled."""
    future = in_thread(function, name)
    await asyncio.wait([waiting := asyncio.wrap_future(future)])
    return waiting.result()


async def has_ended(future: Future[Any], deadline: Deadline) -> bool:
    """Await a call's end until a deadline, without cancelling the call if the caller is cancelled."""
    waiting = asyncio.wrap_future(future)
    waiting.add_done_callback(_retrieve)
    await asyncio.wait([waiting], timeout=deadline.remaining())
    return future.done()


def _retrieve(future: asyncio.Future[Any]) -> None:
    """Retrieve the error of an abandoned call, so that Python does not log it as never retrieved."""
    if not future.cancelled():
        future.exception()
