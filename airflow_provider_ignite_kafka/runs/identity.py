"""Identity of a run: the names and settings with which another worker or a triggerer follows the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.internal_records import known_fields

if TYPE_CHECKING:
    from airflow_provider_ignite_kafka.runs.request import Request

_MISSED_REPORTS = 6
_MIN_POLL_S = 1.0
_MAX_POLL_S = 30.0


@dataclass(frozen=True)
class FollowedRun:
    """Names and settings of a run, without secrets, with which any worker or triggerer can follow it.

    Task state stores and deferred triggers keep runs over restarts and upgrades, so new fields need a default, and no
    field may change its meaning.

    :param streams: whether the run follows a requested target state.
    :param has_backlog: whether changes to copy are in a backlog on the Ignite nodes. In a run stored by an older
        version the value is unknown, so it is True.
    :param continuous: whether a stop on request is the run's success.
    :param sink: whether the run copies topics to caches.
    :param silence_s: seconds without a new record after which a run that is not paused is given up.
    :param start_s: seconds from the submission to the run's first record.
    :param poll_s: seconds between two polls.
    :param submitted_ms: time of the submission, in milliseconds since 1970.
    :param max_tries: maximum tries of the task at the submission; Airflow raises the number when a user clears the
        task, but not for a retry. -1: unknown.
    :param until_ms: time at which a stream is asked to stop, in milliseconds since 1970; None: never.
    :param kafka_config: settings of Kafka clients without secrets; those of the connection override them.
    :param app_id: YARN application or driver pod; empty if spark-submit did not print it.
    :param namespace: namespace of the driver pod.
    :param ignite_conn_id: connection of the source's cluster, for the lag; empty: unknown.
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
    has_backlog: bool = True

    @staticmethod
    def of(
        request: Request, kafka_conn_id: str, spark_conn_id: str, start_s: float, ignite_conn_id: str = ""
    ) -> FollowedRun:
        """Build the identity of the run that a request will submit."""
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
            has_backlog=isinstance(settings, SourceSettings) and settings.failover_policy == "BACKLOG",
        )

    def time_is_up(self, now_ms: int) -> bool:
        """Return whether the stream's end by `run_for` is reached at the given time."""
        return self.until_ms is not None and now_ms >= self.until_ms

    def to_dict(self) -> dict[str, Any]:
        """Convert the run to JSON values, for task state stores and triggers."""
        return asdict(self)

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> FollowedRun:
        """Read a run written by :meth:`to_dict`, possibly of another version of the provider.

        :raises TypeError: connector or run id are missing.
        """
        return FollowedRun(**known_fields(FollowedRun, value))
