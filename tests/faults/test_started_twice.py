"""The same connector started twice on a standalone cluster: the older run ends as fenced, Spark does not repeat it, the newer finishes."""

from __future__ import annotations

from tests.faults.conftest import Copy
from tests.support.kafka_proxy import Api
from tests.support.processes import SparkCluster

ONE_CORE = {"spark.cores.max": "1", "spark.task.maxFailures": "4"}


def test_older_run_is_fenced_and_newer_finishes(copy: Copy, spark_cluster: SparkCluster) -> None:
    held = copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(0), 3)
    older = copy.start(master=spark_cluster.master, conf=ONE_CORE)
    try:
        older.reaches(held)
        newer = copy.start(master=spark_cluster.master, conf=ONE_CORE)
        try:
            newer.result().assert_exit(0)
        finally:
            newer.stop()
        held.release()
        result = older.result().assert_exit(3)
    finally:
        older.stop()
    assert result.error is not None
    code, message = result.error
    assert code == "Fenced"
    assert "generation 2" in message
    assert copy.connector in message
    # the driver cancels its other tasks; none failed, and none was started again
    assert "PythonException" not in result.output
    assert "Lost task 0.1" not in result.output
    copy.assert_complete()


def test_older_run_cannot_fence_the_newer_one_while_it_claims(copy: Copy, spark_cluster: SparkCluster) -> None:
    """The newer driver has initialised a slot's id and is slow to write its claim; the older task, fenced, tries again meanwhile."""
    copy.settings["slots"] = 1  # else another slot of the older run finds the newer claim first, and ends the run before this one retries
    held = copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(0), 3)
    older = copy.start(master=spark_cluster.master, conf=ONE_CORE)
    try:
        older.reaches(held)
        claim = copy.broker.proxy.hold_request(Api.ADD_PARTITIONS_TO_TXN, copy.slot_id(0))
        newer = copy.start(master=spark_cluster.master, conf=ONE_CORE)
        try:
            newer.reaches(claim)
            retry = copy.broker.proxy.watch_reply(Api.INIT_PRODUCER_ID, copy.slot_id(0))
            held.release()
            older.reaches(retry)
            claim.release()
            newer.result().assert_exit(0)
        finally:
            newer.stop()
        older.result().assert_exit(3)
    finally:
        older.stop()
    copy.assert_complete()
