"""The backlog pipeline: every change of the chosen caches into their topics, once and in order, after what was there before.

The driver captures, plans and takes the connector; then it runs epoch after epoch (:mod:`.stream.epoch`), each with the caches and cores of
its time, and follows what the user asks for. ``run_mode`` once ends when what had changed before the run is sent.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from pyspark.sql import SparkSession

from .. import events
from ..errors import BacklogRefused, CacheDestroyed, CacheNotFound, IgniteKafkaError, SettingsError
from ..kafka import status, target
from ..kafka.control import Control, ControlState, SnapshotRecord, configs_topic, read_control
from ..kafka.status import CacheStatus, RunStatus
from ..kafka.target import read_target, write_target
from ..offsets import slots_of_tasks
from ..plan import TransferPlan
from .capture import Capture, Deployments
from .connect import ignite_cluster
from .planning import ensure_topics, make_plan
from .progress import Progress
from .slot_copy import SlotResult
from .slot_job import Job, streamed
from .snapshot import new_snapshot_id, planned
from .source_run import POLL_S, SnapshotRequest, SourceRun
from .stream.epoch import LOADING_S, STREAMING_S, Epoch

log = logging.getLogger(__name__)


def run_backlog(spark: SparkSession, request: SnapshotRequest) -> RunStatus:
    """Stream until asked to stop, or until caught up where ``run_mode`` is once.

    :returns: the run's record: COMPLETED when caught up, STOPPED when it was asked to stop.
    :raises IgniteKafkaError: what ended the run; what was committed stays, and the next run goes on from there.
    """
    with ExitStack() as stack:
        return BacklogRun(spark, request, stack).run()


class BacklogRun(SourceRun):
    """The run of a stream."""

    def _run(self) -> None:
        settings = self._settings
        prefix = settings.internal_topic_prefix
        cluster = self._stack.enter_context(ignite_cluster(settings, self._secrets))
        self._cluster, self._capture = cluster, Capture(settings, cluster)
        self._capture.check()
        events.emit(events.IGNITE_CONNECTED, address=", ".join(settings.ignite_addresses))
        state = read_control(self._clients, self._topics, prefix, settings.name)
        if settings.run_mode == "once" and read_target(self._clients, self._topics, prefix, settings.name) == target.PAUSED:
            remedy = f"Resume it with `ignite-kafka resume {settings.name}`"
            raise SettingsError("the connector is paused", remedy, connector=settings.name)
        # checks what settings and caches must be before anything is taken over
        plan = make_plan(settings, cluster, self._topics, self._request.snapshot_id or new_snapshot_id())
        control = Control(self._clients, self._topics, prefix, settings.name)
        self._stack.callback(control.close)
        found = control.take(settings.slots, self._request.run_id, settings.to_dict(), settings.replication_factor, state)
        plan, deployments = self._captured(plan, found)
        self._plan = replace(ensure_topics(plan, self._topics), generation=control.record.generation)
        self._loaded = False
        control.begin(self._record(), found.snapshot)
        # followed from before the target is read: what is asked from now on is not missed
        self._progress = Progress(self._clients, self._topics, self._plan, self._request.run_id, from_start=None)
        self._stack.callback(self._progress.close)
        asked = read_target(self._clients, self._topics, prefix, settings.name)
        self._target = target.PAUSED if asked == target.PAUSED else target.RUNNING
        if asked == target.STOPPED:  # that was for the run before
            write_target(self._clients, self._topics, prefix, settings.name, target.RUNNING)
        events.emit(events.RUN_STARTED, connector=settings.name, run_id=self._request.run_id, generation=self._plan.generation)
        self._status = replace(
            self._status,
            snapshot_id=self._plan.snapshot_id,
            generation=self._plan.generation,
            caches=planned(self._plan),
            state=self._target,
        )
        self._publish()
        self._stream(control, deployments)

    # capture

    def _captured(self, plan: TransferPlan, found: ControlState) -> tuple[TransferPlan, Deployments]:
        """Capture the caches; the plan under the snapshot id, and with the loads, that the failover policy asks for."""
        policy, before, first = self._settings.failover_policy, found.snapshot, found.snapshot is None
        present = self._capture.present()
        known = before is not None and present is not None and before.plan.get("capture_id") == present.capture_id
        if policy == "NONE" and present is not None:
            self._capture.stop()  # what changed while nothing ran is not sent
        deployments = self._capture.deployments()
        names = [cache.name for cache in plan.caches if cache.name in deployments]
        captured = self._capture.start(names)
        events.emit(events.CAPTURE_BEGUN, connector=plan.connector, caches=len(names), capture_id=captured.capture_id)
        same = known and before is not None and before.plan["capture_id"] == captured.capture_id
        if before is not None and before.plan.get("capture_id") and policy == "BACKLOG" and not same:
            events.emit(events.CAPTURE_LOST, connector=plan.connector, capture_id=before.plan["capture_id"])
        goes_on = same and before is not None and (policy == "BACKLOG" or before.id == self._request.snapshot_id)
        # what was there before is loaded once, whatever the policy; a load that did not come to its end is begun anew
        unfinished = before is None or not before.complete
        load = policy != "NONE" or unfinished
        if first or goes_on or policy == "NONE":
            load = load and self._settings.load_initial_data
        old = {cache["name"]: cache["load"] for cache in before.plan["caches"]} if goes_on and before is not None else {}
        caches = [replace(captured.named(cache), load=old.get(cache.name, load)) for cache in plan.caches if cache.name in names]
        snapshot_id = before.id if goes_on and before is not None else plan.snapshot_id
        if before is not None and snapshot_id == before.id and not goes_on:
            snapshot_id = new_snapshot_id()  # its offsets tell of another capture
        plan = replace(plan, caches=tuple(caches), snapshot_id=snapshot_id, capture_id=captured.capture_id)
        return plan, {name: deployments[name] for name in names}

    def _record(self) -> SnapshotRecord:
        return SnapshotRecord(self._plan.snapshot_id, self._plan.to_dict())

    # epochs

    def _stream(self, control: Control, deployments: Deployments) -> None:
        until = self._capture.highest_numbers() if self._settings.run_mode == "once" else None
        number, configs = 0, configs_topic(self._settings.internal_topic_prefix)
        while True:
            offset = self._patiently(lambda: self._topics.ends(configs, [0])[0])
            number += 1
            if self._target == target.RUNNING:
                seconds = STREAMING_S if self._loaded and until is None else LOADING_S
                self._begin_epoch(control, number)  # a task that was held up since an earlier one ends
                if self._epoch(Epoch(number, offset, until, seconds), control, deployments):
                    self._complete()
                    return
            else:
                self._wait()
            if self._target == target.STOPPED or self._request.stop.is_set():
                self._stopped()
                return
            deployments = self._look(control, number, deployments)

    def _begin_epoch(self, control: Control, number: int, snapshot: SnapshotRecord | None = None) -> None:
        self._patiently(lambda: control.begin_epoch(number, snapshot))

    def _epoch(self, epoch: Epoch, control: Control, deployments: Deployments) -> bool:
        """Run one; whether everything is sent that it had to send."""
        if not self._plan.caches:
            self._wait()
            return epoch.until is not None
        tasks = slots_of_tasks(self._plan.slots, self._settings.tasks_max or self._spark.sparkContext.defaultParallelism)
        slots = streamed(self._spark, self._plan, tasks, self._request.secrets_file, self._request.run_id, epoch)
        description = f"{self._plan.connector}: changes, epoch {epoch.number}"
        job = Job(self._spark, slots, f"ignite-kafka-{self._request.run_id}", description)
        try:
            self._follow(job, epoch, control, deployments)
            results = job.result()
        except BaseException as error:
            job.cancel()
            if not _is_gone(error) or self._settings.run_mode == "once":
                self._settle(self._plan, control)
                raise
            return False
        self._count(results)
        self._publish_progress()
        if not self._loaded and all(result.loaded for result in results):
            self._loaded = True
            counts = {name: vars(count) for name, count in self._status.caches.items()}
            self._patiently(lambda: control.end_snapshot(self._record(), counts))
        return all(result.finished for result in results)

    def _follow(self, job: Job, epoch: Epoch, control: Control, deployments: Deployments) -> None:
        """Until the epoch ends; ends it early for what the user asks for, and for caches that came or went."""
        told = False
        next_look = time.monotonic() + self._settings.cache_list_poll_interval_ms / 1000
        while not job.ended(POLL_S):
            self._poll()
            self._take_target()
            due = time.monotonic() >= next_look and epoch.until is None
            if due:
                next_look = time.monotonic() + self._settings.cache_list_poll_interval_ms / 1000
            wanted = self._target != target.RUNNING or self._request.stop.is_set() or (due and self._seen(deployments) != deployments)
            if wanted and not told:
                told = True
                self._begin_epoch(control, epoch.number + 1)

    def _wait(self) -> None:
        """While the connector is paused, or has no cache: until there may be something else to do."""
        until = time.monotonic() + self._settings.cache_list_poll_interval_ms / 1000
        while time.monotonic() < until and not self._request.stop.wait(POLL_S):
            self._poll()
            if self._take_target():
                return

    def _poll(self) -> None:
        """What has come to the topics meanwhile.

        :raises IgniteKafkaError: a task failed, or a newer run began.
        """
        self._progress.poll()
        if self._progress.error is not None:
            error, self._progress.error = self._progress.error, None
            raise error

    def _take_target(self) -> bool:
        """Whether the user asks for another state than before."""
        if self._progress.target in (None, self._target):
            return False
        self._target = str(self._progress.target)
        events.emit(events.TARGET_CHANGED, connector=self._plan.connector, state=self._target)
        if self._target != target.STOPPED:
            self._status = replace(self._status, state=self._target)
            self._publish_progress()
        return True

    # caches that come and go

    def _seen(self, before: Deployments) -> Deployments:
        """The caches that are there; those of before while the nodes do not tell."""
        try:
            return self._capture.deployments()
        except IgniteKafkaError as error:
            if error.final:
                raise
            log.warning("the nodes do not tell their caches: %s", error)
            return before

    def _look(self, control: Control, epoch: int, before: Deployments) -> Deployments:
        """Take up new caches and drop those that are gone; a cache that was made again is both."""
        now = self._seen(before)
        if now == before:
            return before
        fresh = {name for name in now if now[name] != before.get(name)}
        try:
            plan = make_plan(self._settings, self._cluster, self._topics, self._plan.snapshot_id)
            captured = self._capture.start([cache.name for cache in plan.caches])
        except IgniteKafkaError as error:
            if error.final and not _is_gone(error):
                raise
            log.warning("the caches changed while they were looked at: %s", error)
            return before
        loads = {cache.name: cache.load for cache in self._plan.caches}
        caches = [
            replace(captured.named(cache), load=self._settings.load_initial_data if cache.name in fresh else loads.get(cache.name, True))
            for cache in plan.caches
            if cache.name in captured.incarnations
        ]
        dropped = sorted(before.keys() - now.keys())
        events.emit(
            events.CACHES_CHANGED,
            connector=self._plan.connector,
            added=", ".join(sorted(fresh)) or "none",
            dropped=", ".join(dropped) or "none",
        )
        plan = replace(plan, caches=tuple(caches), capture_id=captured.capture_id)
        self._plan = replace(self._patiently(lambda: ensure_topics(plan, self._topics)), generation=self._plan.generation)
        self._loaded = self._loaded and not fresh
        self._begin_epoch(control, epoch + 1, self._record())
        counts = {**planned(self._plan), **self._status.caches}
        self._status = replace(self._status, caches=counts)
        return {name: now[name] for name in captured.incarnations if name in now}

    # counts and ends

    def _count(self, results: Sequence[SlotResult]) -> None:
        caches: dict[str, CacheStatus] = dict(self._status.caches)
        for cache in self._plan.caches:
            mine = [result.caches[cache.name] for result in results]
            before = caches.get(cache.name, CacheStatus(cache.topic, units=cache.partitions))
            caches[cache.name] = replace(
                before,
                entries=before.entries + sum(count.entries for count in mine),
                records=before.records + sum(count.records for count in mine),
                bytes=before.bytes + sum(count.bytes for count in mine),
                units_done=min(before.units, before.units_done + sum(count.units for count in mine)),
                seconds=before.seconds
                + max(count.ended for count in mine)
                - min((count.started for count in mine if count.started), default=0.0),
            )
        self._status = replace(self._status, caches=caches)

    def _complete(self) -> None:
        events.emit(events.RUN_COMPLETED, connector=self._plan.connector, run_id=self._request.run_id)
        self._end(status.COMPLETED)

    def _stopped(self) -> None:
        """What a policy other than BACKLOG would not read again is given up."""
        if self._settings.failover_policy != "BACKLOG":
            self._capture.stop()
        events.emit(events.RUN_COMPLETED, connector=self._plan.connector, run_id=self._request.run_id)
        self._end(status.STOPPED)


def _is_gone(error: BaseException) -> bool:
    """Whether it says that a cache is not there any more: a stream goes on without it."""
    refused = isinstance(error, BacklogRefused) and error.where.get("code") == "UNKNOWN_CACHE"
    return refused or isinstance(error, (CacheDestroyed, CacheNotFound))
