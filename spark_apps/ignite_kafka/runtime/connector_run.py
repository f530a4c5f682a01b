"""Base class of a run: checks, retries of Kafka calls, status records, and one last record in any case."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from zlib import crc32

from pyspark.sql import SparkSession

from .. import events
from ..common.event_log import EventLog, add_events, event_totals
from ..common.local_disk import disk_errors
from ..common.measurements import Measurements
from ..common.redaction import in_message
from ..common.retry import retry
from ..common.versions import installed_versions
from ..errors import IgniteKafkaError, Interrupted, KafkaUnavailable, Retired, SettingsError
from ..ignite.cluster import Cluster
from ..ignite.protocol import ThinError
from ..ignite.sql_views import node_versions
from ..kafka.clients import BRIEF_S, REQUEST_TIMEOUT_S
from ..kafka.topics import Topics
from ..metrics.otlp import metrics_export
from ..metrics.prometheus import metrics_endpoint
from ..metrics.samples import RunMetrics
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.secrets_file import SecretsSource
from ..state import status
from ..state.configs import ConnectorState, read_connector
from ..state.configs_writer import ConfigsWriter
from ..state.event_records import KIND
from ..state.status import RunStatus, StatusWriter, read_runs
from .clients import kafka_clients
from .event_recorder import EventRecorder
from .failure_events import report_end
from .history_recorder import HistoryRecorder
from .interrupts import interrupts_raised
from .spark_job import Job, TaskErrors, TaskEvents, Work

log = logging.getLogger(__name__)

POLL_S = 0.2
_FORGET_EVERY = 10  # runs
T = TypeVar("T")
S = TypeVar("S", bound=ConnectorSettings, covariant=True)

Report = Callable[[RunStatus], None]


@dataclass(frozen=True)
class RunRequest(Generic[S]):
    """Request for one run of a connector: settings, run id, secrets, and how to report and stop it.

    :param snapshot_id: snapshot id of a source; None: continue the last unfinished snapshot, or begin a new one.
    :param secrets_file: where executors find the secrets; None: there are none.
    :param events: events before the run, to which those of its driver are added; None: none.
    :param report: called with each status.
    :param stop: set it to end the run after the current batch; a snapshot ignores it.
    :param transition: id of the role transition that runs the connector, whose own retirement does not hold for it.
    :param unless_stopped: whether a stop requested before the run holds for it; False: the start cancels that request.
    """

    settings: S
    run_id: str
    snapshot_id: str | None = None
    secrets_file: SecretsSource | None = None
    report: Report = lambda _status: None
    stop: threading.Event = field(default_factory=threading.Event)
    events: EventLog | None = None
    unless_stopped: bool = False
    transition: str = ""


class ConnectorRun(ABC, Generic[S]):
    """Driver of one run of a connector, with its status records; subclasses implement :meth:`_run`."""

    _reachable = True
    """Whether the status topic took the last progress report."""

    def __init__(self, spark: SparkSession, request: RunRequest[S], stack: ExitStack) -> None:
        self._spark = spark
        self._request = request
        self._settings = request.settings
        self._stack = stack
        self._events = request.events or stack.enter_context(events.collect())
        self._secrets = request.secrets_file.load() if request.secrets_file else Secrets()
        self._clients = kafka_clients(self._settings, self._secrets)
        self._status = RunStatus(status.RUNNING, self._settings.name, request.run_id, started_ms=status.now_ms())
        self._metrics = RunMetrics(self._status, self._settings)
        self._writer: StatusWriter | None = None
        self._errors = TaskErrors(spark)
        self._recorder: EventRecorder | None = None
        self._history: HistoryRecorder | None = None

    @abstractmethod
    def _run(self) -> None:
        """Do the work of the run; a subclass calls :meth:`_end` when it succeeded."""

    def run(self) -> RunStatus:
        """Run the connector to its end, and return the last status record, which is written in any case.

        :raises IgniteKafkaError: the error that ended the run; it is in the record too.
        """
        _refuse_speculation(self._spark)
        spark = self._spark.sparkContext
        versions = {**installed_versions(), "Spark": self._spark.version}
        self._status = replace(
            self._status, application_id=spark.applicationId or "", spark_ui=spark.uiWebUrl or "", versions=versions
        )
        self._settings.emit_warnings()
        self._retry(self._clients.check)
        self._topics = Topics(self._clients)
        prefix = self._settings.internal_topic_prefix
        self._retry(lambda: StatusWriter.ensure_topic(self._topics, prefix, self._settings.replication_factor))
        self._writer = StatusWriter(self._clients, prefix)
        self._history = HistoryRecorder(self._writer)
        recorder = self._recorder = EventRecorder(
            self._writer, self._settings, self._request.run_id, self._events.recorded
        )
        self._stack.callback(recorder.close)
        try:
            self._retry(lambda: recorder.open_topic(self._clients, self._topics))
            with interrupts_raised(), disk_errors():
                self._expose_metrics()
                self._run()
        except IgniteKafkaError as error:
            report_end(error)
            event = {3: events.RUN_FENCED, 4: events.OUTCOME_UNKNOWN}.get(error.exit_code, events.RUN_FAILED)
            events.emit(event, connector=self._settings.name, run_id=self._request.run_id, reason=str(error))
            if self._end(_state_of(error), error=error.to_dict()):
                self._forget_runs()
            raise
        except BaseException as error:
            ended = _interrupted(error) or _wrapped(error)
            self._end(status.STOPPED if isinstance(ended, Interrupted) else status.FAILED, error=ended.to_dict())
            raise
        self._forget_runs()
        return self._status

    def _expose_metrics(self) -> None:
        """Start the exporters in the settings, which end with the run."""
        settings = self._settings
        read = self._metrics.samples
        self._stack.enter_context(metrics_endpoint(settings, read))
        self._stack.enter_context(metrics_export(settings, self._request.run_id, read))

    def _record_nodes(self, cluster: Cluster) -> None:
        """Add the nodes' Ignite version to the run's status record, for diagnosis.

        Without it where the nodes do not report it, as a copy needs no SQL.
        """
        try:
            node_releases = [version.partition("#")[0] for version in node_versions(cluster)]
        except (ThinError, IgniteKafkaError) as error:
            log.debug("the nodes' version of Ignite is unknown: %s", error)
            return
        self._status = replace(self._status, versions={**self._status.versions, "Ignite": " and ".join(node_releases)})

    def _forget_runs(self) -> None:
        """Remove records of old runs from the status topic; only one run in ten does, as it reads the whole topic."""
        if crc32(self._request.run_id.encode()) % _FORGET_EVERY:
            return
        assert self._writer is not None
        try:
            clients = replace(self._clients, patience_s=BRIEF_S)  # the run has ended; this may fail
            runs = read_runs(clients, self._settings.internal_topic_prefix, self._settings.name)
            old = list(runs)[: -self._settings.runs_kept]
            self._writer.forget(self._settings.name, old)
            self._writer.forget(self._settings.name, old, KIND)
        except IgniteKafkaError as error:
            log.warning("old runs could not be removed from the status topic; a later run removes them: %s", error)

    def _settle(self, control: ConfigsWriter) -> None:
        """Abort open transactions of failed tasks, so that consumers need not wait for their timeout.

        Unless a newer run owns the slots.
        """
        try:
            self._clients.check(BRIEF_S)
            state = read_connector(
                self._clients, self._topics, self._settings.internal_topic_prefix, self._settings.name
            )
            if state.connector is not None and state.connector.generation == control.record.generation:
                control.fence_slots()
        except IgniteKafkaError as error:
            log.warning("open transactions could not be aborted; they end by their timeout: %s", error)

    def _retry(self, call: Callable[[], T]) -> T:
        """Repeat a call to Kafka while brokers are down, at most for `retry_timeout_ms`."""
        reasons: list[str] = []

        def failed(error: IgniteKafkaError) -> None:
            if not reasons:
                seconds = self._settings.retry_timeout_ms // 1000
                events.emit(events.KAFKA_AWAITED, connector=self._settings.name, seconds=seconds, reason=str(error))
            elif str(error) != reasons[-1]:
                log.warning("retrying: %s", error)
            reasons.append(str(error))
            self._check_tasks()

        def may_pass(error: IgniteKafkaError) -> bool:
            return isinstance(error, KafkaUnavailable) and not self._request.stop.is_set()

        return retry(call, self._settings.retry_timeout_ms / 1000, may_pass, failed=failed)

    def _state(self) -> ConnectorState:
        """Read the connector's state (generation, snapshot, slots) from the configs topic."""
        prefix = self._settings.internal_topic_prefix
        name = self._settings.name
        return self._retry(lambda: read_connector(self._clients, self._topics, prefix, name))

    def _configs_writer(self) -> ConfigsWriter:
        """Open the writer of the connector's records in the configs topic; it is closed when the run ends."""
        settings = self._settings
        writer = ConfigsWriter(
            self._clients, self._topics, settings.internal_topic_prefix, settings.name, settings.runs_kept
        )
        self._stack.callback(writer.close)
        return writer

    def _claim(self, control: ConfigsWriter, slots: int, seen: ConnectorState) -> ConnectorState:
        """Claim the connector under a new generation, which fences earlier runs; see :meth:`.ConfigsWriter.take`.

        :raises Retired: a role transition ended the connector.
        """
        settings = self._settings
        _refuse_retired(settings.name, seen, self._request.transition)
        claimed = self._retry(
            lambda: control.take(slots, self._request.run_id, settings.to_dict(), settings.replication_factor, seen)
        )
        _refuse_retired(
            settings.name, claimed, self._request.transition
        )  # it may have been retired since `seen` was read
        return claimed

    def _check_admitted(self) -> None:
        """Check that no role transition has retired the connector since it was claimed.

        :raises Retired: one has.
        """
        _refuse_retired(self._settings.name, self._state(), self._request.transition)

    def _check_tasks(self) -> None:
        """Raise the error of a failed task, so that the driver does not retry for longer than its tasks."""

    def _start(self, work: Work, tasks: int, description: str) -> Job:
        """Start a Spark job of this run in the background; see :class:`Job`."""
        self._errors.forget(self._reported_events())
        return Job(
            self._spark,
            self._errors,
            work,
            tasks,
            f"ignite-kafka-{self._request.run_id}",
            f"{self._settings.name}: {description}",
        )

    def _publish(self, wait_s: float = REQUEST_TIMEOUT_S) -> None:
        self._errors.emit_noted()
        counts = add_events(self._events.counts(), self._errors.count_events(self._reported_events()))
        self._status = replace(self._status, events=event_totals(counts))
        self._metrics.update(self._status)
        self._metrics.update_measured(self._measured())
        if self._writer is not None and self._recorder is not None and self._history is not None:
            self._recorder.record(counts)
            self._history.record(self._status, self._metrics.lag, self._metrics.latency)
            self._writer.run(self._status, wait_s)
        self._request.report(self._status)

    def _measured(self) -> Measurements:
        """Return what the run's tasks have measured so far."""
        return Measurements()

    def _reported_events(self) -> TaskEvents:
        """Return counts of the events that running tasks have reported, by the first slot of each task."""
        return {}

    def _publish_progress(self) -> None:
        """Publish the status record; unavailable brokers are only logged, because the tasks decide when to give up."""
        try:
            self._publish(BRIEF_S)
            self._reachable = True
        except KafkaUnavailable as error:
            self._reachable = False
            log.warning("progress could not be written: %s", error)

    def _end(self, state: str, error: Mapping[str, object] | None = None) -> bool:
        """Write the run's last status record, and return whether it was written; after a success it always is."""
        succeeded = error is None
        if not succeeded and self._continued_by_a_later_attempt():
            log.warning(
                "YARN's next attempt has continued this run: the end of this attempt is not recorded as that of the run"
            )
            return False
        self._status = replace(self._status, state=state, ended_ms=status.now_ms(), error=error)
        try:
            if succeeded:
                self._retry(self._publish)
            else:
                self._publish(BRIEF_S)
        except IgniteKafkaError as unwritten:
            if succeeded:
                raise
            log.error("the status record could not be written: %s", unwritten)
            return False
        return True

    def _continued_by_a_later_attempt(self) -> bool:
        """Return whether a later YARN attempt of this run owns the connector; its record must not be overwritten."""
        own = self._status.generation
        if not own:
            return False
        try:
            clients = replace(self._clients, patience_s=BRIEF_S)
            owner = read_connector(
                clients, Topics(clients), self._settings.internal_topic_prefix, self._settings.name
            ).connector
        except IgniteKafkaError as unknown:
            log.info("whether another attempt has continued the run is not known: %s", unknown)
            return False
        return owner is not None and owner.run_id == self._request.run_id and owner.generation > own


def _refuse_retired(connector: str, state: ConnectorState, transition: str) -> None:
    if state.retirement is not None and state.retirement.transition != transition:
        raise Retired(
            f"a {state.retirement.reason} ended this connector, and no run of it may begin",
            "Run the pair of the other direction, or undo it: docs/disaster.md.",
            connector=connector,
            transition=state.retirement.transition,
        )


def _refuse_speculation(spark: SparkSession) -> None:
    if spark.sparkContext.getConf().get("spark.speculation", "false") == "true":
        raise SettingsError(
            "spark.speculation is on: two attempts of one task would fence each other",
            "Set spark.speculation to false for this app.",
            setting="spark.speculation",
        )


def _state_of(error: IgniteKafkaError) -> str:
    return {3: status.FENCED, 4: status.UNKNOWN}.get(error.exit_code, status.FAILED)


def _interrupted(error: BaseException) -> Interrupted | None:
    """Return the error to record if Ctrl-C or SIGTERM ended the run; else None."""
    if not isinstance(error, (KeyboardInterrupt, SystemExit)):
        return None
    by = "Ctrl-C (SIGINT)" if isinstance(error, KeyboardInterrupt) else "SIGTERM"
    return Interrupted(f"the run was ended by {by}", "Run it again: it continues after what was committed.")


def _wrapped(error: BaseException) -> IgniteKafkaError:
    return IgniteKafkaError(f"{type(error).__name__}: {in_message(str(error)[:2000])}", "See the driver's log.")
