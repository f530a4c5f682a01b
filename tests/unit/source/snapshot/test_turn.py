"""Turns of a task's slots: in the order of the calls; the first pages of the next slot are requested before its turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

import pytest

from ignite_kafka.errors import ScanFailed
from ignite_kafka.source.snapshot.task import Turn
from tests.support.waiting import DEADLINE_S


def nothing() -> None:
    pass


@pytest.fixture
def turn() -> Turn:
    return Turn(cast(Any, None), cast(Any, None))


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as threads:
        yield threads


def queued(turn: Turn, pool: ThreadPoolExecutor, begin: Callable[[], None], had: Callable[[], None]) -> Future[None]:
    """A slot that waits for its turn in another thread, once it is in the queue."""

    def run() -> None:
        with turn.acquired(begin):
            had()

    before = len(turn._queue)
    future = pool.submit(run)
    with turn._moved:
        while len(turn._queue) == before:
            turn._moved.wait(0.01)
    return future


def test_turns_follow_the_order_of_the_calls(turn: Turn, pool: ThreadPoolExecutor) -> None:
    had: list[int] = []
    with turn.acquired(nothing):
        waiting = [queued(turn, pool, lambda: None, lambda slot=slot: had.append(slot)) for slot in range(3)]  # type: ignore[misc]
        assert had == []
    for future in waiting:
        future.result(DEADLINE_S)
    assert had == [0, 1, 2]


def test_a_slot_requests_the_first_pages_of_the_next(turn: Turn, pool: ThreadPoolExecutor) -> None:
    begun: list[int] = []
    with turn.acquired(nothing):
        turn.begin_next()  # nobody waits
        waiting = [queued(turn, pool, lambda: begun.append(threading.get_ident()), nothing) for _ in range(2)]
        turn.begin_next()
        assert begun == [threading.get_ident()]
    for future in waiting:
        future.result(DEADLINE_S)


def test_a_failed_early_request_is_left_to_the_next_slot(turn: Turn, pool: ThreadPoolExecutor) -> None:
    def refused() -> None:
        raise ScanFailed("no", "Read the partition again")

    with turn.acquired(nothing):
        waiting = queued(turn, pool, refused, nothing)
        turn.begin_next()
    waiting.result(DEADLINE_S)


def test_an_error_passes_the_turn_on(turn: Turn) -> None:
    with pytest.raises(ScanFailed), turn.acquired(nothing):
        raise ScanFailed("no", "Read the partition again")
    with turn.acquired(nothing):
        pass
