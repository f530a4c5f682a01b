"""Servers of the stream's tests, the program that writes, and what a test knows of its own connector."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.backlog_units import GIVEN_UP, UNIT
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.ignite.protocol import cache_id
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state.configs import read_connector
from ignite_kafka.state.target_state import STOPPED, write_target
from tests.integration.ignite.nodes import cache_xml
from tests.support import QUICK_JVM
from tests.support.oracle import read_committed
from tests.support.processes import App, AppResult, AppStarter, SparkCluster
from tests.support.servers import CACHE_TEMPLATE, ProxiedBroker
from tests.support.stream_oracle import Verdict, await_fold, compare, entries_of, read_now
from tests.support.traffic import TrafficProgram
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, Jars, KafkaBroker, KafkaCluster

PARTITIONS = 16
ENTRIES = 2_000
# what is followed while something fails, the traffic on it, and its operations a second
KINDS = ("atomic-a", "tx-a")
WRITERS = ("puts:atomic-a", "batches:atomic-a", "tx:tx-a")
RATE = 80.0
_KIND: dict[str, Any] = {"backups": 1, "writeSynchronizationMode": "FULL_SYNC"}
_TRANSACTIONAL = {**_KIND, "atomicityMode": "TRANSACTIONAL"}
_TEMPLATES = "".join(
    [
        cache_xml("atomic-*", PARTITIONS, **_KIND),
        cache_xml("tx-*", PARTITIONS, **_TRANSACTIONAL),
        cache_xml("lone-*", PARTITIONS, backups=0, partitionLossPolicy="READ_WRITE_SAFE"),
        cache_xml("grouped-*", PARTITIONS, groupName="together", **_TRANSACTIONAL),
        cache_xml(f"{CACHE_TEMPLATE}*", 32, **_KIND),  # caches of sinks beside the stream
    ]
)
Broker: TypeAlias = KafkaBroker | ProxiedBroker | KafkaCluster
MakeStream: TypeAlias = "Callable[..., Stream]"


@pytest.fixture(scope="session")
def pair(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """Two nodes, shared; do not kill them."""
    with small_cluster(tmp_path_factory.mktemp("pair"), jars) as started:
        yield started


@pytest.fixture
def mortal_pair(jars: Jars, tmp_path: Path) -> Iterator[IgniteCluster]:
    """Two nodes of the test's own."""
    with small_cluster(tmp_path / "mortal", jars) as started:
        yield started


@pytest.fixture
def lone_node(jars: Jars, tmp_path: Path) -> Iterator[IgniteCluster]:
    """A cluster of one node, of the test's own."""
    with small_cluster(tmp_path / "lone", jars, nodes=1) as started:
        yield started


@pytest.fixture
def mortal_broker(jars: Jars, tmp_path: Path) -> Iterator[ProxiedBroker]:
    """A broker of the test's own behind a proxy."""
    with ProxiedBroker(tmp_path / "broker", jars) as started:
        yield started


def small_cluster(directory: Path, jars: Jars, nodes: int = 2, **options: Any) -> IgniteCluster:
    """Names that begin with atomic-, tx- or grouped- make caches of 16 partitions and a backup, the last in one group; lone-: no backup."""
    properties = (("cacheConfiguration", f"<list>{_TEMPLATES}</list>"),)
    return IgniteCluster(directory, jars=jars, nodes=nodes, data_region_mib=256, java_options=QUICK_JVM, properties=properties, **options)


@pytest.fixture(scope="session")
def traffic(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> TrafficProgram:
    return TrafficProgram(jars, tmp_path_factory.mktemp("traffic"))


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """A standalone master with one worker of two cores."""
    with SparkCluster(tmp_path_factory.mktemp("spark"), workers=1, cores=2) as cluster:
        yield cluster.await_ready()


@dataclass
class Stream:
    """One streaming connector, and the comparison of its topics with the caches."""

    ignite: IgniteCluster
    kafka: Broker
    starter: AppStarter
    settings: dict[str, Any]
    name: str = field(default_factory=lambda: f"s{uuid.uuid4().hex[:6]}")

    def start(self, **changed: Any) -> App:
        """A run of the connector as a process; named settings as given, the others as always."""
        conf, master = changed.pop("conf", None), changed.pop("master", None)
        clients = self.kafka.bootstrap if isinstance(self.kafka, KafkaBroker) else self.kafka.clients
        names = {"cache_whitelist": [f".*-{self.name}"], "internal_topic_prefix": f"in-{self.name}", "topic_prefix": "to-"}
        settings = {"bootstrap_servers": clients, **names, **self.settings, **changed}
        app = self.starter.start(self.name, None, settings, conf=conf, master=master)
        app.servers = (self.ignite.log, self.kafka.log)
        return app

    @contextmanager
    def running(self, **changed: Any) -> Iterator[App]:
        """A run that is gone with all its processes at the end, whatever became of it."""
        app = self.start(**changed)
        try:
            yield app
        finally:
            app.stop()

    def stop(self, app: App) -> AppResult:
        """Ask the connector to stop, and wait until it has done so in good order."""
        clients = KafkaClients({"bootstrap.servers": self.kafka.bootstrap})
        write_target(clients, Topics(clients), f"in-{self.name}", self.name, STOPPED)
        return app.result().assert_exit(0)

    def cache(self, kind: str) -> str:
        return f"{kind}-{self.name}"

    def topic(self, kind: str) -> str:
        return f"to-{self.cache(kind)}"

    def fill(self, kind: str, value: int = 0) -> None:
        """Make a cache of 2,000 entries; the traffic changes those with the lowest keys."""
        with self.ignite.client() as client:
            client.get_or_create_cache(self.cache(kind)).put_all(dict.fromkeys(range(ENTRIES), value))

    def destroy(self, kind: str) -> None:
        with self.ignite.client() as client:
            client.get_cache(self.cache(kind)).destroy()

    def writers(self, *specs: str) -> list[str]:
        """Traffic on this connector's caches: ``mode:kind,kind``."""
        return [f"{mode}:{','.join(map(self.cache, kinds.split(',')))}" for mode, _, kinds in (spec.partition(":") for spec in specs)]

    def records(self, kind: str) -> int:
        """Visible records of a topic; none where there is no topic yet."""
        return len(read_now(self.kafka.bootstrap, self.topic(kind)).records)

    def await_records(self, app: App, kinds: Iterable[str], more: int = 1) -> None:
        """Wait until that many records more are in each topic."""
        self.await_totals(app, {kind: self.records(kind) + more for kind in kinds})

    def await_totals(self, app: App, wanted: Mapping[str, int]) -> None:
        """Wait until each topic has as many records in all."""

        def reached() -> bool:
            if all(self.records(kind) >= count for kind, count in wanted.items()):
                return True
            assert app.running(), f"the connector ended:\n{app.output_tail()}"
            return False

        wait_until(reached, f"records {wanted} of {app.log}", poll_s=1)  # each poll reads everything

    def await_same(self, app: App, *kinds: str) -> dict[str, Verdict]:
        """Wait until the topics' folds equal the caches, which nobody writes to, while the app runs."""

        def check() -> None:
            assert app.running(), f"the connector ended:\n{app.output_tail()}"

        entries = {kind: entries_of(self.ignite, self.cache(kind)) for kind in kinds}
        assert all(entries.values())
        return {kind: await_fold(self.kafka.bootstrap, self.topic(kind), entries[kind], check) for kind in kinds}

    def verdicts(self, *kinds: str, besides: Mapping[str, Collection[bytes]] | None = None) -> dict[str, Verdict]:
        """The topics as they are when no transaction is open on them.

        :param besides: keys by kind that are not looked at.
        """
        verdicts = {}
        for kind in kinds:
            left_out = (besides or {}).get(kind, ())
            contents = read_committed(self.kafka.bootstrap, self.topic(kind))
            records = tuple(record for record in contents.records if record.key not in left_out)
            entries = {key: value for key, value in entries_of(self.ignite, self.cache(kind)).items() if key not in left_out}
            verdicts[kind] = compare(replace(contents, records=records), entries)
        return verdicts

    def unsent(self) -> int:
        """Number of changes in the connector's backlog."""
        with self._service() as service:
            service.barrier(self.name)
            return int(service.units(self.name).count.sum())

    def given_up(self) -> int:
        """Units that are marked so: buffer or region was full."""
        with self._service() as service:
            service.barrier(self.name)
            return int(((service.units(self.name).marks & GIVEN_UP) != 0).sum())

    def unsent_keys(self, kind: str) -> frozenset[bytes]:
        """Record keys of the cache's changes in the backlog; all other changes are acknowledged, so they were sent."""
        with self._service() as service:
            service.barrier(self.name)
            changes = service.read(self.name, self._units(service, kind), 1 << 26)
        assert not changes.more.any()
        return frozenset(str(struct.unpack_from("<q", key, 1)[0]).encode() for key in changes.keys().to_pylist())

    def send_again(self, kind: str) -> None:
        """Mark the cache's units: they are to be sent again."""
        clients = KafkaClients({"bootstrap.servers": self.kafka.bootstrap})
        secret = read_connector(clients, Topics(clients), f"in-{self.name}", self.name).capture_secret
        with self._service(secret) as service:
            service.mark(self.name, self._units(service, kind))

    def _units(self, service: BacklogService, kind: str) -> npt.NDArray[np.void]:
        cache = self.cache(kind)
        units = np.zeros(PARTITIONS, UNIT)
        units["cache_id"], units["partition"] = cache_id(cache), range(PARTITIONS)
        units["incarnation"] = service.status(self.name)[f"incarnation.{cache}"]
        return units

    def clean(self) -> None:
        """End the capture and remove the caches."""
        with self._service() as service:
            service.force_stop(self.name, destroy=True)
        with self.ignite.client() as client:
            for cache in client.get_cache_names():
                if cache.endswith(f"-{self.name}"):
                    client.get_cache(cache).destroy()

    @contextmanager
    def _service(self, secret: str | None = None) -> Iterator[BacklogService]:
        with ThinConnection(IgniteEndpoint(self.ignite.addresses), IgniteCredentials()) as connection:
            yield BacklogService(connection, secret)


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[MakeStream]:
    """``stream(ignite, kafka, *kinds)``: a connector with a filled cache of each kind (the stem of its name), with removals."""
    made: list[Stream] = []

    def make(ignite: IgniteCluster, kafka: Broker, *kinds: str, **settings: Any) -> Stream:
        common = {
            "ignite_addresses": list(ignite.addresses),
            "run_mode": "continuous",
            "failover_policy": "BACKLOG",
            "process_removals": True,
            "slots": 4,
            "topic_partitions": 2,
            "poll_interval_ms": 200,
            "cache_list_poll_interval_ms": 1_000,
            "backlog_flush_freq_ms": 100,
            "progress_interval_ms": 1_000,
        }
        made.append(Stream(ignite, kafka, AppStarter(tmp_path), {**common, **settings}))
        for kind in kinds:
            made[-1].fill(kind)
        return made[-1]

    yield make
    for connector in made:
        connector.clean()


def assert_right(verdicts: Mapping[str, Verdict], *, besides: tuple[str, ...] = ()) -> None:
    """No fault but those kinds that are named."""
    faults = [line for verdict in verdicts.values() for line in verdict.faults(besides=besides)]
    assert not faults, "\n".join(faults)
