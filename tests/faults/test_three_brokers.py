"""Three brokers with replication 3 and min.insync.replicas 2: first starts, and brokers that are away when a run starts or amid it.

All tests share one cluster of brokers and one Ignite node; each leaves all brokers running.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ignite_kafka import events
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec
from tests.faults.conftest import make_copy
from tests.stream.conftest import MakeStream, assert_right, stream, traffic
from tests.support.broker_faults import BrokerFaults
from tests.support.first_starts import FirstStarts
from tests.support.kept_events import assert_kept
from tests.support.processes import App
from tests.support.randomness import generator
from tests.support.sink_case import SinkCase
from tests.support.three_brokers import brokers, shared_brokers
from tests.support.traffic import TrafficProgram
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, KafkaCluster

__all__ = ["brokers", "shared_brokers", "stream", "traffic"]

ROUNDS = 10
KIND = "small"


def says(app: App, event: events.Event) -> None:
    """Wait until a run has logged an event."""

    def said() -> bool:
        found = f" {event.id} # " in app.output()
        assert found or app.running(), f"the run ended before event {event.id}:\n{app.output_tail()}"
        return found

    wait_until(said, f"event {event.id} of the run")


def test_first_starts(brokers: KafkaCluster) -> None:
    """Before topics were asked for again, 4 of 30 rounds failed in describe, 6 in ends, 2 in the take of a connector."""
    starts = FirstStarts(brokers.bootstrap)
    for _ in range(ROUNDS):
        starts.round()
    assert not starts.failures, "\n".join(starts.failures)
    assert starts.tried["slot"] == ROUNDS * 4


def test_new_clients_while_a_broker_is_dead(brokers: KafkaCluster) -> None:
    """Their metadata name it as the controller. Before the metadata were read again, 12 of 12 clients stood until it was back."""
    clients = KafkaClients({"bootstrap.servers": brokers.bootstrap})
    for node in (2, 3):
        brokers.kill(node)
        with ThreadPoolExecutor(12) as pool:
            names = [f"new-{node}-{number}" for number in range(12)]
            # a client of its own for each; what exists is not asked for, because that reads the metadata
            made = pool.map(lambda name: Topics(clients).ensure([TopicSpec(name, 4)], have={}), names)
            assert [dict(counts) for counts in made] == [{name: 4} for name in names]
        brokers.start(node)
        brokers.await_in_sync()


@pytest.mark.long("test_a_stream_over_killed_brokers")
def test_a_snapshot_that_starts_without_brokers(brokers: KafkaCluster, ignite: IgniteCluster, tmp_path: Path) -> None:
    """Two of three are away when it starts, leaders move and the controller is killed amid it."""
    copy = make_copy(brokers, ignite, tmp_path)
    faults = BrokerFaults(brokers, generator(6), copy.connector)
    brokers.kill(1, 2)
    app = copy.start()
    try:
        says(app, events.KAFKA_AWAITED)
        brokers.start(1, 2)
        says(app, events.RUN_STARTED)
        brokers.move_leaders(faults.topics(), faults.chance)
        faults.kill_controller()
        app.result().assert_exit(0)
    finally:
        app.stop()
    brokers.await_in_sync()
    assert_kept(copy.connector_settings, events.KAFKA_AWAITED)
    copy.assert_complete()


def test_a_sink_over_killed_brokers(brokers: KafkaCluster, ignite: IgniteCluster, tmp_path: Path) -> None:
    case = SinkCase(brokers, ignite, tmp_path, seed=6)
    with case.running() as app:
        brokers.kill(3)  # while it starts
        case.await_moment(app, most=0.2)
        brokers.start(3)
        brokers.await_in_sync()
        brokers.move_leaders([case.topic, f"int-{case.name}-offsets-{case.name}", "__transaction_state"], case.chance)
        brokers.kill(1)
        app.result().assert_exit(0)
    brokers.start(1)
    brokers.await_in_sync()
    case.assert_same()


def test_a_stream_over_killed_brokers(brokers: KafkaCluster, ignite: IgniteCluster, stream: MakeStream, traffic: TrafficProgram) -> None:
    followed = stream(ignite, brokers, KIND)
    faults = BrokerFaults(brokers, generator(7), followed.name)
    with traffic.start(ignite, followed.writers(f"puts:{KIND}"), seed=31, rate=40) as writers, followed.running() as app:
        brokers.kill(2)  # while it starts
        followed.await_records(app, [KIND])
        brokers.start(2)
        brokers.await_in_sync()
        brokers.move_leaders(faults.topics(), faults.chance)
        faults.kill_controller()
        followed.await_records(app, [KIND], 10)
        writers.stop()
        assert_right(followed.await_same(app, KIND))
        followed.stop(app)
    assert followed.unsent() == 0
