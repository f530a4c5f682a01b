"""Trigger that waits for the end of a submitted run, polling the status topic without a worker slot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_ignite_kafka.airflow_api import calls_on_kill, configure_stats, task_states
from airflow_provider_ignite_kafka.runs.cluster_app import ClusterApp
from airflow_provider_ignite_kafka.runs.cluster_run import ClusterRun
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.kafka_access import monitor_of_run
from airflow_provider_ignite_kafka.runs.metrics import enabled
from airflow_provider_ignite_kafka.runs.progress import ProgressLog
from airflow_provider_ignite_kafka.runs.report import RunReport, push_from_trigger
from airflow_provider_ignite_kafka.runs.watch import SILENT, TIMED_OUT
from airflow_provider_ignite_kafka.threads import RepeatedCall, once
from ignite_kafka.common.deadline import Deadline
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.state.status import now_ms

_DEFERRED = "deferred"
_POLL_S = 60.0  # a longer poll is still awaited, while time-outs are observed
_TRANSIENT = (IgniteKafkaError, OSError, AirflowException, AirflowRuntimeError)


class ConnectorRunTrigger(BaseTrigger):
    """Trigger that polls a run's status until the run ends, and then fires one event.

    The event is ``{"run": run, "reason": why, "attached": attached}``, with ``"reported": True`` if metrics have the
    run's counts, and with ``"error"`` if the trigger cannot work; the task reads the result from the status topic. All
    state is in Kafka: a triggerer that restarts, or another one, continues. If a user clears the task or sets its
    state, the run is asked to stop.

    :param run: the run, in the form of ``FollowedRun.to_dict``, without secrets.
    :param timeout_ms: time at which the task times out, in milliseconds since 1970.
    :param attached: whether the run was submitted by an earlier try of the task.

    The constructor checks nothing and ignores arguments that another version stored: an exception would end the whole
    triggerer.
    """

    def __init__(
        self,
        *,
        run: Mapping[str, Any],
        timeout_ms: int | None = None,
        attached: bool = False,
        **_of_other_versions: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # BaseTrigger has no annotations
        self.run_state = run
        self.timeout_ms = timeout_ms
        self.attached = attached
        self._cluster: ClusterRun | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Serialize the trigger for Airflow's database, with the connections' ids instead of their secrets."""
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return path, {"run": dict(self.run_state), "timeout_ms": self.timeout_ms, "attached": self.attached}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the run ends or falls silent, or the task times out; then fire one event."""
        try:
            event = TriggerEvent(await self._followed())
        except asyncio.CancelledError:
            if not calls_on_kill():
                await self.on_kill()
            raise
        yield event  # not in the block, because a trigger that is ended after its event has no run to stop

    async def _followed(self) -> dict[str, Any]:
        try:
            run = FollowedRun.from_dict(self.run_state)
            polls = RepeatedCall(lambda: self._poll(run), f"follow-{run.connector}")
            hangs = Deadline.after(run.silence_s)
            while True:
                reason = None
                if (ended := await polls.ended(Deadline.after(_POLL_S))) is not None:
                    reason = ended.result()
                    hangs = Deadline.after(run.silence_s)
                elif hangs.expired:
                    reason = SILENT
                if reason is None and self.timeout_ms is not None and now_ms() >= self.timeout_ms:
                    reason = TIMED_OUT
                if reason is not None:
                    return self._event(reason, reported=enabled())
                await asyncio.sleep(run.poll_s)
        except (*_TRANSIENT, TypeError) as error:
            return self._event(
                "error", error=f"{type(error).__name__}: {error}", final=isinstance(error, (SettingsError, TypeError))
            )

    def _event(self, reason: str, **more: Any) -> dict[str, Any]:
        return {"run": dict(self.run_state), "reason": reason, "attached": self.attached, **more}

    def _poll(self, run: FollowedRun) -> str | None:
        """Poll the run's status once; the first poll looks the connection up."""
        if self._cluster is None:
            monitor = monitor_of_run(run)
            configure_stats()
            report = RunReport(monitor, push_from_trigger(self.task_instance))
            self._cluster = ClusterRun(
                monitor, ClusterApp(run), ProgressLog(self.log, monitor.sink_lag), report.progressed
            )
        return self._cluster.poll()

    async def on_kill(self) -> None:
        """Ask the run to stop, because a user has cleared the deferred task or set its state.

        Kill the app of a run that ignores target states.

        Before Airflow 3.3 the cancelled trigger itself calls this method. Airflow also calls it when it moves a trigger
        to another triggerer, because the first triggerer was late with its heartbeat. The task is then still deferred,
        and the run is not stopped.
        """
        await once(self._stop_unless_deferred, "stop-run")

    def _stop_unless_deferred(self) -> None:
        """Stop the run unless its task is still deferred, and log why a run is not stopped.

        All of this is one call in a thread, which a cancelled trigger does not end: before Airflow 3.3 the triggerer
        cancels a trigger again and again until it has ended.
        """
        connector = self.run_state.get("connector")
        try:
            deferred = self._still_deferred()
        except _TRANSIENT as error:
            self.log.error(
                "The run of connector %s goes on: it is not known whether its task is still deferred. If no task "
                "follows it, stop it with: "
                "ignite-kafka stop %s. %s", connector, connector, error,
            )  # fmt: skip
            return
        if deferred:
            self.log.info("The task is still deferred: another triggerer follows the run.")
            return
        try:
            self._stop()
        except _TRANSIENT as error:
            self.log.error(
                "The run could not be stopped and goes on; stop it with: ignite-kafka stop %s. %s", connector, error
            )

    def _stop(self) -> None:
        run = FollowedRun.from_dict(self.run_state)
        monitor = monitor_of_run(run)
        if monitor.request_stop():
            self.log.info("The run of connector %s is requested to end after its current batch.", run.connector)
        elif not monitor.has_ended():
            self.log.info(ClusterApp(run).kill())

    def _still_deferred(self) -> bool:
        """Return whether the trigger's task is still deferred, so that another triggerer follows the run."""
        return self.task_instance is not None and _DEFERRED in task_states(self.task_instance)
