"""Brokers of three are killed (SIGKILL) and back in turn, beside cuts of all links, under a stream and a sink.

``make soak ROUNDS=10 SEED=7``: so many turns. Each kills one broker and cuts the links before, while and after it is away.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.soak.stream_and_sink import KINDS, StreamAndSink
from tests.stream.conftest import MakeStream, small_cluster
from tests.support import QUICK_JVM
from tests.support.sink_case import SinkCase
from tests.support.tcp_proxy import TcpProxy
from tests.support.traffic import TrafficProgram
from tools.servers import IgniteCluster, Jars, KafkaCluster, free_ports

SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 31))
TURNS = int(os.environ.get("SOAK_ROUNDS") or 3)


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


@pytest.fixture
def node(jars: Jars, tmp_path: Path) -> Iterator[IgniteCluster]:
    with small_cluster(tmp_path / "node", jars, nodes=1) as started:
        yield started


def test_a_stream_and_a_sink(
    brokers: KafkaCluster, proxies: dict[int, TcpProxy], node: IgniteCluster, stream: MakeStream, traffic: TrafficProgram, tmp_path: Path
) -> None:
    print(f"SOAK_SEED={SEED} SOAK_ROUNDS={TURNS}", flush=True)
    chance = random.Random(SEED)

    def cut() -> None:
        TcpProxy.cut_all(proxies.values(), chance.uniform(0.2, 2))

    case = SinkCase(brokers, node, tmp_path, SEED, records=400)
    with StreamAndSink(stream(node, brokers, *KINDS), case, traffic).running() as both:
        for turn in range(TURNS):
            killed = turn % 3 + 1
            both.send()
            cut()
            brokers.kill(killed)
            if chance.random() < 0.5:
                cut()
            both.flow(f"turn {turn + 1}, broker {killed} away", chance.choice([1, 10]))
            both.send()
            brokers.start(killed)
            if chance.random() < 0.5:
                cut()
            brokers.await_in_sync()
            both.flow(f"turn {turn + 1}, broker {killed} back", chance.choice([1, 10]))
        both.judge()
