"""The reading side of data source `kafka-tx`: the committed records of a topic between offsets that the driver fixes. See kafka_tx.py."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa
from confluent_kafka.admin import OffsetSpec
from pyspark.sql.datasource import DataSourceReader, InputPartition

from ..errors import RecordsLost, SettingsError, TopicError
from ..kafka.clients import KafkaClients
from ..kafka.consumer import BatchLimits, RecordReader
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition, Topics
from ..settings.transport_security import ALLOW
from .option_tables import KAFKA_READ
from .options import clients, kafka_options

SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("us", "UTC")),
    ]
)
_EARLIEST = "earliest"
_GROUP = "ignite-kafka-dataframe"  # nobody joins it, and nothing is committed to it
_LIMITS = BatchLimits(20_000, 8 << 20)
_WAIT_S = 1.0


@dataclass(frozen=True)
class ReadOptions:
    """The options of one read, checked. ``starts``: the first offset of partitions that begin elsewhere than with what is left."""

    topic: str
    kafka: Mapping[str, str]
    starts: Mapping[int, int]
    num_partitions: int | None
    secrets_file: str | None
    allow_insecure: bool

    @staticmethod
    def of(options: Mapping[str, str]) -> ReadOptions:
        """
        :raises SettingsError: an option is unknown, missing, out of range, or a secret.
        """
        values = KAFKA_READ.read(options)
        return ReadOptions(
            values["topic"],
            kafka_options(options, KAFKA_READ),
            parse_offsets(values["starting_offsets"]),
            values["num_partitions"],
            values["secrets_file"],
            values[ALLOW],
        )

    def clients(self) -> KafkaClients:
        return clients(self.kafka, self.secrets_file, self.allow_insecure)


@dataclass(frozen=True)
class Ranges(InputPartition):
    """Partitions of the topic for one Spark partition, each from an offset to the one where it ends."""

    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]


class KafkaTxReader(DataSourceReader):
    """Made on the driver, where the ends are fixed: a task that is tried again reads the same records."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[Ranges]:
        """
        :raises TopicError: the topic, or a partition that a start is given for, is not there.
        :raises RecordsLost: a start is given whose record is deleted.
        :raises SettingsError: a start is given that lies behind the end.
        """
        clients, topic = self._options.clients(), self._options.topic
        clients.check()
        topics = Topics(clients)
        found = topics.counts([topic])
        if topic not in found:
            raise TopicError("the topic does not exist", "Check its name, and that the user may describe it.", topic=topic)
        places = [(topic, number) for number in range(found[topic])]
        first, ends = topics.offsets(places, OffsetSpec.earliest()), topics.offsets(places, OffsetSpec.latest(), committed=True)
        starts = first | {(topic, number): offset for number, offset in self._options.starts.items()}
        for place, start in starts.items():
            _check_start(place, start, first, ends)
        parts = min(self._options.num_partitions or len(places), len(places))
        groups = (places[number::parts] for number in range(parts))
        return [Ranges({place: starts[place] for place in group}, {place: ends[place] for place in group}) for group in groups]

    def read(self, partition: Ranges) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        with closing(RecordReader(self._options.clients(), _GROUP, partition.starts, partition.ends, _LIMITS, timed=True)) as reader:
            while not reader.finished:
                yield from map(_batch, reader.read(_WAIT_S))


def parse_offsets(text: str) -> dict[int, int]:
    """``earliest``, or offsets by partition as JSON: ``{"0": 120, "3": 0}``."""
    if text == _EARLIEST:
        return {}
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict) or not all(part.isdecimal() and type(offset) is int and offset >= 0 for part, offset in given.items()):
        remedy = 'Give earliest, or offsets by partition as {"0": 120, "3": 0}; a partition that is not named begins with what is left.'
        raise SettingsError(f"option 'starting_offsets' is {text!r}", remedy, setting="starting_offsets")
    return {int(part): offset for part, offset in given.items()}


def _check_start(place: TopicPartition, start: int, first: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> None:
    where = {"topic": place[0], "partition": place[1], "offset": start}
    if place not in ends:
        raise TopicError("a start is given for a partition that the topic does not have", "Correct starting_offsets.", **where)
    if start < first[place]:
        what = f"records were deleted from the topic before they were read: the first that is left has offset {first[place]}"
        raise RecordsLost(what, "Give that one in starting_offsets, or earliest.", **where)
    if start > ends[place]:
        what = f"the partition ends at offset {ends[place]}, before the start that is given"
        raise SettingsError(what, "Check that the offset is of this topic, and not of one that was deleted and made again.", **where)


def _batch(records: Consumed) -> pa.RecordBatch:
    size = len(records)
    topic, partition = pa.repeat(pa.scalar(records.topic), size), pa.repeat(pa.scalar(records.partition, pa.int32()), size)
    assert records.times_ms is not None
    times = pa.array(records.times_ms * 1000, SCHEMA.field("timestamp").type, mask=records.times_ms < 0)
    return pa.RecordBatch.from_arrays([records.keys, records.values, topic, partition, pa.array(records.offsets), times], schema=SCHEMA)
