"""The Spark job of a copy: one task a group of slots, one row a slot and cache."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark import SparkFiles, TaskContext
from pyspark.sql import DataFrame, SparkSession

from ..errors import IgniteKafkaError
from ..kafka.status import StatusWriter
from ..plan import TransferPlan
from ..secrets import Secrets
from ..secrets_file import SecretsFile
from .connect import kafka_clients
from .slot_copy import SlotResult, copy_slots

log = logging.getLogger(__name__)

RESULT_SCHEMA = "slot int, cache string, entries long, bytes long, units int, started double, ended double, error string"
_RESULT = pa.schema(
    [
        ("slot", pa.int32()),
        ("cache", pa.string()),
        ("entries", pa.int64()),
        ("bytes", pa.int64()),
        ("units", pa.int32()),
        ("started", pa.float64()),
        ("ended", pa.float64()),
        ("error", pa.string()),
    ]
)


def copied(
    spark: SparkSession, plan: TransferPlan, tasks: tuple[tuple[int, ...], ...], secrets_file: SecretsFile | None, run_id: str
) -> DataFrame:
    """One row a slot and cache (:data:`RESULT_SCHEMA`) once its units are committed; running it is what copies."""
    task = partial(_task, json.dumps(plan.to_dict()), tasks, secrets_file, run_id)
    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(task, RESULT_SCHEMA)


def _task(
    plan_json: str,
    tasks: tuple[tuple[int, ...], ...],
    secrets_file: SecretsFile | None,
    run_id: str,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    plan = TransferPlan.from_dict(json.loads(plan_json))
    secrets = secrets_file.load(SparkFiles.get) if secrets_file else Secrets()
    context = TaskContext.get()
    attempt = context.attemptNumber() if context else 0
    told = False
    for batch in batches:
        for number in batch.column(0).to_pylist():
            for result in copy_slots(plan, secrets, tasks[number], attempt):
                if result.error is not None and not told:  # one error ends the run; the rows tell of the others
                    _tell_driver(plan, secrets, result, run_id)
                    told = True
                yield _rows(result)


def _tell_driver(plan: TransferPlan, secrets: Secrets, result: SlotResult, run_id: str) -> None:
    """So that the run ends at its first error, not after its last task; the row tells the same if Kafka cannot be reached."""
    assert result.error is not None
    try:
        writer = StatusWriter(kafka_clients(plan.settings, secrets), plan.settings.internal_topic_prefix)
        writer.task_failed(plan.connector, result.slot, run_id, plan.generation, result.error)
    except IgniteKafkaError as unwritten:
        log.error("slot %d failed and the status topic did not take it: %s", result.slot, unwritten)


def _rows(result: SlotResult) -> pa.RecordBatch:
    rows: list[dict[str, object]] = [{"slot": result.slot, "cache": name, **vars(count)} for name, count in result.caches.items()]
    if result.error is not None:
        rows.append({"slot": result.slot, "error": json.dumps(result.error.to_dict())})
    return pa.RecordBatch.from_pylist(rows, _RESULT)


class Job:
    """A Spark job in a thread of its own, so that the driver can watch and cancel it."""

    def __init__(self, spark: SparkSession, frame: DataFrame, group: str, description: str) -> None:
        self._context, self._frame, self._group, self._description = spark.sparkContext, frame, group, description
        self._thread = ThreadPoolExecutor(1, "spark-job")
        self._rows = self._thread.submit(self._collect)
        self._thread.shutdown(wait=False)

    def _collect(self) -> list[dict[str, Any]]:
        self._context.setJobGroup(self._group, self._description, interruptOnCancel=True)
        return [row.asDict() for row in self._frame.collect()]

    def ended(self, wait_s: float) -> bool:
        """Whether the job has ended; waits for it for at most that long."""
        return bool(wait([self._rows], wait_s).done)

    def result(self) -> list[dict[str, Any]]:
        """The rows. Raises a slot's error (a final one, such as an unknown outcome, before one that may pass), or what ended the job."""
        rows = self._rows.result()
        errors = [IgniteKafkaError.from_dict(json.loads(str(row["error"]))) for row in rows if row["error"] is not None]
        if errors:
            raise max(errors, key=lambda error: error.final)
        return rows

    def cancel(self) -> None:
        self._context.cancelJobGroup(self._group)
        wait([self._rows])
