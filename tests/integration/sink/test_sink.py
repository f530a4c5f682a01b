"""The sink pipeline on a real node, a real broker and a real Spark session."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from pyignite.datatypes.cache_config import CacheMode
from pyignite.datatypes.cluster_state import ClusterState
from pyignite.datatypes.prop_codes import PROP_CACHE_ATOMICITY_MODE, PROP_CACHE_MODE, PROP_NAME

from ignite_kafka.errors import CacheNotFound, SettingsError, TopicError, WriteFailed
from ignite_kafka.events import TOPICS_AWAITED, TOPICS_CHANGED
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.schema import get_or_create_cache
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.runtime.clients import ignite_cluster
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state import status
from tests.support.cache_view import CacheView, read_cache_view
from tests.support.kept_events import assert_kept
from tests.support.randomness import generator
from tests.support.sink_connector import Record, Running, Sink, expected, trade
from tests.support.waiting import wait_until
from tools.servers import Jars
from tools.servers.ignite_config import BACKLOG_REGION


def test_records_arrive_with_their_types_and_the_group_has_no_lag(sink: Sink) -> None:
    sink.send([trade(number) for number in range(3_000)])
    result = sink.run()
    assert result.state == status.COMPLETED
    counts = result.caches[sink.cache]
    assert (counts.topic, counts.records, counts.entries, counts.bad) == (sink.topic, 3_000, 3_000, 0)
    assert sink.entries() == {number: expected(number) for number in range(3_000)}
    assert sink.group() == {0: 1_000, 1: 1_000, 2: 1_000}
    with sink.ignite.client() as client:
        rows = list(client.sql(f'select count(*), sum(price) from "{sink.cache}".Trade{sink.name} where symbol is not null'))
    assert rows == [[3_000, sum(number / 4 for number in range(3_000))]]
    assert result.versions["Ignite"] == ".".join(map(str, Jars.of_checkout().ignite_version))


def test_a_later_run_stores_only_new_records(sink: Sink) -> None:
    sink.send([trade(number) for number in range(300)])
    sink.run()
    assert sink.run().caches[sink.cache].records == 0
    sink.send([trade(number, symbol="new") for number in range(3)])
    assert sink.run().caches[sink.cache].records == 3
    assert sink.entries() == {number: {**expected(number), **({"symbol": "new"} if number < 3 else {})} for number in range(300)}


def test_the_last_operation_of_a_key_counts(sink: Sink) -> None:
    chance = generator(7)
    last: dict[int, Mapping[str, Any] | None] = {}
    records: list[Record] = []
    for step in range(2_000):
        number = chance.randrange(60)
        remove = chance.random() < 0.4
        records.append((b"%d" % number, None) if remove else trade(number, price=float(step)))
        last[number] = None if remove else {**expected(number), "price": float(step)}
    sink.send(records, partition=1)
    sink.run(batch_size=170)
    assert sink.entries() == {number: value for number, value in last.items() if value is not None}


def test_without_process_updates_existing_entries_stay(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    sink.run(process_updates=False)
    sink.send([trade(number, symbol="other") for number in range(60)] + [(b"1", None)])
    sink.run(process_updates=False)
    assert sink.entries() == {number: {**expected(number), **({"symbol": "other"} if number >= 30 else {})} for number in range(60)}


def test_a_read_only_cluster_stops_the_run_and_nothing_is_committed(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    sink.run()
    sink.send([trade(number) for number in range(30, 60)])
    with sink.ignite.client() as client:
        client.get_cluster().set_state(ClusterState.ACTIVE_READ_ONLY)
        try:
            with pytest.raises(WriteFailed, match="read-only") as refused:
                sink.run()
        finally:
            client.get_cluster().set_state(ClusterState.ACTIVE)
    assert refused.value.where["cache"] == sink.cache
    assert sink.group() == {0: 10, 1: 10, 2: 10}
    assert sink.run().caches[sink.cache].records == 30
    assert set(sink.entries()) == set(range(60))


def test_topics_by_expression_go_to_caches_of_their_names(sink: Sink) -> None:
    for name in ("ignite-a", "b"):
        sink.make_topic(f"{sink.name}.{name}", 1)
        sink.send([trade(1)], partition=0, topic=f"{sink.name}.{name}")
    changed = {"topics": (), "topics_regex": rf"{sink.name}\..*", "topic_prefix": f"{sink.name}.ignite-", "cache_prefix": f"{sink.cache}-"}
    caches = {f"{sink.cache}-a": f"{sink.name}.ignite-a", f"{sink.cache}-{sink.name}.b": f"{sink.name}.b"}
    assert {name: cache.topic for name, cache in sink.run(**changed).caches.items()} == caches
    assert all(sink.entries(cache) == {1: expected(1)} for cache in caches)
    with pytest.raises(TopicError, match=r"no topic matches topics_regex.*The brokers have"):
        sink.run(**{**changed, "topics_regex": "no-such-topic"})


def test_caches_are_created_like_their_template_and_never_altered(sink: Sink) -> None:
    with sink.ignite.client() as client:
        settings = {PROP_NAME: f"{sink.cache}-template", PROP_CACHE_MODE: CacheMode.REPLICATED, PROP_CACHE_ATOMICITY_MODE: 0}
        client.create_cache(settings)
    sink.send([trade(1)])
    with pytest.raises(CacheNotFound, match=r"cache_template is no cache of the cluster.*no-such-cache"):
        sink.run(cache_template="no-such-cache")
    sink.run(cache_template=f"{sink.cache}-template")
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        made = cluster.cache(sink.cache)
    assert (made.mode, made.atomicity, made.query_entities[0].value_type) == ("REPLICATED", "TRANSACTIONAL", f"Trade{sink.name}")
    sink.run(cache_mode="PARTITIONED", cache_backups=1)
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        assert cluster.cache(sink.cache) == made


def test_caches_are_created_with_the_backups_region_and_atomicity_of_the_settings(sink: Sink) -> None:
    """A template gives what the settings leave open, but never its data region."""
    template = f"{sink.cache}-template"
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        get_or_create_cache(cluster, CacheConfiguration(template, "PARTITIONED", "TRANSACTIONAL", 2, data_region=BACKLOG_REGION))
    chosen = {"cache_atomicity": "ATOMIC", "cache_backups": 3, "cache_region": BACKLOG_REGION}
    overrides = {"plain": {}, "like": {"cache_template": template}, "own": {"cache_template": template, **chosen}}
    topics = {name: f"{sink.name}.{name}" for name in overrides}
    for topic in topics.values():
        sink.make_topic(topic, 1)
        sink.send([trade(1)], partition=0, topic=topic)
    sink.run(
        topics=tuple(topics.values()), topic_prefix=f"{sink.name}.", cache_prefix=f"{sink.cache}-",
        overrides={topics[name]: changed for name, changed in overrides.items()},
    )  # fmt: skip
    caches = [f"{sink.cache}-{name}" for name in overrides]
    assert all(sink.entries(cache) == {1: expected(1)} for cache in caches)
    with sink.ignite.client() as client:
        found = [read_cache_view(client, cache) for cache in (template, *caches)]
    assert found == [
        CacheView("PARTITIONED", "TRANSACTIONAL", 2, BACKLOG_REGION, "FULL_SYNC"),
        CacheView("PARTITIONED", "ATOMIC", 0, None, "FULL_SYNC"),
        CacheView("PARTITIONED", "TRANSACTIONAL", 2, None, "FULL_SYNC"),
        CacheView("PARTITIONED", "ATOMIC", 3, BACKLOG_REGION, "FULL_SYNC"),
    ]


@pytest.mark.parametrize(
    ("changed", "keys"),
    [
        ({"key_policy": "value", "key_fields": ("id",)}, {1, 2}),
        ({"key_policy": "value", "key_fields": ("symbol",), "cache_key_type": "java.lang.String"}, {"SYM ü 1", "SYM ü 2"}),
    ],
)
def test_keys_of_the_value(sink: Sink, changed: dict[str, Any], keys: set[Any]) -> None:
    sink.send([(None, trade(number)[1]) for number in (1, 2)])
    sink.run(**changed)
    assert set(sink.entries()) == keys


def test_ignite_entries_survive_the_way_through_kafka(sink: Sink) -> None:
    """Ignite → Kafka → Ignite, byte for byte, with converter ignite-binary."""
    sink.send([trade(number) for number in range(50)])
    sink.run()
    binary: dict[str, Any] = {"key_converter": "ignite-binary", "value_converter": "ignite-binary"}
    out = f"{sink.name}-out-"
    source = SourceSettings(
        name=f"{sink.name}-source",
        ignite_addresses=sink.ignite.addresses,
        bootstrap_servers=sink.kafka.bootstrap,
        cache_whitelist=(sink.cache,),
        topic_prefix=out,
        internal_topic_prefix=f"in-{sink.name}",
        slots=2,
        **binary,
    )
    run_snapshot(sink.spark, RunRequest(source, uuid.uuid4().hex))
    there = {"topics": (f"{out}{sink.cache}",), "topic_prefix": out, "cache_prefix": f"{sink.cache}-back-"}
    back = sink.run(name=f"{sink.name}-back", **there, **binary)
    assert back.caches[f"{sink.cache}-back-{sink.cache}"].entries == 50
    assert sink.entries(f"{sink.cache}-back-{sink.cache}") == sink.entries()


def test_the_name_of_a_source_is_refused(sink: Sink) -> None:
    source = SourceSettings(
        name=sink.name,
        ignite_addresses=sink.ignite.addresses,
        bootstrap_servers=sink.kafka.bootstrap,
        cache_whitelist=("no-such-cache",),
        load_initial_data=False,
        internal_topic_prefix=f"in-{sink.name}",
        slots=2,
    )
    run_snapshot(sink.spark, RunRequest(source, uuid.uuid4().hex))
    with pytest.raises(SettingsError, match="a source connector has this name"):
        sink.run()


def test_a_continuous_run_waits_for_a_listed_topic(sink: Sink) -> None:
    there, late = f"{sink.name}.there", f"{sink.name}.late"
    named = {"topics": (there, late), "topic_prefix": f"{sink.name}.", "cache_prefix": f"{sink.cache}-"}
    sink.make_topic(there, 1)
    with Running(sink, **named) as running:
        sink.send([trade(1)], partition=0, topic=there)
        running.awaits({1}, f"{sink.cache}-there")
        sink.make_topic(late, 1)
        sink.send([trade(2)], partition=0, topic=late)
        running.awaits({2}, f"{sink.cache}-late")
    assert_kept(sink.settings, TOPICS_AWAITED)


def test_a_continuous_run_adds_partitions_and_topics_and_stops(sink: Sink) -> None:
    sink.make_topic(f"{sink.name}.a", 1)
    regex = {"topics": (), "topics_regex": rf"{sink.name}\..*", "topic_prefix": f"{sink.name}.", "cache_prefix": f"{sink.cache}-"}
    first, second = f"{sink.cache}-a", f"{sink.cache}-b"
    sink.send([trade(1)], partition=0, topic=f"{sink.name}.a")
    with Running(sink, **regex) as running:
        running.awaits({1}, first)
        sink.send([trade(2), (b"1", None)], partition=0, topic=f"{sink.name}.a")
        running.awaits({2}, first)
        sink.add_partitions(f"{sink.name}.a", 2)
        wait_until(lambda: Topics(sink.clients).partitions(f"{sink.name}.a") == 2, "the new partition")
        sink.send([trade(3)], partition=1, topic=f"{sink.name}.a")
        sink.make_topic(f"{sink.name}.b", 1)
        sink.send([trade(9)], partition=0, topic=f"{sink.name}.b")
        running.awaits({2, 3}, first)
        running.awaits({9}, second)
    assert_kept(sink.settings, TOPICS_CHANGED)
    with Running(sink, **regex) as running:
        sink.send([trade(4)], partition=0, topic=f"{sink.name}.a")
        running.awaits({2, 3, 4}, first)
