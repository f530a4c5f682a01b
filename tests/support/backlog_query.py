"""A streaming query of the data source `ignite-backlog`, its cache, and the rows that it gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyignite import GenericObjectMeta
from pyignite.datatypes import LongObject, String
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster

Trade: Any = GenericObjectMeta("BacklogSourceTrade", (), {}, schema={"buyer": String, "amount": LongObject})


class World:
    """A cache, the connector that captures it, and the rows of its query."""

    def __init__(self, spark: SparkSession, ignite: IgniteCluster, cache: str, connector: str, checkpoint: Path) -> None:
        self.spark, self.ignite, self.cache, self.connector, self.checkpoint = spark, ignite, cache, connector, checkpoint
        self.batches: dict[int, list[list[Row]]] = defaultdict(list)
        self.fail_on: Callable[[list[Row]], bool] = lambda rows: False

    def options(self, **changed: str) -> dict[str, str]:
        given = {
            "addresses": ",".join(self.ignite.addresses),
            "cache": self.cache,
            "connector": self.connector,
            "backlog_flush_freq_ms": "20",
            "poll_interval_ms": "50",
        }
        return {**given, **changed}

    def start(self, *, available_now: bool = False, **changed: str) -> StreamingQuery:
        frame = self.spark.readStream.format("ignite-backlog").options(**self.options(**changed)).load()
        writer = frame.writeStream.foreachBatch(self._take).option("checkpointLocation", str(self.checkpoint))
        if available_now:
            return writer.trigger(availableNow=True).start()
        query = writer.trigger(processingTime="0 seconds").start()
        query.processAllAvailable()  # the capture begins
        return query

    def catch_up(self, **changed: str) -> None:
        """Run the query until it has caught up."""
        query = self.start(available_now=True, **changed)
        assert query.awaitTermination(int(DEADLINE_S))

    def waiting(self) -> DataFrame:
        return self.spark.read.format("ignite-backlog").options(**self.options()).load()

    def _take(self, frame: DataFrame, batch: int) -> None:
        rows = frame.collect()
        self.batches[batch].append(rows)
        if self.fail_on(rows):
            raise RuntimeError("the sink fails")

    def service(self, question: Callable[[BacklogService], Any]) -> Any:
        with Cluster(IgniteEndpoint(self.ignite.addresses)) as cluster:
            return cluster.ask(lambda connection: question(BacklogService(connection)))

    def await_all(self, query: StreamingQuery) -> None:
        """Wait until the query has given all changes so far."""
        self.service(lambda service: service.barrier(self.connector))
        query.processAllAvailable()

    def write(self, change: Callable[[Any], None]) -> None:
        with self.ignite.client() as client:
            change(client.get_or_create_cache(self.cache))

    def put(self, entries: dict[int, Any]) -> None:
        self.write(lambda cache: cache.put_all(entries))

    def content(self) -> dict[int, str]:
        with self.ignite.client() as client, client.get_cache(self.cache).scan() as entries:
            return {key: value.buyer for key, value in entries}

    @property
    def rows(self) -> list[Row]:
        """The rows of all batches, each as it was last given."""
        return [row for batch in sorted(self.batches) for row in self.batches[batch][-1]]


def fold(rows: Sequence[Row], content: dict[int, str] | None = None) -> dict[int, str]:
    held = dict(content or {})
    for row in rows:
        if row["_change"] in ("removed", "expired"):
            assert row["buyer"] is None
            assert row["amount"] is None
            held.pop(row["_key"], None)
        else:
            held[row["_key"]] = row["buyer"]
    return held


def kinds(rows: Sequence[Row]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        counts[row["_change"]] += 1
    return dict(counts)
