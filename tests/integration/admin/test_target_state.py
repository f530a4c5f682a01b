"""Pause, resume and stop by the command line on real servers, beside a run that is held here."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ignite_kafka.errors import CacheDestroyed
from ignite_kafka.state import status
from tests.support.connector_run import CommandLine, Run


def test_a_running_connector_is_paused_resumed_and_stopped(run: Run, command: CommandLine) -> None:
    run.begin()
    assert run.target() is None
    assert command("pause", "conn") == 0
    assert command.out == "connector conn: target state PAUSED\nrun r1: RUNNING; it follows at its next batch\n"
    assert run.target() == "PAUSED"
    assert command.json("status", "conn")["target"] == "PAUSED"
    assert command("status", "conn") == 0
    assert "generation 1, 4 slots, target state PAUSED" in command.out
    assert command("resume", "conn") == 0
    assert run.target() == "RUNNING"
    with ThreadPoolExecutor(1) as pool:
        asked = threading.Event()

        def follow() -> None:
            while run.target() != "STOPPED":
                asked.wait(0.05)
            run.end()

        driver = pool.submit(follow)
        assert command("stop", "conn") == 0
        driver.result()
    assert command.out == "connector conn: target state STOPPED\nrun r1: ended STOPPED\n"
    assert command("pause", "conn") == 0
    assert "run r1: had ended before (STOPPED); the next start begins paused" in command.out


def test_a_stop_says_what_it_found(run: Run, command: CommandLine) -> None:
    run.begin()
    assert command("stop", "conn", "--wait-ms", "200") == 1
    assert "run r1: RUNNING, has not ended in that time" in command.out
    assert command("stop", "conn", "--wait-ms", "0") == 0
    assert "run r1: RUNNING; it follows at its next batch" in command.out
    with ThreadPoolExecutor(1) as pool:
        failed = pool.submit(run.end, status.FAILED, CacheDestroyed("gone").to_dict())
        assert command("stop", "conn", "--wait-ms", "60000") in (0, 1)  # 0 where it had failed before it was asked
        failed.result()
    assert "FAILED, CacheDestroyed: see ignite-kafka status conn" in command.out
    assert command.json("stop", "conn")["run"]["error"]["type"] == "CacheDestroyed"


@pytest.mark.parametrize("action", ["pause", "resume", "stop", "status"])
def test_a_name_that_nobody_started_lists_the_known_ones(action: str, run: Run, command: CommandLine) -> None:
    assert command(action, "con") == 2
    assert "connector con," in command.error
    assert "None is known there" in command.error
    assert not [topic for topic in run.topics.existing() if run.prefix in topic], "nothing was made"
    run.begin().end()
    assert command(action, "con") == 2
    assert "Did you mean conn? Known are conn;" in command.error
