"""Python workers of Spark that stand: one that is frozen, which its driver notices, one that a call of its own holds, and one whose calls
of librdkafka do not return."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ignite_kafka.common import heartbeat
from ignite_kafka.errors import TaskFailed
from ignite_kafka.runtime import silent_tasks
from ignite_kafka.runtime.counts import SlotResult
from ignite_kafka.runtime.spark_job import Job, TaskErrors
from tests.support.frozen_workers import frozen
from tests.support.processes import alive
from tests.support.sink_connector import Running, Sink, trade
from tests.support.waiting import wait_until


def tasks_at_work(spark: SparkSession, run_id: str) -> int:
    tracker = spark.sparkContext.statusTracker()
    jobs = [job for number in tracker.getJobIdsForGroup(f"ignite-kafka-{run_id}") if (job := tracker.getJobInfo(number))]
    assert jobs
    return sum(stage.numActiveTasks for job in jobs for number in job.stageIds if (stage := tracker.getStageInfo(number)))


@pytest.mark.parametrize("stops", [False, pytest.param(True, marks=pytest.mark.long("False"))])
def test_a_frozen_worker_ends_the_run_and_the_next_goes_on(sink: Sink, monkeypatch: pytest.MonkeyPatch, stops: bool) -> None:
    """Also a run that waits for its tasks because it is to stop. Before there was a limit, either waited for ever."""
    monkeypatch.setattr(heartbeat, "SLACK_S", 1.0)
    monkeypatch.setattr(silent_tasks, "_LATE_S", 1.0)
    sink.send([trade(number) for number in range(6)])
    with Running(
        sink, retry_timeout_ms=1_000, transaction_timeout_ms=10_000, ignite_request_timeout_ms=15_000, progress_interval_ms=200
    ) as running:
        running.awaits(set(range(6)))
        wait_until(lambda: running.alive and sum(sink.group().values()) == 6, "their commit")
        tasks = tasks_at_work(sink.spark, running.run_id)
        with frozen() as workers:
            if stops:
                running.stop()
            with pytest.raises(TaskFailed, match=r"Spark tasks have neither reported nor ended for [0-9]+ s"):
                wait_until(lambda: not running.alive, "the end of the run")
            assert not tasks_at_work(sink.spark, running.run_id), "the run has ended before its tasks, which may still put entries"
            wait_until(lambda: sum(not alive(worker) for worker in workers) >= tasks, "the end of the tasks' workers")
        running.ended = True
    sink.send([trade(number) for number in range(6, 9)])
    assert sink.run().caches[sink.cache].records == 3
    assert set(sink.entries()) == set(range(9))


def stands(numbers: Iterable[int]) -> Iterator[SlotResult]:
    with heartbeat.watched(0.5):
        time.sleep(3_600)
    yield SlotResult(0)


def test_a_worker_that_stands_ends_itself_and_the_error_says_where(spark: SparkSession) -> None:
    job = Job(spark, TaskErrors(spark), stands, 1, "stands", "a task that stands")
    with pytest.raises(TaskFailed, match=r"gave no sign of life for 0:00:00\.5") as failed:
        job.result()
    assert str(failed.value.where["at"]).endswith(f"in {stands.__name__}")
    assert __file__ in str(failed.value.where["at"])


def test_a_worker_whose_calls_do_not_return_ends_and_a_new_one_goes_on(sink: Sink, tmp_path: Path) -> None:
    """Before, it was tried again in the same process until retry_timeout_ms was over, and the run ended."""
    used = tmp_path / "processes"
    sink.send([trade(number, symbol=str(used)) for number in range(6)], partition=0)
    assert sink.run(filter="tests.support.filters:leaves_stuck_calls", slots=1, retry_timeout_ms=5_000).caches[sink.cache].records == 6
    assert set(sink.entries()) == set(range(6))
    assert len(set(used.read_text().split())) == 2
