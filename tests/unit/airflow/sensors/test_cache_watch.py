"""Sensor on a simulated cluster, poll by poll."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSensorTimeout, AirflowSkipException, TaskDeferred

from airflow_provider_ignite_kafka.sensors.cache_watch import IgniteCacheWatchSensor
from airflow_provider_ignite_kafka.triggers.cache_watch import IgniteCacheWatchTrigger
from ignite_kafka.errors import AuthenticationFailed, SettingsError
from ignite_kafka.plan.cache_changes import CacheDiff, difference, state_to_dict
from tests.support.airflow_versions import TASK_STORE, AirflowRescheduleException
from tests.unit.airflow.simulated_caches import AWAY, Ended, Poll, Run, caches, fired, sensor, shown


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``cluster(poll, poll, ...)``: results of a sensor's polls."""

    def show(*polls: Poll) -> None:
        poll = shown(polls)
        monkeypatch.setattr("airflow_provider_ignite_kafka.cache_watch.poll.CachePoller.poll", lambda self, timeout_s: poll())

    return show


@TASK_STORE
def test_poking_sensor_returns_the_difference_to_its_first_poll(cluster: Any) -> None:
    cluster(AWAY, caches("a"), caches("a"), AWAY, caches("a", "b"))
    run = Run()
    result = sensor().execute(run.context)
    assert (result["created"], result["cache_whitelist"], set(result["state"])) == (["b"], ["b"], {"a", "b"})
    assert run.pushed == {"known": result["state"]}


@TASK_STORE
@pytest.mark.parametrize("known", [{}, "{}", difference({}, {}).to_dict()])
def test_nothing_known_makes_every_cache_new(cluster: Any, known: Any) -> None:
    cluster(caches("a", "b"))
    assert sensor(known=known).execute(Run().context)["created"] == ["a", "b"]


@TASK_STORE
def test_rescheduled_sensor_remembers(cluster: Any) -> None:
    run = Run()
    for poll in (caches("a"), AWAY, caches("a")):
        cluster(poll)
        with pytest.raises(AirflowRescheduleException):
            sensor(mode="reschedule").execute(run.context)
    cluster(caches("a", "b"))
    assert sensor(mode="reschedule").execute(run.context)["created"] == ["b"]


def test_rescheduling_without_a_store_needs_known(cluster: Any) -> None:
    cluster(caches())
    with pytest.raises(AirflowFailException, match="give `known`"):
        sensor(mode="reschedule").execute(Run(None).context)
    cluster(caches("a"))
    assert sensor(mode="reschedule", known={}).execute(Run(None).context)["created"] == ["a"]


@TASK_STORE
def test_a_cache_made_again_is_new_though_destroying_is_not_waited_for(cluster: Any) -> None:
    cluster(caches("a"), caches(), caches("a"))
    assert sensor().execute(Run().context)["created"] == ["a"]


@TASK_STORE
def test_retry_and_cleared_task_begin_where_the_first_try_began(cluster: Any) -> None:
    run = Run()
    cluster(caches("a"), Ended())
    with pytest.raises(Ended):
        sensor().execute(run.context)
    for _ in range(2):
        cluster(caches("a", "b"))
        assert sensor().execute(run.context)["created"] == ["b"]


def deferred(task: IgniteCacheWatchSensor, run: Run) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as found:
        task.execute(run.context)
    return found.value


def resumed(deferral: TaskDeferred, polls: Sequence[Poll], run: Run, **arguments: Any) -> Any:
    """The trigger runs in another process, and its event goes to a new process of the task."""
    path, kwargs = deferral.trigger.serialize()
    assert path.endswith("IgniteCacheWatchTrigger")
    [event] = fired(polls, **{**kwargs, "poll_interval": 0})
    return sensor(deferrable=True, **arguments).execute_complete(run.context, event, **(deferral.kwargs or {}))


@TASK_STORE
def test_deferred_sensor_returns_what_the_trigger_saw(cluster: Any) -> None:
    run = Run()
    cluster(caches("a"))
    deferral = deferred(sensor(deferrable=True), run)
    assert deferral.timeout is not None
    assert 0 < deferral.timeout.total_seconds() <= 60
    assert resumed(deferral, [AWAY, caches("a"), caches("a", "b")], run)["created"] == ["b"]


@TASK_STORE
def test_deferred_sensor_returns_an_existing_difference_at_once(cluster: Any) -> None:
    cluster(caches("a"))
    assert sensor(deferrable=True, known={}).execute(Run().context)["created"] == ["a"]


@TASK_STORE
def test_deferred_sensor_waits_again_after_another_kind_of_change(cluster: Any) -> None:
    run = Run()
    cluster(caches("a"))
    deferral = deferred(sensor(deferrable=True), run)
    with pytest.raises(TaskDeferred) as again:
        resumed(deferral, [caches()], run)
    assert again.value.kwargs == deferral.kwargs
    assert resumed(again.value, [caches("a")], run)["created"] == ["a"]


@TASK_STORE
def test_deferred_sensor_without_a_poll_keeps_the_trigger_s_first_poll(cluster: Any) -> None:
    run = Run()
    cluster(AWAY)
    deferral = deferred(sensor(deferrable=True), run)
    with pytest.raises(TaskDeferred) as again:
        resumed(deferral, [AWAY, caches("a")], run)
    assert again.value.trigger.serialize()[1]["known"] == state_to_dict(caches("a"))


@TASK_STORE
def test_time_out_over_deferrals_and_soft_fail(cluster: Any) -> None:
    event = CacheDiff("id").to_dict()
    with pytest.raises(AirflowSensorTimeout):
        sensor(deferrable=True).execute_complete(Run().context, event, deadline=1.0)
    late = sensor(deferrable=True, soft_fail=True)
    with pytest.raises(AirflowSkipException):
        late.resume_execution("execute_complete", {"event": event, "deadline": 1.0}, Run().context)
    with pytest.raises(AirflowSkipException):
        late.resume_execution("__fail__", {"error": "Trigger timeout"}, Run().context)


@TASK_STORE
def test_time_out_and_soft_fail_while_poking(cluster: Any) -> None:
    cluster(caches(), caches())
    with pytest.raises(AirflowSensorTimeout):
        sensor(timeout=0).execute(Run().context)
    cluster(AWAY, AWAY)
    with pytest.raises(AirflowSkipException):
        sensor(timeout=0, soft_fail=True).execute(Run().context)


@pytest.mark.parametrize("arguments", [{}, {"deferrable": True}])
def test_an_error_that_no_later_poll_cures_fails_without_a_retry(cluster: Any, arguments: dict[str, Any]) -> None:
    cluster(AuthenticationFailed("who are you"))
    with pytest.raises(AirflowFailException, match="AuthenticationFailed: who are you"):
        sensor(**arguments).execute(Run().context)
    with pytest.raises(AirflowFailException, match="known holds no state"):
        sensor(known="[]", **arguments).execute(Run().context)


@pytest.mark.parametrize("kinds", [[], ["made"]])
def test_kinds_are_checked(kinds: list[str]) -> None:
    with pytest.raises(ValueError, match="kinds is"):
        sensor(kinds=kinds)
    with pytest.raises(SettingsError, match="kinds is"):
        IgniteCacheWatchTrigger(kinds=kinds).serialize()
