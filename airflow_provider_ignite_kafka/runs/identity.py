"""Identity of a run: its names and all that a worker or a triggerer needs to follow it."""

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
    """What a worker or a triggerer needs to follow a run: names and non-secret settings, ready for JSON.

    Task state store and deferred triggers keep it over restarts and upgrades, so a field may be added with a default
    but never change its meaning.

    :param streams: whether the run follows a requested target state.
    :param has_backlog: whether changes that are yet to be copied are in a backlog on the Ignite nodes. Of a run that
        an older version has stored it is not known, and every stream from Ignite is asked.
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
    has_backlog: bool = True

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
            has_backlog=isinstance(settings, SourceSettings) and settings.failover_policy == "BACKLOG",
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
