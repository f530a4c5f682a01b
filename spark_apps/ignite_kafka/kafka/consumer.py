"""Records of partitions that are given, from offsets that are given: no group membership, nothing committed here.

An end counts as reached when the position has come to it, whatever the last offsets are: records, markers of transactions, or nothing
(KafkaConsumer's position; a partition's end is told with it). Records of open or aborted transactions are never seen.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as TopicPartitionOffset

from ..errors import KafkaUnavailable, RecordsLost
from . import batch_produce as native
from .batch_consume import NativeQueue, Signal, signal_of
from .clients import ErrorMemory, KafkaClients, translate
from .records import Consumed
from .topics import TopicPartition

_SETTINGS: Mapping[str, Any] = {
    "auto.offset.reset": "error",  # an offset that is gone is never replaced by another one in silence
    "queued.max.messages.kbytes": 16_384,  # fetched while what came before is stored
    "fetch.queue.backoff.ms": 5,  # librdkafka's own is a second, in which a full queue has long become empty
}
_FIRST_RECORDS = 1_000  # until the size of records is known
_STEP_S = 0.05
_GONE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}


@dataclass(frozen=True)
class BatchLimits:
    """A batch is given out once it has one of these; its bytes may pass ``bytes`` by some records."""

    records: int
    bytes: int


class RecordReader:
    """Reads partitions until their ends.

    :param group: the consumer group that :attr:`group_metadata` is of; nobody joins it.
    :param starts: the first offset of each partition.
    :param ends: where each partition's records stop to count; None: never.
    :param timed: whether the records' timestamps are wanted.
    :raises KafkaUnavailable: from :meth:`read`, where nothing came for ``patience_s`` of the clients though ends are not reached.
    :raises RecordsLost: from :meth:`read`, where records were deleted before they were read.
    """

    def __init__(
        self,
        clients: KafkaClients,
        group: str,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int] | None,
        limits: BatchLimits,
        *,
        timed: bool = False,
    ) -> None:
        self._limits, self._patience_s, self._memory = limits, clients.patience_s, ErrorMemory()
        self._ends = dict(ends or {})
        self.positions = dict(starts)
        self._open = {place for place in starts if ends is None or starts[place] < ends[place]}
        self._consumer: Consumer = clients.reader(**{**_SETTINGS, **clients.consumer, "group.id": group, "error_cb": self._memory})
        self._queue = NativeQueue(self._consumer, sorted(self._open), timed=timed) if native.supported() else None
        self._consumer.assign([TopicPartitionOffset(*place, starts[place]) for place in sorted(self._open)])
        self._mean_bytes = limits.bytes / min(limits.records, _FIRST_RECORDS)
        self._moved_at = time.monotonic()

    @property
    def group_metadata(self) -> Any:
        """For ``send_offsets_to_transaction``."""
        return self._consumer.consumer_group_metadata()

    @property
    def finished(self) -> bool:
        """Whether every end is reached."""
        return not self._open

    def read(self, wait_s: float) -> list[Consumed]:
        """The next batch: once it is large enough, every end is reached, or that time has passed; it may be empty.

        :attr:`positions` are then those behind the batch.
        """
        until = time.monotonic() + wait_s
        parts: dict[TopicPartition, list[Consumed]] = {}
        records = size = 0
        while self._open and records < self._limits.records and size < self._limits.bytes:
            left_s = until - time.monotonic()
            if left_s <= 0:
                break
            room = min(self._limits.records - records, int((self._limits.bytes - size) / self._mean_bytes) + 1)
            fetched, signals = self._consume(room, min(left_s, _STEP_S))
            if fetched or signals:
                self._moved_at = time.monotonic()
            for part in filter(None, map(self._taken, fetched)):
                parts.setdefault((part.topic, part.partition), []).append(part)
                records += len(part.offsets)
                size += part.keys.nbytes + part.values.nbytes
            for signal in signals:
                self._take(signal)
            self._mean_bytes = size / records if records else self._mean_bytes
        if self._open and self._ends and time.monotonic() - self._moved_at > self._patience_s:
            raise self._silent()
        return [_joined(place, some) for place, some in parts.items()]

    def _consume(self, count: int, timeout_s: float) -> tuple[list[Consumed], list[Signal]]:
        return self._queue.consume(count, timeout_s) if self._queue else consume(self._consumer, count, timeout_s)

    def _taken(self, part: Consumed) -> Consumed | None:
        """What of a part lies before its partition's end; None: nothing."""
        place = part.topic, part.partition
        if place not in self._open:
            return None
        end = self._ends.get(place)
        if end is not None and part.offsets[-1] >= end - 1:
            count = int(np.searchsorted(part.offsets, end))
            times = None if part.times_ms is None else part.times_ms[:count]
            part = Consumed(*place, part.keys[:count], part.values[:count], part.offsets[:count], times)
            self._close(place, end)
        else:
            self.positions[place] = int(part.offsets[-1]) + 1
        return part if len(part.offsets) else None

    def _take(self, signal: Signal) -> None:
        if signal.code == KafkaError._PARTITION_EOF:
            place = str(signal.topic), signal.partition
            if place in self._open:
                end = self._ends.get(place)
                self.positions[place] = max(self.positions[place], signal.offset)
                if end is not None and signal.offset >= end:
                    self._close(place, end)
            return
        if signal.code in _GONE:
            raise RecordsLost(
                "records were deleted from the topic before they were read",
                "Raise its retention, or read it more often.",
                topic=signal.topic,
                partition=signal.partition,
                offset=self.positions.get((str(signal.topic), signal.partition)),
            )
        error = translate(KafkaError(signal.code, signal.text), "reading records", self._memory, topic=signal.topic)
        if error.final:
            raise error

    def _close(self, place: TopicPartition, end: int) -> None:
        """A partition is read to its end: what follows it is not fetched."""
        self.positions[place] = end
        self._open.discard(place)
        self._consumer.incremental_unassign([TopicPartitionOffset(*place)])

    def _silent(self) -> KafkaUnavailable:
        if self._memory.authentication is not None or self._memory.last is not None:
            cause = self._memory.authentication or self._memory.last
            assert cause is not None
            error = translate(cause, "reading records", self._memory)
            if isinstance(error, KafkaUnavailable):
                return error
            raise error
        places = ", ".join(f"{topic} {partition}" for topic, partition in sorted(self._open)[:20])
        return KafkaUnavailable(
            f"no record came for {self._patience_s:.0f} s though the ends are not reached",
            "Check the brokers that lead these partitions.",
            partitions=places,
        )

    def close(self) -> None:
        if self._queue:
            self._queue.close()
        self._consumer.close()


def consume(consumer: Consumer, count: int, timeout_s: float) -> tuple[list[Consumed], list[Signal]]:
    """What :meth:`NativeQueue.consume` does, by Python objects."""
    rows: dict[TopicPartition, tuple[list[bytes | None], list[bytes | None], list[int], list[int]]] = {}
    signals = []
    for message in consumer.consume(count, timeout_s):
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if message.error() is not None:
            signals.append(signal_of(message))
        elif topic is not None and partition is not None and offset is not None:
            keys, values, offsets, times = rows.setdefault((topic, partition), ([], [], [], []))
            keys.append(message.key())
            values.append(message.value())
            offsets.append(offset)
            times.append(message.timestamp()[1])
    fetched = [
        Consumed(*place, pa.array(keys, pa.binary()), pa.array(values, pa.binary()), np.array(offsets, np.int64), np.array(times, np.int64))
        for place, (keys, values, offsets, times) in rows.items()
    ]
    return fetched, signals


def _joined(place: TopicPartition, parts: list[Consumed]) -> Consumed:
    if len(parts) == 1:
        keys, values = pa.concat_arrays([parts[0].keys]), pa.concat_arrays([parts[0].values])
    else:
        keys, values = pa.concat_arrays([part.keys for part in parts]), pa.concat_arrays([part.values for part in parts])
    times = [part.times_ms for part in parts if part.times_ms is not None]
    return Consumed(*place, keys, values, np.concatenate([part.offsets for part in parts]), np.concatenate(times) if times else None)
