"""Run of a snapshot: sends every entry of the planned caches to its topic, exactly once under a snapshot id.

The driver plans, claims the connector, follows progress and ends the snapshot. Each Spark task copies whole slots
(:mod:`.task`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace

from pyspark.sql import SparkSession

from ... import events
from ...common.deadline import Interval
from ...common.measurements import Measurements
from ...common.new_id import new_id
from ...errors import IgniteKafkaError, SnapshotConflict
from ...ignite.cache_configuration import CacheConfiguration
from ...ignite.cluster import Cluster
from ...plan.slots import slots_of_tasks
from ...plan.source_plan import TransferPlan
from ...runtime import parallelism
from ...runtime.clients import connected, ignite_cluster
from ...runtime.connector_run import POLL_S, ConnectorRun, RunRequest
from ...runtime.counts import add_counts
from ...runtime.epoch import LONGEST_S
from ...runtime.notifications import Notifications
from ...runtime.silent_tasks import SILENCE_CHECK_S, SilenceWatch, longest_silence_s
from ...runtime.spark_job import Job, RunSlots, slot_work
from ...settings.secrets import Secrets
from ...settings.source import SourceSettings
from ...state import status
from ...state.configs import ConnectorState, SnapshotRecord
from ...state.configs_writer import ConfigsWriter
from ...state.sent_topics import check_complete, check_plan
from ...state.status import CacheStatus, RunStatus
from ..expiring_entries import report_expiry_policies
from ..planning import cache_configurations, continue_plan, make_plan, register_schemas
from ..topic_creation import ensure_topics, ensure_types_topic
from .notices import SnapshotNotices
from .progress import SnapshotProgress
from .task import copy_slots


def run_snapshot(
    spark: SparkSession,
    request: RunRequest[SourceSettings],
    *,
    connect: Callable[[SourceSettings, Secrets], Cluster] = ignite_cluster,
    run_slots: RunSlots = copy_slots,
) -> RunStatus:
    """Run a snapshot to its end, or continue an unfinished one. The run's status record is always written.

    :param connect: connects the driver to the cluster.
    :param run_slots: copies slots on an executor.
    :returns: the run's record, state COMPLETED.
    :raises IgniteKafkaError: the error that ended the run; committed entries stay and are not sent again under the same
        snapshot id.
    """
    with ExitStack() as stack:
        return SnapshotRun(spark, request, stack, connect, run_slots).run()


class SnapshotRun(ConnectorRun[SourceSettings]):
    """Driver of one snapshot run: plans, claims the connector, starts the Spark job and records the end."""

    def __init__(
        self,
        spark: SparkSession,
        request: RunRequest[SourceSettings],
        stack: ExitStack,
        connect: Callable[[SourceSettings, Secrets], Cluster],
        run_slots: RunSlots,
    ) -> None:
        super().__init__(spark, request, stack)
        self._connect = connect
        self._run_slots = run_slots
        self._progress: SnapshotProgress | None = None

    def _measured(self) -> Measurements:
        return Measurements() if self._progress is None else self._progress.reports.measured.total()

    def _run(self) -> None:
        state = self._state()
        snapshot_id = self._request.snapshot_id or _snapshot_id(state)
        self._status = replace(self._status, snapshot_id=snapshot_id)
        if self._already_complete(state, snapshot_id):
            return
        planned, resumed, configurations = self._retry(lambda: self._plan(state, snapshot_id))
        self._retry(lambda: check_plan(planned, state.snapshot, self._clients, self._topics))
        control = self._configs_writer()
        claimed = self._claim(control, planned.slots, state)
        if claimed.snapshot != state.snapshot:
            raise SnapshotConflict(
                "another run of the connector began or ended a snapshot meanwhile", "Start the run again."
            )
        self._retry(lambda: ensure_types_topic(self._settings, self._topics))
        self._retry(lambda: control.write_caches(configurations))
        report_expiry_policies(self._settings, configurations.values())
        plan = replace(self._retry(lambda: ensure_topics(planned, self._topics)), generation=control.record.generation)
        record = SnapshotRecord(snapshot_id, plan.to_dict())
        # a continued snapshot is written again for the ids of its topics, which a record of 0.1.0 lacks
        ends = self._retry(lambda: control.begin(record, claimed.snapshot))
        self._check_admitted()  # a transition that comes later finds the generation that has just been published
        events.emit(
            events.RUN_STARTED, connector=plan.connector, run_id=self._request.run_id, generation=plan.generation
        )
        if resumed:
            events.emit(events.SNAPSHOT_CONTINUED, connector=plan.connector, snapshot_id=snapshot_id)
        else:
            units = sum(cache.partitions for cache in plan.caches)
            events.emit(events.SNAPSHOT_BEGUN, connector=plan.connector, snapshot_id=snapshot_id, units=units)
            self._report_superseded(claimed, snapshot_id)
        self._copy(plan, control, record, None if resumed else ends)

    def _report_superseded(self, claimed: ConnectorState, snapshot_id: str) -> None:
        before = claimed.snapshot
        if before is not None and not before.complete:
            events.emit(
                events.SNAPSHOT_SUPERSEDED, connector=self._settings.name, snapshot_id=before.id, newer=snapshot_id
            )

    def _already_complete(self, state: ConnectorState, snapshot_id: str) -> bool:
        ended = state.ended.get(snapshot_id)
        if ended and ended["superseded_by"]:
            raise SnapshotConflict(
                f"snapshot {ended['superseded_by']!r} was begun before this one was complete",
                "Begin a new snapshot under a new id: which entries this one has sent is no longer known.",
                snapshot_id=snapshot_id,
            )
        if not ended or not ended["complete"]:
            return False
        if state.snapshot is not None and state.snapshot.id == snapshot_id:
            check_complete(state.snapshot, self._topics)
        caches = {name: CacheStatus(**counts) for name, counts in ended["caches"].items()}
        events.emit(events.SNAPSHOT_ALREADY_COMPLETE, connector=self._settings.name, snapshot_id=snapshot_id)
        self._status = replace(self._status, caches=caches, already_complete=True)
        self._end(status.COMPLETED)
        return True

    def _plan(
        self, state: ConnectorState, snapshot_id: str
    ) -> tuple[TransferPlan, bool, Mapping[str, CacheConfiguration]]:
        """Plan a new snapshot, or continue the stored plan of an unfinished one; also read the caches' configurations.

        :returns: the plan, whether it continues an earlier run's snapshot, and the configurations by topic.
        """
        with self._connect(self._settings, self._secrets) as cluster, connected(self._settings):
            self._record_nodes(cluster)
            if state.snapshot is not None and state.snapshot.id == snapshot_id:
                stored = TransferPlan.from_dict(dict(state.snapshot.plan))
                plan = continue_plan(stored, self._settings, self._topics)
                resumed = True
            else:
                slots = parallelism.slots(self._settings, state, parallelism.cores(self._spark))
                plan = make_plan(self._settings, cluster, self._topics, snapshot_id, slots)
                resumed = False
            register_schemas(self._settings, plan.caches, cluster)
            return plan, resumed, cache_configurations(plan.caches, cluster, self._settings.cache_header)

    def _copy(
        self, plan: TransferPlan, control: ConfigsWriter, record: SnapshotRecord, ends: tuple[int, ...] | None
    ) -> None:
        """Copy all entries by a Spark job, and record that the snapshot is complete.

        :param ends: end of each slot's offsets when a new snapshot began; None: the snapshot is continued.
        """
        notifications = self._retry(lambda: Notifications(self._clients, self._topics, self._settings))
        self._stack.callback(notifications.close)
        notices = SnapshotNotices(notifications.send, plan.snapshot_id)
        self._stack.callback(lambda: notices.end(self._status))
        progress = self._retry(lambda: SnapshotProgress(self._clients, self._topics, plan, from_start=ends is None))
        self._stack.callback(progress.close)
        self._progress = progress
        self._status = replace(self._status, generation=plan.generation, caches=planned_counts(plan))
        self._retry(self._publish)
        tasks = slots_of_tasks(plan.slots, parallelism.tasks(self._settings, parallelism.cores(self._spark)))
        work = slot_work(self._run_slots, plan, tasks, self._request.secrets_file, ends)
        job = self._start(work, len(tasks), f"snapshot {plan.snapshot_id}")
        try:
            self._follow(job, progress, plan, notices)
            results = job.result()
            for result in results:
                progress.reports.measured.update(result.slot, (0, result.attempt), result.measured)
            caches = add_counts(planned_counts(plan), [result.caches for result in results])
        except BaseException:
            job.cancel()
            self._settle(control)
            raise
        _check_all_done(plan, caches)
        self._status = replace(self._status, caches=caches)
        counts = {name: vars(count) for name, count in caches.items()}
        self._retry(lambda: control.end_snapshot(record, counts))
        records = sum(count.records for count in caches.values())
        events.emit(events.SNAPSHOT_COMPLETE, connector=plan.connector, snapshot_id=plan.snapshot_id, records=records)
        events.emit(events.RUN_COMPLETED, connector=plan.connector, run_id=self._request.run_id)
        self._end(status.COMPLETED)

    def _follow(self, job: Job, progress: SnapshotProgress, plan: TransferPlan, notices: SnapshotNotices) -> None:
        """Publish progress until the Spark job ends; raise the error of the first task that has finally failed."""
        report = Interval(self._settings.progress_interval_ms / 1000)
        settings = self._settings
        checks = Interval(SILENCE_CHECK_S)
        silence = SilenceWatch(settings.progress_interval_ms, max(LONGEST_S, longest_silence_s(settings)))
        while not job.ended(POLL_S):
            job.check()
            progress.poll()
            if checks.due():
                running = job.running()  # a task of a snapshot shows that it is alive by its commits only
                silence.check(running, [progress.committed_at] * running)
            if progress.error is not None:
                raise progress.error
            if report.due():
                self._status = replace(self._status, caches=add_counts(planned_counts(plan), [progress.caches]))
                self._publish_progress()
                notices.progress(self._status.caches)


def _snapshot_id(state: ConnectorState) -> str:
    """Return the id of the last snapshot if it is unfinished, so that the run continues it; else a new id."""
    if state.snapshot is not None and not state.snapshot.complete:
        return state.snapshot.id
    return new_id()


def planned_counts(plan: TransferPlan) -> dict[str, CacheStatus]:
    """Return the status of each planned cache before any entry is sent."""
    return {cache.name: CacheStatus(cache.topic, units=cache.partitions) for cache in plan.caches}


def _check_all_done(plan: TransferPlan, caches: Mapping[str, CacheStatus]) -> None:
    for cache in plan.caches:
        if caches[cache.name].units_done != cache.partitions:
            raise IgniteKafkaError(
                f"{caches[cache.name].units_done} of {cache.partitions} partitions are done although no task failed",
                "This is a fault of the program: please report it with the driver's log. The snapshot stays "
                "unfinished.",
                cache=cache.name,
                snapshot_id=plan.snapshot_id,
            )
