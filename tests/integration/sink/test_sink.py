"""The sink pipeline on a real node, a real broker and a real Spark session."""

from __future__ import annotations

import json
import random
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import psutil
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyignite.datatypes.cache_config import CacheMode
from pyignite.datatypes.cluster_state import ClusterState
from pyignite.datatypes.prop_codes import PROP_CACHE_ATOMICITY_MODE, PROP_CACHE_MODE, PROP_NAME
from pyspark.sql import SparkSession

from ignite_kafka.errors import CacheNotFound, RecordRefused, RecordsLost, RecordTooLarge, SettingsError, TopicError, WriteFailed
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.schema import get_or_create_cache
from ignite_kafka.ignite.types.model import QueryEntity, QueryField
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.plan.slots import slot_of
from ignite_kafka.runtime.clients import ignite_cluster, kafka_clients
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state import status
from ignite_kafka.state.status import RunStatus
from tests.support.processes import alive
from tests.support.waiting import DEADLINE_S, REQUEST_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker

Record = tuple[bytes | None, bytes | None]
COLUMNS = {"id": "java.lang.Long", "symbol": "java.lang.String", "price": "java.lang.Double", "open": "java.lang.Boolean"}


class Sink:
    """One topic of three partitions, its cache, and the connector between them, for one test."""

    def __init__(self, spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> None:
        self.spark, self.ignite, self.kafka = spark, ignite, kafka
        self.name = f"s{uuid.uuid4().hex[:8]}"
        self.topic, self.cache = f"{self.name}-in", f"{self.name}-cache"
        self.admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        self.settings = SinkSettings(
            name=self.name,
            ignite_addresses=ignite.addresses,
            bootstrap_servers=kafka.bootstrap,
            topics=(self.topic,),
            topic_prefix=self.topic,
            cache_prefix=self.cache,
            cache_key_type="java.lang.Long",
            cache_value_type=f"Trade{self.name}",
            cache_fields=COLUMNS,
            internal_topic_prefix=f"in-{self.name}",
            slots=2,
            process_updates=True,
        )
        self.make_topic(self.topic, 3)

    def make_topic(self, name: str, partitions: int, **config: str) -> None:
        (made,) = self.admin.create_topics([NewTopic(name, partitions, 1, config=config)]).values()
        made.result()

    def send(self, records: Sequence[Record], partition: int | None = None, topic: str | None = None, headers: Any = None) -> None:
        """Send each record to a partition: the given one, else by its position in the sequence."""
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap, "linger.ms": 5, "enable.idempotence": True})
        for place, (key, value) in enumerate(records):
            producer.produce(topic or self.topic, value, key, place % 3 if partition is None else partition, headers=headers)
        assert producer.flush(REQUEST_S) == 0

    def run(self, **changed: Any) -> RunStatus:
        return run_sink(self.spark, RunRequest(replace(self.settings, **changed), uuid.uuid4().hex))

    def entries(self, cache: str | None = None) -> dict[Any, Mapping[str, Any]]:
        with self.ignite.client() as client:
            found = client.get_cache(cache or self.cache)
            with found.scan(page_size=10_000) as cursor:
                return {key: {name: getattr(value, name) for name in value.schema} for key, value in cursor}

    @property
    def clients(self) -> KafkaClients:
        return kafka_clients(self.settings, Secrets())

    def messages(self, topic: str) -> list[Message]:
        """All committed records of a topic."""
        topics = Topics(self.clients)
        return list(read_to_end(self.clients, topics, topic, list(range(topics.partitions(topic)))))

    def alter_group(self, partition: int, offset: int) -> None:
        """Set the group's offsets, as kafka-consumer-groups --reset-offsets does."""
        places = [TopicPartition(self.topic, partition, offset)]
        asked = self.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(f"connect-{self.name}", places)])
        (future,) = asked.values()
        future.result()

    def group(self) -> dict[int, int]:
        """The group's offsets by partition."""
        topics = Topics(self.clients)
        places = [(self.topic, partition) for partition in range(topics.partitions(self.topic))]
        return {place[1]: offset for place, (offset, _) in topics.group_offsets(f"connect-{self.name}", places).items()}


def trade(number: int, **changed: Any) -> Record:
    value = {"id": number, "symbol": f"SYM ü {number % 7}", "price": number / 4, "open": number % 2 == 0, **changed}
    return b"%d" % number, json.dumps(value).encode()


def expected(number: int) -> dict[str, Any]:
    return {"id": number, "symbol": f"SYM ü {number % 7}", "price": number / 4, "open": number % 2 == 0}


@pytest.fixture
def sink(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[Sink]:
    made = Sink(spark, ignite, kafka)
    yield made
    with ignite.client() as client:
        for name in client.get_cache_names():
            if name.startswith(made.cache):
                client.get_cache(name).destroy()


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


def test_a_later_run_stores_only_new_records(sink: Sink) -> None:
    sink.send([trade(number) for number in range(300)])
    sink.run()
    assert sink.run().caches[sink.cache].records == 0
    sink.send([trade(number, symbol="new") for number in range(3)])
    assert sink.run().caches[sink.cache].records == 3
    assert sink.entries() == {number: {**expected(number), **({"symbol": "new"} if number < 3 else {})} for number in range(300)}


def test_the_last_operation_of_a_key_counts(sink: Sink) -> None:
    chance = random.Random(7)
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


BAD: tuple[tuple[str, Record, str, str], ...] = (
    ("broken JSON", (b"7", b'{"id":'), "VALUE_CONVERTER", "JSON"),
    ("trailing bytes", (b"7", b'{"id":7} x'), "VALUE_CONVERTER", "JSON"),
    ("not UTF-8", (b"7", b'{"symbol":"\xff"}'), "VALUE_CONVERTER", "UTF-8"),
    ("a text for a number", trade(7, price="much"), "VALUE_CONVERTER", "price"),
    ("a number that is too large", trade(7, id=1 << 63), "VALUE_CONVERTER", "id"),
    ("a name twice", (b"7", b'{"id":7,"id":8}'), "VALUE_CONVERTER", "id"),
    ("no object", (b"7", b"[1]"), "VALUE_CONVERTER", ""),
    ("no key", (None, trade(7)[1]), "KEY_CONVERTER", "key"),
    ("a tombstone without a key", (None, None), "KEY_CONVERTER", "key"),
    ("a key of another type", (b'"seven"', trade(7)[1]), "KEY_CONVERTER", ""),
)


HEADERS = [("trace", b"a\xff"), ("trace", None), ("__connect.errors.topic", b"of another connector")]


def send_bad(sink: Sink) -> list[int]:
    """Send each bad record between two good ones of keys from 100 on; return the offsets of the bad ones."""
    for number, (_, bad, _, _) in enumerate(BAD):
        sink.send([trade(100 + number)], partition=0)
        sink.send([bad], partition=0, headers=HEADERS)
    sink.send([trade(100 + len(BAD))], partition=0)
    return list(range(1, 2 * len(BAD), 2))


@pytest.mark.parametrize(("kind", "bad", "stage", "reason"), BAD, ids=[case[0].replace(" ", "-") for case in BAD])
def test_a_bad_record_stops_the_run_with_all_before_it_stored(sink: Sink, kind: str, bad: Record, stage: str, reason: str) -> None:
    sink.send([trade(1), trade(2), bad, trade(3)], partition=0)
    with pytest.raises(RecordRefused) as stopped:
        sink.run()
    assert stopped.value.where == {"topic": sink.topic, "partition": 0, "offset": 2, "stage": stage}, kind
    assert reason in stopped.value.what
    assert (set(sink.entries()), sink.group()[0]) == ({1, 2}, 2)


def test_bad_records_go_to_the_dead_letters_as_kafka_connect_sends_them(sink: Sink) -> None:
    offsets, dead_topic = send_bad(sink), f"{sink.name}-dead"
    counts = sink.run(error_handling_policy="DEAD_LETTER", dead_letter_topic=dead_topic).caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (2 * len(BAD) + 1, len(BAD) + 1, len(BAD))
    assert sink.entries() == {number: expected(number) for number in range(100, 101 + len(BAD))}
    assert sink.group()[0] == 2 * len(BAD) + 1
    originals = {message.offset(): message for message in sink.messages(sink.topic) if message.partition() == 0}
    found = sink.messages(dead_topic)
    exception = "ignite_kafka.errors.RecordRefused"
    for letter, offset, (kind, bad, stage, reason) in zip(found, offsets, BAD, strict=True):
        assert (letter.key(), letter.value(), letter.timestamp()) == (*bad, originals[offset].timestamp()), kind
        headers = cast(list[tuple[str, bytes]], letter.headers())
        assert headers[: len(HEADERS)] == HEADERS, kind
        context = dict(headers[len(HEADERS) :])
        message = context.pop("__connect.errors.exception.message").decode()
        trace = context.pop("__connect.errors.exception.stacktrace").decode()
        assert reason in message, kind
        assert trace.startswith(f"{exception}: {message} [topic {sink.topic}, partition 0, offset {offset}, stage {stage}]"), kind
        assert context == {
            "__connect.errors.topic": sink.topic.encode(),
            "__connect.errors.partition": b"0",
            "__connect.errors.offset": b"%d" % offset,
            "__connect.errors.connector.name": sink.name.encode(),
            "__connect.errors.task.id": b"%d" % slot_of(sink.topic, 0, 2),
            "__connect.errors.stage": stage.encode(),
            "__connect.errors.class.name": b"ignite_kafka.convert.to_ignite.record_converter.RecordConverter",
            "__connect.errors.exception.class.name": exception.encode(),
        }, kind


def test_bad_records_are_skipped_and_counted(sink: Sink) -> None:
    send_bad(sink)
    counts = sink.run(error_handling_policy="LOG_ONLY").caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (2 * len(BAD) + 1, len(BAD) + 1, len(BAD))
    assert sink.entries() == {number: expected(number) for number in range(100, 101 + len(BAD))}
    assert sink.group()[0] == 2 * len(BAD) + 1


def test_many_bad_records_of_a_batch_go_to_the_dead_letters_in_order(sink: Sink) -> None:
    sink.send([(b"%d" % number, b"{" if number % 3 else trade(number)[1]) for number in range(900)])
    dead_topic = f"{sink.name}-dead"
    counts = sink.run(error_handling_policy="DEAD_LETTER", dead_letter_topic=dead_topic).caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (900, 300, 600)
    assert sorted(int(letter.key() or b"") for letter in sink.messages(dead_topic)) == [number for number in range(900) if number % 3]
    assert set(sink.entries()) == set(range(0, 900, 3))


def test_a_dead_letter_topic_that_refuses_the_record_stops_the_run(sink: Sink) -> None:
    dead_topic = f"{sink.name}-dead"
    sink.make_topic(dead_topic, 1, **{"max.message.bytes": "2000"})
    sink.send([trade(1), (b"2", random.Random(3).randbytes(6_000)), trade(3)], partition=0)
    with pytest.raises(RecordTooLarge, match=f"{dead_topic}"):
        sink.run(error_handling_policy="DEAD_LETTER", dead_letter_topic=dead_topic)
    assert (sink.group()[0], sink.messages(dead_topic)) == (0, [])


def cache_of_short_symbols(sink: Sink) -> None:
    """The sink's cache, whose table takes symbols of 8 characters at most."""
    fields = tuple(QueryField(name, kind, precision=8 if name == "symbol" else -1) for name, kind in COLUMNS.items())
    entity = QueryEntity("java.lang.Long", f"Trade{sink.name}", table="TRADES", fields=fields)
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        get_or_create_cache(cluster, CacheConfiguration(sink.cache, query_entities=(entity,)))


def test_a_value_that_a_column_refuses_stops_the_run_with_all_before_it_stored(sink: Sink) -> None:
    cache_of_short_symbols(sink)
    sink.send([trade(1), trade(2), trade(2, symbol="far too long"), trade(3), trade(1, price=7.0)], partition=0)
    with pytest.raises(RecordRefused, match=r"column 'SYMBOL' is too long\. Maximum length: 8, actual length: 12") as stopped:
        sink.run()
    assert stopped.value.where == {"topic": sink.topic, "partition": 0, "offset": 2, "stage": "TASK_PUT"}
    assert (sink.entries(), sink.group()[0]) == ({1: expected(1), 2: expected(2)}, 2)


@pytest.mark.parametrize("policy", ["LOG_ONLY", "DEAD_LETTER"])
def test_values_that_a_column_refuses_are_bad_records(sink: Sink, policy: str) -> None:
    cache_of_short_symbols(sink)
    refused = {7, 8, 100, 299}
    records = [trade(number, symbol="far too long") if number in refused else trade(number) for number in range(300)]
    broken = [(b"50", b"{"), trade(60, symbol="far too long, and not the first of its key")]
    sink.send([*records, *broken], partition=0)
    dead_topic = f"{sink.name}-dead"
    named = {"dead_letter_topic": dead_topic} if policy == "DEAD_LETTER" else {}
    counts = sink.run(error_handling_policy=policy, **named).caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (302, 296, 6)
    assert sink.entries() == {number: expected(number) for number in range(300) if number not in refused}
    assert sink.group()[0] == 302
    if named:
        keys = [int(letter.key() or b"") for letter in sink.messages(dead_topic)]
        stages = [dict(cast(Any, letter.headers()))["__connect.errors.stage"] for letter in sink.messages(dead_topic)]
        assert keys == [*sorted(refused), 50, 60]
        assert stages == [b"TASK_PUT"] * 4 + [b"VALUE_CONVERTER", b"TASK_PUT"]


def test_an_expired_group_loses_no_offset(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    sink.run()
    (deleted,) = sink.admin.delete_consumer_groups([f"connect-{sink.name}"]).values()
    deleted.result()
    assert sink.group() == {}
    sink.send([trade(31)], partition=0)
    assert sink.run().caches[sink.cache].records == 1
    assert sink.group() == {0: 11, 1: 10, 2: 10}


def test_group_offsets_of_another_program_are_used(sink: Sink) -> None:
    """Such as those of a Kafka Connect sink of the same name, which this one replaces, or of kafka-consumer-groups."""
    sink.send([trade(number) for number in range(30)], partition=0)
    sink.alter_group(0, 20)
    assert sink.run().caches[sink.cache].records == 10
    sink.alter_group(0, 5)
    assert sink.run().caches[sink.cache].records == 25


@pytest.mark.parametrize(("reset", "stored"), [("none", 0), ("earliest", 5), ("latest", 0)])
def test_records_that_retention_has_deleted(sink: Sink, reset: str, stored: int) -> None:
    sink.send([trade(number) for number in range(10)], partition=0)
    sink.run()
    sink.send([trade(number) for number in range(10, 20)], partition=0)
    (cut,) = sink.admin.delete_records([TopicPartition(sink.topic, 0, 15)]).values()
    cut.result()
    if reset == "none":
        with pytest.raises(RecordsLost, match="next record to read is offset 10, and the partition starts at offset 15") as lost:
            sink.run()
        assert (lost.value.where["topic"], lost.value.where["partition"]) == (sink.topic, 0)
        assert sink.group()[0] == 10
        return
    assert sink.run(auto_offset_reset=reset).caches[sink.cache].records == stored
    assert sink.group()[0] == 20


def spark_workers() -> list[psutil.Process]:
    """Spark's Python processes of this session."""
    return [process for process in psutil.Process().children(recursive=True) if alive(process) and "pyspark.daemon" in process.cmdline()]


def overtake(sink: Sink) -> None:
    """The tasks of a run that has stored offsets 0 and 1 are suspended; meanwhile 2 to 11 are added and 2 to 9 deleted."""
    workers = spark_workers()
    assert workers
    for worker in workers:
        worker.suspend()
    time.sleep(0.5)  # the broker answers the requests in flight
    try:
        sink.send([trade(number) for number in range(2, 12)], partition=0)
        (cut,) = sink.admin.delete_records([TopicPartition(sink.topic, 0, 10)]).values()
        cut.result()
    finally:
        for worker in workers:
            worker.resume()


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_a_continuous_run_skips_records_that_retention_deletes(sink: Sink, reset: str) -> None:
    left = {10, 11} if reset == "earliest" else set()
    sink.send([trade(0)], partition=0)
    sink.run()
    sink.send([trade(1)], partition=0)
    with Running(sink, auto_offset_reset=reset) as running:
        running.awaits({0, 1})
        wait_until(lambda: sink.group()[0] == 2, "its commit")
        overtake(sink)
        wait_until(lambda: running.alive and sink.group()[0] == 12, "the end of the topic")
        sink.send([trade(12)], partition=0)
        running.awaits({0, 1, 12, *left})


def test_a_continuous_run_ends_at_lost_records_without_a_reset_policy(sink: Sink) -> None:
    sink.send([trade(0), trade(1)], partition=0)
    with Running(sink) as running:
        running.awaits({0, 1})
        overtake(sink)
        with pytest.raises(RecordsLost, match="set auto_offset_reset to earliest or latest") as lost:
            wait_until(lambda: not running.alive, "its end")
        running.ended = True
    assert lost.value.where == {"topic": sink.topic, "partition": 0, "offset": 2}
    assert sink.group().get(0, 0) <= 2


def test_a_first_start_may_begin_at_the_topics_ends(sink: Sink) -> None:
    sink.send([trade(number) for number in range(10)], partition=0)
    assert sink.run(auto_offset_reset="latest").caches[sink.cache].records == 0
    sink.send([trade(number) for number in range(10, 13)], partition=0)
    sink.admin.create_partitions([NewPartitions(sink.topic, 4)])[sink.topic].result()
    wait_until(lambda: Topics(sink.clients).partitions(sink.topic) == 4, "the new partition")
    sink.send([trade(20)], partition=3)
    assert sink.run(auto_offset_reset="latest").caches[sink.cache].records == 4
    assert set(sink.entries()) == {10, 11, 12, 20}


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


def test_a_topic_that_was_made_again_is_refused(sink: Sink) -> None:
    sink.send([trade(number) for number in range(10)], partition=0)
    sink.run()
    sink.admin.delete_topics([sink.topic])[sink.topic].result()
    wait_until(lambda: sink.topic not in Topics(sink.clients).existing(), "the topic's end")
    sink.make_topic(sink.topic, 3)
    sink.send([trade(number) for number in range(100, 120)], partition=0)
    with pytest.raises(TopicError, match="deleted and made again since it was read") as refused:
        sink.run()
    assert refused.value.where["topic"] == sink.topic
    assert set(sink.entries()) == set(range(10))
    sink.alter_group(0, 0)
    sink.alter_group(1, 0)
    sink.alter_group(2, 0)
    assert sink.run().caches[sink.cache].records == 20


def test_a_topic_may_get_more_partitions_between_runs(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    sink.run()
    sink.admin.create_partitions([NewPartitions(sink.topic, 5)])[sink.topic].result()
    wait_until(lambda: Topics(sink.clients).partitions(sink.topic) == 5, "the new partitions")
    sink.send([trade(40)], partition=3)
    sink.send([trade(41)], partition=4)
    result = sink.run()
    assert (result.caches[sink.cache].records, result.caches[sink.cache].units) == (2, 5)
    assert sink.group() == {0: 10, 1: 10, 2: 10, 3: 1, 4: 1}


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_at_a_transaction_marker_is_reached(sink: Sink, commit: bool) -> None:
    producer = Producer({"bootstrap.servers": sink.kafka.bootstrap, "transactional.id": f"{sink.name}-writer"})
    producer.init_transactions(30)
    producer.begin_transaction()
    key, value = trade(1)
    producer.produce(sink.topic, value, key, 0)
    producer.flush(REQUEST_S)
    if commit:
        producer.commit_transaction(-1)
    else:
        producer.abort_transaction(-1)
    assert sink.run().caches[sink.cache].records == commit
    assert sink.group()[0] == 2
    assert set(sink.entries()) == ({1} if commit else set())


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


class Running:
    """A continuous run in another thread."""

    def __init__(self, sink: Sink, **changed: Any) -> None:
        self._sink, self._pool, self._stop = sink, ThreadPoolExecutor(1), threading.Event()
        self.ended = False  # by an error that the test expects
        settings = replace(sink.settings, run_mode="continuous", push_interval_ms=100, topic_list_poll_interval_ms=500, **changed)
        self._run = self._pool.submit(run_sink, sink.spark, RunRequest(settings, uuid.uuid4().hex, stop=self._stop))

    @property
    def alive(self) -> bool:
        """True; raises the error that has ended the run."""
        if self._run.done():
            self._run.result()
        return True

    def awaits(self, keys: set[int], cache: str | None = None) -> None:
        def there() -> bool:
            return self.alive and self._has(cache or self._sink.cache) and set(self._sink.entries(cache)) == keys

        wait_until(there, f"{len(keys)} entries")

    def _has(self, cache: str) -> bool:
        with self._sink.ignite.client() as client:
            return cache in client.get_cache_names()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._stop.set()
        result = self._run.result(DEADLINE_S) if kind is None and not self.ended else None
        self._pool.shutdown()
        assert result is None or result.state == status.STOPPED


def test_a_continuous_run_adds_partitions_and_topics_and_stops(sink: Sink) -> None:
    sink.make_topic(f"{sink.name}.a", 1)
    regex = {"topics": (), "topics_regex": rf"{sink.name}\..*", "topic_prefix": f"{sink.name}.", "cache_prefix": f"{sink.cache}-"}
    first, second = f"{sink.cache}-a", f"{sink.cache}-b"
    sink.send([trade(1)], partition=0, topic=f"{sink.name}.a")
    with Running(sink, **regex) as running:
        running.awaits({1}, first)
        sink.send([trade(2), (b"1", None)], partition=0, topic=f"{sink.name}.a")
        running.awaits({2}, first)
        sink.admin.create_partitions([NewPartitions(f"{sink.name}.a", 2)])[f"{sink.name}.a"].result()
        wait_until(lambda: Topics(sink.clients).partitions(f"{sink.name}.a") == 2, "the new partition")
        sink.send([trade(3)], partition=1, topic=f"{sink.name}.a")
        sink.make_topic(f"{sink.name}.b", 1)
        sink.send([trade(9)], partition=0, topic=f"{sink.name}.b")
        running.awaits({2, 3}, first)
        running.awaits({9}, second)
    with Running(sink, **regex) as running:
        sink.send([trade(4)], partition=0, topic=f"{sink.name}.a")
        running.awaits({2, 3, 4}, first)
