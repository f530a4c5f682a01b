"""Reader of data source `kafka-tx`: committed records of a topic between offsets that the driver fixes.

See :mod:`.kafka_tx`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa
from confluent_kafka.admin import OffsetSpec
from pyspark.sql.datasource import DataSourceReader, InputPartition

from ..errors import DecodeError, RecordsLost, SettingsError, TopicError
from ..kafka.consumer import BatchLimits, RecordReader
from ..kafka.headers import HEADERS
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition, Topics
from ..settings.topic_names import check_data_topic
from .frame_schemas import schema_of
from .option_tables import KAFKA_READ
from .options import KafkaOptions, read_kafka_fields
from .typed_columns import ColumnReader, SideConverterOptions, parse_converter_options

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
HEADED_SCHEMA = SCHEMA.append(pa.field("headers", HEADERS))
_EARLIEST = "earliest"
_GROUP = "ignite-kafka-dataframe"  # no client joins this group, and nothing is committed to it
_LIMITS = BatchLimits(20_000, 8 << 20)
_WAIT_S = 1.0


@dataclass(frozen=True)
class ReadOptions(KafkaOptions):
    """Parsed and checked options of a read from Kafka.

    :param starts: first offset by partition; other partitions begin at their first record.
    """

    topic: str
    starts: Mapping[int, int]
    num_partitions: int | None
    include_headers: bool
    converters: Mapping[str, SideConverterOptions]

    @staticmethod
    def of(options: Mapping[str, str]) -> ReadOptions:
        """Parse and check the options of a read from Kafka.

        :raises SettingsError: an option is unknown, missing, out of range, or a secret.
        """
        values = KAFKA_READ.read(options)
        check_data_topic("topic", values["topic"])
        connection = read_kafka_fields(options, KAFKA_READ, values)
        return ReadOptions(
            *connection,
            values["topic"],
            parse_offsets(values["starting_offsets"]),
            values["num_partitions"],
            values["include_headers"],
            parse_converter_options(values, options, KafkaOptions(*connection), reading=True),
        )


@dataclass(frozen=True)
class Ranges(InputPartition):
    """Work of one Spark task: ranges of offsets of topic partitions."""

    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]


class KafkaTxReader(DataSourceReader):
    """Reader of a topic up to ends that the driver fixes, so a repeated task reads the same records.

    :param schema: columns of the DataFrame; None: the columns of :func:`make_default_schema`.
    """

    def __init__(self, options: ReadOptions, schema: pa.Schema | None = None) -> None:
        self._options = options
        self._schema = schema or make_default_schema(options)
        _check_schema(self._schema, options)

    def partitions(self) -> list[Ranges]:
        """Fix first and end offsets of the topic's partitions, and distribute the partitions over Spark tasks.

        :raises TopicError: the topic, or a partition with a given start, does not exist.
        :raises RecordsLost: the record of a given start is deleted.
        :raises SettingsError: a given start is behind the partition's end.
        """
        clients = self._options.clients()
        topic = self._options.topic
        clients.check()
        topics = Topics(clients)
        counts = topics.counts([topic])
        if topic not in counts:
            raise TopicError(
                "the topic does not exist", "Check its name, and that the user may describe it.", topic=topic
            )
        partitions = [(topic, number) for number in range(counts[topic])]
        first = topics.offsets(partitions, OffsetSpec.earliest())
        ends = topics.offsets(partitions, OffsetSpec.latest(), committed=True)
        starts = first | {(topic, number): offset for number, offset in self._options.starts.items()}
        for topic_partition, start in starts.items():
            _check_start(topic_partition, start, first, ends)
        parts = min(self._options.num_partitions or len(partitions), len(partitions))
        groups = (partitions[number::parts] for number in range(parts))
        return [
            Ranges(
                {topic_partition: starts[topic_partition] for topic_partition in group},
                {topic_partition: ends[topic_partition] for topic_partition in group},
            )
            for group in groups
        ]

    def read(self, partition: Ranges) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """Yield the records of one Spark task as Arrow batches of the DataFrame's columns."""
        headers = self._options.include_headers
        clients = self._options.clients()
        typed = {
            side: ColumnReader(converter, self._schema.field(side))
            for side, converter in self._options.converters.items()
            if side in self._schema.names
        }
        with closing(
            RecordReader(clients, _GROUP, partition.starts, partition.ends, _LIMITS, timed=True, headers=headers)
        ) as reader:
            while not reader.finished:
                yield from (_make_batch(records, self._schema, typed) for records in reader.read(_WAIT_S))


def make_default_schema(options: ReadOptions) -> pa.Schema:
    """Return the columns of a read if the user gives no schema.

    :raises SettingsError: a converter's values have types that only a given schema can determine.
    """
    schema = HEADED_SCHEMA if options.include_headers else SCHEMA
    for side, converter in options.converters.items():
        if converter.frame_type is None:
            what = f"{side}.converter is {converter.name}, whose records do not say one type for the whole column"
            remedy = f'Give the types with .schema("{side} struct<…>, …"), and the other columns that are wanted.'
            raise SettingsError(what, remedy, option=f"{side}.converter")
        schema = schema.set(schema.get_field_index(side), pa.field(side, converter.frame_type))
    return schema


def _check_schema(schema: pa.Schema, options: ReadOptions) -> None:
    columns = HEADED_SCHEMA if options.include_headers else SCHEMA
    for field in schema:
        if field.name not in columns.names:
            names = ", ".join(columns.names)
            raise SettingsError(
                f"there is no column {field.name}", f"The columns of a read are {names}.", column=field.name
            )
        if field.name in options.converters:
            schema_of(field)
        elif field.type != columns.field(field.name).type and not pa.types.is_list(field.type):
            remedy = (
                f"Give it that type, or option {field.name}.converter."
                if field.name in ("key", "value")
                else "Give it that type."
            )
            raise SettingsError(
                f"column {field.name} is {columns.field(field.name).type}, not {field.type}", remedy, column=field.name
            )


def parse_offsets(text: str) -> dict[int, int]:
    """Parse ``earliest``, or offsets by partition as JSON such as ``{"0": 120, "3": 0}``.

    :raises SettingsError: the text has another form.
    """
    if text == _EARLIEST:
        return {}
    try:
        offsets = json.loads(text)
    except ValueError:
        offsets = None
    if not isinstance(offsets, dict) or not all(
        part.isdecimal() and type(offset) is int and offset >= 0 for part, offset in offsets.items()
    ):
        remedy = (
            'Give earliest, or offsets by partition as {"0": 120, "3": 0}; other partitions begin at their first '
            "record."
        )
        raise SettingsError(f"option 'starting_offsets' is {text!r}", remedy, option="starting_offsets")
    return {int(part): offset for part, offset in offsets.items()}


def _check_start(
    topic_partition: TopicPartition, start: int, first: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> None:
    where = {"topic": topic_partition[0], "partition": topic_partition[1], "offset": start}
    if topic_partition not in ends:
        raise TopicError(
            "a start is given for a partition that the topic does not have", "Correct starting_offsets.", **where
        )
    if start < first[topic_partition]:
        offset = first[topic_partition]
        what = f"records were deleted from the topic before they were read: the first record now has offset {offset}"
        raise RecordsLost(what, "Give that offset in starting_offsets, or earliest.", **where)
    if start > ends[topic_partition]:
        what = f"the partition ends at offset {ends[topic_partition]}, before the given start"
        raise SettingsError(
            what, "Check that the offset is of this topic, and not of one that was deleted and made again.", **where
        )


def _make_batch(records: Consumed, schema: pa.Schema, typed: Mapping[str, ColumnReader]) -> pa.RecordBatch:
    columns = _make_columns(records)
    for side, reader in typed.items():
        try:
            columns[side] = reader.read(columns[side], records.topic)
        except DecodeError as error:
            where = {
                "topic": records.topic,
                "partition": records.partition,
                "offset": int(records.offsets[error.where["row"]]),
            }
            raise DecodeError(error.what, error.remedy, **where) from error
    return pa.RecordBatch.from_arrays([columns[field.name] for field in schema], schema=schema)


def _make_columns(records: Consumed) -> dict[str, pa.Array]:
    size = len(records)
    topic = pa.repeat(pa.scalar(records.topic), size)
    partition = pa.repeat(pa.scalar(records.partition, pa.int32()), size)
    assert records.times_ms is not None
    times = pa.array(records.times_ms * 1000, SCHEMA.field("timestamp").type, mask=records.times_ms < 0)
    columns = [records.keys, records.values, topic, partition, pa.array(records.offsets), times]
    named = dict(zip(SCHEMA.names, columns, strict=True))
    return named if records.headers is None else named | {"headers": records.headers}
