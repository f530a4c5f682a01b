"""Servers of the fault tests, shared where the fault leaves them whole, and what a test knows of its own connector and cache."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import NewTopic, OffsetSpec

from ignite_kafka.settings.source import SourceSettings
from tests.support import oracle
from tests.support.processes import App, AppResult, AppStarter, SparkCluster, output_tail
from tests.support.servers import CACHE_TEMPLATE, PARTITIONS, Brokers, ProxiedBroker, fill, small_caches
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import IgniteCluster, Jars

SLOTS = 4
_MARKERS_S = 60.0  # until a commit that was accepted has its markers in all partitions


@pytest.fixture(scope="session")
def shared_broker(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedBroker]:
    with ProxiedBroker(tmp_path_factory.mktemp("broker"), jars) as started:
        yield started


@pytest.fixture
def broker(shared_broker: ProxiedBroker) -> Iterator[ProxiedBroker]:
    """The shared broker; rules of the proxy end with the test."""
    yield shared_broker
    shared_broker.proxy.clear()


@pytest.fixture(scope="session")
def ignite(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """One node, shared."""
    with small_caches(tmp_path_factory.mktemp("ignite"), jars) as started:
        yield started


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """A standalone master with two workers of one core."""
    with SparkCluster(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster.await_ready()


@pytest.fixture
def topic(broker: ProxiedBroker) -> str:
    return create_topic(broker, f"t-{uuid.uuid4().hex[:8]}")


def create_topic(broker: ProxiedBroker, name: str, partitions: int = 2, **config: str) -> str:
    settings = {setting.replace("_", "."): value for setting, value in config.items()}
    broker.admin.create_topics([NewTopic(name, partitions, config=settings)])[name].result(REQUEST_S)
    return name


def one_error(result: AppResult, exit_code: int, error: str, *places: str) -> str:
    """The run ended with this one error, and the message names every place."""
    result.assert_exit(exit_code)
    assert result.error is not None, output_tail(result.output, *result.files)
    code, message = result.error
    assert (code, [place for place in places if place not in message]) == (error, []), message
    assert result.output.count("\nignite-kafka: ") == 1
    return message


@dataclass
class Copy:
    """One connector, its one cache and what must come out of it."""

    brokers: Brokers
    ignite: IgniteCluster
    starter: AppStarter
    connector: str
    entries: Mapping[int, Any]
    settings: dict[str, Any]
    snapshot_id: str = "snapshot-1"

    @property
    def broker(self) -> ProxiedBroker:
        """The one broker, of a test that has a proxy before it."""
        assert isinstance(self.brokers, ProxiedBroker)
        return self.brokers

    @property
    def connector_settings(self) -> SourceSettings:
        """Where the connector's records are."""
        prefix = self.settings["internal_topic_prefix"]
        return SourceSettings(name=self.connector, bootstrap_servers=self.settings["bootstrap_servers"], internal_topic_prefix=prefix)

    @property
    def cache(self) -> str:
        return f"{CACHE_TEMPLATE}{self.connector}"

    @property
    def topic(self) -> str:
        return f"to-{self.cache}"

    def slot_id(self, slot: int) -> str:
        """Transactional id of a slot. Its first EndTxn is that of the first task that copies it."""
        return f"{self.connector}-{slot}"

    def start(self, **named: Any) -> App:
        settings = {**self.settings, **named.pop("settings", {})}
        app = self.starter.start(self.connector, named.pop("snapshot_id", self.snapshot_id), settings, **named)
        app.servers = (self.brokers.log, self.ignite.log)
        return app

    def run(self, **named: Any) -> AppResult:
        app = self.start(**named)
        try:
            return app.result()
        finally:
            app.stop()

    @property
    def records(self) -> dict[bytes, bytes]:
        return {str(key).encode(): f'"{value}"'.encode() for key, value in self.entries.items()}

    @property
    def unit_of(self) -> dict[bytes, int]:
        """Ignite partition of each key: RendezvousAffinityFunction over a small Long, where the count is a power of two."""
        return {str(key).encode(): (key ^ (key >> 16)) % PARTITIONS for key in self.entries}

    def offsets(self) -> oracle.UnitsDone:
        topic = f"{self.settings['internal_topic_prefix']}-offsets-{self.connector}"
        return oracle.units_done(self.brokers.bootstrap, topic, self.connector, self.snapshot_id)

    def await_settled(self) -> None:
        """Wait until no slot has a transaction that is open or whose markers are still to be written.

        A broker that is killed between a commit and its markers forgets them when it is back (Kafka 4.3.1, one node: the transaction's
        partitions are not known yet when its coordinator loads), and readers wait for that transaction without end.
        """
        topic = f"{self.settings['internal_topic_prefix']}-offsets-{self.connector}"

        def settled() -> bool:
            ends = []
            for isolation in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
                wanted = {TopicPartition(topic, slot): OffsetSpec.latest() for slot in range(self.settings["slots"])}
                answers = self.brokers.admin.list_offsets(wanted, isolation_level=isolation)
                ends.append({place.partition: answer.result().offset for place, answer in answers.items()})
            return ends[0] == ends[1]

        wait_until(settled, f"the transactions of {self.connector} to settle")

    def assert_complete(self) -> None:
        """Every entry is in the topic once and every unit is marked done with what it holds."""
        contents = oracle.assert_exactly_once(self.brokers.bootstrap, self.topic, self.records)
        done = self.offsets()
        oracle.assert_offsets_match(done, self.cache, contents, self.unit_of)
        assert done.of_cache(self.cache).keys() == set(range(PARTITIONS))

    def _whole_units(self) -> tuple[oracle.TopicContents, frozenset[bytes]]:
        """What is visible, and the keys that open transactions hide, once no unit is half visible.

        The markers of one commit reach the partitions of a topic one after the other.
        """
        contents, hidden = oracle.TopicContents(self.topic, (), frozenset()), frozenset[bytes]()

        def halves() -> list[str]:
            nonlocal contents, hidden
            contents = oracle.read_committed(self.brokers.bootstrap, self.topic, settled=False)
            hidden = oracle.hidden_keys(contents, self.unit_of, self.settings["topic_partitions"])
            return oracle.half_units(contents, self.unit_of, hidden)

        with contextlib.suppress(TimeoutError):
            wait_until(lambda: not halves(), "whole units", deadline_s=_MARKERS_S)
        left = halves()
        assert not left, "\n".join(left[:5])
        return contents, hidden

    def assert_nothing_half(self) -> int:
        """No unit is half visible and offsets match the data, whatever is still open. Returns the number of visible records."""
        contents, hidden = self._whole_units()
        twice = [key for key, count in contents.counts().items() if count > 1]
        assert not twice, f"{len(twice)} keys more than once: {twice[:5]}"
        unit_of, done, shown = self.unit_of, self.offsets(), contents
        if contents.open_partitions:  # what is visible must be marked, and no more can be said
            behind = {unit_of[key] for key in hidden}
            whole = [record for record in contents.records if record.key is not None and unit_of[record.key] not in behind]
            seen = {unit_of[record.key] for record in whole if record.key is not None}
            shown = replace(contents, records=tuple(whole))
            done = oracle.UnitsDone({place: count for place, count in done.records.items() if place[1] in seen})
        oracle.assert_offsets_match(done, self.cache, shown, unit_of)
        return len(contents.records)


@pytest.fixture
def copy(broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path) -> Copy:
    """A filled cache of 4,000 entries and a connector that closes a transaction with about every unit."""
    return make_copy(broker, ignite, tmp_path)


def make_copy(broker: Brokers, ignite: IgniteCluster, directory: Path, entries: Mapping[int, Any] | None = None) -> Copy:
    connector = f"f{uuid.uuid4().hex[:6]}"
    entries = {key: f"value-{key:08d}-{connector}" for key in range(4000)} if entries is None else entries
    settings = {
        "cache_whitelist": [f"{CACHE_TEMPLATE}{connector}"],
        "topic_prefix": "to-",
        "ignite_addresses": list(ignite.addresses),
        "bootstrap_servers": broker.clients,
        "internal_topic_prefix": f"in-{connector}",
        "slots": SLOTS,
        "topic_partitions": 2,
        # pages, batches and transactions of about one unit, so that a small cache has many of each
        "page_bytes": 1024,
        "transaction_max_records": 1,
        "progress_interval_ms": 500,
    }
    made = Copy(broker, ignite, AppStarter(directory), connector, entries, settings)
    fill(ignite, made.cache, entries)
    return made
