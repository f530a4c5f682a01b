"""Spark job in two stages: read topics and caches into blocks, then reduce the blocks of each bucket of keys.

1. Tasks read shares of topics and caches, and yield blocks.
2. Spark brings the blocks of a bucket together, and tasks reduce each bucket.

Blocks are numpy and Arrow columns, because a block costs the JVM as much as a row. Spark's shuffle keeps them on disk.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark import RDD, StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ..common.local_disk import SPARK_REMEDY, disk_errors
from ..errors import CallsStuck, IgniteKafkaError
from ..runtime.task_failure import local_folder, task_failed

S = TypeVar("S")
R = TypeVar("R")
Block = tuple[int, Any]
"""Number of a bucket, and a part of the bucket's contents."""
OnTasks = Callable[[int, int], None]
"""Callback with the number of ended tasks and the number of all tasks."""
_POLL_S = 0.2
_AGAIN = "Compare again: a comparison changes nothing, and a repair sends only what differs still."

log = logging.getLogger(__name__)
_GROUP = "ignite-kafka verify"


@dataclass(frozen=True)
class _Failed:
    """Error of a failed share, returned as its result because Spark reports a raised exception only as text."""

    error: IgniteKafkaError


class Buckets(Protocol):
    """Interface to the results of an exchange, one for each bucket of keys."""

    def collect(self, summary: Callable[[Any], Any]) -> list[Any]:
        """Summarize each bucket's result on the executors, and return the summaries."""

    def fetch(self, buckets: Sequence[int]) -> list[Any]:
        """Return the full results of some buckets; call :meth:`collect` first."""

    def close(self) -> None:
        """Free the executors' disk space that holds the results."""


MakeExchange = Callable[
    [Sequence[Any], Callable[[Any], Iterator[Block]], Callable[[Iterator[Any]], Any], int, OnTasks], Buckets
]
"""Factory of an exchange from shares, reader, reducer, number of buckets and callback: see :class:`Exchange`."""


class Exchange(Generic[S, R]):
    """Spark job that shuffles blocks into buckets; results stay on the executors' disks until :meth:`close`.

    :param read: yields the blocks of a share; runs on an executor.
    :param reduce: returns the result of a bucket from its blocks in any order; runs on an executor.
    """

    def __init__(
        self,
        spark: SparkSession,
        shares: Sequence[S],
        read: Callable[[S], Iterator[Block]],
        reduce: Callable[[Iterator[Any]], R],
        buckets: int,
        on_tasks: OnTasks = lambda _done, _all: None,
    ) -> None:
        self._context = spark.sparkContext
        self._on_tasks = on_tasks
        self._all = len(shares) + buckets

        def read_blocks(items: Iterable[S]) -> Iterator[Block]:
            for share in items:
                try:
                    yield from read(share)
                except CallsStuck:
                    raise  # ends this Python worker; Spark tries again in a new one
                except IgniteKafkaError as error:
                    yield 0, _Failed(error)

        def reduce_blocks(items: Iterable[Block]) -> Iterator[R | _Failed]:
            yield _reduce_bucket(map(operator.itemgetter(1), items), reduce)

        with disk_errors(local_folder(self._context), SPARK_REMEDY):  # Spark's Python side writes the shares to a file
            distributed = self._context.parallelize(shares, len(shares))
        shuffled: RDD[Block] = distributed.mapPartitions(read_blocks).partitionBy(buckets, lambda bucket: bucket)
        self._results: RDD[Any] = shuffled.mapPartitions(reduce_blocks).persist(StorageLevel.DISK_ONLY)

    def collect(self, summary: Callable[[R], Any]) -> list[Any]:
        """Run the job, and return a summary of each bucket's result, made on the executors.

        :raises IgniteKafkaError: the error of a share or of a bucket; final errors come first.
        :raises TaskFailed, LocalDiskFull: a task ended without results.
        """
        results = self._run_followed(
            lambda: self._results.map(
                lambda result: result if isinstance(result, _Failed) else summary(result)
            ).collect()
        )
        errors = [result.error for result in results if isinstance(result, _Failed)]
        if errors:
            raise max(errors, key=lambda error: error.final)
        return results

    def fetch(self, buckets: Sequence[int]) -> list[R]:
        """Return the full results of some buckets; call :meth:`collect` first. Raises the same errors."""
        with self._translate_failures():
            results: list[R] = list(self._context.runJob(self._results, list, list(buckets)))
        return results

    def close(self) -> None:
        """Free the executors' disk space that holds the results."""
        self._results.unpersist()

    def _run_followed(self, job: Callable[[], list[Any]]) -> list[Any]:
        """Run a Spark job in another thread, reporting its ended tasks meanwhile, and return its result."""

        def run() -> list[Any]:
            self._context.setJobGroup(_GROUP, "compare topics with caches", interruptOnCancel=True)
            return job()

        with self._translate_failures(), ThreadPoolExecutor(1, "verify") as thread:
            running = thread.submit(run)
            try:
                while not wait([running], _POLL_S).done:
                    self._on_tasks(self._count_ended_tasks(), self._all)
            except BaseException:  # after Ctrl-C, too, the tasks must end
                self._context.cancelJobGroup(_GROUP)
                raise
            return running.result()

    @contextmanager
    def _translate_failures(self) -> Iterator[None]:
        try:
            yield
        except (Py4JJavaError, PySparkException) as cause:
            log.error("a Spark job of the comparison failed", exc_info=cause)
            raise task_failed(str(cause), local_folder(self._context), _AGAIN) from cause

    def _count_ended_tasks(self) -> int:
        tracker = self._context.statusTracker()
        jobs = filter(None, map(tracker.getJobInfo, tracker.getActiveJobsIds()))
        stages = filter(None, (tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds))
        return sum(stage.numCompletedTasks for stage in stages)


def _reduce_bucket(parts: Iterator[Any], reduce: Callable[[Iterator[Any]], R]) -> R | _Failed:
    """Reduce a bucket's blocks to its result; return an error instead if a share or the reduction failed."""
    failed: list[_Failed] = []

    def take_parts() -> Iterator[Any]:
        for part in parts:
            if isinstance(part, _Failed):
                failed.append(part)
            elif not failed:
                yield part

    try:
        result = reduce(take_parts())
    except CallsStuck:
        raise  # ends this Python worker, as in read_blocks
    except IgniteKafkaError as error:
        return _Failed(error)
    return max(failed, key=lambda failure: failure.error.final) if failed else result
