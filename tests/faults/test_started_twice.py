"""The same connector started twice on a standalone cluster: the older run ends as fenced, Spark does not repeat it, the newer finishes."""

from __future__ import annotations

import pytest

from tests.faults.conftest import Copy
from tests.support.kafka_proxy import Api
from tests.support.processes import SparkCluster

ALL_CORES = {"spark.cores.max": "2", "spark.task.maxFailures": "4"}
ONE_CORE = {"spark.cores.max": "1", "spark.task.maxFailures": "4"}


def test_older_run_is_fenced_and_newer_finishes(copy: Copy, spark_cluster: SparkCluster) -> None:
    """The older run has all cores: its driver must see the newer one, whose tasks cannot start before."""
    held = copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(0), 2)
    older = copy.start(master=spark_cluster.master, conf=ALL_CORES)
    try:
        older.reaches(held)
        newer = copy.start(master=spark_cluster.master, conf=ALL_CORES)
        try:
            result = older.result().assert_exit(3)
            newer.result().assert_exit(0)
        finally:
            newer.stop()
        held.release()
    finally:
        older.stop()
    assert result.error is not None
    code, message = result.error
    assert code == "Fenced"
    assert "generation 2" in message
    assert copy.connector in message
    # the driver cancels its tasks; none failed, and none was started again
    assert "PythonException" not in result.output
    assert "Lost task 0.1" not in result.output
    copy.assert_complete()


@pytest.mark.long("test_older_run_is_fenced_and_newer_finishes")
def test_a_late_task_of_the_older_run_changes_nothing(copy: Copy, spark_cluster: SparkCluster) -> None:
    """The newer task has initialised a slot's id and is slow to send; the older one's commit arrives, and its slot is opened again."""
    copy.settings["slots"] = 1
    held = copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(0), 2)
    older = copy.start(master=spark_cluster.master, conf=ONE_CORE)
    try:
        older.reaches(held)
        slow = copy.broker.proxy.hold_request(Api.ADD_PARTITIONS_TO_TXN, copy.slot_id(0))
        newer = copy.start(master=spark_cluster.master, conf=ONE_CORE)
        try:
            newer.reaches(slow)
            held.release()
            older.result().assert_exit(3)
            slow.release()
            newer.result().assert_exit(0)
        finally:
            newer.stop()
    finally:
        older.stop()
    copy.assert_complete()
