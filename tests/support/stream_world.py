"""The connector of a test of streams, and its runs beside the test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from confluent_kafka import Message
from pyignite import GenericObjectMeta
from pyignite.datatypes import LongObject, String
from pyspark.sql import SparkSession

from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.backlog_units import UNIT
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.run import RunRequest, run_source
from ignite_kafka.runtime.clients import ignite_cluster, kafka_clients
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.planning import make_plan
from ignite_kafka.state.configs import read_connector
from ignite_kafka.state.status import RunStatus, read_run
from ignite_kafka.state.target_state import write_target
from ignite_kafka.verification.entry_comparison import PairDifferences
from tests.support.waiting import DEADLINE_S, wait_until
from tools.compare_topics import verify
from tools.servers import IgniteCluster, KafkaBroker

SLOTS = 4
Part: Any = GenericObjectMeta("Part", (), {}, schema={"id": LongObject, "name": String})


class World:
    """The connector of one test, its caches, and the records of its topics."""

    def __init__(self, spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> None:
        self.spark, self.ignite = spark, ignite
        self.stem = f"b{uuid.uuid4().hex[:8]}"
        self.settings = SourceSettings(
            name=self.stem,
            ignite_addresses=ignite.addresses,
            bootstrap_servers=kafka.bootstrap,
            cache_whitelist=(f"{self.stem}-.*",),
            internal_topic_prefix=f"in-{self.stem}",
            topic_partitions=2,
            slots=SLOTS,
            run_mode="continuous",
            failover_policy="BACKLOG",
            process_removals=True,
            poll_interval_ms=50,
            cache_list_poll_interval_ms=300,
            backlog_flush_freq_ms=20,
        )
        self.clients = kafka_clients(self.settings, Secrets())

    def request(self, **changed: Any) -> RunRequest[SourceSettings]:
        return RunRequest(replace(self.settings, **changed), uuid.uuid4().hex)

    def run(self, **changed: Any) -> RunStatus:
        return run_source(self.spark, self.request(**changed))

    @contextmanager
    def running(self, **changed: Any) -> Iterator[Running]:
        """A run beside the test. It is stopped at the end; if the test fails, its capture too."""
        with ThreadPoolExecutor(1) as thread:
            request = self.request(**changed)
            run = Running(request, thread.submit(run_source, self.spark, request))
            try:
                yield run
            finally:
                request.stop.set()
                run.ended.exception(DEADLINE_S)

    def put(self, cache: str, values: dict[int, Any]) -> None:
        with self.ignite.client() as client:
            client.get_or_create_cache(f"{self.stem}-{cache}").put_all(values)

    def remove(self, cache: str, keys: list[int]) -> None:
        with self.ignite.client() as client:
            client.get_cache(f"{self.stem}-{cache}").remove_keys(keys)

    def change_in_turns(self, cache: str) -> None:
        """Write 100 keys in each of five turns, 20 keys further each time, then remove the first 50."""
        for turn in range(5):
            self.put(cache, {key: f"w{turn}-{key}" for key in range(turn * 20, turn * 20 + 100)})
        self.remove(cache, list(range(50)))

    def destroy(self, cache: str) -> None:
        with self.ignite.client() as client:
            client.get_cache(f"{self.stem}-{cache}").destroy()

    def verified(self, cache: str) -> PairDifferences:
        clients, topics = self.clients, Topics(self.clients)
        with ignite_cluster(self.settings, Secrets()) as cluster:
            plan = make_plan(self.settings, cluster, topics, "any", 16)
            wanted = replace(plan, caches=tuple(one for one in plan.caches if one.name == f"{self.stem}-{cache}"))
            return verify(wanted, cluster, clients)[0]

    def messages(self, cache: str) -> list[Message]:
        topics, name = Topics(self.clients), f"{self.stem}-{cache}"
        return list(read_to_end(self.clients, topics, name, list(range(topics.existing()[name])))) if name in topics.existing() else []

    def records(self, cache: str) -> list[tuple[bytes | None, bytes | None]]:
        return [(one.key(), one.value()) for one in self.messages(cache)]

    def await_equal(self, cache: str, *runs: Running) -> PairDifferences:
        """Wait until the topic's last records equal the cache."""
        name = f"{self.stem}-{cache}"
        await_that(lambda: name in Topics(self.clients).existing(), f"topic of {cache}", *runs)
        await_that(lambda: self.verified(cache).equal, f"{cache} in its topic", *runs)
        return self.verified(cache)

    def ask(self, state: str) -> None:
        write_target(self.clients, Topics(self.clients), self.settings.internal_topic_prefix, self.stem, state)

    def snapshot_complete(self) -> bool:
        snapshot = read_connector(self.clients, Topics(self.clients), self.settings.internal_topic_prefix, self.stem).snapshot
        return snapshot is not None and snapshot.complete

    def service(self, question: Callable[[BacklogService], Any], *, as_connector: bool = False) -> Any:
        """:param as_connector: with the secret of the connector's capture."""
        prefix = self.settings.internal_topic_prefix
        secret = read_connector(self.clients, Topics(self.clients), prefix, self.stem).capture_secret if as_connector else None
        with ignite_cluster(self.settings, Secrets()) as cluster:
            return cluster.ask(lambda connection: question(BacklogService(connection, secret)))

    def units(self, cache: str) -> np.ndarray[Any, np.dtype[np.void]]:
        """The captured units of a cache."""
        name = f"{self.stem}-{cache}"
        state = self.service(lambda service: service.status(self.stem))
        units = np.zeros(state[f"partitions.{name}"], UNIT)
        units["cache_id"], units["partition"] = protocol.cache_id(name), range(len(units))
        units["incarnation"] = state[f"incarnation.{name}"]
        return units

    def send_again(self, units: np.ndarray[Any, np.dtype[np.void]]) -> None:
        """Mark units: they are to be sent again."""
        self.service(lambda service: service.mark(self.stem, units), as_connector=True)


class Running:
    """A run in a thread."""

    def __init__(self, request: RunRequest[Any], ended: Future[RunStatus]) -> None:
        self.request, self.ended = request, ended

    def stop(self) -> RunStatus:
        self.request.stop.set()
        return self.ended.result(DEADLINE_S)

    def status(self, world: World) -> RunStatus | None:
        return read_run(world.clients, world.settings.internal_topic_prefix, world.stem, self.request.run_id)

    def state(self, world: World) -> str | None:
        found = self.status(world)
        return found.state if found else None

    def records(self, world: World, cache: str) -> int:
        found = self.status(world)
        return found.caches[f"{world.stem}-{cache}"].records if found else 0


def await_that(true: Callable[[], bool], what: str, *runs: Running) -> None:
    """Wait until a condition is true while the runs continue."""

    def true_of_living_runs() -> bool:
        if true():
            return True
        for run in runs:
            if run.ended.done():
                run.ended.result()
                raise AssertionError(f"the run ended before: {what}")
        return False

    wait_until(true_of_living_runs, what)
