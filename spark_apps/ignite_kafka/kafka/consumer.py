"""Reader of topic partitions from given offsets, without joining a consumer group or committing.

An end is reached once the position reaches it, whether the last offsets hold records, transaction markers or nothing
(KafkaConsumer's position; the end-of-partition signal reports it). Records of open or aborted transactions are skipped.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as TopicPartitionOffset

from ..common.heartbeat import beat
from ..errors import KafkaUnavailable, RecordsLost
from . import batch_produce as native
from .batch_consume import NativeQueue, Signal, signal_of
from .bounded_calls import close_consumer
from .clients import ErrorMemory, KafkaClients, translate
from .headers import from_messages
from .records import Consumed, concat_present
from .topics import TopicPartition
from .value_heads import HeadOf, ValueHeads

_SETTINGS: Mapping[str, Any] = {
    "auto.offset.reset": "error",  # a deleted offset is an error, never replaced silently
    "queued.max.messages.kbytes": 16_384,  # limit of the records fetched while earlier records are stored
    "fetch.queue.backoff.ms": 5,  # librdkafka's default, a second, leaves a drained queue empty
}
_FIRST_RECORDS = 1_000  # until the size of records is known
_FETCHES = 4  # fetches per batch if heads are cut: memory holds one whole fetch, and the others without heads
_STEP_S = 0.05
_GONE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}


@dataclass(frozen=True)
class BatchLimits:
    """Limits at which a batch of records ends; it may exceed ``bytes`` by some records."""

    records: int
    bytes: int


class RecordReader:
    """Reader of topic partitions from start offsets to end offsets, in batches.

    :param group: the consumer group of :attr:`group_metadata`; the reader does not join it.
    :param starts: first offset of each partition.
    :param ends: end offset (excluded) of each partition; None: no ends.
    :param timed: whether to read the records' timestamps.
    :param headers: whether to read the records' headers.
    :param head_of: finds the head of a value, to cut common heads of values if batches end by their bytes; None to
        never cut.
    :raises KafkaUnavailable: from :meth:`read`: nothing arrived for the clients' ``patience_s`` before the ends.
    :raises RecordsLost: from :meth:`read`: records were deleted before they were read.
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
        headers: bool = False,
        head_of: HeadOf | None = None,
    ) -> None:
        self._limits = limits
        self._patience_s = clients.patience_s
        self._memory = ErrorMemory()
        self._ends = dict(ends or {})
        self.positions = dict(starts)
        self._open = {place for place in starts if ends is None or starts[place] < ends[place]}
        self._consumer: Consumer = clients.reader(
            **{**_SETTINGS, **clients.consumer, "group.id": group, "error_cb": self._memory}
        )
        self._queue = (
            NativeQueue(self._consumer, sorted(self._open), timed=timed, headers=headers)
            if native.supported()
            else None
        )
        self._consumer.assign([TopicPartitionOffset(*place, starts[place]) for place in sorted(self._open)])
        self._heads = None if head_of is None else ValueHeads(head_of)
        self._cuts = False
        self._kept_mean = self._read_mean = limits.bytes / min(limits.records, _FIRST_RECORDS)
        self._held: tuple[list[Consumed], list[Signal]] | None = None
        self._moved_at = time.monotonic()

    @property
    def group_metadata(self) -> Any:
        """Consumer group metadata that ``send_offsets_to_transaction`` needs."""
        return self._consumer.consumer_group_metadata()

    @property
    def finished(self) -> bool:
        """Whether all partitions have been read to their ends."""
        return not self._open

    def read(self, wait_s: float) -> list[Consumed]:
        """Read the next batch: one :class:`Consumed` per partition; none if nothing arrived in time.

        The method returns once the batch is full, every end is reached, ``wait_s`` seconds have passed, or the next
        records of a partition have another head. :attr:`positions` are then the positions after the batch.
        """
        until = time.monotonic() + wait_s
        parts: dict[TopicPartition, list[Consumed]] = {}
        records = size = 0
        while self._open and records < self._limits.records and size < self._limits.bytes:
            left_s = until - time.monotonic()
            if left_s <= 0 and self._held is None:
                break
            fetched, signals = self._held or self._fetch(self._fetch_count(records, size), min(left_s, _STEP_S))
            self._held = None
            if any(
                part.head != parts[place][0].head
                for part in fetched
                if (place := (part.topic, part.partition)) in parts
            ):
                self._held = fetched, signals
                break
            for part in filter(None, map(self._up_to_end, fetched)):
                parts.setdefault((part.topic, part.partition), []).append(part)
                records += len(part.offsets)
                size += part.kept_bytes
            for signal in signals:
                self._on_signal(signal)
            self._kept_mean = size / records if records else self._kept_mean
        if self._open and self._ends and time.monotonic() - self._moved_at > self._patience_s:
            raise self._silence_error()
        return [_concat(place, some) for place, some in parts.items()]

    def _fetch_count(self, records: int, size: int) -> int:
        """Return how many records to fetch next, given the batch's records and bytes so far."""
        room = min(self._limits.records - records, int((self._limits.bytes - size) / self._kept_mean) + 1)
        return min(room, int(self._limits.bytes / _FETCHES / self._read_mean) + 1) if self._cuts else room

    def _fetch(self, count: int, timeout_s: float) -> tuple[list[Consumed], list[Signal]]:
        fetched, signals = (
            self._queue.consume(count, timeout_s) if self._queue else consume(self._consumer, count, timeout_s)
        )
        beat()
        if fetched or signals:
            self._moved_at = time.monotonic()
        if self._heads is None or not fetched:
            return fetched, signals
        self._read_mean = sum(part.read_bytes for part in fetched) / sum(map(len, fetched))
        # no advantage for small records, whose number ends batches; never reset, because batches end where
        # heads change
        self._cuts = self._cuts or self._read_mean * self._limits.records > self._limits.bytes
        return [self._heads.cut(part) for part in fetched] if self._cuts else fetched, signals

    def _up_to_end(self, part: Consumed) -> Consumed | None:
        """Cut the records at the partition's end; None if none is left."""
        place = part.topic, part.partition
        if place not in self._open:
            return None
        end = self._ends.get(place)
        if end is not None and part.offsets[-1] >= end - 1:
            count = int(np.searchsorted(part.offsets, end))
            times = None if part.times_ms is None else part.times_ms[:count]
            headers = None if part.headers is None else part.headers[:count]
            keys, values, offsets = part.keys[:count], part.values[:count], part.offsets[:count]
            part = Consumed(*place, keys, values, offsets, times, headers, part.head, part.first_ms)
            self._close(place, end)
        else:
            self.positions[place] = int(part.offsets[-1]) + 1
        return part if len(part.offsets) else None

    def _on_signal(self, signal: Signal) -> None:
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
        """Stop fetching a partition, because its end is reached."""
        self.positions[place] = end
        self._open.discard(place)
        self._consumer.incremental_unassign([TopicPartitionOffset(*place)])

    def _silence_error(self) -> KafkaUnavailable:
        if self._memory.authentication is not None or self._memory.last is not None:
            cause = self._memory.authentication or self._memory.last
            assert cause is not None
            error = translate(cause, "reading records", self._memory)
            if isinstance(error, KafkaUnavailable):
                return error
            raise error
        places = ", ".join(f"{topic} {partition}" for topic, partition in sorted(self._open)[:20])
        return KafkaUnavailable(
            f"no record arrived for {self._patience_s:.0f} s before the partitions' ends",
            "Check the brokers that lead these partitions.",
            partitions=places,
        )

    def close(self) -> None:
        """Close the native queue and the consumer."""
        if self._queue:
            self._queue.close()
        close_consumer(self._consumer)


def consume(consumer: Consumer, count: int, timeout_s: float) -> tuple[list[Consumed], list[Signal]]:
    """Read records and signals as :meth:`NativeQueue.consume`, where native calls are not possible."""
    rows: dict[TopicPartition, list[Message]] = {}
    signals = []
    for message in consumer.consume(count, timeout_s):
        topic = message.topic()
        partition = message.partition()
        offset = message.offset()
        if message.error() is not None:
            signals.append(signal_of(message))
        elif topic is not None and partition is not None and offset is not None:
            rows.setdefault((topic, partition), []).append(message)
    return [_to_consumed(place, messages) for place, messages in rows.items()], signals


def _to_consumed(place: TopicPartition, messages: Sequence[Message]) -> Consumed:
    keys = [message.key() for message in messages]
    values = [message.value() for message in messages]
    offsets = np.array([message.offset() for message in messages], np.int64)
    times = np.array([message.timestamp()[1] for message in messages], np.int64)
    columns = pa.array(keys, pa.binary()), pa.array(values, pa.binary()), offsets, times, from_messages(messages)
    return Consumed(*place, *columns, first_ms=int(times[0]))


def _concat(place: TopicPartition, parts: list[Consumed]) -> Consumed:
    if len(parts) == 1:
        keys = pa.concat_arrays([parts[0].keys])
        values = pa.concat_arrays([parts[0].values])
    else:
        keys = pa.concat_arrays([part.keys for part in parts])
        values = pa.concat_arrays([part.values for part in parts])
    times = [part.times_ms for part in parts if part.times_ms is not None]
    return Consumed(
        *place,
        keys,
        values,
        np.concatenate([part.offsets for part in parts]),
        np.concatenate(times) if times else None,
        concat_present([part.headers for part in parts]),
        parts[0].head,
        parts[0].first_ms,
    )
