"""Checks on the executors of a Spark session: their packages, their clocks, and each server from where they run."""

from __future__ import annotations

import time
from functools import partial

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ..common.versions import versions_text
from ..runtime.task_failure import local_folder, task_failed
from .findings import FAILED, OK, WARNING, Diagnosis
from .reachability import Seen, look, skew_s

_MOST_SKEW_S = 5.0  # beyond it, times of runs in `status` and events of several hosts cannot be compared


def check_executors(spark: SparkSession, found: Diagnosis) -> None:
    """Run a task on each core that Spark has now, and add what the executors see of the servers in ``found.places``."""
    context = spark.sparkContext
    cores = max(context.defaultParallelism, 1)
    places = {place.subject: place.addresses for place in found.places}
    asked_s = time.time()
    try:
        seen = context.parallelize(range(cores), cores).mapPartitions(partial(look, places)).collect()
    except (Py4JJavaError, PySparkException) as error:
        failed = task_failed(str(error), local_folder(context))
        found.add("Executors", FAILED, failed.what, failed.advice)
        return
    answered_s = time.time()
    here = next(look({}))
    hosts = {one.host: one for one in seen}
    found.add("Spark", OK, f"{spark.version} at {context.master}: {cores} cores in {len(hosts)} executors answered")
    for one in hosts.values():
        _check(one, here, skew_s(one.time_s, asked_s, answered_s), found)


def _check(one: Seen, here: Seen, skew: float, found: Diagnosis) -> None:
    subject = f"Executor {one.host}"
    for package, reason in one.missing.items():
        found.add(subject, FAILED, f"cannot import {package}: {reason}", "Install the library's requirements for the executors' Python.")
    for server, reason in one.unreachable.items():
        found.add(
            subject, FAILED, f"does not reach {server}: {reason}", "Check the network and firewalls between that host and the server."
        )
    if one.versions["Python"].split(".")[:2] != here.versions["Python"].split(".")[:2]:
        what = f"has Python {one.versions['Python']}, the driver {here.versions['Python']}"
        found.add(subject, FAILED, what, "PySpark needs one minor version: set PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON.")
    if abs(skew) > _MOST_SKEW_S:
        what = f"its clock is at least {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this one"
        found.add(subject, WARNING, what, "Synchronize the clocks (NTP).")
    if not (one.missing or one.unreachable):
        found.add(subject, OK, f"reaches every server; {versions_text(one.versions)}")
