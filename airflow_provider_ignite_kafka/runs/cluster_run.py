"""Run whose driver is in a cluster: follow it through the status topic, stop it gracefully or kill it."""

from __future__ import annotations

import time
from collections.abc import Callable

from airflow_provider_ignite_kafka.runs.cluster_app import AppWatch, ClusterApp
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor
from airflow_provider_ignite_kafka.runs.progress import ProgressLog
from airflow_provider_ignite_kafka.runs.watch import ENDED, NOT_STARTED, SILENT, RunWatch
from ignite_kafka.common.deadline import Deadline
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.state.status import RunStatus, now_ms

OnStatus = Callable[[RunStatus], None]
_STOP_POLL_S = 0.5


class ClusterRun:
    """Run whose driver is in a cluster: its records in Kafka and its Spark app. All methods block.

    :param progress: log of the run's progress.
    :param on_status: called with each record of the run.
    """

    def __init__(
        self, monitor: RunMonitor, app: ClusterApp, progress: ProgressLog, on_status: OnStatus = lambda _status: None
    ) -> None:
        self.monitor = monitor
        self.app = app
        self._progress = progress
        self._on_status = on_status
        self._watch = RunWatch(monitor.run, now_ms())
        self._app_watch = AppWatch(app)
        self._stop_requested = False

    def poll(self) -> str | None:
        """Read the run's status record once, log its progress, and stop the run when `run_for` is over.

        :return: reason (of :mod:`.watch`) why the run is no longer followed; None: poll again.
        """
        try:
            status, written_ms = self.monitor.poll()
            reason = self._watch.observe(status, written_ms)
            if status is not None:
                self._progress.show(status)
                self._on_status(status)
            if reason is None and self._app_watch.has_ended(0 if status is None else written_ms):
                reason = self._reason_of_ended_app()
            if reason is None and not self._stop_requested and self.monitor.run.time_is_up(now_ms()):
                self._stop_requested = self.monitor.request_stop()
                if self._stop_requested:
                    self._progress.log.info("The time of the run is up; it ends after its current batch.")
        except IgniteKafkaError as error:
            self._progress.log.warning(
                "The status topic could not be read; it is read again in %g s: %s", self.monitor.run.poll_s, error
            )
            return self._watch.unanswered()
        return reason

    def _reason_of_ended_app(self) -> str:
        """Read the status again, because an ended app may have written its last record since the poll."""
        status = self.monitor.status()
        if status is None:
            return NOT_STARTED
        return ENDED if status.ended_ms is not None else SILENT

    def follow(self, stopped: Callable[[], bool]) -> str | None:
        """Poll until the run ends, falls silent or fails to start; return the reason, None once `stopped` is true."""
        while not stopped():
            if (reason := self.poll()) is not None:
                return reason
            time.sleep(self.monitor.run.poll_s)
        return None

    def stop(self, timeout_s: float, say: Callable[[str], None]) -> None:
        """Stop the run: request its end after the current batch and wait, or else kill its app.

        Kill the app if the run does not accept the request, or does not end in time.

        A run that lost the connector to a newer run is not asked; its app is killed, but never the newer run's app.

        :param say: called with each line for the task's log.
        """
        deadline = Deadline.after(timeout_s)
        try:
            accepted = self.monitor.request_stop()
            while accepted and not self.monitor.has_ended():
                if deadline.expired:
                    say(f"The run has not ended {timeout_s:g} s after the request.")
                    break
                time.sleep(_STOP_POLL_S)
            else:
                if accepted or self.monitor.has_ended():
                    return
        except (IgniteKafkaError, OSError) as error:
            say(f"The stop of the run could not be requested: {error}")
        say(self.app.kill())
