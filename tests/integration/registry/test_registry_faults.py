"""Runs of source and sink whose schema registry is away, slow or refuses the password: they wait and lose nothing, or say what is wrong."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from pyignite import GenericObjectMeta
from pyignite.datatypes import LongObject, String
from pyspark.sql import SparkSession

from ignite_kafka.errors import RegistryError
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.types.type_table import object_field
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.secrets_file import ShippedSecrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state import status
from ignite_kafka.state.status import RunStatus
from tests.support.registry import gate, gateway
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import DEADLINE_S, wait_until
from tools.entries import make_cache, put
from tools.servers import IgniteCluster, KafkaBroker, SchemaRegistry

ROWS = 200
Trade: Any = GenericObjectMeta("Trade", (), {}, schema={"id": LongObject, "symbol": String})
RIGHT = "Basic YW5uOnMzY3JldA=="  # ann:s3cret


@dataclass
class World:
    """A cache, its copy, and a source and a sink between them by Avro."""

    spark: SparkSession
    name: str
    settings: Mapping[str, Any]
    secrets: ShippedSecrets | None = None

    def send(self, url: str) -> RunStatus:
        own: dict[str, Any] = {"cache_whitelist": (self.name,), "topic_prefix": "to-", "topic_partitions": 2}
        own |= {"field_nullability_policy": "EAGER"}  # the driver also registers schemas if the cache declares its values
        settings = SourceSettings(name=self.name, **own, **self._common(url, "source"))
        return run_snapshot(self.spark, RunRequest(settings, uuid.uuid4().hex, None, self.secrets))

    def store(self, url: str) -> RunStatus:
        topic = f"to-{self.name}"
        own: dict[str, Any] = {
            "topics": (topic,),
            "topic_prefix": topic,
            "cache_prefix": f"{self.name}-copy",
            "cache_key_type": "java.lang.Long",
        }
        settings = SinkSettings(name=f"{self.name}-back", **own, **self._common(url, "sink"))
        return run_sink(self.spark, RunRequest(settings, uuid.uuid4().hex, None, self.secrets))

    def _common(self, url: str, side: str) -> dict[str, Any]:
        here = {} if self.secrets else {"schema.registry.url": url}  # the address of a login is beside the login
        config = {**here, "http.read.timeout.ms": "1000"}
        return {**self.settings, "internal_topic_prefix": f"in-{self.name}-{side}", "value_converter_config": config}


@pytest.fixture
def world(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker, unique: Callable[[str], str]) -> Iterator[World]:
    name = unique("r")
    common = {
        "ignite_addresses": ignite.addresses, "bootstrap_servers": kafka.bootstrap, "slots": 2, "value_converter": "avro",
    }  # fmt: skip
    with ignite.client() as client:
        client.get_or_create_cache(name).put_all({number: Trade(number, f"s{number}") for number in range(ROWS)})
        yield World(spark, name, common)
        for cache in client.get_cache_names():
            if cache.startswith(name):
                client.get_cache(cache).destroy()


def entries(ignite: IgniteCluster, cache: str) -> dict[int, str]:
    with ignite.client() as client, client.get_cache(cache).scan() as cursor:
        return {key: value.symbol for key, value in cursor}


def through(proxy: TcpProxy, registry: SchemaRegistry) -> str:
    return registry.url.replace(str(registry.port), proxy.address.partition(":")[2])


@pytest.mark.parametrize("side", ["source", "sink"])
def test_a_run_waits_for_its_registry(side: str, world: World, schema_registry: SchemaRegistry, ignite: IgniteCluster) -> None:
    """The registry is unavailable at the start and after one connection, then slower than its timeout."""
    if side == "sink":
        assert world.send(schema_registry.url).state == status.COMPLETED
    run = world.send if side == "source" else world.store
    with TcpProxy(schema_registry.port) as proxy, ThreadPoolExecutor(1) as thread:
        proxy.most_links = 0
        ended = thread.submit(run, through(proxy, schema_registry))
        try:
            asked_again(proxy, ended)
            proxy.most_links = 1
            wait_until(lambda: proxy.links == 1, "one connection")
            asked_again(proxy, ended)
            proxy.delay_s, proxy.most_links = 2.0, 1_000
            wait_until(lambda: proxy.links >= 3 and not ended.done(), "connections that are too slow")
        finally:
            proxy.delay_s, proxy.most_links = 0.0, 1_000
        result = ended.result(DEADLINE_S)
    counts = result.caches[world.name if side == "source" else f"{world.name}-copy"]
    assert (result.state, counts.records, counts.bad) == (status.COMPLETED, ROWS, 0)
    if side == "source":
        assert world.store(schema_registry.url).state == status.COMPLETED
    assert entries(ignite, f"{world.name}-copy") == {number: f"s{number}" for number in range(ROWS)}


def test_a_gateway_that_does_not_find_the_registry_makes_no_bad_records(
    world: World, schema_registry: SchemaRegistry, ignite: IgniteCluster
) -> None:
    """Each process meets answers 404 of the gateway before the registry's; the error policy would skip bad records and commit."""
    assert world.send(schema_registry.url).state == status.COMPLETED
    asked = itertools.count()

    def away(_: object) -> tuple[int, bytes] | None:
        return (404, b"default backend - 404") if next(asked) % 4 else None

    lenient = replace(world, settings={**world.settings, "error_handling_policy": "LOG_ONLY"})
    with gateway(schema_registry.url, away) as url:
        next(asked)
        result = lenient.store(url)
    counts = result.caches[f"{world.name}-copy"]
    assert (result.state, counts.records, counts.bad) == (status.COMPLETED, ROWS, 0)
    assert next(asked) > 4
    assert len(entries(ignite, f"{world.name}-copy")) == ROWS


def test_tasks_of_a_source_have_the_ids_that_its_driver_has_got(
    world: World, schema_registry: SchemaRegistry, ignite: IgniteCluster
) -> None:
    """The query entity declares the values, and the registry becomes unavailable after the driver has registered their schema."""
    declared = replace(world, name=f"{world.name}-declared", settings={**world.settings, "retry_timeout_ms": 20_000})
    key, value = pa.field("", pa.int64()), object_field("", "DeclaredTrade", [pa.field("id", pa.int64()), pa.field("symbol", pa.string())])
    rows = pa.array([{"id": number, "symbol": f"s{number}"} for number in range(ROWS)], value.type)
    with Cluster(IgniteEndpoint(ignite.addresses)) as cluster:
        put(cluster, make_cache(cluster, declared.name, key, value), key, value, [(pa.array(range(ROWS), pa.int64()), rows)])
    with TcpProxy(schema_registry.port) as proxy:
        proxy.most_links = 1
        result = declared.send(through(proxy, schema_registry))
        assert (proxy.links, proxy.refused) == (1, 0)
    assert (result.state, result.caches[declared.name].records) == (status.COMPLETED, ROWS)


def asked_again(proxy: TcpProxy, ended: Future[RunStatus]) -> None:
    """Wait until the run has asked a registry that is away more than once."""
    before = proxy.refused
    wait_until(lambda: proxy.refused >= before + 2 or ended.done(), "requests to a registry that is away")
    assert not ended.done(), ended.result()


def test_a_wrong_password_ends_a_run_by_name(world: World, schema_registry: SchemaRegistry, ignite: IgniteCluster) -> None:
    with gate(schema_registry.url, RIGHT) as url:
        wrong, right = (replace(world, secrets=secrets(url, word)) for word in ("wr0ng", "s3cret"))
        for refused, accepted in ((wrong.send, right.send), (wrong.store, right.store)):
            with pytest.raises(RegistryError, match="Check user and password") as raised:
                refused(url)
            assert raised.value.where["registry"] == url
            assert "wr0ng" not in str(raised.value)
            assert accepted(url).state == status.COMPLETED
    assert len(entries(ignite, f"{world.name}-copy")) == ROWS


def secrets(url: str, password: str) -> ShippedSecrets:
    return ShippedSecrets(Secrets(registry={"schema.registry.url": url, "basic.auth.user.info": f"ann:{password}"}))
