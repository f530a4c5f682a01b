"""The backlog service on real nodes, called from Python."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from pyignite import GenericObjectMeta
from pyignite.datatypes import IntObject, LongObject, String

from ignite_kafka.convert.ignite_binary.serializer import IgniteBinaryConverter
from ignite_kafka.errors import BacklogMissing, BacklogRefused
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.backlog_changes import REMOVED, Changes
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.backlog_units import ASKED, UNIT
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import Page
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.capture import Capture
from tests.integration.ignite.nodes import cache_xml, endpoint_of, writer
from tests.support.cache_view import CacheView, read_cache_view
from tests.support.waiting import DEADLINE_S, wait_until
from tools.servers import IgniteCluster, Jars

SETTINGS = {"backlogFlushFreq": "50"}
PARTITIONS = 16
OTHER_REGION = "other-region"
Key: Any = GenericObjectMeta("Key", (), {}, type_name="BacklogKey", schema={"branch": IntObject, "number": LongObject})
Trade: Any = GenericObjectMeta("Trade", (), {}, type_name="BacklogTrade", schema={"buyer": String})


@pytest.fixture(scope="module")
def nodes(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    caches = (("cacheConfiguration", f"<list>{cache_xml('trades', PARTITIONS, backups=1)}</list>"),)
    options: dict[str, Any] = {"data_region_mib": 128, "properties": caches, "regions": ((OTHER_REGION, 64),)}
    allowed = (f"-DIGNITE_KAFKA_BACKLOG_REGIONS=kafka-connect,{OTHER_REGION}",)
    with IgniteCluster(tmp_path_factory.mktemp("backlog"), jars=jars, nodes=2, java_options=allowed, **options) as started:
        yield started


@pytest.fixture(scope="module")
def without(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    with IgniteCluster(tmp_path_factory.mktemp("without"), jars=jars, data_region_mib=128, backlog_mib=0) as started:
        yield started


@pytest.fixture
def service(nodes: IgniteCluster) -> Iterator[BacklogService]:
    with ThinConnection(endpoint_of(nodes), IgniteCredentials(), nodes.address) as connection:
        opened = BacklogService(connection)
        yield opened
        for connector in opened.connectors():
            opened.force_stop(connector, destroy=True)


def test_a_cache_that_is_made_again_has_another_incarnation(nodes: IgniteCluster) -> None:
    with Cluster(endpoint_of(nodes)) as cluster, nodes.client() as client:
        first = client.create_cache("again")
        known = cluster.cache("again").incarnation
        assert known
        client.create_cache("neighbour")
        assert cluster.cache("again").incarnation == known
        first.destroy()
        client.create_cache("again")
        assert cluster.cache("again").incarnation not in ("", known)


def test_without_the_service_no_incarnation_is_known(without: IgniteCluster, jars: Jars) -> None:
    warnings = without.log.read_text().count("Service not found")
    with Cluster(endpoint_of(without)) as cluster, without.client() as client:
        client.get_or_create_cache("no-service")
        assert cluster.cache("no-service").incarnation == ""
    if jars.ignite_version >= (2, 13):  # older nodes list no services, so there the service is called
        assert without.log.read_text().count("Service not found") == warnings


def units_of(started: dict[str, Any], cache: str) -> np.ndarray[Any, np.dtype[np.void]]:
    units = np.zeros(started[f"partitions.{cache}"], UNIT)
    units["cache_id"], units["partition"] = protocol.cache_id(cache), range(len(units))
    units["incarnation"] = started[f"incarnation.{cache}"]
    return units


def fold(changes: Changes) -> dict[int, str]:
    """Long keys and string values; a key that was removed is gone."""
    content: dict[int, str] = {}
    entry_at, keys = changes.entry_offsets(), changes.keys().to_pylist()
    value_at = entry_at[:-1] + changes.key_length
    for i in range(len(changes.number)):
        key = struct.unpack_from("<q", keys[i], 1)[0]
        if changes.kind[i] == REMOVED:
            content.pop(key, None)
        else:
            content[key] = str(changes.entries[value_at[i] + 5 : entry_at[i + 1]], "utf-8")
    return content


def test_the_units_that_have_changed(nodes: IgniteCluster, service: BacklogService) -> None:
    """Each node is asked only for what it wrote since."""
    units = units_of(service.start("c", SETTINGS, ["trades"]), "trades")
    first = service.changed("c", b"")
    assert first.units is None
    second = service.changed("c", first.place)
    assert second.units is not None
    assert second.units.size == 0
    with writer(nodes) as client:
        client.get_cache("trades").put_all(dict.fromkeys(range(1000), "value"))
    service.barrier("c")
    third = service.changed("c", second.place)
    assert third.units is not None
    assert np.array_equal(np.sort(third.units), np.sort(units))
    assert third.topology == service.read("c", units, 1).topology
    service.mark("c", units[5:6])
    fourth = service.changed("c", third.place)
    assert fourth.units is not None
    assert fourth.units.tolist() == units[5:6].tolist()
    with pytest.raises(BacklogRefused) as refused:
        service.changed("c", b"no place")
    assert refused.value.where["code"] == "MALFORMED"


def test_changes_are_captured_read_and_acknowledged(nodes: IgniteCluster, service: BacklogService) -> None:
    started = service.start("c", SETTINGS, ["trades"])
    assert started["registered"] == 2
    with writer(nodes) as client:
        cache = client.get_cache("trades")
        cache.put_all({key: f"value {key}" for key in range(100)})
        for key in range(50):
            cache.remove_key(key)
        expected = {key: f"value {key}" for key in range(50, 100)}
    service.barrier("c")
    units, states, ends = units_of(started, "trades"), service.units("c"), service.ends("c")
    assert int(states.count.sum()) == 150 + int(states.marks.sum())
    for name in ("unit", "low", "high", "count"):
        assert sorted(getattr(states, name).tolist()) == sorted(getattr(ends, name).tolist())
    changes = service.read("c", units, 1 << 20)
    assert fold(changes) == expected
    assert not changes.more.any()
    assert ends.oldest_ms.min() == changes.time_ms.min() > (time.time() - DEADLINE_S) * 1000
    service.acknowledge("c", changes.acknowledgement(units))
    assert len(service.read("c", units, 1 << 20).number) == 0
    assert len(service.units("c").count) == len(service.ends("c").count) == 0


def test_a_read_goes_on_until_its_bytes_are_passed(nodes: IgniteCluster, service: BacklogService) -> None:
    """More changes than one look at the chunks of 16 units finds."""
    turns, keys = 180, 192
    started = service.start("c", SETTINGS, ["trades"])
    with writer(nodes) as client:
        for turn in range(turns):
            client.get_cache("trades").put_all(dict.fromkeys(range(keys), f"turn {turn}"))
    service.barrier("c")
    units = units_of(started, "trades")
    part = service.read("c", units, 1 << 10)
    assert part.more.any()
    assert 0 < len(part.number) < turns * keys
    whole = service.read("c", units, 64 << 20)
    assert not whole.more.any()
    assert len(whole.number) == turns * keys
    assert fold(whole) == dict.fromkeys(range(keys), f"turn {turns - 1}")


def test_changes_are_read_as_scan_pages_are(nodes: IgniteCluster, service: BacklogService) -> None:
    """Objects as keys and values: entries of a unit make a page, keys stand unwrapped, and so they are looked up."""
    started = service.start("c", SETTINGS, ["trades"])
    with writer(nodes) as client:
        cache = client.get_cache("trades")
        client.register_binary_type(Key)
        client.register_binary_type(Trade)
        for number in range(20):
            cache.put(Key(number, 5), Trade(f"buyer {number}"))
        cache.remove_key(Key(0, 5))
    service.barrier("c")
    units = units_of(started, "trades")
    changes = service.read("c", units, 1 << 20)
    keys = changes.keys().to_pylist()
    assert all(key[0] == codes.OBJECT for key in keys)
    with Cluster(endpoint_of(nodes)) as cluster:
        info, offsets = cluster.cache("trades"), changes.entry_offsets()
        ends = np.cumsum(changes.count)
        pages = [
            Page(partition, int(count), changes.entries[offsets[end - count] : offsets[end]], True)
            for partition, (count, end) in enumerate(zip(changes.count, ends, strict=True))
        ]
        records = IgniteBinaryConverter().convert(pages, info, cluster)
        scanned = IgniteBinaryConverter().convert(list(scan_partitions(cluster, info, range(PARTITIONS))), info, cluster)
    assert records.keys.to_pylist() == keys
    held = {key: value for key, value in zip(scanned.keys.to_pylist(), scanned.values.to_pylist(), strict=True) if key in keys}
    folded = dict(zip(keys, records.values.to_pylist(), strict=True))
    gone = [key for key, value in folded.items() if value == bytes([codes.NULL])]
    assert len(gone) == 1
    assert folded == held | dict.fromkeys(gone, bytes([codes.NULL]))
    looked_up = service.lookup("c", "trades", keys)
    assert looked_up == [held.get(key) for key in keys]
    assert service.lookup("c", "trades", []) == []


def test_some_changes_are_acknowledged(nodes: IgniteCluster, service: BacklogService) -> None:
    started = service.start("c", SETTINGS, ["trades"])
    with writer(nodes) as client:
        client.get_cache("trades").put_all({key: f"value {key}" for key in range(100)})
    service.barrier("c")
    units = units_of(started, "trades")
    changes = service.read("c", units, 1 << 20)
    rows = np.arange(100) % 3 == 0
    service.acknowledge("c", changes.acknowledgement(units, rows))
    left = service.read("c", units, 1 << 20)
    assert left.keys().to_pylist() == [key for key, gone in zip(changes.keys().to_pylist(), rows, strict=True) if not gone]


def test_units_are_marked_when_asked_for(service: BacklogService) -> None:
    units = units_of(service.start("c", SETTINGS, ["trades"]), "trades")
    service.mark("c", units[3:5])
    marked = service.read("c", units, 1 << 20)
    assert np.flatnonzero(marked.marks == ASKED).tolist() == [3, 4]
    assert marked.keys().to_pylist() == []
    service.clear("c", units[3:4], marked.mark_number[3:4])
    states = service.units("c")
    assert (states.unit["partition"].tolist(), states.marks.tolist()) == ([4], [ASKED])


def test_caches_have_deployment_ids(service: BacklogService) -> None:
    name, cache_id, deployment, _, partitions, group = next(cache for cache in service.caches() if cache[0] == "trades")
    assert (name, cache_id, partitions, group) == ("trades", protocol.cache_id("trades"), PARTITIONS, "trades")
    assert len(deployment) > 20


def test_stop_says_what_it_removed(service: BacklogService) -> None:
    service.start("c", SETTINGS, ["trades"])
    assert service.stop("c", destroy=True) == {"service": "kafka-connect-backlog-service-c", "cache": "kafka-connect-backlog-c"}
    assert service.stop("c", destroy=True) == {"service": None, "cache": None}


@pytest.mark.parametrize(
    ("changed", "backups", "region"),
    [({}, 1, "kafka-connect"), ({"backlog_cache_backups": 0, "backlog_memory_region_name": OTHER_REGION}, 0, OTHER_REGION)],
    ids=["default", "changed"],
)
def test_a_backlog_cache_has_the_backups_and_the_region_of_the_settings(
    nodes: IgniteCluster, service: BacklogService, changed: dict[str, Any], backups: int, region: str
) -> None:
    settings = SourceSettings(name="c", ignite_addresses=nodes.addresses, bootstrap_servers="none:1", **changed)
    with Cluster(endpoint_of(nodes)) as cluster:
        Capture(settings, cluster, "kafka-1/connect").start(["trades"])
    with nodes.client() as client:
        client.get_cache("trades").put(1, "value")
        service.barrier("c")
        assert read_cache_view(client, "kafka-connect-backlog-c") == CacheView("PARTITIONED", "ATOMIC", backups, region, "FULL_SYNC")
    changes = service.read("c", units_of(service.status("c"), "trades"), 1 << 20)
    assert fold(changes) == {1: "value"}


def test_with_a_flush_interval_of_0_every_change_is_written_without_a_barrier(nodes: IgniteCluster, service: BacklogService) -> None:
    """The nodes write by themselves, and a backup writes nothing a second time."""
    units = units_of(service.start("c", {"backlogFlushFreq": "0"}, ["trades"]), "trades")
    with writer(nodes) as client:
        cache = client.get_cache("trades")
        for turn in range(20):
            cache.put_all(dict.fromkeys(range(turn, 100), f"turn {turn}"))
        cache.remove_keys(list(range(10)))
    expected = {key: f"turn {min(key, 19)}" for key in range(10, 100)}
    wait_until(lambda: fold(service.read("c", units, 1 << 24)) == expected, "all changes in the backlog")
    changes = service.read("c", units, 1 << 24)
    assert len(changes.number) == sum(range(81, 101)) + 10
    service.acknowledge("c", changes.acknowledgement(units))
    service.barrier("c")
    assert len(service.read("c", units, 1 << 24).number) == 0


def test_refusals_have_codes(service: BacklogService) -> None:
    for code, call in {
        "UNKNOWN_CONNECTOR": lambda: service.barrier("c"),
        "UNKNOWN_CACHE": lambda: service.start("c", SETTINGS, ["none"]),
        "MISSING_REGION": lambda: service.start("c", {"backlogMemoryRegionName": "none"}, ["trades"]),
        "MALFORMED": lambda: service.start("c", {"flush": "1"}, ["trades"]),
    }.items():
        with pytest.raises(BacklogRefused) as refused:
            call()
        assert refused.value.where["code"] == code


def test_another_capture_of_the_name_is_refused_with_what_to_do(service: BacklogService) -> None:
    service.start("c", {**SETTINGS, "backlogOwner": "kafka-1/connect"}, ["trades"])
    assert service.status("c")["owner"] == "kafka-1/connect"
    for code, settings, told in (
        ("OTHER_OWNER", {**SETTINGS, "backlogOwner": "kafka-2/connect"}, "Give one of the two connectors another name"),
        ("OTHER_SETTINGS", {"backlogFlushFreq": "7", "backlogOwner": "kafka-1/connect"}, "Set them as they were"),
    ):
        with pytest.raises(BacklogRefused, match=told) as refused:
            service.start("c", settings, ["trades"])
        assert refused.value.where["code"] == code


def test_a_users_cache_of_the_name_is_refused_and_stays(nodes: IgniteCluster, service: BacklogService) -> None:
    with nodes.client() as client:
        orders = client.create_cache("orders-eu")
        orders.put_all(dict.fromkeys(range(100), "order"))
        with pytest.raises(BacklogRefused, match=r"'orders-eu'.*backlogCacheName.*Set backlog_cache_name") as refused:
            service.start("eu", {**SETTINGS, "backlogCacheName": "orders"}, ["trades"])
        assert refused.value.where["code"] == "FOREIGN_CACHE"
        assert service.connectors() == []
        assert service.stop("eu", destroy=True) == {"service": None, "cache": None}
        assert orders.get_size() == 100
        orders.destroy()


def test_calls_that_change_a_capture_need_its_secret(nodes: IgniteCluster, service: BacklogService) -> None:
    with ThinConnection(endpoint_of(nodes), IgniteCredentials(), nodes.address) as connection:
        mine = BacklogService(connection, "a secret of many characters")
        units = units_of(mine.start("c", SETTINGS, ["trades"]), "trades")
        changes = service.read("c", units, 1 << 20)
        assert service.status("c")["registered"] == 2
        calls: list[Callable[[BacklogService], object]] = [
            lambda one: one.start("c", SETTINGS, ["trades"]),
            lambda one: one.update("c", ["trades"]),
            lambda one: one.acknowledge("c", changes.acknowledgement(units)),
            lambda one: one.mark("c", units[:1]),
            lambda one: one.clear("c", units[:1], changes.mark_number[:1]),
            lambda one: one.stop("c", destroy=True),
        ]
        for stranger in (service, BacklogService(connection, "another secret of many characters")):
            for call in calls:
                with pytest.raises(BacklogRefused, match=r"secret.*backlog cleanup --force") as refused:
                    call(stranger)
                assert refused.value.where["code"] == "FORBIDDEN"
        for call in calls:
            call(mine)
        assert service.connectors() == []


def test_a_call_that_the_jar_does_not_have_says_that_it_is_older(service: BacklogService) -> None:
    """As every call of a later version does."""
    assert service.version() == 6
    with pytest.raises(BacklogRefused, match=r"older than this program.*jar of this version") as refused:
        service._call("callOfALaterVersion", "c")
    assert refused.value.where["code"] == "OLDER_JAR"


def test_a_cluster_without_the_jar_is_told(without: IgniteCluster) -> None:
    with ThinConnection(endpoint_of(without), IgniteCredentials(), without.address) as connection, pytest.raises(BacklogMissing):
        BacklogService(connection).connectors()
