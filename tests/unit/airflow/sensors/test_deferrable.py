"""What a sensor that defers does with an error and with its time-out, beside one that pokes."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)
from airflow.sdk import BaseSensorOperator, PokeReturnValue
from airflow.triggers.base import BaseTrigger

from airflow_provider_ignite_kafka.sensors.deferrable import DeferrableSensor
from airflow_provider_ignite_kafka.triggers.cache_watch import IgniteCacheWatchTrigger
from tests.support.airflow_versions import SKIP_MESSAGES
from tests.unit.airflow.simulated_caches import Run

RETRY, FINAL = AirflowException("away"), AirflowFailException("wrong")


class Sensor(DeferrableSensor):
    """Pokes what it is told."""

    def __init__(self, *, outcomes: list[Any], **arguments: Any) -> None:
        super().__init__(**arguments)
        self.outcomes = outcomes

    def check(self, context: Any) -> PokeReturnValue:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return PokeReturnValue(outcome, "found" if outcome else None)

    def trigger(self, context: Any) -> BaseTrigger:
        return IgniteCacheWatchTrigger(once=True)

    def execute_complete(self, context: Any, event: Any, deadline: float = 0.0) -> bool:
        if isinstance(event, Exception):
            raise event
        return True


def sensor(*outcomes: Any, **arguments: Any) -> Sensor:
    return Sensor(task_id="wait", poke_interval=0, outcomes=list(outcomes), **arguments)


SKIPS: list[tuple[Exception, dict[str, Any], type[Exception]]] = [
    (FINAL, {}, AirflowFailException),
    (FINAL, {"soft_fail": True}, AirflowSkipException),
    (FINAL, {"never_fail": True}, AirflowSkipException),
    (RETRY, {}, AirflowException),
    (RETRY, {"soft_fail": True}, AirflowException),
    (RETRY, {"never_fail": True}, AirflowSkipException),
    (AirflowSkipException("no"), {"never_fail": True}, AirflowSkipException),
]


@pytest.mark.parametrize("deferrable", [False, True])
@pytest.mark.parametrize(("error", "arguments", "expected"), SKIPS, ids=str)
def test_the_first_poke_fails_and_skips_as_in_a_sensor_that_pokes(
    error: Exception, arguments: dict[str, Any], expected: type[Exception], deferrable: bool
) -> None:
    with pytest.raises(AirflowException) as raised:
        sensor(error, deferrable=deferrable, **arguments).execute(Run().context)
    assert raised.type is expected


@SKIP_MESSAGES
@pytest.mark.parametrize("error", [RETRY, FINAL, AirflowSensorTimeout("late")], ids=str)
@pytest.mark.parametrize("name", ["soft_fail", "never_fail"])
def test_what_a_trigger_reports_skips_the_task(error: Exception, name: str) -> None:
    with pytest.raises(AirflowSkipException, match=f"{name} is set|{name} is set to True"):
        sensor(False, deferrable=True, **{name: True}).resume_execution("execute_complete", {"event": error}, Run().context)
    with pytest.raises(type(error)):
        sensor(False, deferrable=True).resume_execution("execute_complete", {"event": error}, Run().context)


def test_the_end_of_a_deferral_skips_where_airflow_itself_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow 3.0 converts the time-out of a deferral outside of what soft_fail applies to."""

    def resume_execution(*_: Any) -> Any:
        raise AirflowSensorTimeout("Trigger timeout")

    monkeypatch.setattr(BaseSensorOperator, "resume_execution", resume_execution)
    with pytest.raises(AirflowSkipException):
        sensor(False, deferrable=True, soft_fail=True).resume_execution("__fail__", {}, Run().context)


@pytest.mark.parametrize("arguments", [{"soft_fail": True}, {"never_fail": True}], ids=str)
def test_a_time_that_is_over_before_the_deferral_skips(arguments: dict[str, Any]) -> None:
    with pytest.raises(AirflowSkipException):
        sensor(False, deferrable=True, timeout=0, **arguments).execute(Run().context)
    with pytest.raises(AirflowSensorTimeout, match="within 0"):
        sensor(False, deferrable=True, timeout=0).execute(Run().context)


def test_silent_fail_checks_again_after_an_error_that_may_pass() -> None:
    with pytest.raises(TaskDeferred):
        sensor(RETRY, False, deferrable=True, timeout=60, silent_fail=True).execute(Run().context)
    with pytest.raises(AirflowFailException):
        sensor(FINAL, deferrable=True, timeout=60, silent_fail=True).execute(Run().context)


def test_success_is_returned_at_once() -> None:
    assert sensor(True, deferrable=True).execute(Run().context) == "found"
