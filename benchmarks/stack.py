"""The servers and contenders of a run, for every part of the benchmark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tools.servers import IgniteCluster, IgniteOptions, Jars, KafkaBroker
from tools.servers.jars import CHECKOUT, IGNITE_JAVA_OPTIONS, class_path, java_command

from .contender import Contender

_JAVA_SOURCES = CHECKOUT / "benchmarks" / "java"
TOPIC_PARTITIONS = 4
SHARED, RANKED = "shared", "ranked"
"""Caches that other clusters could write, too; the second with a rule by a field."""
_ACTIVE_ACTIVE = (
    "-DIGNITE_KAFKA_ACTIVE_ACTIVE_CLUSTER=1",
    f"-DIGNITE_KAFKA_ACTIVE_ACTIVE_CACHES={SHARED},{RANKED}",
    f"-DIGNITE_KAFKA_ACTIVE_ACTIVE_FIELDS={RANKED}:id",
)


@dataclass(frozen=True)
class Sizes:
    """Sizes of data and numbers of rounds.

    :param rounds: warm rounds of each contender; with 0 its only round counts as cold and as warm.
    :param growth: entries of the caches for growth of time and memory, each ten times the one before.
    :param memory: entries of the caches for *Memory of the converters*.
    :param shared: whether parts share their contenders' processes, which saves their starts.
    :param puts: puts of two writers in a round; ``put_alls``: the same in batches.
    :param changes: changes in a round of *Streams without the backlog service*.
    :param watched_s: seconds for which records of a stream are read.
    :param partitions: of each cache; None: Ignite's default.
    :param java_options: of Ignite's node and of the broker.
    :param caches: simulated caches of 1,024 partitions each, for planning; ``idle_caches``: real ones that are polled,
        each number in turn.
    """

    trades: int = 500_000
    wide: int = 300_000
    pyignite: int = 20_000
    rounds: int = 9
    sink_rounds: int = 7
    spark_rounds: int = 3
    growth_rounds: int = 3
    produced: int = 500_000
    puts: int = 60_000
    put_alls: int = 300_000
    stream_rounds: int = 3
    changes: int = 200_000
    watched_s: int = 30
    growth: tuple[int, ...] = (50_000, 500_000, 5_000_000)
    memory: tuple[int, int] = (400_000, 2_000_000)
    caches: int = 1_000
    idle_caches: tuple[int, ...] = (1, 10, 100)
    partitions: int | None = None
    java_options: tuple[str, ...] = ()
    region_mib: int = 5_120
    backlog_mib: int = 1_024
    shared: bool = False


FULL = Sizes()
QUICK = Sizes(
    shared=True,
    trades=5_000,
    wide=1_000,
    pyignite=500,
    rounds=0,
    sink_rounds=0,
    spark_rounds=0,
    growth_rounds=1,
    produced=5_000,
    puts=2_000,
    put_alls=2_000,
    stream_rounds=1,
    changes=2_000,
    watched_s=2,
    growth=(500, 5_000),
    memory=(500, 2_500),
    caches=2,
    idle_caches=(1, 2),
    partitions=64,
    java_options=("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    region_mib=512,
    backlog_mib=128,
)


class Stack:
    """One Ignite node, one broker, and contenders; a context manager."""

    def __init__(self, work: Path, sizes: Sizes) -> None:
        self.work, self.sizes = work, sizes
        self._jars = Jars.of_checkout()
        self._exit = ExitStack()
        self._shared: dict[str, Contender] = {}
        node = IgniteOptions(
            data_region_mib=sizes.region_mib,
            backlog_mib=sizes.backlog_mib,
            heap_mib=1024,
            partitions=sizes.partitions,
            java_options=(*sizes.java_options, *_ACTIVE_ACTIVE),
        )
        self.ignite = IgniteCluster(work / "ignite", jars=self._jars, options=node)
        self.kafka = KafkaBroker(work / "kafka", jars=self._jars, heap_mib=1024, java_options=sizes.java_options)

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            starting.enter_context(self.ignite)
            starting.enter_context(self.kafka)
            self._exit = starting.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()

    @property
    def places(self) -> dict[str, str]:
        """Addresses of the servers, for a request."""
        return {"address": self.ignite.address, "bootstrap": self.kafka.bootstrap}

    @property
    def servers(self) -> dict[str, int]:
        """Role and process id of each server."""
        return {"ignite": self.ignite.node(0).pid, "broker": self.kafka.process.pid}

    def topic(self, name: str) -> str:
        """Create a topic; those of all contenders are alike."""
        admin = AdminClient({**self.kafka.client_config})
        admin.create_topics([NewTopic(name, TOPIC_PARTITIONS)])[name].result(30)
        return name

    def topics(self) -> set[str]:
        """Names of the broker's topics."""
        return set(AdminClient({**self.kafka.client_config}).list_topics(timeout=30).topics)

    def rewind(self, connector: str, topic: str) -> None:
        """Set the offsets of a sink's group to the beginning of a topic, as `kafka-consumer-groups --reset-offsets` does."""
        places = [TopicPartition(topic, partition, 0) for partition in range(TOPIC_PARTITIONS)]
        group = ConsumerGroupTopicPartitions(f"connect-{connector}", places)
        admin = AdminClient({**self.kafka.client_config})
        admin.alter_consumer_group_offsets([group])[group.group_id].result(30)

    def produce(self, topic: str, records: Iterable[tuple[bytes, bytes]]) -> None:
        """Send records of key and value, in their order, to the partitions of Java clients."""
        producer = Producer(
            {**self.kafka.client_config, "linger.ms": 20, "compression.type": "lz4", "partitioner": "murmur2_random"}
        )
        for key, value in records:
            while True:
                try:
                    producer.produce(topic, value, key)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()

    def python(self, module: str, name: str) -> AbstractContextManager[Contender]:
        """A contender of this package."""
        environment = {
            **os.environ,
            "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'spark_apps'}",
            "BENCH_WORK": str(self.work),
        }
        return self._contender(module, name, [sys.executable, "-m", f"benchmarks.contenders.{module}"], environment)

    def java(self, main: str) -> AbstractContextManager[Contender]:
        """A peer in Java."""
        places = [self._java_classes, self._jars.kafka, self._jars.ignite]
        return self._contender(main, main, java_command(main, [], places, ["-Xmx2g", *IGNITE_JAVA_OPTIONS]), None)

    @contextmanager
    def _contender(
        self, program: str, name: str, command: list[str], environment: Mapping[str, str] | None
    ) -> Iterator[Contender]:
        """A new process, whose first round is a cold one; if contenders are shared, the process of an earlier part."""
        log = self.work / "logs" / f"{name}.log"
        if self.sizes.shared:
            if program not in self._shared:
                self._shared[program] = self._exit.enter_context(
                    Contender(program, command, log, self.servers, environment)
                )
            yield self._shared[program]
        else:
            with Contender(name, command, log, self.servers, environment) as contender:
                yield contender

    @cached_property
    def _java_classes(self) -> Path:
        classes = self.work / "classes"
        classes.mkdir(parents=True, exist_ok=True)
        sources = sorted(map(str, _JAVA_SOURCES.glob("*.java")))
        places = class_path(self._jars.kafka, self._jars.ignite)
        subprocess.run(["javac", "-nowarn", "-d", str(classes), "-cp", places, *sources], check=True)
        return classes
