"""Failures of the jobs of a comparison that reach the driver as Spark's text, or as errors of its files."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException

from ignite_kafka.errors import LocalDiskFull, TaskFailed
from ignite_kafka.verification.exchange import Exchange

JAVA = "Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most recent failure: java.io.IOException: {}\n\tat x"


class Rdd:
    """An RDD whose jobs fail with a text of Spark."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Callable[..., Rdd]:
        return lambda *_: self

    def collect(self) -> None:
        raise PySparkException(message=self._text)


def exchange(text: str = "", write: Callable[[], None] = lambda: None) -> Exchange[Any, Any]:
    """An exchange whose jobs fail; `write` is what Spark does to write the shares to a file."""
    rdd = Rdd(text)

    def parallelize(*_: Any) -> Rdd:
        write()
        return rdd

    def run_job(*_: Any) -> None:
        rdd.collect()

    settings = {"spark.local.dir": "/spark"}
    context = SimpleNamespace(parallelize=parallelize, runJob=run_job, setJobGroup=lambda *_, **__: None, getConf=lambda: settings)
    tracker = SimpleNamespace(getActiveJobsIds=list)
    context.statusTracker = lambda: tracker
    return Exchange(cast(Any, SimpleNamespace(sparkContext=context)), [1], lambda _: iter(()), lambda _: None, 1)


@pytest.mark.parametrize("ask", [lambda made: made.collect(lambda one: one), lambda made: made.fetch([0])])
def test_a_full_disk_and_a_crashed_worker_are_named(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(LocalDiskFull, match="the file system of /spark has no space left") as full:
        ask(exchange(JAVA.format("No space left on device")))
    assert "spark.local.dir" in full.value.remedy
    with pytest.raises(TaskFailed, match="the Python worker of a Spark task was killed") as crashed:
        ask(exchange("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed): \n\tat x"))
    assert "Compare again" in crashed.value.remedy
    assert "next run" not in crashed.value.remedy
    with pytest.raises(TaskFailed, match="Connection reset"):
        ask(exchange(JAVA.format("Connection reset")))


def test_shares_that_cannot_be_written_are_named() -> None:
    def write() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(LocalDiskFull, match="the file system of /spark has no space left"):
        exchange(write=write)
