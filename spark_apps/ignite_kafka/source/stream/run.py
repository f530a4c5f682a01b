"""Run of a stream: sends the entries of the chosen caches, then every change, once and in order.

The driver captures the caches, plans and claims the connector. Then it runs epoch after epoch
(:mod:`~ignite_kafka.runtime.epoch`), each with the current caches and cores, and follows the target state. With
``run_mode`` once it ends when all changes from before the run are sent.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property

from pyspark.sql import SparkSession

from ... import events
from ...common.deadline import Deadline
from ...common.measurements import Measurements, add_measurements
from ...common.new_id import new_id
from ...errors import BacklogRefused, CacheDestroyed, CacheNotFound, IgniteKafkaError, SettingsError
from ...ignite.backlog_service import HAS_ENDS
from ...ignite.cluster import Cluster
from ...plan.source_plan import TransferPlan
from ...runtime import parallelism
from ...runtime.clients import connected, ignite_cluster
from ...runtime.connector_run import RunRequest
from ...runtime.counts import SlotResult, counts_of
from ...runtime.driver_consumer import DriverConsumer
from ...runtime.epoch import LOADING_S, STREAMING_S, Epoch, Running, Unit
from ...runtime.epoch_run import CHECK_S, EpochRun
from ...runtime.spark_job import Job, Work, slot_work
from ...settings.metrics import exposes_metrics
from ...settings.source import SourceSettings
from ...state import status
from ...state import target_state as target
from ...state.configs import SnapshotRecord
from ...state.sent_topics import check_plan
from ...state.signal_records import Signal
from ...state.status import RunStatus, TaskProgress, Waiting
from ..expiring_entries import report_expiry_policies
from ..planning import cache_configurations, make_plan, register_schemas
from ..snapshot.notices import SnapshotNotices
from ..snapshot.run import planned_counts
from ..topic_creation import ensure_topics, ensure_types_topic
from .backlog_lag import held_by_tasks
from .backlog_watch import BacklogWatch
from .capture import Capture, Deployments, deployment_of, owner_of
from .heartbeats import Heartbeats, destroy_heartbeats, heartbeat_cache
from .query_capture import capture_of
from .signal_check import signal_fault
from .start_policy import StartState, loads_after_change, start_policy
from .stream_signals import RunParts, StreamSignals

log = logging.getLogger(__name__)


def run_stream(spark: SparkSession, request: RunRequest[SourceSettings]) -> RunStatus:
    """Send entries and changes until stopped or, with ``run_mode`` once, until caught up.

    :returns: the run's record: COMPLETED when caught up, STOPPED when stopped.
    :raises IgniteKafkaError: the error that ended the run; the next run continues from the committed offsets.
    """
    with ExitStack() as stack:
        return StreamRun(spark, request, stack).run()


class StreamRun(EpochRun[SourceSettings]):
    """Driver of a stream's run, which captures by the backlog service or by continuous queries."""

    def __init__(self, spark: SparkSession, request: RunRequest[SourceSettings], stack: ExitStack) -> None:
        """Prepare the run; :meth:`run` connects, plans and captures."""
        super().__init__(spark, request, stack)
        # set once, by _run and _begin
        self._cluster: Cluster
        self._capture: Capture
        self._notices: SnapshotNotices | None = None  # of the initial snapshot, if this run sends it
        self._signals: StreamSignals
        self._until: Mapping[Unit, int] | None = None  # of a run that ends: see Epoch
        # changed between epochs
        self._plan: TransferPlan
        self._deployments: Deployments = {}  # of the plan's caches
        self._loaded = False  # whether the entries of all caches of the plan are sent
        self._heartbeats: Heartbeats | None = None
        self._rate_due = Deadline.after(0.0)  # when the next epoch may send, by max_records_per_second

    def _run(self) -> None:
        """Run the stream to its end.

        1. Connect, and check that the nodes can capture.
        2. Plan, claim the connector, begin the capture and the snapshot (:meth:`_begin`).
        3. Publish the run's first status.
        4. Note where a run with ``run_mode`` once ends.
        5. Run epochs until everything is sent, or a stop is requested.
        6. Write the run's last record; a stopped run ends the capture, unless the next run continues it.
        """
        # 1. connect
        settings = self._settings
        cluster = self._stack.enter_context(ignite_cluster(settings, self._secrets))
        owner = self._retry(lambda: owner_of(self._topics, settings.internal_topic_prefix))
        self._cluster = cluster
        self._capture = self._retry(lambda: capture_of(settings, cluster, owner))
        self._capture.check()
        self._record_nodes(cluster)
        self._stack.enter_context(connected(settings))
        # 2. plan, claim, capture
        self._begin()
        # 3. publish
        events.emit(
            events.RUN_STARTED, connector=settings.name, run_id=self._request.run_id, generation=self._plan.generation
        )
        self._status = replace(
            self._status,
            snapshot_id=self._plan.snapshot_id,
            generation=self._plan.generation,
            caches=planned_counts(self._plan),
            state=self._target,
        )
        self._retry(self._publish)
        # 4. note the end
        once = settings.run_mode == "once"
        self._until = self._capture.highest_numbers() if once else None
        # 5. run epochs; 6. write the last record
        if self._epochs(ends=once):
            self._close_run(status.COMPLETED)
        else:
            self._stopped()

    def _begin(self) -> None:
        """Plan, claim the connector, capture the caches, and record the snapshot that begins."""
        settings = self._settings
        state = self._state()
        if settings.run_mode == "once" and self._requested_target() == target.PAUSED:
            remedy = f"Resume it with `ignite-kafka resume {settings.name}`"
            raise SettingsError("the connector is paused", remedy, connector=settings.name)
        # settings and caches are checked before the connector is claimed
        slots = parallelism.slots(settings, state, parallelism.cores(self._spark))
        snapshot_id = self._request.snapshot_id or new_id()
        plan = self._retry(lambda: make_plan(settings, self._cluster, self._topics, snapshot_id, slots))
        self._control = control = self._configs_writer()
        claimed = self._claim(control, slots, state)
        self._capture.secret = self._retry(lambda: control.ensure_capture_secret(claimed))
        self._open_heartbeats()
        captured, self._deployments = self._start_capture(plan, claimed.snapshot)
        self._retry(lambda: check_plan(captured, claimed.snapshot, self._clients, self._topics))
        self._plan = self._with_topics(captured, {cache.name for cache in captured.caches}, control.record.generation)
        self._loaded = False
        self._retry(lambda: control.begin(self._record(), claimed.snapshot))
        self._consumer = self._retry(lambda: DriverConsumer(self._clients, self._topics, self._plan))
        self._stack.callback(self._consumer.close)
        self._adopt_target()
        self._follow_signals(claimed.snapshot)

    def _with_topics(self, plan: TransferPlan, added: Set[str], generation: int) -> TransferPlan:
        """Create the plan's topics, publish added caches' configurations for sinks, and add topic ids to the plan."""
        chosen = [cache for cache in plan.caches if cache.name in added]
        self._retry(lambda: register_schemas(plan.settings, chosen, self._cluster))
        self._retry(lambda: ensure_types_topic(self._settings, self._topics))
        configurations = self._retry(lambda: cache_configurations(chosen, self._cluster, plan.settings.cache_header))
        self._retry(lambda: self._control.write_caches(configurations))
        report_expiry_policies(self._settings, configurations.values())
        return replace(self._retry(lambda: ensure_topics(plan, self._topics)), generation=generation)

    # capture

    def _start_capture(self, plan: TransferPlan, before: SnapshotRecord | None) -> tuple[TransferPlan, Deployments]:
        """Start or continue the capture of the planned caches.

        :returns: the plan as decided by :func:`.start_policy`, and the captured caches.
        """
        settings = self._settings
        present = self._capture.present()
        if settings.failover_policy == "NONE" and present is not None:
            self._capture.stop()  # changes of the time when nothing ran are not sent
        deployments = self._capture.deployments()
        planned_caches = [cache for cache in plan.caches if cache.name in deployments]
        captured = self._capture.start([cache.name for cache in planned_caches])
        self._capture.report_begun(len(planned_caches), captured.capture_id)
        state = StartState(
            before, self._request.snapshot_id, present.capture_id if present else None, captured.capture_id
        )
        decision = start_policy(settings.failover_policy, settings.load_initial_data, state, plan.snapshot_id, new_id())
        if decision.lost_capture is not None:
            events.emit(events.CAPTURE_LOST, connector=plan.connector, capture_id=decision.lost_capture)
        caches = tuple(
            replace(captured.named(cache, deployments[cache.name]), load=decision.loads.get(cache.name, decision.load))
            for cache in planned_caches
        )
        heartbeat = captured.incarnations.get(self._capture.heartbeat_cache, "")
        plan = replace(plan, caches=caches, snapshot_id=decision.snapshot_id, capture_id=captured.capture_id)
        plan = replace(plan, heartbeat_incarnation=heartbeat)
        return plan, captured.seen({cache.name: deployments[cache.name] for cache in planned_caches})

    def _record(self) -> SnapshotRecord:
        return SnapshotRecord(self._plan.snapshot_id, self._plan.to_dict())

    # epochs

    @property
    def _run_plan(self) -> TransferPlan:
        return self._plan

    @property
    def _refresh_interval_ms(self) -> int:
        return self._settings.cache_list_poll_interval_ms

    def _next_epoch(self, number: int, configs_offset: int) -> Epoch:
        longest_s = self._capture.longest_epoch_s
        return Epoch(number, configs_offset, self._until, longest_s, self._rate_due.remaining(), self._signals.take())

    def _epoch(self, epoch: Epoch, *, ends: bool) -> bool:
        # a signal that came meanwhile is sent before a run that ends by itself does
        return super()._epoch(epoch, ends=ends) and self._signals.none_waits

    @property
    def _cores_s(self) -> float:
        return STREAMING_S if self._loaded else LOADING_S

    def _work(self, epoch: Epoch, tasks: Sequence[Sequence[int]]) -> Work | None:
        if not self._plan.caches:
            return None
        return slot_work(self._capture.run_slots(), self._plan, tasks, self._request.secrets_file, epoch)

    def _tasks(self, cores: int) -> tuple[tuple[int, ...], ...]:
        return self._capture.tasks(self._plan, parallelism.tasks(self._settings, cores))

    def _other_cores(self, job: Job, running: Running) -> bool:
        if self._capture.follows_cores:
            return super()._other_cores(job, running)
        return not job.all_run()

    def _tolerates(self, error: BaseException) -> bool:
        if not _is_gone(error) or self._settings.run_mode == "once":
            return False
        self._capture.made_again(error)
        return True

    def _on_epoch_end(self, epoch: Epoch, results: Sequence[SlotResult]) -> None:
        self._add([result.caches for result in results], planned_counts(self._plan))
        if not self._capture.has_backlog:  # the tasks have sent all that they held
            self._metrics.update_waiting({cache.name: Waiting() for cache in self._plan.caches})
        self._rate_due = Deadline.after(sum(result.ahead_s for result in results) / len(results))
        self._signals.add_results(results)
        self._publish_progress()
        if all(result.loaded for result in results):
            self._all_loaded()

    @cached_property
    def _backlog_watch(self) -> BacklogWatch:
        return BacklogWatch(self._capture.lag, CHECK_S)

    def _open_heartbeats(self) -> None:
        settings = self._settings
        if settings.heartbeat_interval_ms and settings.run_mode != "once" and self._capture.has_backlog:
            beats = self._retry(lambda: Heartbeats(self._cluster, self._clients, self._topics, settings))
            self._heartbeats = beats
            self._stack.callback(beats.close)
            self._capture.heartbeat_cache = beats.cache

    def _measured(self) -> Measurements:
        own = [] if self._heartbeats is None else [self._heartbeats.collector.measured()]
        return add_measurements((super()._measured(), *own))

    def _watch_lag(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.step(sends=self._job is not None)
            self._metrics.update_heartbeat(self._heartbeats.newest_s)
        is_wanted = self._capture.contract >= HAS_ENDS or exposes_metrics(self._settings)  # older nodes read all of it
        if not (self._capture.has_backlog and self._plan.caches and is_wanted):
            return
        lag = self._backlog_watch.read()
        if lag is not None:
            self._metrics.update_waiting(lag.waiting(), lag.nodes)

    def _on_progress(self, tasks: Sequence[TaskProgress], of: int) -> None:
        if not self._capture.has_backlog:
            self._metrics.update_waiting(held_by_tasks(tasks))
        self._add([counts_of(task) for task in tasks], planned_counts(self._plan))
        self._signals.record()
        if self._notices is not None:
            self._notices.progress(self._status.caches)
        self._publish_progress()
        if len(tasks) == of and all(task.loaded for task in tasks):
            self._all_loaded()

    def _all_loaded(self) -> None:
        if not self._loaded:
            self._loaded = True
            if self._notices is not None:
                self._notices.complete(self._status.caches)
            counts = {name: vars(count) for name, count in self._status.caches.items()}
            self._retry(lambda: self._control.end_snapshot(self._record(), counts))

    # signals and notifications

    def _follow_signals(self, before: SnapshotRecord | None) -> None:
        """Read the connector's signals, and begin the notifications of an initial snapshot that is not complete.

        :param before: the connector's snapshot before this run.
        """
        assert self._writer is not None
        parts = RunParts(
            self._clients,
            self._topics,
            self._settings,
            self._request.run_id,
            self._control,
            self._writer,
            self._consumer,
            self._retry,
        )
        self._signals = StreamSignals(parts, self._signal_fault)
        self._stack.callback(self._signals.close)
        is_complete = before is not None and before.complete and before.id == self._plan.snapshot_id
        if not is_complete and any(cache.load for cache in self._plan.caches):
            self._notices = notices = SnapshotNotices(self._signals.notifications.send, self._plan.snapshot_id)
            self._stack.callback(lambda: notices.end(self._status))

    def _signal_fault(self, signal: Signal) -> str:
        return signal_fault(signal, self._plan, self._cluster, has_service=self._capture.has_backlog)

    def _other_work(self, running: Running) -> bool:
        return self._target == target.RUNNING and self._signals.other_work(running)

    # caches that come and go

    def _changed(self) -> bool:
        return self._seen() != self._deployments or self._capture.heartbeats_renewed

    def _seen(self) -> Deployments:
        """Read the existing caches, to detect changes; while the nodes do not answer, return the last result."""
        try:
            return self._capture.seen()
        except IgniteKafkaError as error:
            if error.final:
                raise
            log.warning("the caches of the cluster cannot be read: %s", error)
            return self._deployments

    def _refresh_plan(self, epoch: int) -> None:
        """Add new caches to the plan of the next epoch, and drop destroyed ones.

        A cache that was created again is both dropped and new, as is a cache that was emptied by a deactivation of the
        cluster, or that lost its captured changes.
        """
        before = self._deployments
        now = self._seen()
        if now == before and not self._capture.heartbeats_renewed:
            return
        try:
            plan = make_plan(self._settings, self._cluster, self._topics, self._plan.snapshot_id, self._plan.slots)
            captured = self._capture.start([cache.name for cache in plan.caches])
        except IgniteKafkaError as error:
            if error.final and not _is_gone(error):
                raise
            log.warning("the caches changed while they were read: %s", error)
            return
        # a cache made again since is seen next time
        now = captured.seen({name: deployment_of(value) for name, value in now.items()})
        fresh = {name for name in now if now[name] != before.get(name)}
        lost = {name for name in fresh if deployment_of(now[name]) == deployment_of(before.get(name, ""))}
        settings = self._settings
        loads = {cache.name: cache.load for cache in self._plan.caches}
        loads = loads_after_change(settings.failover_policy, settings.load_initial_data, loads, fresh, lost)
        named = [captured.named(cache, deployment_of(now[cache.name])) for cache in plan.caches if cache.name in now]
        caches = [replace(cache, load=loads.get(cache.name, True)) for cache in named]
        if self._plan.capture_id and captured.capture_id != self._plan.capture_id:
            events.emit(events.CAPTURE_LOST, connector=self._plan.connector, capture_id=self._plan.capture_id)
        self._report_changes(fresh, before.keys() - now.keys())
        heartbeat = captured.incarnations.get(self._capture.heartbeat_cache, "")
        plan = replace(plan, caches=tuple(caches), capture_id=captured.capture_id, heartbeat_incarnation=heartbeat)
        self._retry(lambda: check_plan(plan, self._record(), self._clients, self._topics))
        self._signals.change_plan(self._plan, plan)
        self._plan = self._with_topics(plan, fresh, self._plan.generation)
        self._loaded = self._loaded and not fresh
        self._retry(lambda: self._control.begin_epoch(epoch + 1, self._record()))
        counts = {**planned_counts(self._plan), **self._status.caches}
        self._status = replace(self._status, caches=counts)
        self._deployments = now

    def _report_changes(self, added: Set[str], dropped: Set[str]) -> None:
        names = {"added": ", ".join(sorted(added)) or "none", "dropped": ", ".join(sorted(dropped)) or "none"}
        if added or dropped:  # else the cache of heartbeats is another one
            events.emit(events.CACHES_CHANGED, connector=self._plan.connector, **names)

    def _stopped(self) -> None:
        """End a stopped run, and its capture unless policy BACKLOG keeps the capture for the next run."""
        if self._settings.failover_policy != "BACKLOG":
            self._capture.stop()
            destroy_heartbeats(self._cluster, self._settings.name, [heartbeat_cache(self._settings)])
        else:
            events.emit(events.CAPTURE_KEPT, connector=self._settings.name)
        self._close_run(status.STOPPED)


def _is_gone(error: BaseException) -> bool:
    """Return whether an error only means a destroyed cache, so that the stream can continue without the cache."""
    refused = isinstance(error, BacklogRefused) and error.where.get("code") == "UNKNOWN_CACHE"
    return refused or isinstance(error, (CacheDestroyed, CacheNotFound))
