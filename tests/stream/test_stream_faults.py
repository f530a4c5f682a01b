"""What may die while a connector follows caches under writers that never pause: afterwards the fold of each topic is its cache."""

from __future__ import annotations

import re

import pytest

from ignite_kafka.events import QUERY_FAILED
from tests.stream.conftest import KINDS, RATE, WRITERS, MakeStream, assert_right
from tests.support.frozen_workers import suspended
from tests.support.kafka_proxy import Api
from tests.support.oracle import ends
from tests.support.processes import SparkCluster, kill_process
from tests.support.servers import ProxiedBroker
from tests.support.traffic import TrafficProgram
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, KafkaBroker


@pytest.mark.parametrize(
    "whole", [True, pytest.param(False, marks=pytest.mark.long("with its workers"))], ids=["with its workers", "alone"]
)
def test_driver_killed_and_started_again(
    pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream, traffic: TrafficProgram, whole: bool
) -> None:
    followed = stream(pair, kafka, *KINDS)
    with traffic.start(pair, followed.writers(*WRITERS), seed=21, rate=RATE) as writers, followed.running() as first:
        followed.await_records(first, KINDS)
        writers.await_operations(100)
        for process in first.family() if whole else []:
            kill_process(process)
        first.kill()
        with followed.running() as second:
            writers.await_operations(200)
            writers.stop()
            assert_right(followed.await_same(second, *KINDS))
            followed.stop(second)
    assert_right(followed.verdicts(*KINDS))
    assert followed.unsent() == 0


def test_what_was_acknowledged_is_in_the_topics(
    pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream, traffic: TrafficProgram
) -> None:
    """The connector is killed and the writers end: each key is as in the cache, or its change is still in the backlog."""
    followed = stream(pair, kafka, *KINDS, transaction_timeout_ms=10_000, transaction_max_ms=5_000)
    with traffic.start(pair, followed.writers(*WRITERS), seed=26, rate=RATE) as writers:
        with followed.running() as app:
            followed.await_records(app, KINDS)
            followed.await_records(app, KINDS, 50)
        writers.await_operations(50)
        counts = writers.stop()
        unsent = {kind: followed.unsent_keys(kind) for kind in KINDS}
        assert all(unsent.values())
        assert_right(followed.verdicts(*KINDS, besides=unsent))
        assert not all(verdict.same for verdict in followed.verdicts(*KINDS).values())
    with traffic.start(pair, followed.writers(*WRITERS), seed=27, rate=RATE, first=counts.highest) as writers, followed.running() as app:
        followed.await_records(app, KINDS)
        writers.stop()
        assert_right(followed.await_same(app, *KINDS), besides=("repeated",))
        followed.stop(app)
    assert followed.unsent() == 0


@pytest.mark.long("test_driver_killed_and_started_again")
def test_workers_and_executor_killed(
    pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream, traffic: TrafficProgram, spark_cluster: SparkCluster
) -> None:
    followed = stream(pair, kafka, *KINDS)
    with (
        traffic.start(pair, followed.writers(*WRITERS), seed=22, rate=RATE) as writers,
        followed.running(master=spark_cluster.master) as app,
    ):
        followed.await_records(app, KINDS)
        (executor,) = wait_until(app.executors, "the executor of the app")
        for worker in executor.children(recursive=True):
            kill_process(worker)
        followed.await_records(app, KINDS, 10)
        (executor,) = wait_until(app.executors, "the executor of the app")
        for process in [executor, *executor.children(recursive=True)]:
            kill_process(process)
        followed.await_records(app, KINDS, 10)
        followed.fill("atomic-b")  # begins another epoch, whose tasks are first attempts again
        assert_right(followed.await_same(app, "atomic-b"))
        writers.stop()
        assert_right(followed.await_same(app, *KINDS))
        followed.stop(app)


def test_broker_killed_and_started_again(
    pair: IgniteCluster, mortal_broker: ProxiedBroker, stream: MakeStream, traffic: TrafficProgram
) -> None:
    """While the answer to a commit is on its way. One slot, so that no other one's markers are lost: see Copy.await_settled."""
    followed = stream(pair, mortal_broker, *KINDS, slots=1)
    offsets = f"in-{followed.name}-offsets-{followed.name}"
    with traffic.start(pair, followed.writers(*WRITERS), seed=23, rate=RATE) as writers, followed.running() as app:
        followed.await_records(app, KINDS)
        held = mortal_broker.proxy.hold_reply(Api.END_TXN, f"{followed.name}-0")
        app.reaches(held)
        wait_until(lambda: ends(mortal_broker.bootstrap, offsets)[0][0] == ends(mortal_broker.bootstrap, offsets)[0][1], "the markers")
        mortal_broker.kill()
        held.drop()
        writers.await_operations(100)
        mortal_broker.start()
        followed.await_records(app, KINDS, 10)
        writers.stop()
        assert_right(followed.await_same(app, *KINDS))
        followed.stop(app)


# pyignite leaves the socket open of a node that it cannot reach
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "number",
    [0, pytest.param(1, marks=pytest.mark.long("the node first connected to"))],
    ids=["the node first connected to", "the other node"],
)
def test_node_killed(mortal_pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream, traffic: TrafficProgram, number: int) -> None:
    followed = stream(mortal_pair, kafka, *KINDS)
    with traffic.start(mortal_pair, followed.writers(*WRITERS), seed=24, rate=RATE) as writers, followed.running() as app:
        followed.await_records(app, KINDS)
        writers.await_operations(100)
        mortal_pair.kill(number)
        writers.await_operations(200)
        writers.stop()
        # an update that its client repeats when the primary dies is a second update
        assert_right(followed.await_same(app, *KINDS), besides=("repeated",))
        followed.stop(app)


def test_reads_that_fail_are_reported_and_repeated(lone_node: IgniteCluster, kafka: KafkaBroker, stream: MakeStream) -> None:
    """The only node is frozen until a task has reported it: no other node can answer in its place."""
    kind = KINDS[0]
    followed = stream(lone_node, kafka, kind, ignite_request_timeout_ms=3_000)
    with followed.running() as app:
        followed.await_records(app, [kind])
        with suspended(lone_node.node(0).pid):
            report = re.compile(rf"{QUERY_FAILED.id} # changes could not be read and are read again: .*{lone_node.address}")
            wait_until(lambda: report.search(app.output()), f"event {QUERY_FAILED.id} in {app.log}")
        followed.fill(kind, value=1)
        assert_right(followed.await_same(app, kind))
        followed.stop(app)
    assert followed.unsent() == 0


def test_started_twice(pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream, traffic: TrafficProgram) -> None:
    followed = stream(pair, kafka, *KINDS)
    with traffic.start(pair, followed.writers(*WRITERS), seed=25, rate=RATE) as writers, followed.running() as older:
        followed.await_records(older, KINDS)
        with followed.running() as newer:
            result = older.result().assert_exit(3)
            writers.await_operations(100)
            writers.stop()
            assert_right(followed.await_same(newer, *KINDS))
            followed.stop(newer)
    assert result.error is not None
    assert result.error[0] == "Fenced"
