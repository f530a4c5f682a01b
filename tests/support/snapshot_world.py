"""Caches of a test, and snapshots of them in the test's Spark session."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from pyignite import GenericObjectMeta
from pyignite.datatypes import DoubleObject, IntObject, LongObject, String, TimestampObject
from pyspark.sql import SparkSession

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.runtime.clients import ignite_cluster, kafka_clients
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.planning import make_plan
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state.status import RunStatus
from ignite_kafka.verification.entry_comparison import PairDifferences
from tools.compare_topics import verify
from tools.servers import IgniteCluster, KafkaBroker

ROWS = 3_000
Trade: Any = GenericObjectMeta("Trade", (), {}, schema={"id": LongObject, "symbol": String, "price": DoubleObject, "at": TimestampObject})
Account: Any = GenericObjectMeta("AccountKey", (), {}, schema={"branch": IntObject, "number": LongObject})


class World:
    """Caches of a test, and runs of a connector over them."""

    def __init__(self, spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> None:
        self.spark, self.ignite, self.kafka = spark, ignite, kafka
        self.stem = f"w{uuid.uuid4().hex[:8]}"
        self.settings = SourceSettings(
            name=self.stem,
            ignite_addresses=ignite.addresses,
            bootstrap_servers=kafka.bootstrap,
            cache_whitelist=(f"{self.stem}-.*",),
            topic_prefix="to-",
            internal_topic_prefix=f"in-{self.stem}",
            topic_partitions=3,
            slots=4,
        )

    def run(self, snapshot_id: str | None = None, **changed: Any) -> RunStatus:
        settings = replace(self.settings, **changed)
        return run_snapshot(self.spark, RunRequest(settings, uuid.uuid4().hex, snapshot_id))

    def verify(self, **changed: Any) -> dict[str, PairDifferences]:
        settings = replace(self.settings, **changed)
        clients = kafka_clients(settings, Secrets())
        with ignite_cluster(settings, Secrets()) as cluster:
            plan = make_plan(settings, cluster, Topics(clients), "any", 16)
            return {result.cache.removeprefix(f"{self.stem}-"): result for result in verify(plan, cluster, clients)}

    @property
    def clients(self) -> KafkaClients:
        return kafka_clients(self.settings, Secrets())
