"""Trigger on a simulated signal."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from airflow_provider_ignite_kafka.triggers.connector_signal import ConnectorSignalTrigger
from ignite_kafka.errors import AuthenticationFailed, KafkaUnavailable, SettingsError
from tests.unit.airflow.simulated_signal import progress, simulate


def fired(**arguments: Any) -> dict[str, Any]:
    """The event of a trigger."""

    async def run() -> dict[str, Any]:
        trigger = ConnectorSignalTrigger(**{"connector": "c", "signal": "one", "poll_interval": 0, **arguments})
        events = [event.payload async for event in trigger.run()]
        assert len(events) == 1
        return dict(events[0])

    return asyncio.run(asyncio.wait_for(run(), 30))


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "ABORTED"])
def test_it_fires_once_the_signal_has_ended(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    left = simulate(monkeypatch, None, KafkaUnavailable("away"), progress("RUNNING"), OSError("reset"), progress(state))
    assert fired()["state"] == state
    assert left == []


@pytest.mark.parametrize(("requested", "polls"), [(True, [None]), (False, [None, progress("RUNNING"), None])])
def test_a_signal_whose_end_is_no_longer_recorded_is_an_error(
    monkeypatch: pytest.MonkeyPatch, requested: bool, polls: list[dict[str, Any] | None]
) -> None:
    left = simulate(monkeypatch, *polls)
    event = fired(requested=requested)
    assert "its end is no longer recorded" in event["error"]
    assert (event["final"], left) == (True, [])


@pytest.mark.parametrize("error", [AuthenticationFailed("no"), SettingsError("no")])
def test_an_error_that_no_later_poll_cures_is_fired(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    simulate(monkeypatch, error)
    assert fired() == {"error": f"{type(error).__name__}: no", "final": True}


@pytest.mark.parametrize("wrong", [{"signal": ""}, {"connector": None}, {"poll_interval": -1}, {"polls": 5}])
def test_wrong_arguments_are_refused_when_the_dag_is_parsed(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        ConnectorSignalTrigger(**{"connector": "c", "signal": "one", **wrong}).serialize()


def test_it_travels_without_secrets() -> None:
    path, arguments = ConnectorSignalTrigger(connector="c", signal="one", secrets_file="/s").serialize()
    assert path.endswith("connector_signal.ConnectorSignalTrigger")
    assert ConnectorSignalTrigger(**arguments).serialize() == (path, arguments)
