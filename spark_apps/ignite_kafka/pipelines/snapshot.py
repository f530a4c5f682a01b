"""The snapshot pipeline: every entry of the planned caches into their topics, exactly once under a snapshot id.

One Spark task copies whole slots (:mod:`.slot_copy`); the driver plans, takes the connector, follows progress and closes the snapshot.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from .. import events
from ..errors import IgniteKafkaError, KafkaUnavailable, SettingsError, SnapshotConflict
from ..kafka import status
from ..kafka.clients import BRIEF_S, REQUEST_TIMEOUT_S
from ..kafka.control import Control, ControlState, SnapshotRecord, read_control
from ..kafka.status import CacheStatus, RunStatus, StatusWriter
from ..kafka.topics import Topics
from ..offsets import slots_of_tasks
from ..plan import TransferPlan
from ..secrets import Secrets
from ..secrets_file import SecretsFile
from ..settings import SourceSettings
from .connect import ignite_cluster, kafka_clients
from .planning import continue_plan, ensure_topics, make_plan
from .progress import Progress
from .slot_copy import SlotResult
from .slot_job import Job, copied

log = logging.getLogger(__name__)

_POLL_S = 0.2

Report = Callable[[RunStatus], None]


@dataclass(frozen=True)
class SnapshotRequest:
    """What to run.

    :param snapshot_id: None continues the last unfinished snapshot of the connector, or begins one.
    :param secrets_file: where executors find the secrets; None: there are none.
    """

    settings: SourceSettings
    run_id: str
    snapshot_id: str | None = None
    secrets_file: SecretsFile | None = None
    report: Report = lambda _status: None


def run_snapshot(spark: SparkSession, request: SnapshotRequest) -> RunStatus:
    """Run or continue a snapshot to its end; the status record of the run is written whatever happens.

    :returns: the run's record, state COMPLETED.
    :raises IgniteKafkaError: what ended the run; what was committed stays and is not sent again under the same snapshot id.
    """
    _refuse_speculation(spark)
    with ExitStack() as stack:
        return _Run(spark, request, stack).run()


class _Run:
    def __init__(self, spark: SparkSession, request: SnapshotRequest, stack: ExitStack) -> None:
        self._spark, self._request, self._settings, self._stack = spark, request, request.settings, stack
        self._secrets = request.secrets_file.load() if request.secrets_file else Secrets()
        self._clients = kafka_clients(self._settings, self._secrets)
        self._status = RunStatus(status.RUNNING, self._settings.name, request.run_id, started_ms=status.now_ms())
        self._writer: StatusWriter | None = None

    def run(self) -> RunStatus:
        self._settings.emit_notices()
        self._clients.check()
        self._topics = Topics(self._clients)
        prefix = self._settings.internal_topic_prefix
        StatusWriter.ensure_topic(self._topics, prefix, self._settings.replication_factor)
        self._writer = StatusWriter(self._clients, prefix)
        try:
            self._run()
        except IgniteKafkaError as error:
            event = {3: events.RUN_FENCED, 4: events.OUTCOME_UNKNOWN}.get(error.exit_code, events.RUN_FAILED)
            events.emit(event, connector=self._settings.name, run_id=self._request.run_id, reason=str(error))
            self._end(_state_of(error), error=error.to_dict())
            raise
        except BaseException as error:
            self._end(status.STOPPED if isinstance(error, (KeyboardInterrupt, SystemExit)) else status.FAILED, error=_foreign(error))
            raise
        return self._status

    def _run(self) -> None:
        state = read_control(self._clients, self._topics, self._settings.internal_topic_prefix, self._settings.name)
        snapshot_id = self._request.snapshot_id or _snapshot_id(state)
        self._status = replace(self._status, snapshot_id=snapshot_id)
        if self._already_complete(state, snapshot_id):
            return
        plan, resumed = self._plan(state, snapshot_id)
        plan = ensure_topics(plan, self._topics)
        control = Control(self._clients, self._topics, self._settings.internal_topic_prefix, self._settings.name)
        self._stack.callback(control.close)
        found = control.take(plan.slots, self._request.run_id, self._settings.to_dict(), self._settings.replication_factor, state)
        if found.snapshot != state.snapshot:
            raise SnapshotConflict("another run of the connector began or ended a snapshot meanwhile", "Start the run again.")
        plan = replace(plan, generation=control.record.generation)
        record = SnapshotRecord(snapshot_id, plan.to_dict())
        ends = control.begin(None if resumed else record, found.snapshot)
        events.emit(events.RUN_STARTED, connector=plan.connector, run_id=self._request.run_id, generation=plan.generation)
        if resumed:
            events.emit(events.SNAPSHOT_CONTINUED, connector=plan.connector, snapshot_id=snapshot_id)
        else:
            units = sum(cache.partitions for cache in plan.caches)
            events.emit(events.SNAPSHOT_BEGUN, connector=plan.connector, snapshot_id=snapshot_id, units=units)
            self._tell_superseded(found, snapshot_id)
        self._copy(plan, control, record, None if resumed else ends)

    def _tell_superseded(self, found: ControlState, snapshot_id: str) -> None:
        before = found.snapshot
        if before is not None and not before.complete:
            events.emit(events.SNAPSHOT_SUPERSEDED, connector=self._settings.name, snapshot_id=before.id, newer=snapshot_id)

    def _already_complete(self, state: ControlState, snapshot_id: str) -> bool:
        ended = state.ended.get(snapshot_id)
        if ended and ended["superseded_by"]:
            raise SnapshotConflict(
                f"snapshot {ended['superseded_by']!r} was begun before this one was complete",
                "Begin a new snapshot under a new id: what this one has sent can no longer be told apart.",
                snapshot_id=snapshot_id,
            )
        if not ended or not ended["complete"]:
            return False
        caches = {name: CacheStatus(**counts) for name, counts in ended["caches"].items()}
        events.emit(events.SNAPSHOT_ALREADY_COMPLETE, connector=self._settings.name, snapshot_id=snapshot_id)
        self._status = replace(self._status, caches=caches, already_complete=True)
        self._end(status.COMPLETED)
        return True

    def _plan(self, state: ControlState, snapshot_id: str) -> tuple[TransferPlan, bool]:
        """The plan, and whether it continues a snapshot begun before."""
        with ignite_cluster(self._settings, self._secrets) as cluster:
            events.emit(events.IGNITE_CONNECTED, address=", ".join(self._settings.ignite_addresses))
            if state.snapshot is not None and state.snapshot.id == snapshot_id:
                stored = TransferPlan.from_dict(dict(state.snapshot.plan))
                return continue_plan(stored, self._settings, self._topics), True
            return make_plan(self._settings, cluster, self._topics, snapshot_id), False

    def _copy(self, plan: TransferPlan, control: Control, record: SnapshotRecord, ends: tuple[int, ...] | None) -> None:
        """:param ends: of the slots' offsets, where the snapshot is new; None where it goes on."""
        progress = Progress(self._clients, self._topics, plan, self._request.run_id, from_start=ends is None)
        self._stack.callback(progress.close)
        self._status = replace(self._status, generation=plan.generation, caches=_planned(plan))
        self._publish()
        tasks = slots_of_tasks(plan.slots, self._settings.tasks_max or self._spark.sparkContext.defaultParallelism)
        slots = copied(self._spark, plan, tasks, self._request.secrets_file, self._request.run_id, ends)
        job = Job(self._spark, slots, f"ignite-kafka-{self._request.run_id}", f"{plan.connector}: snapshot {plan.snapshot_id}")
        try:
            self._follow(job, progress)
            caches = _counts(plan, job.result())
        except BaseException:
            job.cancel()
            self._settle(plan, control)
            raise
        _check_all_done(plan, caches)
        self._status = replace(self._status, caches=caches)
        control.end_snapshot(record, {name: vars(count) for name, count in caches.items()})
        records = sum(count.records for count in caches.values())
        events.emit(events.SNAPSHOT_COMPLETE, connector=plan.connector, snapshot_id=plan.snapshot_id, records=records)
        events.emit(events.RUN_COMPLETED, connector=plan.connector, run_id=self._request.run_id)
        self._end(status.COMPLETED)

    def _follow(self, job: Job, progress: Progress) -> None:
        """Until the job ends: report what is committed, and end the job at the first task that failed for good."""
        next_report = time.monotonic() + self._settings.progress_interval_ms / 1000
        while not job.ended(_POLL_S):
            progress.poll()
            if progress.error is not None:
                raise progress.error
            if time.monotonic() >= next_report:
                next_report = time.monotonic() + self._settings.progress_interval_ms / 1000
                caches = {
                    name: replace(counts, records=progress.caches[name].records, units_done=progress.caches[name].units)
                    for name, counts in self._status.caches.items()
                }
                self._status = replace(self._status, caches=caches)
                self._publish_progress()

    def _publish_progress(self) -> None:
        """A broker that is away ends the run only where the tasks give up, after retry_timeout_ms."""
        try:
            self._publish(BRIEF_S)
        except KafkaUnavailable as error:
            log.warning("progress could not be written: %s", error)

    def _settle(self, plan: TransferPlan, control: Control) -> None:
        """Abort what failed tasks left open, so that no reader waits for its time-out; not where a newer run owns the slots."""
        try:
            self._clients.check(BRIEF_S)
            state = read_control(self._clients, self._topics, self._settings.internal_topic_prefix, plan.connector)
            if state.connector is not None and state.connector.generation == plan.generation:
                control.fence_slots()
        except IgniteKafkaError as error:
            log.warning("open transactions could not be settled, they end by their time-out: %s", error)

    def _publish(self, wait_s: float = REQUEST_TIMEOUT_S) -> None:
        if self._writer is not None:
            self._writer.run(self._status, wait_s)
        self._request.report(self._status)

    def _end(self, state: str, error: Mapping[str, object] | None = None) -> None:
        self._status = replace(self._status, state=state, ended_ms=status.now_ms(), error=error)
        try:
            self._publish(REQUEST_TIMEOUT_S if state == status.COMPLETED else BRIEF_S)
        except IgniteKafkaError as unwritten:
            if state == status.COMPLETED:
                raise
            log.error("the status record could not be written: %s", unwritten)


def _refuse_speculation(spark: SparkSession) -> None:
    if spark.sparkContext.getConf().get("spark.speculation", "false") == "true":
        raise SettingsError(
            "spark.speculation is on: two attempts of one task would fence each other",
            "Set spark.speculation to false for this app.",
            setting="spark.speculation",
        )


def _snapshot_id(state: ControlState) -> str:
    """The last unfinished snapshot's id, else a new one."""
    if state.snapshot is not None and not state.snapshot.complete:
        return state.snapshot.id
    return time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()) + uuid.uuid4().hex[:8]


def _planned(plan: TransferPlan) -> dict[str, CacheStatus]:
    return {cache.name: CacheStatus(cache.topic, units=cache.partitions) for cache in plan.caches}


def _counts(plan: TransferPlan, results: Sequence[SlotResult]) -> dict[str, CacheStatus]:
    """Counts of each cache over all slots; its seconds are those from its first read to its last commit in this run."""
    caches = {}
    for name, planned in _planned(plan).items():
        mine = [result.caches[name] for result in results]
        entries = sum(count.entries for count in mine)
        caches[name] = replace(
            planned,
            entries=entries,
            records=entries,
            bytes=sum(count.bytes for count in mine),
            units_done=sum(count.units for count in mine),
            seconds=max(count.ended for count in mine) - min((count.started for count in mine if count.started), default=0.0),
        )
    return caches


def _check_all_done(plan: TransferPlan, caches: Mapping[str, CacheStatus]) -> None:
    for cache in plan.caches:
        if caches[cache.name].units_done != cache.partitions:
            raise IgniteKafkaError(
                f"{caches[cache.name].units_done} of {cache.partitions} partitions are done although no task failed",
                "This is a fault of the program: please report it with the driver's log. The snapshot stays unfinished.",
                cache=cache.name,
                snapshot_id=plan.snapshot_id,
            )


def _state_of(error: IgniteKafkaError) -> str:
    return {3: status.FENCED, 4: status.UNKNOWN}.get(error.exit_code, status.FAILED)


def _foreign(error: BaseException) -> dict[str, object]:
    return IgniteKafkaError(f"{type(error).__name__}: {str(error)[:2000]}", "See the driver's log.").to_dict()
