"""Reading of a topic's committed records up to fixed end offsets, in batches of columns."""

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
    """Return the range of offsets to read in each partition of a topic; empty without committed records.

    :param firsts: first offsets; `firsts` and `ends` may also have offsets of other topics.
    """
    partitions = sorted(number for name, number in firsts if name == topic)
    return tuple((min(firsts[topic, number], ends[topic, number]), ends[topic, number]) for number in partitions)


def topic_batches(
    clients: KafkaClients, pair: ComparedPair, partitions: Sequence[int], *, timed: bool = False, headers: bool = False
) -> Iterator[Consumed]:
    """Yield the committed records within the pair's offset ranges, each partition in offset order.

    :param timed: read timestamps, too.
    :param headers: read headers, too.
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
