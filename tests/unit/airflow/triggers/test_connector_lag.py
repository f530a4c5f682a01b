"""Trigger on the lag of a simulated connector."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ignite_kafka.triggers.connector_lag import ConnectorLagTrigger
from ignite_kafka.admin.connector_lag import ConnectorLag
from ignite_kafka.errors import AuthenticationFailed, IgniteUnreachable, KafkaUnavailable, SettingsError
from tests.unit.airflow.simulated_lag import NEVER, behind, simulate


def fired(**arguments: Any) -> dict[str, Any]:
    """The event of a trigger."""

    async def run() -> dict[str, Any]:
        trigger = ConnectorLagTrigger(**{"connector": "c", "poll_interval": 0, **arguments})
        events = [event.payload async for event in trigger.run()]
        assert len(events) == 1
        return dict(events[0])

    return asyncio.run(asyncio.wait_for(run(), 30))


def test_it_fires_the_lag_once_that_is_small_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    polls = simulate(monkeypatch, NEVER, KafkaUnavailable("away"), behind(0, loaded=False), behind(9), OSError("reset"), behind(3))
    event = fired(max_lag=3)
    assert (event["total"], event["lag"], polls) == (3, {"flights": 3}, [])


def test_caught_up_begins_with_the_first_poll_of_a_connector_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    polls = simulate(monkeypatch, NEVER, behind(9), behind(9, position=5), behind(50, position=9))
    assert fired(max_lag=None)["total"] == 50
    assert polls == []


def test_caught_up_continues_with_the_marks_of_the_sensor(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, behind(9, position=3), behind(9, position=4))
    assert fired(max_lag=None, marks={"flights/0": 4})["total"] == 9


def test_it_waits_for_a_cache_that_the_connector_does_not_copy_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(monkeypatch, behind(0), replace(behind(0), names=frozenset({"fleet"})))
    assert fired(max_lag={"fleet": 5})["total"] == 0
    assert "Connector c does not copy fleet, which max_lag names" in capsys.readouterr().out


@pytest.mark.parametrize("error", [AuthenticationFailed("no"), SettingsError("no")])
def test_an_error_that_no_later_poll_cures_is_fired(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    simulate(monkeypatch, IgniteUnreachable("away"), error)
    assert fired() == {"error": f"{type(error).__name__}: no", "final": True}


def test_a_poll_that_hangs_is_given_up_and_not_repeated_beside_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()

    def hangs() -> ConnectorLag:
        assert answers.wait(30)
        return behind(0)

    polls = simulate(monkeypatch, hangs, behind(1))

    async def run() -> None:
        trigger = ConnectorLagTrigger(connector="c", poll_interval=0, poll_timeout=0.05)
        for _ in range(3):
            assert await trigger._poll() is None
        assert len(polls) == 1
        answers.set()
        trigger.poll_timeout = 30
        assert await trigger._poll() == behind(0)

    asyncio.run(run())


WRONG: list[dict[str, Any]] = [
    {"connector": ""},
    {"connector": 5},
    {"max_lag": -1},
    {"max_lag": "x"},
    {"poll_interval": -1},
    {"poll_interval": "soon"},
    {"poll_timeout": 0},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong_arguments_are_an_event_not_an_exception_of_the_triggerer(wrong: dict[str, Any]) -> None:
    event = fired(**wrong)
    assert event["final"]
    assert event["error"].startswith("SettingsError: ")
    with pytest.raises(SettingsError):
        ConnectorLagTrigger(**{"connector": "c", **wrong}).serialize()


def test_it_survives_serialisation_and_ignores_what_a_newer_version_has() -> None:
    path, arguments = ConnectorLagTrigger(
        connector="c", ignite_conn_id="i", kafka_conn_id="k", secrets_file="/s", max_lag={"a": 1}, poll_interval=5
    ).serialize()
    assert path == "airflow_provider_ignite_kafka.triggers.connector_lag.ConnectorLagTrigger"
    assert ConnectorLagTrigger(**arguments).serialize() == (path, arguments)
    with pytest.raises(SettingsError, match=r"Did you mean max_lag\?"):
        ConnectorLagTrigger(**arguments, maxlag=3).serialize()
    assert ConnectorLagTrigger(connector="c").serialize()[1]["max_lag"] == 0
