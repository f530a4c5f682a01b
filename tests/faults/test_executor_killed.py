"""kill -9 of a Spark executor around the commit of a transaction, on a standalone cluster: Spark's retry neither loses nor repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ignite_kafka.events import SECRETS_EXPOSED
from tests.faults.conftest import Copy
from tests.support.kafka_proxy import Api, KafkaProxy, Rule
from tests.support.kept_events import assert_kept
from tests.support.processes import SparkCluster, executor_of, kill_process
from tests.support.waiting import wait_until

# units are committed before and left after the second EndTxn of a slot
PLACED = 2
UNUSED = {"kafka": {"ssl.key.password": "of no key"}}
Place = Callable[[KafkaProxy, str], Rule]


def not_yet_sent(proxy: KafkaProxy, slot_id: str) -> Rule:
    return proxy.hold_request(Api.END_TXN, slot_id, PLACED)


def sent_and_reply_withheld(proxy: KafkaProxy, slot_id: str) -> Rule:
    return proxy.hold_reply(Api.END_TXN, slot_id, PLACED)


def answered(proxy: KafkaProxy, slot_id: str) -> Rule:
    return proxy.hold_next(Api.END_TXN, slot_id, PLACED)


def further(place: Place) -> Any:
    return pytest.param(place, marks=pytest.mark.long("sent_and_reply_withheld"))


@pytest.mark.parametrize("place", [further(not_yet_sent), sent_and_reply_withheld, further(answered)])
def test_killed_executor_is_replaced(copy: Copy, spark_cluster: SparkCluster, place: Place) -> None:
    rule = place(copy.broker.proxy, copy.slot_id(1))
    app = copy.start(master=spark_cluster.master)
    try:
        executor, workers = executor_of(app.reaches(rule).connection)
        for process in [executor, *workers]:
            kill_process(process)
        rule.drop()
        app.result().assert_exit(0)
    finally:
        app.stop()
    copy.assert_complete()


def test_orphaned_worker_cannot_commit_after_its_replacement(copy: Copy, spark_cluster: SparkCluster) -> None:
    """Only the JVM dies: its Python worker is left in a commit that reaches the broker after the next attempt has begun."""
    held = copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(1), PLACED)
    app = copy.start(master=spark_cluster.master)
    try:
        connection = app.reaches(held).connection
        replacement = copy.broker.proxy.watch_reply(Api.INIT_PRODUCER_ID, copy.slot_id(1))
        kill_process(executor_of(connection)[0])
        assert app.reaches(replacement).connection != connection
        held.release()
        app.result().assert_exit(0)
    finally:
        app.stop()
    copy.assert_complete()


@pytest.mark.long("test_killed_executor_is_replaced")
def test_every_executor_killed(copy: Copy, spark_cluster: SparkCluster) -> None:
    rule = copy.broker.proxy.hold_reply(Api.END_TXN, copy.slot_id(2), PLACED)
    app = copy.start(master=spark_cluster.master, secrets=UNUSED)
    try:
        app.reaches(rule)
        executors = wait_until(app.executors, "executors of the app")
        for executor in executors:
            for process in [executor, *executor.children(recursive=True)]:
                kill_process(process)
        rule.drop()
        app.result().assert_exit(0)
    finally:
        app.stop()
    copy.assert_complete()
    assert_kept(copy.connector_settings, SECRETS_EXPOSED)  # the cluster does not authenticate
