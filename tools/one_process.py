"""Run a snapshot, or one slot of it, in this process without Spark, for a debugger.

``python -m tools.one_process settings.json --slot 0 --secrets secrets.json``: a breakpoint anywhere in the library is
reached in this process. Everything else is real: the plan, the claim of the connector, the transactions. A snapshot of
which one slot was copied stays unfinished; the next run of it, by Spark or by this command, continues it.

Run it as ``python -m pdb -m tools.one_process …``, or with `breakpoint()` in the code. While it stands at a breakpoint,
Kafka may end a transaction (``transaction.timeout.ms``), as it would of a frozen task.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from pyspark.sql import SparkSession

from ignite_kafka.common.new_id import new_id
from ignite_kafka.errors import Interrupted
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.runtime.counts import SlotResult
from ignite_kafka.runtime.spark_job import RunSlots
from ignite_kafka.settings.files.load import load
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.secrets_file import SecretsFile
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.source.snapshot.task import copy_slots


class _Accumulator:
    def __init__(self, value: Any, param: Any) -> None:
        self.value = value
        self._param = param

    def add(self, term: Any) -> None:
        self.value = self._param.addInPlace(self.value, term)


class _Tasks:
    """The tasks of a job, one after the other."""

    def __init__(self, numbers: Iterable[int], work: Callable[[Iterable[int]], Iterable[Any]]) -> None:
        self._numbers = numbers
        self._work = work

    def mapPartitions(self, work: Callable[[Iterable[int]], Iterable[Any]]) -> _Tasks:
        return _Tasks(self._numbers, work)

    def collect(self) -> list[Any]:
        return [result for number in self._numbers for result in self._work([number])]


class _Spark:
    """The part of a Spark context that a snapshot's driver uses, with one core in this process."""

    applicationId = ""
    uiWebUrl = ""
    version = "none: one process"
    defaultParallelism = 1

    @property
    def sparkContext(self) -> _Spark:
        return self

    def getConf(self) -> dict[str, str]:
        return {}

    def accumulator(self, value: Any, param: Any) -> _Accumulator:
        return _Accumulator(value, param)

    def parallelize(self, numbers: Iterable[int], _: int) -> _Tasks:
        return _Tasks(numbers, lambda numbers: numbers)

    def setJobGroup(self, *_: Any, **__: Any) -> None:
        """There is one job."""

    def cancelJobGroup(self, _: str) -> None:
        """A task of this process ends by its own error."""

    def statusTracker(self) -> _Spark:
        return self

    def getJobIdsForGroup(self, _: str) -> list[int]:
        return []

    def getActiveJobsIds(self) -> list[int]:
        return []


def only(slot: int) -> RunSlots:
    """Return a task that copies one slot of those that it is to copy."""

    def copy_one(
        plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, ends: Sequence[int] | None
    ) -> Iterator[SlotResult]:
        if slot not in slots:
            raise SystemExit(f"there is no slot {slot}: the connector has slots 0 to {plan.slots - 1}")
        for result in copy_slots(plan, secrets, [slot], attempt, ends):
            if result.error is not None:
                yield result
                return
            copied = {name: vars(count) for name, count in result.caches.items()}
        raise Interrupted(f"slot {slot} was copied alone: {copied}", "Run the snapshot again: it continues.")

    return copy_one


def main() -> None:
    """Copy and print the run's record; of one slot print what it has copied."""
    arguments = _parser().parse_args()
    settings = load(arguments.file).settings_of(SourceSettings)
    secrets = SecretsFile(arguments.secrets) if arguments.secrets else None
    request = RunRequest(settings, f"one-process-{new_id()}", arguments.snapshot_id, secrets, lambda status: None)
    spark = cast(SparkSession, _Spark())
    if arguments.slot is None:
        print(run_snapshot(spark, request).to_json().decode())
        return
    try:
        run_snapshot(spark, request, run_slots=only(arguments.slot))
    except Interrupted as end:
        print(end)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.one_process", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", help="settings of a source, without a stream")
    parser.add_argument("--slot", type=int, help="copy this slot alone, and leave the snapshot unfinished")
    parser.add_argument("--secrets", help="secrets file")
    parser.add_argument("--snapshot-id", help="the snapshot to begin or continue")
    return parser


if __name__ == "__main__":
    main()
