"""Reads partitions of a topic up to given ends, in batches of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from ..kafka.clients import KafkaClients
from ..kafka.consumer import BatchLimits, RecordReader
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition
from .direction import Target

_LIMITS = BatchLimits(50_000, 16 << 20)
_GROUP = "ignite-kafka-internal"  # which it does not join
_WAIT_S = 1.0


def bounds_of(
    topic: str, firsts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> tuple[tuple[int, int], ...]:
    """First offset and end of each partition of a topic, for a target; a partition without committed records is empty.

    :param firsts: first offsets, of other topics too; `ends` likewise.
    """
    partitions = sorted(number for name, number in firsts if name == topic)
    return tuple((min(firsts[topic, number], ends[topic, number]), ends[topic, number]) for number in partitions)


def topic_batches(
    clients: KafkaClients, target: Target, partitions: Sequence[int], *, timed: bool = False, headers: bool = False
) -> Iterator[Consumed]:
    """Committed records, in the order of each partition.

    :param timed: whether with their timestamps; `headers`: whether with their headers.
    :raises KafkaUnavailable: nothing arrived for the clients' ``patience_s`` before the ends.
    :raises RecordsLost: records were deleted before they were read.
    """
    filled = [number for number in partitions if target.ends[number][0] < target.ends[number][1]]
    if not filled:
        return
    starts = {(target.topic, number): target.ends[number][0] for number in filled}
    ends = {(target.topic, number): target.ends[number][1] for number in filled}
    with closing(RecordReader(clients, _GROUP, starts, ends, _LIMITS, timed=timed, headers=headers)) as reader:
        while not reader.finished:
            yield from reader.read(_WAIT_S)
