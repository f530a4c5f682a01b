"""The Spark job of a copy, or of an epoch of a stream: one task a group of slots, one result a slot.

An RDD, because nothing but those results comes back: a DataFrame's plan and its Arrow frames cost a tenth of a second a run
(docs/decisions/0006-fixed-costs.md).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from pyspark import RDD, TaskContext
from pyspark.sql import SparkSession

from ..errors import IgniteKafkaError
from ..kafka.status import StatusWriter
from ..plan import RunPlan, TransferPlan
from ..secrets import Secrets
from ..secrets_file import SecretsSource
from ..sink_plan import SinkPlan
from .connect import kafka_clients
from .sink.task import sink_slots
from .slot_copy import SlotResult, copy_slots
from .stream.epoch import Epoch
from .stream.task import stream_slots

log = logging.getLogger(__name__)


def copied(
    spark: SparkSession,
    plan: TransferPlan,
    tasks: Sequence[Sequence[int]],
    secrets_file: SecretsSource | None,
    run_id: str,
    ends: Sequence[int] | None,
) -> RDD[SlotResult]:
    """One result a slot once its units are committed, or its error; running it is what copies.

    :param ends: see :func:`.slot_copy.copy_slots`.
    """
    return _job(spark, tasks, partial(_task, copy_slots, TransferPlan.from_json, plan.to_json(), tasks, secrets_file, run_id, ends))


def streamed(
    spark: SparkSession,
    plan: TransferPlan,
    tasks: Sequence[Sequence[int]],
    secrets_file: SecretsSource | None,
    run_id: str,
    epoch: Epoch,
) -> RDD[SlotResult]:
    """One result a slot once the epoch ends, or its error; running it is what sends."""
    return _job(spark, tasks, partial(_task, stream_slots, TransferPlan.from_json, plan.to_json(), tasks, secrets_file, run_id, epoch))


def sunk(
    spark: SparkSession,
    plan: SinkPlan,
    tasks: Sequence[Sequence[int]],
    secrets_file: SecretsSource | None,
    run_id: str,
    epoch: Epoch,
) -> RDD[SlotResult]:
    """One result a slot once its ends are reached or the epoch ends, or its error; running it is what stores."""
    return _job(spark, tasks, partial(_task, sink_slots, SinkPlan.from_json, plan.to_json(), tasks, secrets_file, run_id, epoch))


def _job(spark: SparkSession, tasks: Sequence[Sequence[int]], task: Callable[[Iterable[int]], Iterator[SlotResult]]) -> RDD[SlotResult]:
    return spark.sparkContext.parallelize(range(len(tasks)), len(tasks)).mapPartitions(task)


def _task(
    work: Callable[..., Iterator[SlotResult]],
    read_plan: Callable[[str], RunPlan],
    plan_json: str,
    tasks: Sequence[Sequence[int]],
    secrets_file: SecretsSource | None,
    run_id: str,
    more: Any,
    numbers: Iterable[int],
) -> Iterator[SlotResult]:
    plan = read_plan(plan_json)
    secrets = secrets_file.load() if secrets_file else Secrets()
    context = TaskContext.get()
    attempt = context.attemptNumber() if context else 0
    told = False
    for number in numbers:
        for result in work(plan, secrets, tasks[number], attempt, more):
            if result.error is not None and not told:  # one error ends the run; the results tell of the others
                _tell_driver(plan, secrets, result, run_id)
                told = True
            yield result


def _tell_driver(plan: RunPlan, secrets: Secrets, result: SlotResult, run_id: str) -> None:
    """So that the run ends at its first error, not after its last task; the result tells the same if Kafka cannot be reached."""
    assert result.error is not None
    try:
        writer = StatusWriter(kafka_clients(plan.settings, secrets), plan.settings.internal_topic_prefix)
        writer.task_failed(plan.connector, result.slot, run_id, plan.generation, result.error)
    except IgniteKafkaError as unwritten:
        log.error("slot %d failed and the status topic did not take it: %s", result.slot, unwritten)


class Job:
    """A Spark job in a thread of its own, so that the driver can watch and cancel it."""

    def __init__(self, spark: SparkSession, slots: RDD[SlotResult], group: str, description: str) -> None:
        self._context, self._slots, self._group, self._description = spark.sparkContext, slots, group, description
        self._thread = ThreadPoolExecutor(1, "spark-job")
        self._results = self._thread.submit(self._collect)
        self._thread.shutdown(wait=False)

    def _collect(self) -> list[SlotResult]:
        self._context.setJobGroup(self._group, self._description, interruptOnCancel=True)
        return self._slots.collect()

    def ended(self, wait_s: float) -> bool:
        """Whether the job has ended; waits for it for at most that long."""
        return bool(wait([self._results], wait_s).done)

    def all_run(self) -> bool:
        """Whether no task waits for a core."""
        tracker = self._context.statusTracker()
        for job_id in set(tracker.getJobIdsForGroup(self._group)) & set(tracker.getActiveJobsIds()):
            job = tracker.getJobInfo(job_id)
            stages = [tracker.getStageInfo(stage) for stage in job.stageIds] if job else []
            if stages and all(stage and stage.numActiveTasks + stage.numCompletedTasks >= stage.numTasks for stage in stages):
                return True
        return False

    def result(self) -> list[SlotResult]:
        """Every slot's. Raises a slot's error (a final one before one that may pass), or what ended the job."""
        results = self._results.result()
        errors = [result.error for result in results if result.error is not None]
        if errors:
            raise max(errors, key=lambda error: error.final)
        return results

    def cancel(self) -> None:
        self._context.cancelJobGroup(self._group)
        wait([self._results])
