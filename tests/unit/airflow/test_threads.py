"""Blocking calls of triggers in threads of their own."""

from __future__ import annotations

import asyncio
import threading

import pytest
from asgiref.sync import async_to_sync

from airflow_provider_ignite_kafka import airflow_api
from airflow_provider_ignite_kafka.threads import RepeatedCall, once
from ignite_kafka.common.deadline import Deadline


def test_a_call_that_goes_on_is_awaited_further_and_not_made_beside_itself() -> None:
    answers, calls = threading.Event(), []

    def call() -> int:
        calls.append(threading.current_thread())
        assert answers.wait(60)
        return len(calls)

    async def run() -> None:
        repeated = RepeatedCall(call, "repeated")
        for _ in range(3):
            assert await repeated.ended(Deadline.after(0.02)) is None
        assert [(thread.name, thread.daemon) for thread in calls] == [("repeated", True)]
        answers.set()
        for number in (1, 2):
            ended = await repeated.ended(Deadline.after(60))
            assert ended is not None
            assert ended.result() == number

    asyncio.run(run())


def test_an_error_of_a_call_is_raised_where_it_is_awaited() -> None:
    def fail() -> None:
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        asyncio.run(once(fail, "once"))
    assert asyncio.run(once(lambda: 7, "once")) == 7


def test_a_call_goes_on_if_nobody_awaits_it_any_more() -> None:
    answers, ended = threading.Event(), threading.Event()

    def call() -> None:
        assert answers.wait(60)
        ended.set()

    async def run() -> None:
        waiting = asyncio.create_task(once(call, "once"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())
    answers.set()
    assert ended.wait(60)


@pytest.mark.parametrize("version", [(3, 1), (3, 2)])
def test_a_request_to_the_supervisor_is_sent_in_the_loop_of_the_triggers_before_airflow_3_2(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]
) -> None:
    """Airflow sends by async_to_sync; in a loop beside that of the triggerer the two read each other's answers, and the triggerer ends."""
    monkeypatch.setattr(airflow_api, "VERSION", version)

    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    def request() -> asyncio.AbstractEventLoop:
        return async_to_sync(loop)()

    async def is_in_the_loop() -> bool:
        return await once(request, "request") is asyncio.get_running_loop()

    assert asyncio.run(is_in_the_loop()) is (version < (3, 2))
