"""A topic, its cache, and a sink between them that runs in the test's Spark session."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyspark.sql import SparkSession

from ignite_kafka.admin.connector_lag import ConnectorLag, read_lag
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.schema import get_or_create_cache
from ignite_kafka.ignite.types.model import QueryEntity, QueryField
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.runtime.clients import ignite_cluster, kafka_clients
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.state import status
from ignite_kafka.state.status import RunStatus
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

    def add_partitions(self, topic: str, total: int) -> None:
        """Give a topic more partitions."""
        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result()
        self._forget_topics()

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        self.admin.delete_topics([topic])[topic].result()
        self._forget_topics()

    def _forget_topics(self) -> None:
        """Let the next records have a new producer, which does not know the topics as they were."""
        vars(self).pop("_producer", None)

    def send(self, records: Sequence[Record], partition: int | None = None, topic: str | None = None, headers: Any = None) -> None:
        """Send each record to a partition: the given one, else by its position in the sequence."""
        producer = self._producer
        for place, (key, value) in enumerate(records):
            producer.produce(topic or self.topic, value, key, place % 3 if partition is None else partition, headers=headers)
        assert producer.flush(REQUEST_S) == 0

    @cached_property
    def _producer(self) -> Producer:
        """One for all records: a new one waits half a second for its producer id."""
        return Producer({"bootstrap.servers": self.kafka.bootstrap, "linger.ms": 5, "enable.idempotence": True, "log_level": 2})

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

    def lag(self) -> ConnectorLag:
        def no_cluster() -> Cluster:
            raise AssertionError("a sink's lag needs no cluster")

        return read_lag(self.clients, self.settings.internal_topic_prefix, self.name, no_cluster)

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


def cache_of_short_symbols(sink: Sink) -> None:
    """Create the sink's cache, whose table takes symbols of 8 characters at most."""
    fields = tuple(QueryField(name, kind, precision=8 if name == "symbol" else -1) for name, kind in COLUMNS.items())
    entity = QueryEntity("java.lang.Long", f"Trade{sink.name}", table="TRADES", fields=fields)
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        get_or_create_cache(cluster, CacheConfiguration(sink.cache, query_entities=(entity,)))


class Running:
    """A continuous run in another thread."""

    def __init__(self, sink: Sink, **changed: Any) -> None:
        self._sink, self._pool, self._stop = sink, ThreadPoolExecutor(1), threading.Event()
        self.run_id = uuid.uuid4().hex
        self.ended = False  # by an error that the test expects
        settings = replace(sink.settings, run_mode="continuous", push_interval_ms=100, topic_list_poll_interval_ms=500, **changed)
        self._run = self._pool.submit(run_sink, sink.spark, RunRequest(settings, self.run_id, stop=self._stop))

    @property
    def alive(self) -> bool:
        """True; raises the error that has ended the run."""
        if self._run.done():
            self._run.result()
        return True

    def stop(self) -> None:
        """Ask the run to end after the current batches."""
        self._stop.set()

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
