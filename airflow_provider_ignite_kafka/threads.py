"""Blocking calls of triggers, each in a daemon thread of its own, awaited up to a deadline.

Airflow's triggerer runs the blocking calls of all triggers in one executor: calls that hang would use it up, and delay its end.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from ignite_kafka.common.deadline import Deadline

T = TypeVar("T")


def in_thread(function: Callable[[], T], name: str) -> Future[T]:
    """Call a function in a new daemon thread, in this context, so that it logs where its caller does."""
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def call() -> None:
        try:
            result = context.run(function)
        except BaseException as error:  # noqa: BLE001  # raised again where the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=call, name=name, daemon=True).start()
    return future


async def has_ended(future: Future[Any], deadline: Deadline) -> bool:
    """Wait for the end of a call, at most until a deadline; the end of the one that waits does not cancel it."""
    waiting = asyncio.wrap_future(future)
    waiting.add_done_callback(_retrieve)
    await asyncio.wait([waiting], timeout=deadline.remaining())
    return future.done()


def _retrieve(future: asyncio.Future[Any]) -> None:
    """Note that an error is known: Python logs errors of futures that nobody asked for, such as that of a call given up."""
    if not future.cancelled():
        future.exception()
