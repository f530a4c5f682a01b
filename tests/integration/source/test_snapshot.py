"""The snapshot pipeline on a real node, a real broker and a real Spark session."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace

import pytest
from pyignite.datatypes import ByteObject, LongObject, ShortObject

from ignite_kafka.admin.target_state import newest_run
from ignite_kafka.errors import AmbiguousKeys, CacheNotFound, RecordTooLarge, SettingsError
from ignite_kafka.events import KEYS_MAY_COINCIDE
from ignite_kafka.kafka.topics import Topics, TopicSpec, read_to_end
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state import status
from ignite_kafka.state.configs import read_connector
from ignite_kafka.state.status import RunStatus
from ignite_kafka.state.types_topic import type_from_json
from tests.support import PARTITIONS
from tests.support.kept_events import assert_kept
from tests.support.snapshot_world import ROWS, World
from tests.support.waiting import REQUEST_S
from tools.servers import Jars


def test_every_entry_of_every_cache_arrives_once(fresh: World) -> None:
    result = fresh.run()
    assert result.state == status.COMPLETED
    counts = {
        name.removeprefix(f"{fresh.stem}-"): (cache.entries, cache.records, cache.units_done) for name, cache in result.caches.items()
    }
    expected = {"trades": ROWS, "names": 50, "accounts": 40, "empty": 0}
    assert counts == {name: (entries, entries, PARTITIONS) for name, entries in expected.items()}
    found = fresh.verify()
    assert all(cache.equal and not cache.repeated for cache in found.values()), found
    assert {name: cache.records for name, cache in found.items()} == expected
    assert result.versions["Ignite"] == ".".join(map(str, Jars.of_checkout().ignite_version))


def test_the_bytes_of_ignite_arrive_with_their_types(fresh: World) -> None:
    binary = {"value_converter": "ignite-binary", "key_converter": "ignite-binary"}
    fresh.run(**binary)
    found = fresh.verify(**binary)
    assert all(cache.equal and not cache.repeated for cache in found.values()), found
    topic = f"{fresh.settings.internal_topic_prefix}-types"
    written = [(json.loads(one.key() or b""), one.value() or b"") for one in read_to_end(fresh.clients, Topics(fresh.clients), topic, [0])]
    types = {type_from_json(value).name for (kind, *_), value in written if kind == "type"}
    topics = {f"{fresh.settings.topic_prefix}{fresh.stem}-{cache}" for cache in found}
    assert {name for (kind, name, *_), _ in written if kind == "cache"} == topics
    assert types == {"Trade", "AccountKey"}


def test_many_small_transactions_send_the_same(fresh: World) -> None:
    fresh.run(transaction_max_records=50)
    found = fresh.verify()
    assert all(cache.equal and not cache.repeated for cache in found.values()), found


def test_small_pages_cut_units_and_send_the_same(fresh: World) -> None:
    fresh.run(page_bytes=1024, transaction_max_bytes=2000)
    found = fresh.verify()
    assert all(cache.equal and not cache.repeated for cache in found.values()), found


def test_without_initial_data_nothing_is_sent(fresh: World) -> None:
    assert fresh.run(load_initial_data=False).caches == {}
    assert not [topic for topic in Topics(fresh.clients).existing() if topic.startswith(fresh.settings.topic_prefix)]


@pytest.mark.parametrize("policy", ["NONE", "FULL_SNAPSHOT"])
def test_each_run_sends_all_under_both_policies(fresh: World, policy: str) -> None:
    for times in (1, 2):
        fresh.run(failover_policy=policy, cache_blacklist=(f"{fresh.stem}-trades",))
        found = fresh.verify(cache_blacklist=(f"{fresh.stem}-trades",))
        assert {name: cache.records for name, cache in found.items()} == {"names": 50 * times, "accounts": 40 * times, "empty": 0}


def test_overrides_reach_the_clients(fresh: World) -> None:
    large = f"large-{fresh.settings.name}"
    with fresh.ignite.client() as client:
        cache = client.get_or_create_cache(large)
        cache.put("key", "x" * 20_000)
        with pytest.raises(RecordTooLarge, match=r"larger than the producer's message\.max\.bytes.*key"):
            fresh.run(producer_override={"message.max.bytes": "10000", "batch.size": "10000"}, cache_whitelist=(large,))
        assert fresh.run(cache_whitelist=(large,), producer_override={"compression.type": "gzip"}).caches[large].records == 1
        cache.destroy()


def test_lists_choose_caches(fresh: World) -> None:
    result = fresh.run(cache_blacklist=(f"{fresh.stem}-(trades|empty)",))
    assert set(result.caches) == {f"{fresh.stem}-names", f"{fresh.stem}-accounts"}


def test_no_matching_cache_is_an_error_that_lists_the_caches(fresh: World) -> None:
    with pytest.raises(CacheNotFound, match=r"no cache matches.*no-such-cache.*The cluster has \d+ caches: "):
        fresh.run(cache_whitelist=("no-such-cache",))


def test_an_existing_topic_keeps_its_partitions(fresh: World) -> None:
    topic = f"{fresh.settings.topic_prefix}{fresh.stem}-names"
    Topics(fresh.clients).ensure([TopicSpec(topic, 7)])
    fresh.run()
    assert Topics(fresh.clients).partitions(topic) == 7
    assert fresh.verify()["names"].equal


def test_records_have_the_partitions_of_java_clients(fresh: World) -> None:
    """murmur2 of the key's bytes, made positive, modulo partitions (clients.producer.internals.BuiltInPartitioner.partitionForKey)."""
    fresh.run(cache_blacklist=(f"{fresh.stem}-trades",))
    topic = f"{fresh.settings.topic_prefix}{fresh.stem}-names"
    messages = list(read_to_end(fresh.clients, Topics(fresh.clients), topic, [0, 1, 2]))
    assert len(messages) == 50
    assert {message.partition() for message in messages} == {0, 1, 2}
    assert all((murmur2(message.key() or b"") & 0x7FFFFFFF) % 3 == message.partition() for message in messages)


def murmur2(data: bytes) -> int:
    """org.apache.kafka.common.utils.Utils.murmur2, written again here as reference."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = (0x9747B28C ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    for at in reversed(range(whole, len(data))):
        h ^= data[at] << 8 * (at - whole)
    if len(data) > whole:
        h = h * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def test_foreign_records_are_ignored_and_old_runs_are_removed(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ignite_kafka.runtime.connector_run._FORGET_EVERY", 1)
    prefix, name = fresh.settings.internal_topic_prefix, fresh.settings.name
    small = {"cache_whitelist": (f"{fresh.stem}-names",), "runs_kept": 2}
    fresh.run("s0", **small)
    producer = fresh.clients.writer()
    for topic in (f"{prefix}-status", f"{prefix}-configs", f"{prefix}-offsets-{name}"):
        producer.produce(topic, b"no JSON", b"no JSON", 0)
        producer.produce(topic, None, None, 0)
    producer.produce(f"{prefix}-status", b"no JSON", f'["run","{name}","other"]'.encode(), 0)
    assert producer.flush(REQUEST_S) == 0
    runs = [fresh.run(f"s{number}", **small).run_id for number in range(1, 4)]
    topics = Topics(fresh.clients)
    assert list(status.read_runs(fresh.clients, prefix, name)) == runs[1:]
    assert list(read_connector(fresh.clients, topics, prefix, name).ended) == ["s2", "s3"]
    monkeypatch.setattr(status, "_FIRST_PART", 1)  # the topic is read in many parts
    found = [status.read_run(fresh.clients, prefix, name, run_id) for run_id in (*runs, "other")]
    assert [run and run.snapshot_id for run in found] == [None, "s2", "s3", None]
    newest = newest_run(fresh.clients, topics, prefix, name)
    assert newest.graceful
    assert newest.run_id == runs[-1]


def test_the_status_record_has_the_result_of_the_run(fresh: World) -> None:
    run_id = uuid.uuid4().hex
    reports: list[RunStatus] = []
    request = RunRequest(replace(fresh.settings, progress_interval_ms=100), run_id, "s", report=reports.append)
    result = run_snapshot(fresh.spark, request)
    assert status.read_run(fresh.clients, fresh.settings.internal_topic_prefix, fresh.settings.name, run_id) == result
    assert reports[0].state == status.RUNNING
    assert reports[-1] == result
    with pytest.raises(CacheNotFound):
        fresh.run(cache_whitelist=("nothing",))
    runs = status.read_runs(fresh.clients, fresh.settings.internal_topic_prefix, fresh.settings.name)
    failed = list(runs.values())[-1]
    assert failed.state == status.FAILED
    assert failed.error is not None
    assert failed.error["type"] == "CacheNotFound"


def test_speculation_is_refused(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = fresh.spark.sparkContext.getConf().set("spark.speculation", "true")
    monkeypatch.setattr(fresh.spark.sparkContext, "getConf", lambda: conf)
    with pytest.raises(SettingsError, match=r"spark\.speculation"):
        fresh.run()


def test_keys_that_coincide_in_json_are_refused_by_the_setting(fresh: World) -> None:
    """Byte, short and long 1 are three entries of one Ignite partition, and one key in Kafka."""
    name = f"{fresh.settings.name}-widths"
    with fresh.ignite.client() as client:
        cache = client.create_cache(name)
        try:
            for kind in (ByteObject, ShortObject, LongObject):
                cache.put(1, kind.__name__, key_hint=kind)
            with pytest.raises(AmbiguousKeys, match="can give the same Kafka key"):
                fresh.run("refused", cache_whitelist=(name,), coinciding_keys="REFUSE")
            sent = fresh.run("sent", cache_whitelist=(name,))
            (found,) = fresh.verify(cache_whitelist=(name,)).values()
        finally:
            cache.destroy()
    assert (sent.state, sent.caches[name].records) == (status.COMPLETED, 3)
    assert_kept(fresh.settings, KEYS_MAY_COINCIDE)
    assert (found.equal, found.missing) == (False, 2)
    assert "two entries have the same Kafka key '1'" in found.differences
