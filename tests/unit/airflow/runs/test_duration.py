"""Durations of `run_for`, and the time at which a task's stream ends."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_ignite_kafka.runs import duration as run_for
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.state.status import FAILED, RUNNING, STOPPED, RunStatus, now_ms

STREAM = SinkSettings.from_dict({"name": "c", "topics": ["t"], "run_mode": "continuous"})


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (timedelta(hours=8), 28_800),
        (90, 90),
        (1.5, 1.5),
        ("28800", 28_800),
        ("8:00:00", 28_800),
        ("PT8H", 28_800),
        ("1 day, 8:00:00", 115_200),
    ],
)
def test_duration(given: Any, seconds: float) -> None:
    assert run_for.duration_ms(given, STREAM) == seconds * 1000


@pytest.mark.parametrize("given", [None, ""])
def test_no_duration(given: Any) -> None:
    assert run_for.duration_ms(given, STREAM) is None


@pytest.mark.parametrize("given", ["eight hours", 0, "-PT1H", [8]])
def test_wrong_duration(given: Any) -> None:
    with pytest.raises(SettingsError, match="run_for"):
        run_for.duration_ms(given, STREAM)


def test_only_a_stream_has_a_duration() -> None:
    with pytest.raises(SettingsError, match="run_mode"):
        run_for.duration_ms(60, SinkSettings.from_dict({"name": "c", "topics": ["t"]}))


def run(state: str, started_ms: int, ended_ms: int | None = None) -> RunStatus:
    error = IgniteKafkaError("x").to_dict() if state == FAILED else None
    return RunStatus(state, "c", "r", started_ms=started_ms, ended_ms=ended_ms, error=error)


@pytest.mark.parametrize(
    ("tries", "until"),
    [
        ([], 10_100),
        ([run(RUNNING, 1_000)], 1_100),  # died without a word
        ([run(FAILED, 1_000, 1_050), run(STOPPED, 1_060, 1_070)], 1_100),  # tries of one period
        ([run(STOPPED, 1_000, 1_100)], 10_100),  # cleared after its success
        ([run(STOPPED, 1_000, 1_100), run(FAILED, 5_000, 5_050)], 5_100),
    ],
)
def test_time_counts_from_the_first_try_of_the_period(tries: list[RunStatus], until: int) -> None:
    assert run_for.until_ms(tries, 100, 10_000) == until


def test_call_at_a_time() -> None:
    called = threading.Event()
    with run_for.call_at(now_ms() - 1, called.set):
        assert called.wait(60)
    called.clear()
    with run_for.call_at(now_ms() + 10_000_000, called.set), run_for.call_at(None, called.set):
        pass
    assert not called.is_set()
