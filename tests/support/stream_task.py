"""The task of a stream on a simulated backlog, with the writer and the consumer of its topic in memory."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from confluent_kafka import KafkaError

from ignite_kafka.errors import CacheDestroyed, KafkaUnavailable
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.records import Records
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.plan.slots import UnitKey, UnitOffset
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.backlog_client import BacklogClient
from ignite_kafka.source.stream.backlog_reader import BacklogReader
from ignite_kafka.source.stream.cache_infos import CacheInfos
from ignite_kafka.source.stream.rate_limit import RateLimiter
from ignite_kafka.source.stream.sender import SlotsSender
from ignite_kafka.source.stream.task import BatchRunner
from ignite_kafka.source.stream.topic_scan import MOST_HELD
from ignite_kafka.source.stream.unit_table import UnitTable
from ignite_kafka.state.signal_records import Signal
from ignite_kafka.state.slot_writer import SlotWriter
from ignite_kafka.state.status import CacheCount
from tests.support.backlog_changes import CACHE, SLOTS
from tests.support.backlog_simulator import Simulator


class _Writer:
    """A slot's transactions."""

    def __init__(self, simulator: Simulator, slot: int) -> None:
        self._simulator, self._slot, self.state = simulator, slot, simulator.offsets[slot]
        self._data: list[tuple[bytes, bytes | None]] = []
        self._offsets: list[tuple[bytes, bytes]] = []
        self.types_sent: dict[int, Any] = {}
        self.uses_sent: dict[str, Any] = {}
        self.commit_requested = False

    def send_type_record(self, *_: object) -> None: ...

    def send(self, topic: str, partitions: int | None, records: Records, topic_id: str = "") -> None:
        self._data += zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True)

    def unit_offset(self, cache: str, partition: int, offset: UnitOffset) -> None:
        self._offsets.append((UnitKey("c", cache, partition).to_json(), offset.to_json()))

    def commit(self) -> None:
        self._simulator.fail(f"commit {self._slot}")
        self._simulator.topic += self._data
        for key, value in self._offsets:
            self.state.apply(key, value)
        self._data, self._offsets = [], []

    def close(self) -> None:
        pass


class _Message:
    def __init__(self, partition: int, offset: int, record: tuple[bytes, bytes | None] | None) -> None:
        self._place, self._record = (partition, offset), record

    def partition(self) -> int:
        return self._place[0]

    def offset(self) -> int:
        return self._place[1]

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self._record is None else None

    def key(self) -> bytes | None:
        return self._record[0] if self._record else None

    def value(self) -> bytes | None:
        return self._record[1] if self._record else None


class _Consumer:
    """Reads two partitions, at most ten messages at a time."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator, self._at = simulator, (0, 0)

    def assign(self, places: Sequence[Any]) -> None:
        self._at = places[0].partition, places[0].offset

    def consume(self, count: int, timeout: float) -> list[_Message]:
        partition, offset = self._at
        records = self._simulator.topic_partition(partition)[offset : offset + 10]
        self._at = partition, offset + len(records)
        found = [_Message(partition, offset + row, record) for row, record in enumerate(records)]
        return found or [_Message(partition, offset, None)]

    def close(self) -> None:
        pass


class Task:
    """A stream's task, batch by batch; after a failure it continues from the offset records."""

    def __init__(
        self, simulator: Simulator, snapshot_id: str = "s", most_held: int = MOST_HELD, signal: Signal | None = None, **settings: Any
    ) -> None:
        self.simulator, self._most_held, self.signal = simulator, most_held, signal
        named = {
            "name": "c",
            "ignite_addresses": ("a:1",),
            "bootstrap_servers": "a:1",
            "value_converter": "ignite-binary",
            "key_converter": "ignite-binary",
        }
        made = SourceSettings(**{**named, "run_mode": "continuous", "process_removals": True, **settings})
        self.plan = TransferPlan("c", snapshot_id, 1, SLOTS, made, (simulator.plan,), capture_id=1)
        self.failures = 0
        self.begin()

    def begin(self) -> None:
        for unit in self.simulator.units:
            if unit.last is not None and unit.last[0] not in unit.backlog:
                unit.last = None  # updates that were sent before this task are on their backups by now
        simulator, cluster = self.simulator, cast(Cluster, self.simulator)
        self.plan = replace(self.plan, caches=(simulator.plan,))
        self.table = UnitTable.of(self.plan, range(SLOTS))
        self.counts = {slot: {CACHE.name: CacheCount()} for slot in range(SLOTS)}
        infos, limiter = CacheInfos(cluster), RateLimiter.of_task(self.plan.settings.max_records_per_second, SLOTS, SLOTS, 0.0)

        def open_slot(slot: int) -> SlotWriter:
            return cast(SlotWriter, _Writer(simulator, slot))

        self.sender = SlotsSender(self.plan, self.table, cluster, infos, self.counts, open_slot)
        self.reader = BacklogReader(
            self.plan,
            self.table,
            BacklogClient(cluster, "c", lambda connection, secret: connection),
            infos,
            cast(KafkaClients, SimpleNamespace(reader=lambda: _Consumer(simulator))),
            cast(Topics, SimpleNamespace(ends=lambda _, partitions: {one: len(simulator.topic_partition(one)) for one in partitions})),
            limiter.batch_records,
            scan=simulator.scan_partitions,
            clock=lambda: simulator.now_s,
            most_held=self._most_held,
            read_kinds=simulator.read_kinds,
            signal=self.signal,
        )
        self.reader.restore(self.sender.offsets())
        self.runner = BatchRunner(self.reader, self.sender, limiter)

    def end(self) -> None:
        """End the epoch, and begin the next one."""
        self._guarded(self._end)

    def _end(self) -> None:
        self.runner.reconcile(ends=True)
        self.stop()
        self.simulator.take_up()
        self.begin()

    def stop(self) -> None:
        self.reader.close()
        self.sender.close()

    def batch(self) -> None:
        self._guarded(self._batch)

    def _batch(self) -> None:
        self.runner.changes()
        self.runner.load()
        self.runner.ad_hoc()
        self.runner.reconcile()
        self.reader.forget()

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except KafkaUnavailable:
            self.failures += 1
            self.stop()
            self.begin()
        except CacheDestroyed:  # ends the epoch; the driver looks before the next one
            self.stop()
            self.simulator.take_up()
            self.begin()

    def settle(self) -> None:
        """Run batches until nothing is left to do, and the last look-up after a node's death is done."""
        self.simulator.failing.clear()
        for key in list(self.simulator.held):
            self.simulator.end(struct.unpack_from("<q", key, 1)[0])
        for more in range(6):
            if more == 4:
                self.simulator.meanwhile.clear()  # later writes would not be read any more
            self.simulator.now_s += 6.0
            if self.simulator.captured != self.simulator.deployment:
                self.end()
            self.simulator.barrier("c")
            for _ in range(100):
                self.batch()
                if not self.reader.more and self.reader.all_loaded and self.reader.signal_ended and self._idle():
                    break
            else:
                raise AssertionError("the stream does not settle")

    def _idle(self) -> bool:
        return not any(unit.backlog or unit.expired or unit.marks for unit in self.simulator.units)
