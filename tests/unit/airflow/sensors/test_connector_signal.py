"""Sensor on a simulated signal."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred

from airflow_provider_ignite_kafka.sensors.connector_signal import ConnectorSignalSensor
from ignite_kafka.errors import AuthenticationFailed, KafkaUnavailable
from tests.unit.airflow.simulated_caches import Run
from tests.unit.airflow.simulated_signal import progress, simulate

SIGNAL: Any = {"task_id": "wait", "connector": "c", "signal": "one", "poke_interval": 0, "timeout": 60}


def test_it_pokes_until_the_signal_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    left = simulate(monkeypatch, None, KafkaUnavailable("away"), progress("RUNNING"), progress("COMPLETED", 10))
    returned = ConnectorSignalSensor(**SIGNAL).execute(Run().context)
    assert (returned["records"], returned["caches"], left) == (7, {"flights": 7}, [])


@pytest.mark.parametrize("state", ["FAILED", "ABORTED"])
def test_a_signal_that_ends_otherwise_fails_without_a_retry(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    simulate(monkeypatch, progress(state, error="no column price"))
    with pytest.raises(AirflowFailException, match=f"ended as {state}: no column price"):
        ConnectorSignalSensor(**SIGNAL).execute(Run().context)


def test_a_refused_password_fails_without_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, AuthenticationFailed("who are you"))
    with pytest.raises(AirflowFailException, match="who are you"):
        ConnectorSignalSensor(**SIGNAL).execute(Run().context)


def test_a_signal_that_vanishes_fails_without_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, None, progress("RUNNING"), None)
    with pytest.raises(AirflowFailException, match="its end is no longer recorded"):
        ConnectorSignalSensor(**SIGNAL).execute(Run().context)


def test_it_defers_with_its_arguments_and_returns_the_trigger_s_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, progress("RUNNING"))
    sensor = ConnectorSignalSensor(**SIGNAL, secrets_file="/s", deferrable=True)
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute(Run().context)
    _, arguments = deferred.value.trigger.serialize()
    assert (arguments["connector"], arguments["signal"], arguments["secrets_file"]) == ("c", "one", "/s")
    assert sensor.execute_complete(Run().context, progress("COMPLETED"))["records"] == 7
    with pytest.raises(AirflowFailException, match="away"):
        sensor.execute_complete(Run().context, {"error": "away", "final": True})
