"""A sink whose links to all three brokers are cut again and again: its slots flow again after each cut.

Before calls of librdkafka were bounded, slots stood for ever after some of these cuts, without an error.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state.target_state import STOPPED, write_target
from tests.support import QUICK_JVM
from tests.support.sink_case import SinkCase
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, Jars, KafkaCluster, free_ports

CUTS = int(os.environ.get("CUTS", "3"))
RECORDS = 400
FLOWS_S = 180.0  # 13 s on a busy machine


@pytest.fixture
def proxies() -> Iterator[dict[int, TcpProxy]]:
    """A proxy for each broker, by the port that it forwards to."""
    with ExitStack() as stack:
        yield {port: stack.enter_context(TcpProxy(port)) for port in free_ports(3)}


@pytest.fixture
def brokers(jars: Jars, tmp_path: Path, proxies: dict[int, TcpProxy]) -> Iterator[KafkaCluster]:
    listeners = [(port, proxy.address) for port, proxy in proxies.items()]
    with KafkaCluster(tmp_path / "brokers", jars=jars, java_options=QUICK_JVM, proxied=listeners) as started:
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
            cut(proxies, case.chance.uniform(0.2, 2))
            began = time.monotonic()
            wait_until(flowed, f"all records after cut {number + 1}", deadline_s=FLOWS_S)
            waits.append(time.monotonic() - began)
        print("seconds until all records were committed:", *(f"{wait:.1f}" for wait in waits))
        clients = KafkaClients({"bootstrap.servers": brokers.bootstrap})
        write_target(clients, Topics(clients), f"int-{case.name}", case.name, STOPPED)
        app.result().assert_exit(0)
    case.assert_same()


def cut(proxies: dict[int, TcpProxy], seconds: float) -> None:
    """Cut all links, and refuse new ones for some time."""
    for proxy in proxies.values():
        proxy.most_links = 0
    for proxy in proxies.values():
        proxy.cut()
    time.sleep(seconds)
    for proxy in proxies.values():
        proxy.most_links = sys.maxsize
