"""Spark job of a run: one task for each group of slots, one result for each slot.

A task's error reaches the driver with the end of the task, in an accumulator, so that neither tasks waiting for a core
nor a broker that is down delay the end of the run. The accumulator also carries the counts of what the task committed
before the error.

The job is an RDD, because a DataFrame's plan and Arrow frames cost a tenth of a second per run
(docs/decisions/0006-fixed-costs.md).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import RDD, Accumulator, SparkStageInfo, TaskContext
from pyspark.accumulators import AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from .. import events
from ..common.deadline import Deadline
from ..common.event_log import EventCounts, add_events
from ..common.local_disk import SPARK_REMEDY, disk_errors
from ..common.redaction import hidden_values, register_hidden_values, set_log_values
from ..errors import CallsStuck
from ..plan.source_plan import RunPlan
from ..registry.registries import Ids, known_ids, learn_ids
from ..settings.secrets import Secrets
from ..settings.secrets_file import SecretsSource
from ..settings.topic_names import reserve, reserved
from .counts import SlotResult
from .task_failure import local_folder, task_failed

log = logging.getLogger(__name__)

_CANCEL_S = 120.0
_CANCEL_POLL_S = 0.1

Work = Callable[[Iterable[int]], Iterator[SlotResult]]
"""The function that Spark runs: numbers of tasks -> results of their slots."""

RunSlots = Callable[..., Iterator[SlotResult]]
"""Runs some slots of a plan on an executor; one result per slot."""

Failed = tuple[SlotResult, ...]
"""Results of slots that ended with an error."""

TaskEvents = dict[int, EventCounts]
"""Events of ended tasks, by the first slot of each."""

Notes = frozenset[events.Note]
"""Events that tasks have noted for the driver."""


def slot_work(
    run_slots: RunSlots,
    plan: RunPlan,
    tasks: Sequence[Sequence[int]],
    secrets_file: SecretsSource | None,
    argument: Any,
) -> Work:
    """Make a job's function: each task calls ``run_slots(plan, secrets, slots, attempt, argument)`` on an executor.

    Tasks receive the schema ids that this process has got from schema registries, the values that its messages hide,
    and the prefixes that it takes for those of internal topics.

    :param tasks: slots of each task.
    :param argument: sent unchanged to every task.
    """
    redaction = known_ids(plan.settings), hidden_values(), reserved()
    return partial(_run_task, run_slots, type(plan).from_json, plan.to_json(), tasks, secrets_file, argument, redaction)


def _run_task(
    run_slots: RunSlots,
    read_plan: Callable[[str], RunPlan],
    plan_json: str,
    tasks: Sequence[Sequence[int]],
    secrets_file: SecretsSource | None,
    argument: Any,
    redaction: tuple[Ids, tuple[str, ...], tuple[str, ...]],
    numbers: Iterable[int],
) -> Iterator[SlotResult]:
    ids, hidden, prefixes = redaction
    register_hidden_values(hidden)
    reserve(prefixes)
    plan = read_plan(plan_json)
    learn_ids(ids)
    set_log_values(plan.settings.log_values)
    secrets = secrets_file.load() if secrets_file else Secrets()
    context = TaskContext.get()
    attempt = context.attemptNumber() if context else 0
    for number in numbers:
        yield from run_slots(plan, secrets, tasks[number], attempt, argument)


def _noting(
    failed: Accumulator[Failed],
    emitted: Accumulator[TaskEvents],
    noted: Accumulator[Notes],
    work: Work,
    numbers: Iterable[int],
) -> Iterator[SlotResult]:
    """Run a task on an executor and yield its results; its errors and events reach the driver by accumulators.

    :raises CallsStuck: as the error of the whole task, it ends this Python worker, and Spark tries the task again in a
        new one.
    """
    events.take_notes()  # of a task before, which failed
    slots = []
    with events.collect() as log:
        for result in work(numbers):
            slots.append(result.slot)
            if isinstance(result.error, CallsStuck):
                raise result.error
            if result.error is not None:
                failed.add((result,))
            yield result
        emitted.add({min(slots, default=0): log.counts()})
    noted.add(events.take_notes())


class _Concatenated(AccumulatorParam[Failed]):
    """Accumulator parameter that concatenates the failed results of tasks."""

    def zero(self, value: Failed) -> Failed:
        return ()

    def addInPlace(self, value1: Failed, value2: Failed) -> Failed:
        return value1 + value2


class _Added(AccumulatorParam[TaskEvents]):
    """Accumulator parameter that sums event counts, by the first slot of each task."""

    def zero(self, value: TaskEvents) -> TaskEvents:
        return {}

    def addInPlace(self, value1: TaskEvents, value2: TaskEvents) -> TaskEvents:
        return {
            slot: add_events(value1.get(slot, {}), value2.get(slot, {}))
            for slot in (*value1, *(value2.keys() - value1))
        }


class _United(AccumulatorParam[Notes]):
    """Accumulator parameter that unites the events noted by tasks."""

    def zero(self, value: Notes) -> Notes:
        return frozenset()

    def addInPlace(self, value1: Notes, value2: Notes) -> Notes:
        return events.unite_notes(value1, value2)


class TaskErrors:
    """Accumulators for errors and events of tasks. One object for a run, as PySpark never releases accumulators."""

    def __init__(self, spark: SparkSession) -> None:
        self.accumulator: Accumulator[Failed] = spark.sparkContext.accumulator((), _Concatenated())
        self.events: Accumulator[TaskEvents] = spark.sparkContext.accumulator({}, _Added())
        self._earlier: EventCounts = {}
        self.noted: Accumulator[Notes] = spark.sparkContext.accumulator(frozenset(), _United())
        self._emitted: Notes = frozenset()

    def emit_noted(self) -> None:
        """Emit the events that tasks have noted, each once in a run."""
        for id, fields in sorted(self.noted.value - self._emitted):
            events.emit(events.EVENTS[id], **dict(fields))
        self._emitted = self.noted.value

    def count_events(self, reported: TaskEvents) -> EventCounts:
        """Return the run's event counts over all its tasks, ended and running.

        :param reported: events that running tasks have reported, by first slot; those of an ended task are complete,
            and are not counted again.
        """
        return add_events(self._earlier, *{**reported, **self.events.value}.values())

    def forget(self, reported: TaskEvents) -> None:
        """Clear the accumulators before the next job of the run; its event counts are kept.

        :param reported: events that its tasks have reported, by first slot: tasks that died have handed over none.
        """
        self._earlier = self.count_events(reported)
        self.events.value = {}
        self.accumulator.value = ()


class Job:
    """Spark job started in a separate thread, so that the driver can watch and cancel it; one at a time in a run.

    :param tasks: number of tasks; ``work`` is called with the number of each.
    """

    def __init__(
        self, spark: SparkSession, errors: TaskErrors, work: Work, tasks: int, group: str, description: str
    ) -> None:
        self._context = spark.sparkContext
        self._group = group
        self._description = description
        self._failed = errors.accumulator
        with disk_errors(local_folder(self._context), SPARK_REMEDY):  # Spark's Python side writes a file for each RDD
            numbers = self._context.parallelize(range(tasks), tasks)
        self._slots: RDD[SlotResult] = numbers.mapPartitions(
            partial(_noting, self._failed, errors.events, errors.noted, work)
        )
        self._thread = ThreadPoolExecutor(1, "spark-job")
        self._results = self._thread.submit(self._collect)
        self._thread.shutdown(wait=False)

    def _collect(self) -> list[SlotResult]:
        self._context.setJobGroup(self._group, self._description, interruptOnCancel=True)
        return self._slots.collect()

    def ended(self, wait_s: float) -> bool:
        """Wait at most ``wait_s`` seconds for the end of the job, and return whether it has ended."""
        return bool(wait([self._results], wait_s).done)

    def check(self) -> None:
        """Raise the error of an ended task while others still work, so that the run ends early."""
        _raise_first(self._failed.value)

    def failed(self) -> dict[int, SlotResult]:
        """Return the results of failed slots so far, by slot."""
        return {result.slot: result for result in self._failed.value}

    def all_run(self) -> bool:
        """Return whether every task of the job has a core or has ended."""
        return any(stage.numActiveTasks + stage.numCompletedTasks >= stage.numTasks for stage in self._stages())

    def running(self) -> int:
        """Return the number of tasks that run now."""
        return sum(stage.numActiveTasks for stage in self._stages())

    def _stages(self, *, active: bool = True) -> list[SparkStageInfo]:
        """Return Spark's status of the job's stage; empty if there is none.

        :param active: only if the job has not ended.
        """
        tracker = self._context.statusTracker()
        ids = set(tracker.getJobIdsForGroup(self._group))
        if active:
            ids &= set(tracker.getActiveJobsIds())
        job = tracker.getJobInfo(max(ids)) if ids else None
        return [stage_info for stage in job.stageIds if (stage_info := tracker.getStageInfo(stage))] if job else []

    def result(self) -> list[SlotResult]:
        """Wait for the job, and return the results of all slots.

        :raises IgniteKafkaError: the error of a slot, a final one first.
        :raises TaskFailed, LocalDiskFull: a task ended without results, and no slot has an error.
        """
        try:
            results = self._results.result()
        except (Py4JJavaError, PySparkException) as cause:
            log.error("the Spark job %r failed", self._description, exc_info=cause)
            self.check()
            raise task_failed(str(cause), local_folder(self._context)) from cause
        _raise_first(results)
        return results

    def cancel(self) -> None:
        """Cancel the job and wait until none of its tasks works.

        Spark ends a cancelled job at once, and its tasks some seconds later: it first gives their Python workers time
        to end, then kills them. A task of a sink must not put entries after the next run has begun.
        """
        self._context.cancelJobGroup(self._group)
        deadline = Deadline.after(_CANCEL_S)
        while not self.ended(0) or any(stage.numActiveTasks for stage in self._stages(active=False)):
            if deadline.expired:
                log.error(
                    "tasks of the Spark job %r did not end within %.0f s of its cancellation",
                    self._description,
                    _CANCEL_S,
                )
                return
            time.sleep(_CANCEL_POLL_S)


def _raise_first(results: Iterable[SlotResult]) -> None:
    """Raise an error found in the results, preferably a final (not retriable) error."""
    errors = [result.error for result in results if result.error is not None]
    if errors:
        raise max(errors, key=lambda error: error.final)
