"""Comparison whose driver is in a cluster: follow it through the status topic, or kill it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.cluster_app import AppWatch, ClusterApp
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.watch import ENDED, RunWatch
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.state.comparisons import ComparisonStatus, read_comparison
from ignite_kafka.state.status import now_ms

log = logging.getLogger(__name__)

Read = Callable[[], tuple[ComparisonStatus | None, int]]
"""Function that reads the comparison's last record and the record's time in milliseconds since 1970."""
_KILL_S = 60.0


class ClusterComparison:
    """Comparison whose driver is in a cluster, followed by its status records. All methods block.

    :param read: reads the last record; raises IgniteKafkaError if Kafka does not answer.
    """

    def __init__(self, run: FollowedRun, read: Read, app: ClusterApp | None = None) -> None:
        self.run = run
        self.app = app or ClusterApp(run)
        self._read = read
        self._watch = RunWatch(run, now_ms())
        self._app_watch = AppWatch(self.app)
        self._app_ended = False

    @staticmethod
    def of(run: FollowedRun, clients: KafkaClients) -> ClusterComparison:
        """Make the follower of a comparison that reads its status records with the given Kafka clients."""
        key = run.internal_topic_prefix, run.connector, run.run_id
        return ClusterComparison(run, lambda: read_comparison(clients, *key))

    def result(self, stopped: Callable[[], bool]) -> Mapping[str, Any]:
        """Poll the status topic until the comparison ends, and return its result.

        :param stopped: whether the task was killed meanwhile.
        :raises AirflowException: the comparison failed, no longer reports, or its app ended without a result; a retry
            compares again.
        :raises AirflowFailException: the comparison failed, and no retry can help.
        """
        shown = ""
        while not stopped():
            status, reason = self._poll()
            if status is not None and status.step and (line := _progress(status)) != shown:
                shown = line
                log.info("%s", line)
            if reason is not None:
                return self._concluded(status, reason)
            time.sleep(self.run.poll_s)
        raise run_result.killed_exception()

    def kill(self) -> str:
        """Kill the comparison's app unless it has ended, and return a line for the task's log.

        The call runs in a thread, because the caller may be a signal handler that holds the log's lock, and because the
        cluster may not answer.
        """
        if self._app_ended:
            return ""
        answers = ["The app was to be killed, and the cluster has not answered yet."]
        thread = threading.Thread(target=lambda: answers.append(self.app.kill()), name="kill-app", daemon=True)
        thread.start()
        thread.join(_KILL_S)
        return answers[-1]

    def _poll(self) -> tuple[ComparisonStatus | None, str | None]:
        """Read the comparison's status record once, and decide why to stop polling; None: poll again."""
        try:
            status, written_ms = self._read()
            reason = self._watch.observe(status, written_ms)
            if reason is None and self._app_watch.has_ended(written_ms):
                self._app_ended = True
                # the last record may have come since the poll
                status, written_ms = self._read()
                ended = status is not None and status.ended_ms is not None
                return status, ENDED if ended else "its app has ended without a result"
            self._app_ended = reason == ENDED
            return status, reason
        except IgniteKafkaError as error:
            log.warning("The status topic could not be read; it is read again in %g s: %s", self.run.poll_s, error)
            return None, self._watch.unanswered()

    def _concluded(self, status: ComparisonStatus | None, reason: str) -> Mapping[str, Any]:
        command = self.app.log_command
        driver_log = f"See the driver's log: {command}" if command else "See the cluster's log of the app."
        if status is None or status.ended_ms is None:
            raise AirflowException(f"The comparison has no result: {reason}. A retry compares again. {driver_log}")
        if status.error is not None:
            error = run_result.error_to_exception(IgniteKafkaError.from_dict(dict(status.error)))
            raise type(error)(f"{error}\n{driver_log}")
        if status.result is None:
            raise AirflowException(f"The comparison's last record has no result. A retry compares again. {driver_log}")
        return status.result


def _progress(status: ComparisonStatus) -> str:
    return f"{status.step}: {status.done} of {status.tasks} tasks"
