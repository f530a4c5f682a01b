"""First starts of connectors: topics are created and used at once, while some brokers do not know them yet.

``python -m tests.support.first_starts 30`` starts three brokers and prints the counts of thirty rounds.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec, read_to_end
from ignite_kafka.plan.slots import Owner
from ignite_kafka.state.configs import SnapshotRecord, read_connector
from ignite_kafka.state.configs_writer import ConfigsWriter
from ignite_kafka.state.open_transaction import TransactionLimits
from ignite_kafka.state.slot_claim import SlotClaim
from ignite_kafka.state.slot_writer import SlotWriter
from ignite_kafka.state.status import RUNNING, RunStatus, StatusWriter, read_runs
from ignite_kafka.state.target_state import PAUSED, read_target, write_target
from tests.support import QUICK_JVM
from tools.servers import Jars, KafkaCluster

T = TypeVar("T")
_PARTITIONS, _SLOTS, _CONNECTOR = 4, 4, "c"


@dataclass
class FirstStarts:
    """Rounds of first starts, with their failures.

    :param bootstrap: addresses of all brokers.
    """

    bootstrap: str
    tried: Counter[str] = field(default_factory=Counter)
    longest_s: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._driver = KafkaClients({"bootstrap.servers": self.bootstrap})
        self._others = KafkaClients({"bootstrap.servers": ",".join(reversed(self.bootstrap.split(",")))})

    def round(self) -> None:
        """Look up new topics in four ways and start a new connector; record each failure."""
        self._looked_up("describe", lambda topics, name: len(topics.describe([name])) == 1)
        self._looked_up("ends", lambda topics, name: len(topics.ends(name, list(range(_PARTITIONS)))) == _PARTITIONS)
        self._looked_up("ends, by another client", lambda _, name: len(Topics(self._others).ends(name, [0, 1, 2, 3])) == _PARTITIONS)
        self._looked_up(
            "read to the end, by another client", lambda topics, name: not list(read_to_end(self._others, topics, name, [0, 1]))
        )
        self._start()

    def _looked_up(self, what: str, question: Callable[[Topics, str], bool]) -> None:
        topics, name = Topics(self._driver), f"{what.split(',')[0].replace(' ', '-')}-{uuid.uuid4().hex[:8]}"
        specs = [TopicSpec(f"{name}-{number}", _PARTITIONS) for number in range(3)]
        if self._try("ensure", lambda: set(topics.ensure(specs).values()) == {_PARTITIONS}):
            self._try(what, lambda: question(topics, specs[-1].name))

    def _start(self) -> None:
        """Make the first requests of a driver, its tasks and the command line."""
        topics, prefix = Topics(self._driver), f"in-{uuid.uuid4().hex[:8]}"
        self._try("status topic", lambda: StatusWriter.ensure_topic(topics, prefix, -1) is None)
        self._try("control records", lambda: read_connector(self._driver, topics, prefix, _CONNECTOR).connector is None)
        with closing(ConfigsWriter(self._driver, topics, prefix, _CONNECTOR)) as control:
            if not self._try("take", lambda: control.take(_SLOTS, "run", {}, -1).connector is None):
                return
            if not self._try("begin", lambda: len(control.begin(SnapshotRecord("snapshot", {}))) == _SLOTS):
                return
            self._try("status record", lambda: self._status(prefix))
            for slot in range(_SLOTS):
                self._try("slot", lambda slot=slot: self._open(prefix, slot, control.record.generation))  # type: ignore[misc]
            self._try("runs, by another client", lambda: list(read_runs(self._others, prefix, _CONNECTOR)) == ["run"])
            self._try("target state, by another client", lambda: self._target(prefix))

    def _status(self, prefix: str) -> bool:
        StatusWriter(self._driver, prefix).run(RunStatus(RUNNING, _CONNECTOR, "run"))
        return True

    def _open(self, prefix: str, slot: int, generation: int) -> bool:
        claim = SlotClaim.of(_CONNECTOR, slot, Owner(generation), prefix)
        with closing(SlotWriter(self._others, claim, TransactionLimits(), 1_000_000)) as writer:
            return writer.state.owner == Owner(generation)

    def _target(self, prefix: str) -> bool:
        topics = Topics(self._others)
        write_target(self._others, topics, prefix, _CONNECTOR, PAUSED)
        return read_target(self._driver, Topics(self._driver), prefix, _CONNECTOR) == PAUSED

    def _try(self, what: str, call: Callable[[], bool]) -> bool:
        self.tried[what] += 1
        began = time.monotonic()
        try:
            right = call()
        except IgniteKafkaError as error:
            self.failures.append(f"{what}: {type(error).__name__}: {error}")
            return False
        finally:
            self.longest_s[what] = max(self.longest_s.get(what, 0.0), time.monotonic() - began)
        if not right:
            self.failures.append(f"{what}: wrong")
        return right


def main(rounds: int) -> None:
    with TemporaryDirectory() as folder, KafkaCluster(Path(folder), jars=Jars.of_checkout(), java_options=QUICK_JVM) as cluster:
        starts = FirstStarts(cluster.bootstrap)
        for _ in range(rounds):
            starts.round()
    failed = Counter(failure.partition(":")[0] for failure in starts.failures)
    for what, tried in starts.tried.items():
        print(f"{what}: {failed[what]} of {tried} failed, the longest took {starts.longest_s[what]:.1f} s")
    print(*starts.failures, sep="\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
