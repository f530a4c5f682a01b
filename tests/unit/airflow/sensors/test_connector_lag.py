"""Sensors on the lag of a simulated connector."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowSensorTimeout, TaskDeferred

from airflow_provider_ignite_kafka.sensors.connector_lag import ConnectorCaughtUpSensor, ConnectorLagSensor
from ignite_kafka.errors import AuthenticationFailed, KafkaUnavailable, SettingsError
from tests.support.airflow_versions import TASK_STORE, AirflowRescheduleException
from tests.unit.airflow.simulated_caches import Run
from tests.unit.airflow.simulated_lag import NEVER, behind, simulate

LAG: Any = {"task_id": "lag", "connector": "c", "poke_interval": 0, "timeout": 60}


def test_it_pokes_until_the_lag_is_small_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, NEVER, KafkaUnavailable("away"), behind(7), behind(2))
    assert ConnectorLagSensor(**LAG, max_lag=2).execute(Run().context)["lag"] == {"flights": 2}


@pytest.mark.parametrize(("rendered", "met"), [(2, True), ("2", True), ({"flights": 1}, False), ({"flights": 2}, True)])
def test_templates_render_to_numbers_and_mappings(monkeypatch: pytest.MonkeyPatch, rendered: Any, met: bool) -> None:
    simulate(monkeypatch, behind(2))
    found = ConnectorLagSensor(**LAG, max_lag=rendered).check(Run().context)
    assert found.is_done is met


def test_it_waits_for_a_cache_that_the_connector_does_not_copy_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    polls = simulate(monkeypatch, behind(0), replace(behind(0), names=frozenset({"flights", "fleet"})))
    assert not ConnectorLagSensor(**LAG, max_lag={"fleet": 5, "flights": 5}).check(Run().context).is_done
    assert "Connector c does not copy fleet, which max_lag names" in capsys.readouterr().out
    assert ConnectorLagSensor(**LAG, max_lag={"fleet": 5, "flights": 5}).check(Run().context).is_done
    assert polls == []


@pytest.mark.parametrize("wrong", ["many", -1, None])
def test_a_wrong_lag_fails_without_a_retry(monkeypatch: pytest.MonkeyPatch, wrong: Any) -> None:
    simulate(monkeypatch, behind(2))
    with pytest.raises(AirflowFailException, match="max_lag is"):
        ConnectorLagSensor(**LAG, max_lag=wrong).execute(Run().context)


def test_a_refused_password_fails_without_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, AuthenticationFailed("who are you"))
    with pytest.raises(AirflowFailException, match="who are you"):
        ConnectorLagSensor(**LAG).execute(Run().context)


def test_it_defers_with_its_arguments_and_returns_the_trigger_s_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, behind(7))
    sensor = ConnectorLagSensor(**LAG, max_lag=2, secrets_file="/s", deferrable=True)
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute(Run().context)
    _, arguments = deferred.value.trigger.serialize()
    assert {name: arguments[name] for name in ("connector", "max_lag", "secrets_file", "marks")} == {
        "connector": "c", "max_lag": 2, "secrets_file": "/s", "marks": None
    }  # fmt: skip
    lag = behind(2).to_dict()
    assert sensor.execute_complete(Run().context, lag, **(deferred.value.kwargs or {})) == lag
    with pytest.raises(AirflowException, match="no"):
        sensor.execute_complete(Run().context, {"error": "no", "final": False})


@TASK_STORE
def test_caught_up_waits_for_what_there_was_at_its_first_check(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, NEVER, behind(9), behind(9, position=5), behind(50, position=9))
    assert ConnectorCaughtUpSensor(**LAG).execute(Run().context)["total"] == 50


@TASK_STORE
def test_a_retry_and_a_reschedule_keep_what_is_to_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()
    for position in (0, 5):
        simulate(monkeypatch, behind(9, position=position))
        with pytest.raises(AirflowRescheduleException):
            ConnectorCaughtUpSensor(**LAG, mode="reschedule").execute(run.context)
    simulate(monkeypatch, behind(9, position=9))
    assert ConnectorCaughtUpSensor(**LAG).execute(run.context)["total"] == 9
    simulate(monkeypatch, behind(1))
    with pytest.raises(AirflowFailException, match="deferrable=True"):
        ConnectorCaughtUpSensor(**LAG, mode="reschedule").execute(Run(None).context)


@TASK_STORE
@pytest.mark.parametrize("run", [Run(), Run(None)], ids=["store", "none"])
def test_the_trigger_continues_with_the_marks_of_the_first_check(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    simulate(monkeypatch, behind(9))
    with pytest.raises(TaskDeferred) as deferred:
        ConnectorCaughtUpSensor(**LAG, deferrable=True).execute(run.context)
    arguments = deferred.value.trigger.serialize()[1]
    assert (arguments["max_lag"], arguments["marks"]) == (None, {"flights/0": 9})


def test_the_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, behind(9))
    with pytest.raises(AirflowSensorTimeout):
        ConnectorLagSensor(**{**LAG, "timeout": 0}, deferrable=True).execute(Run().context)


def test_caught_up_has_no_lag_to_give() -> None:
    with pytest.raises(SettingsError, match="has no argument max_lag"):
        ConnectorCaughtUpSensor(**LAG, max_lag=3)
