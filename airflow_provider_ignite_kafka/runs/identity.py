"""Identity of a submitted run, and the decisions of whoever follows it by the status topic; no input or output."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ignite_kafka.common.deadline import Clock, Deadline
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.state.internal_records import known_fields
from ignite_kafka.state.status import PAUSED, RunStatus

if TYPE_CHECKING:
    from airflow_provider_ignite_kafka.runs.request import Request

ENDED = "ended"
SILENT = "silent"
NOT_STARTED = "not started"
TIMED_OUT = "timed out"
"""Why following ended: the run's record has an end; it reports nothing any more; it wrote no record in time; the
task has timed out."""
_MISSED_REPORTS = 6
_MIN_POLL_S = 1.0
_MAX_POLL_S = 30.0


@dataclass(frozen=True)
class FollowedRun:
    """What a worker or a triggerer needs to follow a run: names and non-secret settings, ready for JSON.

    Task state store and deferred triggers keep it over restarts and upgrades, so a field may be added with a default
    but never change its meaning.

    :param streams: whether the run follows a requested target state.
    :param continuous: whether a stop on request is the run's success.
    :param sink: whether the run copies topics to caches.
    :param silence_s: seconds without a new record after which a run that is not paused is given up.
    :param start_s: seconds from the submission to the run's first record.
    :param poll_s: seconds between two polls.
    :param submitted_ms: time of the submission, in milliseconds since 1970.
    :param max_tries: of the task at the submission; Airflow raises it when a user clears the task, and not for a retry.
        -1: not known.
    :param until_ms: time at which a stream is asked to stop, in milliseconds since 1970; None: never.
    :param kafka_config: settings of Kafka clients without secrets; those of the connection override them.
    :param app_id: YARN application or driver pod; empty if spark-submit did not print it.
    :param namespace: of the driver pod.
    :param ignite_conn_id: connection of the source's cluster, for the lag; empty: not known.
    """

    connector: str
    run_id: str
    internal_topic_prefix: str = ""
    streams: bool = False
    continuous: bool = False
    sink: bool = False
    silence_s: float = 300.0
    start_s: float = 1_800.0
    poll_s: float = 10.0
    submitted_ms: int = 0
    max_tries: int = -1
    until_ms: int | None = None
    kafka_conn_id: str = "kafka_default"
    kafka_config: Mapping[str, str] = field(default_factory=dict)
    secrets_file: str | None = None
    allow_insecure_connections: bool = False
    spark_conn_id: str = "spark_default"
    app_id: str = ""
    namespace: str = ""
    ignite_conn_id: str = ""

    @staticmethod
    def of(
        request: Request, kafka_conn_id: str, spark_conn_id: str, start_s: float, ignite_conn_id: str = ""
    ) -> FollowedRun:
        """The run of a request that is about to be submitted."""
        settings = request.settings
        report_s = settings.progress_interval_ms / 1000
        return FollowedRun(
            settings.name,
            request.run_id,
            settings.internal_topic_prefix,
            streams=settings.streams,
            continuous=settings.run_mode == "continuous",
            sink=isinstance(settings, SinkSettings),
            silence_s=max(settings.retry_timeout_ms / 1000, _MISSED_REPORTS * report_s),
            start_s=start_s,
            poll_s=min(max(report_s, _MIN_POLL_S), _MAX_POLL_S),
            kafka_conn_id=kafka_conn_id,
            kafka_config=dict(settings.kafka_common),
            secrets_file=str(request.secrets_file) if request.secrets_file else None,
            allow_insecure_connections=settings.allow_insecure_connections,
            spark_conn_id=spark_conn_id,
            ignite_conn_id=ignite_conn_id,
        )

    def time_is_up(self, now_ms: int) -> bool:
        """Whether the stream was to end before that time."""
        return self.until_ms is not None and now_ms >= self.until_ms

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> FollowedRun:
        """Read what :meth:`to_dict` of this or another version made.

        :raises TypeError: connector or run id are missing.
        """
        return FollowedRun(**known_fields(FollowedRun, value))


class Followed(Protocol):
    """A record of what is followed."""

    @property
    def state(self) -> str:
        """A state of :mod:`ignite_kafka.state.status`."""

    @property
    def ended_ms(self) -> int | None:
        """Time of the end, in milliseconds since 1970; None before."""


class RunWatch:
    """Decides after each poll whether a run is followed further."""

    def __init__(self, run: FollowedRun, now_ms: int, clock: Clock = time.monotonic) -> None:
        self._silence_s = run.silence_s
        self._clock = clock
        self._start = Deadline.after(max(0.0, run.start_s - (now_ms - run.submitted_ms) / 1000), clock)
        self._silence = Deadline.after(run.silence_s, clock)
        self._last: tuple[Followed, int] | None = None

    def observe(self, status: Followed | None, written_ms: int) -> str | None:
        """The reason to follow no further; None: poll again.

        :param status: the run's record; None if it wrote none yet.
        :param written_ms: time at which the run wrote it.
        """
        if status is None:
            self._silence = Deadline.after(self._silence_s, self._clock)
            return NOT_STARTED if self._start.expired else None
        if status.ended_ms is not None:
            return ENDED
        if (status, written_ms) != self._last or status.state == PAUSED:
            self._last = (status, written_ms)
            self._silence = Deadline.after(self._silence_s, self._clock)
        return self.unanswered()

    def unanswered(self) -> str | None:
        """The same after a poll that Kafka did not answer."""
        return SILENT if self._silence.expired else None


def active_try(
    own_runs: str,
    owner_run_id: str,
    status: RunStatus | None,
    written_ms: int,
    now_ms: int,
    silence_s: float,
    *,
    stop_requested: bool,
) -> bool:
    """Whether the connector's newest run is an earlier try of this task that a new try may follow.

    A run that was asked to stop, or has reported nothing for `silence_s`, is replaced instead.

    :param own_runs: prefix of the run ids of all tries of this task.
    :param owner_run_id: the run that has the connector; `status` and `written_ms` are its record.
    :param stop_requested: whether a task has asked that run to stop.
    """
    if status is None or status.ended_ms is not None or stop_requested or not owner_run_id.startswith(own_runs):
        return False
    return status.state == PAUSED or now_ms - written_ms <= silence_s * 1000
