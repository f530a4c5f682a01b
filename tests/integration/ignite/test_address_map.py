"""Two nodes behind an address translation: each announces an address where nothing listens, and is reached through a proxy alone."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyignite
import pytest
from pyspark.sql import SparkSession

from ignite_kafka import events
from ignite_kafka.admin.cluster_checks import check_ignite
from ignite_kafka.admin.findings import OK, WARNING, Diagnosis
from ignite_kafka.errors import IgniteUnreachable
from ignite_kafka.ignite import address_map
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.ignite.protocol import cache_id
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state import status
from tests.integration.ignite.nodes import CACHES
from tests.support import QUICK_JVM
from tests.support.kept_events import assert_kept
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, Jars, KafkaBroker, free_ports

CACHE, ENTRIES = "parts-32", 2_000
INSIDE = "127.0.0.9"  # where the nodes listen; they announce 127.0.0.1


@dataclass(frozen=True)
class Nat:
    """The cluster as clients see it: the announced addresses, and the proxies in their order."""

    announced: tuple[str, ...]
    proxies: list[TcpProxy]

    @property
    def pairs(self) -> tuple[str, ...]:
        return tuple(f"{address}={proxy.address}" for address, proxy in zip(self.announced, self.proxies, strict=True))

    def endpoint(self, *pairs: str) -> IgniteEndpoint:
        """Only the first node's proxy is known before the nodes announce themselves."""
        return IgniteEndpoint((self.proxies[0].address,), address_map=pairs)


@pytest.fixture(scope="module")
def nat(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nat]:
    port, second = free_ports(2)
    while second != port + 1:  # the range of the nodes' ports
        port, second = free_ports(2)
    connector = (
        '<bean class="org.apache.ignite.configuration.ClientConnectorConfiguration">'
        f'<property name="host" value="{INSIDE}"/><property name="port" value="{port}"/><property name="portRange" value="1"/></bean>'
    )
    properties = (("cacheConfiguration", f"<list>{CACHES}</list>"), ("clientConnectorConfiguration", connector))
    nodes = IgniteCluster(tmp_path_factory.mktemp("nat"), jars=jars, nodes=2, properties=properties, java_options=QUICK_JVM)
    with ExitStack() as stack:
        stack.callback(nodes.stop)
        proxies = [stack.enter_context(TcpProxy(port + index, INSIDE)) for index in range(2)]
        for index, proxy in enumerate(proxies):
            nodes.start_node(index, wait=False)
            wait_until(partial(answers, proxy.address), f"node {index}")
        found = Nat(tuple(f"127.0.0.1:{port + index}" for index in range(2)), proxies)
        client = pyignite.Client()
        with client.connect(*address_of(proxies[0])):
            client.get_cache(CACHE).put_all({key: f"value {key}" for key in range(ENTRIES)})
        wait_until(partial(both_own_partitions, found), "partitions on both nodes")
        yield found


def both_own_partitions(nat: Nat) -> bool:
    with Cluster(nat.endpoint()) as cluster:
        return len(set(cluster.partitions(cache_id(CACHE)).primary.values())) == 2


def address_of(proxy: TcpProxy) -> tuple[str, int]:
    host, _, port = proxy.address.partition(":")
    return host, int(port)


def answers(address: str) -> bool:
    with contextlib.suppress(IgniteUnreachable):
        ThinConnection(IgniteEndpoint((address,)), IgniteCredentials()).close()
        return True
    return False


def reached(endpoint: IgniteEndpoint) -> set[str]:
    """Addresses of the connections to the owners of a cache's partitions."""
    with Cluster(endpoint) as cluster:
        assert len(cluster.nodes()) == 2
        return {cluster.connection(node).address for node in set(cluster.partitions(cache_id(CACHE)).primary.values())}


def test_each_node_is_reached_at_its_mapped_address(nat: Nat) -> None:
    for address in nat.announced:
        assert not answers(address)
    assert reached(nat.endpoint()) == {nat.proxies[0].address}, "without a map the other node is not reached"
    assert reached(nat.endpoint(*nat.pairs)) == {proxy.address for proxy in nat.proxies}


def settings_of(nat: Nat, **more: Any) -> SourceSettings:
    return SourceSettings(ignite_addresses=(nat.proxies[0].address,), topic_prefix="", **more)


def test_a_copy_there_and_back_reaches_both_nodes(spark: SparkSession, nat: Nat, kafka: KafkaBroker, unique: Callable[[str], str]) -> None:
    name, target = unique("nat"), f"backed-{uuid.uuid4().hex[:8]}"
    more: dict[str, Any] = {"bootstrap_servers": kafka.bootstrap, "slots": 2, "internal_topic_prefix": f"in-{name}"}
    more |= {"key_converter": "ignite-binary", "value_converter": "ignite-binary", "ignite_address_map": nat.pairs}
    source = settings_of(nat, name=name, cache_whitelist=(CACHE,), topic_names={CACHE: name}, **more)
    before = [proxy.links for proxy in nat.proxies]
    request: Any = RunRequest(source, "run-1")
    assert run_snapshot(spark, request).state == status.COMPLETED
    assert all(proxy.links > links for proxy, links in zip(nat.proxies, before, strict=True))
    more |= {"topics": (name,), "cache_names": {name: target}, "ignite_addresses": (nat.proxies[0].address,)}
    before = [proxy.links for proxy in nat.proxies]
    sink: Any = RunRequest(SinkSettings(name=f"{name}-sink", **more), "run-2")
    assert run_sink(spark, sink).state == status.COMPLETED
    assert all(proxy.links > links for proxy, links in zip(nat.proxies, before, strict=True))
    half: Any = replace(source, name=f"{name}-half", ignite_address_map=nat.pairs[:1], topic_names={CACHE: f"{name}-half"})
    assert run_snapshot(spark, RunRequest(half, "run-3")).state == status.COMPLETED
    assert_kept(half, events.NODE_NOT_MAPPED)
    client = pyignite.Client()
    with client.connect(*address_of(nat.proxies[1])), client.get_cache(target).scan() as found:
        assert dict(found) == {key: f"value {key}" for key in range(ENTRIES)}


def test_a_node_that_is_not_in_the_map_is_reported_with_the_setting(nat: Nat, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[events.Event, dict[str, Any]]] = []
    monkeypatch.setattr(address_map, "emit", lambda event, **fields: seen.append((event, fields)))
    assert reached(nat.endpoint(nat.pairs[0])) == {nat.proxies[0].address}
    [(event, fields)] = seen
    assert event is events.NODE_NOT_MAPPED
    assert f"announces {nat.announced[1]}: none is in ignite_address_map" in fields["reason"]
    seen.clear()
    assert reached(nat.endpoint(nat.pairs[0], f"{nat.announced[1]}=127.0.0.1:1")) == {nat.proxies[0].address}
    assert seen == [], "it is in the map: it may be down"


def test_the_doctor_names_the_setting_and_the_address_that_it_tried(nat: Nat) -> None:
    def nodes(*pairs: str) -> list[tuple[str, str, str]]:
        found = Diagnosis()
        check_ignite(settings_of(nat, name="n", ignite_address_map=pairs), Secrets(), found)
        return sorted((one.state, one.text, one.remedy) for one in found.findings if one.subject.startswith("Ignite node"))

    assert {state for state, *_ in nodes(*nat.pairs)} == {OK}
    (_, (state, text, remedy)) = nodes(nat.pairs[0], f"{nat.announced[1]}=127.0.0.1:1")
    assert state == WARNING
    assert f"announces {nat.announced[1]}, which ignite_address_map makes 127.0.0.1:1, and none answers here" in text
    assert "ignite_address_map" in remedy
