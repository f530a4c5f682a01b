"""What runs of epochs share, of a stream and of a sink: one Spark job after the other, and what the user asks for meanwhile."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from .. import events
from ..common.deadline import Interval
from ..plan.slots import slots_of_tasks
from ..plan.source_plan import RunPlan
from ..state import status
from ..state import target_state as target
from ..state.configs import configs_topic
from ..state.configs_writer import ConfigsWriter
from ..state.status import CacheStatus, TaskProgress
from ..state.target_state import read_target, write_target
from . import parallelism
from .connector_run import POLL_S, ConnectorRun, S
from .counts import Counts, SlotResult, added
from .epoch import STREAMING_S, Epoch, Running
from .progress import RunFollower
from .spark_job import Job, Work


class EpochRun(ConnectorRun[S]):
    """A run of epochs. Who extends it sets :attr:`_control` and :attr:`_follower`, then calls :meth:`_epochs`."""

    _control: ConfigsWriter
    _follower: RunFollower
    _target: str = target.RUNNING
    _sent: Mapping[str, CacheStatus] = {}
    """Counts of the epochs that ended."""
    _job: Job | None = None
    """Of the epoch under way."""

    @property
    @abstractmethod
    def _run_plan(self) -> RunPlan:
        """The plan as it is now."""

    @property
    @abstractmethod
    def _refresh_interval_ms(self) -> int:
        """Time between two looks for what there is to move."""

    @abstractmethod
    def _next_epoch(self, number: int, configs_offset: int) -> Epoch: ...

    @abstractmethod
    def _work(self, epoch: Epoch, tasks: Sequence[Sequence[int]]) -> Work | None:
        """What an epoch runs; None: nothing, as there is nothing to move."""

    @abstractmethod
    def _on_epoch_end(self, epoch: Epoch, results: Sequence[SlotResult]) -> None:
        """Take in what an epoch has done."""

    @abstractmethod
    def _changed(self) -> bool:
        """Whether there is something else to move than the plan says."""

    @abstractmethod
    def _refresh_plan(self, epoch: int) -> None:
        """Take up what has changed, between two epochs."""

    def _tolerates(self, error: BaseException) -> bool:
        """Whether the run goes on although that ended an epoch."""
        return False

    @property
    def _cores_s(self) -> float:
        """How long a task waits for a core, at least."""
        return STREAMING_S

    def _on_progress(self, tasks: Sequence[TaskProgress], of: int) -> None:
        """Take in what some of an epoch's tasks have told so far.

        :param of: how many tasks there are.
        """

    def _target_wanted(self) -> str | None:
        """The state that was asked of the connector last."""
        prefix, name = self._settings.internal_topic_prefix, self._settings.name
        return self._retry(lambda: read_target(self._clients, self._topics, prefix, name))

    def _take_up_target(self) -> None:
        """What was asked of the connector before the run; the follower was made before, so that what is asked from now on is not missed."""
        prefix, name = self._settings.internal_topic_prefix, self._settings.name
        asked = self._target_wanted()
        self._target = target.PAUSED if asked == target.PAUSED else target.RUNNING
        if asked == target.STOPPED:  # that was for the run before
            self._retry(lambda: write_target(self._clients, self._topics, prefix, name, target.RUNNING))

    def _epochs(self, *, ends: bool) -> bool:
        """Run epochs until one has done all that there is to do, or until the run is asked to stop.

        :param ends: whether there is an end to come to.
        :returns: whether it has come to its end.
        """
        number, configs = 0, configs_topic(self._settings.internal_topic_prefix)
        while True:
            offset = self._retry(lambda: self._topics.ends(configs, [0])[0])
            number += 1
            if self._target == target.RUNNING:
                self._begin_epoch(number)  # a task that was held up since an earlier one ends
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
        """Run one; whether everything is done that the run had to do."""
        plan = self._run_plan
        cores = parallelism.cores(self._spark)
        tasks = slots_of_tasks(plan.slots, parallelism.tasks(self._settings, cores))
        work = self._work(epoch, tasks)
        if work is None:
            self._wait()
            return ends
        self._job = job = self._start(work, len(tasks), f"epoch {epoch.number}")
        self._sent = dict(self._status.caches)
        try:
            self._follow(job, Running(epoch, cores, len(tasks)), ends=ends)
            results = job.result()
        except BaseException as error:
            job.cancel()
            if not self._tolerates(error):
                self._settle(self._control)
                raise
            return False
        finally:
            self._job = None
        self._on_epoch_end(epoch, results)
        return all(result.finished for result in results)

    def _follow(self, job: Job, running: Running, *, ends: bool) -> None:
        """Until the epoch ends; ends it for what the user asks for, for what came or went, and, after a time, for cores."""
        told = False
        refresh, report, cores = (
            Interval(self._refresh_interval_ms / 1000),
            Interval(self._settings.progress_interval_ms / 1000),
            Interval(self._cores_s),
        )
        while not job.ended(POLL_S):
            job.check()
            self._poll()
            self._take_target()
            if report.due():
                self._on_progress([one for one in self._follower.tasks.values() if one.epoch == running.epoch.number], running.tasks)
            wanted = self._target != target.RUNNING or self._request.stop.is_set()
            wanted = wanted or (not ends and refresh.due() and self._changed())
            wanted = wanted or (cores.due() and not (job.all_run() and running.cores == parallelism.cores(self._spark)))
            if wanted and not told:
                told = True
                self._begin_epoch(running.epoch.number + 1)

    def _wait(self) -> None:
        """While the connector is paused, or has nothing to move: until there may be something else to do."""
        until = time.monotonic() + self._refresh_interval_ms / 1000
        while time.monotonic() < until and not self._request.stop.wait(POLL_S):
            self._poll()
            if self._take_target():
                return

    def _check_tasks(self) -> None:
        if self._job is not None:
            self._job.check()

    def _poll(self) -> None:
        """What has come to the topics meanwhile.

        :raises Fenced: a newer run began.
        """
        self._follower.poll()
        if self._follower.error is not None:
            error, self._follower.error = self._follower.error, None
            raise error

    def _take_target(self) -> bool:
        """Whether the user asks for another state than before."""
        if self._follower.target in (None, self._target):
            return False
        self._target = str(self._follower.target)
        events.emit(events.TARGET_CHANGED, connector=self._settings.name, state=self._target)
        if self._target != target.STOPPED:
            self._status = replace(self._status, state=self._target)
            self._publish_progress()
        return True

    def _add(self, counts: Iterable[Counts], planned: Mapping[str, CacheStatus]) -> None:
        """The run's counts: those of the epochs before, and what slots or tasks of this one have done."""
        self._status = replace(self._status, caches=added({**planned, **self._sent}, counts))

    def _close_run(self, state: str) -> None:
        """The run's last record: status.COMPLETED or status.STOPPED."""
        assert state in (status.COMPLETED, status.STOPPED)
        events.emit(events.RUN_COMPLETED, connector=self._settings.name, run_id=self._request.run_id)
        self._end(state)
