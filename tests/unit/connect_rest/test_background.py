"""Blocking calls: a time limit, a limit of calls, one call for many viewers, and an event loop that goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ignite_kafka.connect_rest.background import Background
from ignite_kafka.errors import KafkaUnavailable


def test_a_call_that_blocks_ends_at_its_limit_and_the_loop_goes_on() -> None:
    released = threading.Event()

    async def run() -> int:
        turns = 0

        async def turn() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.01)

        other = asyncio.create_task(turn())
        with pytest.raises(KafkaUnavailable, match=r"no complete answer within 0\.2 s"):
            await Background().call(released.wait, 0.2)
        other.cancel()
        return turns

    try:
        assert asyncio.run(run()) > 5
    finally:
        released.set()


def test_viewers_share_a_call_until_something_is_changed() -> None:
    calls: list[int] = []

    async def run() -> list[int]:
        background = Background()
        first = [background.shared("k", lambda: calls.append(1) or len(calls), 5) for _ in range(5)]  # type: ignore[func-returns-value]
        found = list(await asyncio.gather(*first))
        background.forget()
        return [*found, await background.shared("k", lambda: 7, 5)]

    assert asyncio.run(run()) == [1, 1, 1, 1, 1, 7]


def test_too_many_calls_are_refused_at_once() -> None:
    released = threading.Event()

    async def run() -> None:
        background = Background(threads=1, most_calls=2)
        waiting = [asyncio.create_task(background.call(released.wait, 5)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(KafkaUnavailable, match="too many requests"):
            await background.call(released.wait, 5)
        released.set()
        assert await asyncio.gather(*waiting) == [True, True]
        while background._calls:
            await asyncio.sleep(0)
        assert await background.call(lambda: 1, 5) == 1

    asyncio.run(run())
