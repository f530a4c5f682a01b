"""The links to all three brokers are cut again and again, at any moment: sink, stream and snapshot flow again after each cut.

Before calls of librdkafka were bounded, slots of a sink stood for ever after some of these cuts, without an error. `CUTS=100` makes a
hundred of them in each test.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state.target_state import STOPPED, write_target
from tests.faults.conftest import Copy, make_copy
from tests.stream.conftest import MakeStream, assert_right, stream, traffic
from tests.support import QUICK_JVM
from tests.support.processes import App
from tests.support.randomness import generator
from tests.support.sink_case import SinkCase
from tests.support.tcp_proxy import TcpProxy
from tests.support.traffic import TrafficProgram
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, Jars, KafkaCluster, free_ports

__all__ = ["stream", "traffic"]

KIND = "small"
CUTS = int(os.environ.get("CUTS", "3"))
RECORDS = 400
FLOWS_S = 180.0  # 13 s on a busy machine


@pytest.fixture(scope="module")
def proxies() -> Iterator[dict[int, TcpProxy]]:
    """A proxy for each broker, by the port that it forwards to."""
    with ExitStack() as stack:
        yield {port: stack.enter_context(TcpProxy(port)) for port in free_ports(3)}


@pytest.fixture(scope="module")
def brokers(jars: Jars, tmp_path_factory: pytest.TempPathFactory, proxies: dict[int, TcpProxy]) -> Iterator[KafkaCluster]:
    listeners = [(port, proxy.address) for port, proxy in proxies.items()]
    with KafkaCluster(tmp_path_factory.mktemp("brokers"), jars=jars, java_options=QUICK_JVM, proxied=listeners) as started:
        yield started


def test_a_sink_flows_again_after_each_cut(
    brokers: KafkaCluster, proxies: dict[int, TcpProxy], ignite: IgniteCluster, tmp_path: Path
) -> None:
    case = SinkCase(brokers, ignite, tmp_path, seed=9, records=RECORDS, settings={"run_mode": "continuous"})
    sent, waits = RECORDS, list[float]()
    with case.running() as app:

        def flowed() -> bool:
            assert app.running(), f"the run ended, seed {case.seed}:\n{app.output_tail()}"
            return sum(case.committed().values()) >= sent

        wait_until(flowed, "the first records")
        for number in range(CUTS):
            case.send(RECORDS)
            sent += RECORDS
            time.sleep(case.chance.uniform(0, 0.5))  # at any moment of a batch
            TcpProxy.cut_all(proxies.values(), case.chance.uniform(0.2, 2))
            began = time.monotonic()
            wait_until(flowed, f"all records after cut {number + 1}", deadline_s=FLOWS_S)
            waits.append(time.monotonic() - began)
        print("seconds until all records were committed:", *(f"{wait:.1f}" for wait in waits))
        clients = KafkaClients({"bootstrap.servers": brokers.bootstrap})
        write_target(clients, Topics(clients), f"int-{case.name}", case.name, STOPPED)
        app.result().assert_exit(0)
    case.assert_same()


@pytest.mark.long("test_a_sink_flows_again_after_each_cut")
def test_a_stream_flows_again_after_each_cut(
    brokers: KafkaCluster, proxies: dict[int, TcpProxy], ignite: IgniteCluster, stream: MakeStream, traffic: TrafficProgram
) -> None:
    followed, chance, waits = stream(ignite, brokers, KIND), generator(8), list[float]()
    with traffic.start(ignite, followed.writers(f"puts:{KIND}"), seed=32, rate=40) as writers, followed.running() as app:
        followed.await_records(app, [KIND])
        for _ in range(CUTS):
            time.sleep(chance.uniform(0, 0.5))
            TcpProxy.cut_all(proxies.values(), chance.uniform(0.2, 2))
            began = time.monotonic()
            followed.await_records(app, [KIND], 10)
            waits.append(time.monotonic() - began)
        writers.stop()
        assert_right(followed.await_same(app, KIND))
        followed.stop(app)
    print("seconds until ten records more were committed:", *(f"{wait:.1f}" for wait in waits))
    assert followed.unsent() == 0


@pytest.mark.long("test_a_sink_flows_again_after_each_cut")
def test_a_snapshot_amid_cuts_is_sent_once(
    brokers: KafkaCluster, proxies: dict[int, TcpProxy], ignite: IgniteCluster, tmp_path: Path
) -> None:
    """Each transaction holds about one unit, so that there are many commits to cut; more cuts take several snapshots."""
    chance, cuts, waits, snapshots = generator(9), 0, list[float](), 0
    while cuts < CUTS:
        copy, before = make_copy(brokers, ignite, tmp_path), cuts
        app = copy.start()
        try:
            while cuts < CUTS and app.running():
                done, began = len(copy.offsets().records), time.monotonic()
                wait_until(partial(went_on, app, copy, done), f"a commit before cut {cuts + 1}", deadline_s=FLOWS_S)
                if cuts > before:  # after a cut, not after the start
                    waits.append(time.monotonic() - began)
                time.sleep(chance.uniform(0, 0.2))
                TcpProxy.cut_all(proxies.values(), chance.uniform(0.2, 2))
                cuts += 1
            app.result().assert_exit(0)
        finally:
            app.stop()
        assert cuts > before + 1 or cuts == CUTS, "the snapshot ended before the second cut"
        copy.assert_complete()
        snapshots += 1
    print(f"{snapshots} snapshots, {cuts} cuts; seconds until a commit more or the end:", *(f"{wait:.1f}" for wait in waits))


def went_on(app: App, copy: Copy, done: int) -> bool:
    """Whether a snapshot has committed more units than so many, or has ended."""
    return not app.running() or len(copy.offsets().records) > done
