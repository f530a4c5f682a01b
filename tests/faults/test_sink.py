"""A sink whose driver, worker or secrets fail: what the second run leaves in the cache is what the topic says."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from tests.faults.conftest import create_topic
from tests.support.kafka_proxy import Api
from tests.support.processes import SINK_APP, App, AppResult, AppStarter, killed_at
from tests.support.randomness import generator
from tests.support.servers import CACHE_TEMPLATE, ProxiedBroker, small_caches
from tests.support.waiting import REQUEST_S
from tools.servers import IgniteCluster, Jars

USERS = {"alice": "right-kafka-password"}
KEYS, OPERATIONS, PARTITIONS = 400, 6_000, 4


@dataclass
class SinkVerdict:
    """A topic of puts and tombstones, and the connector that brings it into a cache in many small batches."""

    broker: ProxiedBroker
    ignite: IgniteCluster
    starter: AppStarter
    settings: dict[str, Any]
    last: dict[int, str] = field(default_factory=dict)

    @property
    def connector(self) -> str:
        return str(self.settings["name"])

    def write(self, seed: int) -> None:
        """Operations on a few keys, each key in a partition of its own, in this order: tried again without idempotence, one comes late."""
        ordered: dict[str, Any] = {"bootstrap.servers": self.broker.bootstrap, "linger.ms": 5, "enable.idempotence": True}
        chance, producer = generator(seed), Producer(ordered)
        for step in range(OPERATIONS):
            key, value = chance.randrange(KEYS), f"{seed}-{step}"
            if chance.random() < 0.3:
                self.last.pop(key, None)
                producer.produce(self.connector, None, b"%d" % key, key % PARTITIONS)
            else:
                self.last[key] = value
                producer.produce(self.connector, b'"%s"' % value.encode(), b"%d" % key, key % PARTITIONS)
            producer.poll(0)
        assert producer.flush(REQUEST_S) == 0

    def start(self, **named: Any) -> App:
        app = self.starter.start(self.connector, None, {**self.settings, **named.pop("settings", {})}, **named)
        app.servers = (self.broker.log, self.ignite.log)
        return app

    def run(self, **named: Any) -> AppResult:
        app = self.start(**named)
        try:
            return app.result()
        finally:
            app.stop()

    def entries(self) -> Mapping[int, str]:
        with self.ignite.client() as client, client.get_cache(f"{CACHE_TEMPLATE}{self.connector}").scan(page_size=10_000) as cursor:
            return dict(cursor)

    def lag(self) -> int:
        places = [TopicPartition(self.connector, partition) for partition in range(PARTITIONS)]
        asked = self.broker.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(f"connect-{self.connector}", places)])
        committed = next(iter(asked.values())).result().topic_partitions
        ends = self.broker.admin.list_offsets({place: OffsetSpec.latest() for place in places})
        return sum(ends[place].result().offset - max(0, known.offset) for place, known in zip(places, committed, strict=True))

    def assert_complete(self) -> None:
        assert self.entries() == self.last
        assert self.lag() == 0


def make_sunk(broker: ProxiedBroker, ignite: IgniteCluster, directory: Path, **settings: Any) -> SinkVerdict:
    name = f"k{uuid.uuid4().hex[:6]}"
    create_topic(broker, name, PARTITIONS)
    own = {
        "name": name,
        "topics": [name],
        "cache_prefix": CACHE_TEMPLATE,
        "process_updates": True,
        "ignite_addresses": list(ignite.addresses),
        "bootstrap_servers": broker.proxy.bootstrap,
        "internal_topic_prefix": f"in-{name}",
        "slots": PARTITIONS,
        "batch_size": 300,
        "push_interval_ms": 1,  # a transaction a batch
        "cache_key_type": "java.lang.Long",
        "cache_value_type": "java.lang.String",
        **settings,
    }
    return SinkVerdict(broker, ignite, AppStarter(directory, app=SINK_APP), own)


@pytest.fixture
def sunk(broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path) -> SinkVerdict:
    made = make_sunk(broker, ignite, tmp_path)
    made.write(1)
    return made


@pytest.mark.parametrize(
    "nth", [pytest.param(1, marks=pytest.mark.long("after some commits")), 4], ids=["before the first commit", "after some commits"]
)
def test_a_second_run_converges_after_the_driver_was_killed(sunk: SinkVerdict, nth: int) -> None:
    killed_at(sunk.start(), sunk.broker.proxy.hold_request(Api.END_TXN, f"{sunk.connector}-1", nth))
    sunk.write(2)
    sunk.run().assert_exit(0)
    sunk.assert_complete()


def test_a_commit_of_a_killed_driver_that_comes_late_changes_nothing(sunk: SinkVerdict) -> None:
    """Only the driver's JVM dies, and a commit of its left-over worker comes when the second run is done."""
    rule = sunk.broker.proxy.hold_request(Api.END_TXN, f"{sunk.connector}-1", 2)
    app = sunk.start()
    try:
        app.reaches(rule)
        app.kill()
        sunk.run().assert_exit(0)
        rule.release()
    finally:
        app.stop()
    sunk.assert_complete()
    sunk.write(3)
    sunk.run().assert_exit(0)
    sunk.assert_complete()


def test_a_commit_whose_answer_is_lost_is_recognized(sunk: SinkVerdict) -> None:
    rule = sunk.broker.proxy.hold_reply(Api.END_TXN, f"{sunk.connector}-1", 2)
    app = sunk.start()
    try:
        app.reaches(rule)
        rule.drop()
        app.result().assert_exit(0)
    finally:
        app.stop()
    sunk.assert_complete()


def refused(result: AppResult, error: str, secret: str) -> None:
    """The run ended with that error, which does not tell the secret."""
    found = result.assert_exit(1).error
    assert found is not None
    assert found[0] == error
    assert secret not in result.output


@pytest.fixture
def secured(jars: Jars, ignite: IgniteCluster, tmp_path: Path) -> Iterator[SinkVerdict]:
    with ProxiedBroker(tmp_path / "broker", jars, USERS) as broker:
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice"}
        made = make_sunk(broker, ignite, tmp_path, kafka_config=login)
        made.write(1)
        yield made


def test_a_wrong_kafka_password(secured: SinkVerdict) -> None:
    result = secured.run(secrets={"kafka": {"sasl.password": "wrong-kafka-password"}})
    refused(result, "AuthenticationFailed", "wrong-kafka-password")
    secured.run(secrets={"kafka": {"sasl.password": USERS["alice"]}}).assert_exit(0)
    secured.assert_complete()


def test_a_wrong_ignite_password(broker: ProxiedBroker, jars: Jars, tmp_path: Path) -> None:
    with small_caches(tmp_path / "ignite", jars, authentication=True) as guarded:
        made = make_sunk(broker, guarded, tmp_path)
        made.write(1)
        result = made.run(secrets={"ignite": {"username": guarded.user, "password": "wrong-ignite-password"}})
        refused(result, "AuthenticationFailed", "wrong-ignite-password")
        assert made.lag() == OPERATIONS
