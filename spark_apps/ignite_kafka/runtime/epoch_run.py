"""Base class of runs made of epochs: the runs of streams and of sinks.

A run starts one Spark job after the other, and follows the connector's target state.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from .. import events
from ..common.deadline import Interval
from ..common.event_log import parse_counts
from ..common.measurements import Measurements
from ..plan.slots import slots_of_tasks
from ..plan.source_plan import RunPlan
from ..state import status
from ..state import target_state as target
from ..state.configs_writer import ConfigsWriter
from ..state.internal_names import configs_topic
from ..state.status import CacheStatus, TaskProgress
from ..state.target_state import read_stopped_generation, read_target, write_target
from . import parallelism
from .connector_run import POLL_S, ConnectorRun, S
from .counts import Counts, SlotResult, add_counts, cap_units, counts_of
from .driver_consumer import DriverConsumer
from .epoch import STREAMING_S, Epoch, Running
from .silent_tasks import SILENCE_CHECK_S, SilenceWatch, longest_silence_s
from .spark_job import Job, TaskEvents, Work

CHECK_S = 30.0
"""Time between two reads of the lag, in seconds."""


class EpochRun(ConnectorRun[S]):
    """A run of epochs. Subclasses set :attr:`_control` and :attr:`_consumer`, then call :meth:`_epochs`."""

    _control: ConfigsWriter
    _consumer: DriverConsumer
    _target: str = target.RUNNING
    _sent: Mapping[str, CacheStatus] = {}
    """Counts of ended epochs."""
    _job: Job | None = None
    """Job of the current epoch."""
    _epoch_number = 0
    """Number of the current epoch, or of the last one; 0 before the first."""

    @property
    @abstractmethod
    def _run_plan(self) -> RunPlan:
        """Current plan of the run, for the next epoch."""

    @property
    @abstractmethod
    def _refresh_interval_ms(self) -> int:
        """Interval of checks for new caches or topics, in milliseconds."""

    @abstractmethod
    def _next_epoch(self, number: int, configs_offset: int) -> Epoch: ...

    @abstractmethod
    def _work(self, epoch: Epoch, tasks: Sequence[Sequence[int]]) -> Work | None:
        """Make the function that the epoch's Spark job runs; None if there is nothing to copy."""

    @abstractmethod
    def _on_epoch_end(self, epoch: Epoch, results: Sequence[SlotResult]) -> None:
        """Add the results of an ended epoch to the run's status."""

    @abstractmethod
    def _changed(self) -> bool:
        """Return whether caches or topics have changed, so that the epoch must end for a new plan."""

    def _other_work(self, running: Running) -> bool:
        """Return whether the tasks shall do something else than the running epoch says; called at each poll."""
        return False

    @abstractmethod
    def _refresh_plan(self, epoch: int) -> None:
        """Update the plan with new and vanished caches or topics, between two epochs."""

    def _tolerates(self, error: BaseException) -> bool:
        """Return whether the run may continue with another epoch after this error."""
        return False

    @property
    def _cores_s(self) -> float:
        """Seconds between checks for changed cores, and so the minimum time that a task waits for a core."""
        return STREAMING_S

    def _on_progress(self, tasks: Sequence[TaskProgress], of: int) -> None:
        """Publish the progress that an epoch's tasks have reported so far.

        :param of: number of tasks.
        """

    @cached_property
    def _idle_report(self) -> Interval:
        """Interval at which a waiting run reports its status, kept across waits."""
        return Interval(self._settings.progress_interval_ms / 1000)

    def _requested_target(self) -> str | None:
        """Read the connector's requested target state (running, paused or stopped)."""
        prefix = self._settings.internal_topic_prefix
        name = self._settings.name
        return self._retry(lambda: read_target(self._clients, self._topics, prefix, name))

    def _adopt_target(self) -> None:
        """Start paused if a pause was requested before the run; clear an old request to stop, or obey it.

        The consumer exists already, so that no later request is missed.

        :raises Retired: a role transition has retired the connector before the run's generation was published.
        """
        prefix = self._settings.internal_topic_prefix
        name = self._settings.name
        requested = self._requested_target()
        self._check_admitted()  # after the look at the request, because a transition marks first and stops then
        self._target = target.PAUSED if requested == target.PAUSED else target.RUNNING
        if requested != target.STOPPED:
            return
        if self._request.unless_stopped and self._is_for_any_run():
            self._target = target.STOPPED
            self._request.stop.set()
        else:  # meant for the previous run
            self._retry(lambda: write_target(self._clients, self._topics, prefix, name, target.RUNNING))

    def _is_for_any_run(self) -> bool:
        """Return whether the requested stop is not for one earlier run only."""
        prefix = self._settings.internal_topic_prefix
        name = self._settings.name
        return self._retry(lambda: read_stopped_generation(self._clients, self._topics, prefix, name)) == 0

    def _epochs(self, *, ends: bool) -> bool:
        """Run epoch after epoch until everything is copied or a stop is requested.

        :param ends: whether the run ends by itself.
        :returns: whether everything is done.
        """
        number = 0
        configs = configs_topic(self._settings.internal_topic_prefix)
        while True:
            offset = self._retry(lambda: self._topics.ends(configs, [0])[0])
            number += 1
            if self._target == target.RUNNING:
                self._begin_epoch(number)  # ends tasks of earlier epochs that were held up
                if self._epoch(self._next_epoch(number, offset), ends=ends):
                    return True
            else:
                self._wait()
            if self._target == target.STOPPED or self._request.stop.is_set():
                return False
            self._refresh_plan(number)

    def _begin_epoch(self, number: int) -> None:
        self._retry(lambda: self._control.begin_epoch(number))

    def _epoch(self, epoch: Epoch, *, ends: bool) -> bool:
        """Run one epoch as a Spark job, and return whether everything is copied."""
        cores = parallelism.cores(self._spark)
        tasks = self._tasks(cores)
        work = self._work(epoch, tasks)
        if work is None:
            self._wait()
            return ends
        self._job = job = self._start(work, len(tasks), f"epoch {epoch.number}")
        self._epoch_number = epoch.number
        self._sent = dict(self._status.caches)
        try:
            self._follow(job, Running(epoch, cores, len(tasks)), ends=ends)
            results = job.result()
        except BaseException as error:
            job.cancel()
            if not self._tolerates(error):
                self._count_failed(job, epoch)
                self._settle(self._control)
                raise
            return False
        finally:
            self._job = None
        for result in results:
            self._consumer.reports.measured.update(result.slot, (epoch.number, result.attempt), result.measured)
        self._on_epoch_end(epoch, results)
        return all(result.finished for result in results)

    def _follow(self, job: Job, running: Running, *, ends: bool) -> None:
        """Watch an epoch's Spark job until it ends, and end the epoch early if something changed.

        End it on a new target state, changed caches or topics and, after some time, changed cores.
        """
        ending = False
        refresh = Interval(self._refresh_interval_ms / 1000)
        report = Interval(self._settings.progress_interval_ms / 1000)
        cores = Interval(self._cores_s)
        silence = self._silence_watch()
        checks = Interval(SILENCE_CHECK_S)
        while not job.ended(POLL_S):
            job.check()
            self._poll()
            self._follow_target()
            tasks = {
                slot: task for slot, task in self._consumer.reports.tasks.items() if task.epoch == running.epoch.number
            }
            if report.due():
                self._on_progress(list(tasks.values()), running.tasks)
            if checks.due() and self._reachable:  # else the tasks' reports, too, may not reach the status topic
                silence.check(job.running(), [self._consumer.reports.reported_at[slot] for slot in tasks])
            must_end = self._target != target.RUNNING or self._request.stop.is_set()
            must_end = must_end or (not ends and refresh.due() and self._changed())
            must_end = self._other_work(running) or must_end
            must_end = must_end or (cores.due() and self._other_cores(job, running))
            if must_end and not ending:
                ending = True
                self._begin_epoch(running.epoch.number + 1)

    def _silence_watch(self) -> SilenceWatch:
        """Make the watch that detects tasks of an epoch without a sign of life.

        They report while they wait, and end themselves after this time without a sign of life.
        """
        return SilenceWatch(self._settings.progress_interval_ms, longest_silence_s(self._settings))

    def _tasks(self, cores: int) -> tuple[tuple[int, ...], ...]:
        """Distribute the plan's slots over the Spark tasks of an epoch."""
        return slots_of_tasks(self._run_plan.slots, parallelism.tasks(self._settings, cores))

    def _other_cores(self, job: Job, running: Running) -> bool:
        """Return whether the epoch should end to use other cores: tasks wait for one, or their number changed."""
        return not (job.all_run() and running.cores == parallelism.cores(self._spark))

    def _wait(self) -> None:
        """Wait for one refresh interval while the connector is paused or has nothing to copy.

        A run that has nothing to copy reports its status, because its followers would otherwise consider it dead; a
        paused run need not.
        """
        until = time.monotonic() + self._refresh_interval_ms / 1000
        while time.monotonic() < until and not self._request.stop.wait(POLL_S):
            self._poll()
            if self._follow_target():
                return
            if self._target == target.RUNNING and self._idle_report.due():
                self._publish_progress()

    def _measured(self) -> Measurements:
        return self._consumer.reports.measured.total() if self._epoch_number else Measurements()

    def _reported_events(self) -> TaskEvents:
        if not self._epoch_number:
            return {}  # a run that ends before its first epoch follows no task
        tasks = self._consumer.reports.tasks.items()
        return {slot: parse_counts(task.events) for slot, task in tasks if task.epoch == self._epoch_number}

    def _check_tasks(self) -> None:
        if self._job is not None:
            self._job.check()

    def _poll(self) -> None:
        """Read new records about this run: progress of its tasks, target state, newer runs.

        :raises Fenced: a newer run began.
        """
        self._consumer.poll()
        if self._consumer.error is not None:
            error = self._consumer.error
            self._consumer.error = None
            raise error
        self._watch_lag()

    def _watch_lag(self) -> None:
        """Read the lag when it is time for that, also while the run waits or is paused."""

    def _follow_target(self) -> bool:
        """Adopt a newly requested target state, and return whether it differs from the current one."""
        if self._consumer.target in (None, self._target):
            return False
        self._target = str(self._consumer.target)
        events.emit(events.TARGET_CHANGED, connector=self._settings.name, state=self._target)
        if self._target != target.STOPPED:
            self._status = replace(self._status, state=self._target)
            self._publish_progress()
        return True

    def _add(self, counts: Iterable[Counts], planned: Mapping[str, CacheStatus]) -> None:
        """Set the run's counts to the sum over earlier epochs plus `counts` of the current epoch.

        Those of attempts that Spark has repeated are added.
        """
        counts = [*counts, *self._consumer.reports.repeated(self._epoch_number)]
        self._status = replace(self._status, caches=cap_units(add_counts({**planned, **self._sent}, counts)))

    def _count_failed(self, job: Job, epoch: Epoch) -> None:
        """Set the run's counts after a failed epoch: exact counts of failed tasks, last reports of other tasks."""
        failed = {slot: result.caches for slot, result in job.failed().items()}
        others = [
            counts_of(task)
            for slot, task in self._consumer.reports.tasks.items()
            if task.epoch == epoch.number and slot not in failed
        ]
        self._add([*failed.values(), *others], {})

    def _close_run(self, state: str) -> None:
        """Emit the event of a run that ended well, and write its last status record."""
        assert state in (status.COMPLETED, status.STOPPED)
        event = events.RUN_COMPLETED if state == status.COMPLETED else events.RUN_STOPPED
        events.emit(event, connector=self._settings.name, run_id=self._request.run_id)
        self._end(state)
