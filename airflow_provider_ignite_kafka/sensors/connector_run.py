"""Sensor that waits for a run submitted by another operator, polling the connector's status topic."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    PokeReturnValue,
    TaskDeferred,
)

from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.cluster_app import ClusterApp
from airflow_provider_ignite_kafka.runs.cluster_run import ClusterRun
from airflow_provider_ignite_kafka.runs.follower import SUCCEEDED, UNFINISHED, RunFollower, judge_end
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.kafka_access import monitor_of_run
from airflow_provider_ignite_kafka.runs.progress import ProgressLog
from airflow_provider_ignite_kafka.runs.report import RunReport
from airflow_provider_ignite_kafka.runs.watch import TIMED_OUT
from airflow_provider_ignite_kafka.sensors.deferrable import DeferrableSensor
from airflow_provider_ignite_kafka.triggers.connector_run import ConnectorRunTrigger
from ignite_kafka.errors import IgniteKafkaError, SettingsError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_YEAR_S = 366.0 * 86_400  # a stream runs for longer than Airflow's default of a sensor
_AGAIN = "Clear the task that packaged the app, with its downstream tasks, to run it again."


class ConnectorRunSensor(DeferrableSensor):
    """Sensor that waits for the end of a run packaged by ``package_app`` and submitted by another operator.

    It returns the run's result in the form of the copy operators.

    The task fails without retries if the run fails, because only a new run can help. When the task is killed or times
    out, a stream is asked to end after its current batch. A snapshot ignores such a request. The app itself is killed
    only by its own operator. A retried sensor follows the same run again.

    :param run: the run, in the form of ``SparkAppFiles.run``, also as JSON. Templated.
    :param stop_timeout_ms: milliseconds within which a stream must end when the task is killed or times out, before the
        task ends.
    :param timeout: seconds after which the task fails and its run is asked to stop. Default: a year.
    :param poke_interval: seconds between two polls in the worker; the triggerer polls by the run's own
        ``progress_interval_ms``.
    :param deferrable: follow the run in the triggerer. Default: option `[operators] default_deferrable`.
    """

    template_fields: Sequence[str] = ("run",)
    template_fields_renderers = {"run": "json"}
    ui_color = "#e0ecf4"

    def __init__(
        self,
        *,
        run: Mapping[str, Any] | str,
        stop_timeout_ms: int = 30_000,
        timeout: float | timedelta = _YEAR_S,
        poke_interval: float | timedelta = 10.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(timeout=timeout, poke_interval=poke_interval, **kwargs)
        if self.mode != "poke":
            raise SettingsError(
                "mode is reschedule, and between two polls nothing could ask the run to stop",
                "Set deferrable to True.",
                setting="mode",
            )
        self.run = run
        self.stop_timeout_ms = stop_timeout_ms

    def execute(self, context: Context) -> Any:
        """Wait for the run's end, in the worker or by a trigger.

        :return: the run's result; see ``SparkCopyOperator.execute``.
        :raises AirflowFailException: the run failed, was stopped by a task, or no longer reports.
        :raises AirflowSensorTimeout: `timeout` has passed.
        """
        try:
            return super().execute(context)
        except TaskDeferred:
            self._follower.release()  # the trigger follows the run
            raise
        finally:
            self._end()

    def execute_complete(self, context: Context, event: Mapping[str, Any], **_newer: Any) -> Any:
        """Return the run's result after the trigger has fired; raise the errors of :meth:`execute`."""
        try:
            cluster = self._follower.cluster = self._cluster_run(_parse_run(event["run"]))
            if "error" in event:
                kind = AirflowFailException if event.get("final") else AirflowException
                raise kind(f"The trigger could not follow the run, which is asked to stop: {event['error']}")
            return self._concluded(cluster, event.get("reason"))
        except IgniteKafkaError as error:
            raise run_result.error_to_exception(error) from error
        finally:
            self._end()

    def on_kill(self) -> None:
        """Ask the run to end after its current batch, because the task is killed."""
        self._follower.kill()

    def check(self, context: Context) -> PokeReturnValue:
        """Poll the run's status record once; done when the run has ended or is silent."""
        try:
            if self._follower.killed:
                raise run_result.killed_exception()
            if self._follower.cluster is None:
                self._follower.cluster = self._cluster_run(_parse_run(self.run))
            cluster = self._follower.cluster
            reason = cluster.poll()
            return PokeReturnValue(reason is not None, None if reason is None else self._concluded(cluster, reason))
        except IgniteKafkaError as error:
            raise run_result.error_to_exception(error) from error

    def trigger(self, context: Context) -> ConnectorRunTrigger:
        """Make the trigger that waits for the run's end in the triggerer."""
        return ConnectorRunTrigger(run=_parse_run(self.run).to_dict(), timeout_ms=int(self._deadline * 1000))

    def wait(self, context: Context, deadline: float) -> NoReturn:
        """Defer the task until its trigger fires at the run's end or at the time-out.

        After a time-out, the task asks the run to stop.
        """
        self.defer(trigger=self.trigger(context), method_name="execute_complete")

    def _cluster_run(self, run: FollowedRun) -> ClusterRun:
        monitor = monitor_of_run(run)
        return ClusterRun(
            monitor, ClusterApp(run), ProgressLog(self.log, monitor.sink_lag), RunReport(monitor).progressed
        )

    def _concluded(self, cluster: ClusterRun, reason: str | None) -> dict[str, Any]:
        """Return a successful run's result, or raise the error of any other; stop an unfinished run."""
        status = cluster.monitor.status()
        end = judge_end(cluster.monitor, status)
        if end == UNFINISHED:
            self._follower.stop()
            if reason == TIMED_OUT:
                raise AirflowSensorTimeout(f"The run has not ended within {self.timeout:g} s, and was asked to stop.")
        else:
            self._follower.release()
        if status is None or end != SUCCEEDED:
            raise AirflowFailException(f"{run_result.lost_exception(status, reason)}\n{_AGAIN}")
        result = run_result.to_xcom(status)
        run_result.log_result(self.log, result)
        return result

    def _end(self) -> None:
        self._follower.stop()
        self._follower.log_stop()

    @cached_property
    def _follower(self) -> RunFollower:
        return RunFollower(self.log, self.stop_timeout_ms / 1000)


def _parse_run(run: object) -> FollowedRun:
    """Parse argument `run`, a mapping or JSON.

    :raises SettingsError: the argument has no run.
    """
    with suppress(TypeError, ValueError):
        value = json.loads(run) if isinstance(run, str) else run
        if isinstance(value, Mapping):
            return FollowedRun.from_dict(value)
    raise SettingsError(
        f"run is {type(run).__name__} without the names of a run",
        "Give the field run of what package_app returned.",
        setting="run",
    )
