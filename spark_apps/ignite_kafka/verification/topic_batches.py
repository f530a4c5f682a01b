"""Records of a topic's partitions up to fixed ends, in batches of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from ..kafka.clients import KafkaClients
from ..kafka.consumer import BatchLimits, RecordReader
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition
from .direction import ComparedPair

_LIMITS = BatchLimits(50_000, 16 << 20)
_GROUP = "ignite-kafka-internal"  # required by the client; the reader does not join it
_WAIT_S = 1.0


def topic_bounds(
    topic: str, firsts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> tuple[tuple[int, int], ...]:
    """Return the first offset and end of each partition of a topic; equal if it has no committed records.

    :param firsts: first offsets, may have those of other topics; `ends` likewise.
    """
    partitions = sorted(number for name, number in firsts if name == topic)
    return tuple((min(firsts[topic, number], ends[topic, number]), ends[topic, number]) for number in partitions)


def topic_batches(
    clients: KafkaClients, pair: ComparedPair, partitions: Sequence[int], *, timed: bool = False, headers: bool = False
) -> Iterator[Consumed]:
    """Read committed records, in the order of each partition.

    :param timed: read timestamps, too; `headers`: read headers, too.
    :raises KafkaUnavailable: nothing arrived for the clients' ``patience_s`` before the ends.
    :raises RecordsLost: records were deleted before they were read.
    """
    filled = [number for number in partitions if pair.ends[number][0] < pair.ends[number][1]]
    if not filled:
        return
    starts = {(pair.topic, number): pair.ends[number][0] for number in filled}
    ends = {(pair.topic, number): pair.ends[number][1] for number in filled}
    with closing(RecordReader(clients, _GROUP, starts, ends, _LIMITS, timed=timed, headers=headers)) as reader:
        while not reader.finished:
            yield from reader.read(_WAIT_S)
