"""Checks on the executors of a Spark session: packages, clocks, and connections to each server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ..common.versions import versions_text
from ..errors import TaskFailed
from ..runtime.task_failure import local_folder, task_failed
from .findings import FAILED, OK, WARNING, Diagnosis
from .reachability import HostView, inspect_host, measure_skew_s, merge_hosts, read_clock

T = TypeVar("T")
_MOST_SKEW_S = 5.0  # with a larger skew, times in `status` and in events of several hosts cannot be compared
_JOB_S = 300.0  # limit of the job, because Spark waits for executors without limit


def check_executors(spark: SparkSession, diagnosis: Diagnosis) -> None:
    """Run a task on each core of Spark, and add findings about packages, clocks and ``diagnosis.servers``.

    :raises TaskFailed: the job failed, or did not end in five minutes.
    """
    context = spark.sparkContext
    servers = {server.subject: server.addresses for server in diagnosis.servers}
    cores = max(context.defaultParallelism, 1)
    by_host = merge_hosts(_on_each_core(context, cores, partial(inspect_host, servers)))
    asked_s = time.time()  # the executors' processes have their modules now, so the next job is short
    clocks = dict(_on_each_core(context, cores, read_clock))
    answered_s = time.time()
    diagnosis.add(
        "Spark", OK, f"{spark.version} at {context.master}: {cores} cores in {len(by_host)} executors answered"
    )
    for host, seen in by_host.items():
        skew = measure_skew_s(clocks[host], asked_s, answered_s) if host in clocks else 0.0
        _check(f"Executor {host}", seen, skew, diagnosis)


def _on_each_core(context: SparkContext, cores: int, work: Callable[[Iterable[int]], Iterator[T]]) -> list[T]:
    with ThreadPoolExecutor(1) as thread:
        job = thread.submit(lambda: context.parallelize(range(cores), cores).mapPartitions(work).collect())
        if not wait([job], _JOB_S).done:
            context.cancelAllJobs()
            what = f"the executors of {context.master} did not answer in {_JOB_S:.0f} s"
            raise TaskFailed(what, "Check in Spark's UI whether the application got executors.")
        try:
            return list(job.result())
        except (Py4JError, PySparkException) as error:
            raise task_failed(str(error), local_folder(context)) from error


def _check(subject: str, seen: HostView, skew: float, diagnosis: Diagnosis) -> None:
    for package, reason in seen.missing.items():
        diagnosis.add(
            subject,
            FAILED,
            f"cannot import {package}: {reason}",
            "Install the library's requirements for the executors' Python.",
        )
    for server, reason in seen.unreachable.items():
        diagnosis.add(
            subject, FAILED, f"does not reach {server}: {reason}", "Check the network and firewalls between the two."
        )
    if abs(skew) > _MOST_SKEW_S:
        what = f"its clock is at least {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this one"
        diagnosis.add(subject, WARNING, what, "Synchronize the clocks (NTP).")
    if not (seen.missing or seen.unreachable):
        reached = "reaches every server" if diagnosis.servers else "no server was asked, see above"
        diagnosis.add(subject, OK, f"{reached}; {versions_text(seen.versions)}")
