"""Spark data source `kafka-tx`: writes a DataFrame to Kafka in transactions, and reads committed records.

Each Spark partition is written in one transaction, exactly once:

    df.write.format("kafka-tx").options(**{"bootstrap.servers": "…", "topic": "t", "name": "w"}).mode("append").save()

Options: docs/options.md, from :mod:`~ignite_kafka.datasources.option_tables`.

Columns: ``value`` (string or binary, null = tombstone), optional ``key`` (string or binary), ``topic`` (string),
``headers`` (array<struct<key: string, value: binary>>) and ``timestamp`` (null: the time of sending). With options
``key.converter`` and ``value.converter`` the columns ``key`` and ``value`` are typed (:mod:`.typed_columns`); a null is
a record without key or value.

A Spark partition is a unit: (cache ``dataframe``, partition number) under snapshot id = ``write_id``. The topic
``<prefix>-configs`` has a record of each ``write_id`` from a user, with the end of its write (:mod:`.write_ids`).

A read has the committed records of a topic up to its end when the job began, but none behind a transaction that is open
then:

    spark.read.format("kafka-tx").options(**{"bootstrap.servers": "…", "topic": "t"}).load()

Columns: ``key`` and ``value`` (binary, null if the record has none), ``topic``, ``partition`` (int), ``offset`` (long),
``timestamp`` (null if the record has none); with option ``include_headers`` also ``headers``, in the form that a write
takes. With converters ``key`` and ``value`` have the types of ``.schema(…)``, which may also leave out columns:

    spark.read.format("kafka-tx").schema("key long, value struct<name: string, price: decimal(10,2)>").options(…)

A read stores no offsets; the program keeps the offsets at which to continue. Pipelines store them (`ignite-kafka run`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, WriterCommitMessage
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from ..common.arrays import Int64Array
from ..common.arrow_layout import list_sizes
from ..errors import SettingsError, TopicError
from ..kafka.headers import headers_of
from ..kafka.records import Records, gather
from ..kafka.topics import Topics, TopicSpec
from ..plan.slots import Owner
from ..settings.topic_names import check_data_topic, reserve, reserved
from ..state.configs_writer import ConfigsWriter
from ..state.open_slots import SlotOpener
from ..state.open_transaction import TransactionLimits
from . import write_ids
from .kafka_tx_read import KafkaTxReader, ReadOptions, make_default_schema
from .option_tables import KAFKA_WRITE
from .options import KafkaOptions, read_kafka_fields
from .spark_api import arrow_schema
from .typed_columns import ColumnWriter, SideConverterOptions, parse_converter_options

UNIT = "dataframe"


@dataclass(frozen=True)
class WriteOptions(KafkaOptions):
    """Parsed and checked options of a write to Kafka.

    :param named: whether the user gave the write's id.
    :param reserved: prefixes of other connectors' internal topics, for executors.
    """

    name: str
    write_id: str
    named: bool
    topic: str | None
    slots: int
    prefix: str
    transaction_timeout_ms: int
    converters: Mapping[str, SideConverterOptions]
    reserved: tuple[str, ...] = field(default_factory=reserved)

    @staticmethod
    def of(options: Mapping[str, str]) -> WriteOptions:
        """Parse and check the options of a write to Kafka.

        :raises SettingsError: an option is unknown, missing, out of range, or a secret.
        """
        values = KAFKA_WRITE.read(options)
        check_data_topic("topic", values["topic"] or "", values["internal_topic_prefix"])
        connection = read_kafka_fields(options, KAFKA_WRITE, values)
        return WriteOptions(
            *connection,
            values["name"],
            values["write_id"] or uuid.uuid4().hex,
            bool(values["write_id"]),
            values["topic"],
            values["slots"],
            values["internal_topic_prefix"],
            values["transaction_timeout_ms"],
            parse_converter_options(values, options, KafkaOptions(*connection), reading=False),
        )


@dataclass
class CommitMessage(WriterCommitMessage):
    """Number of records that one Spark task has sent; 0 if an earlier attempt had committed them."""

    partition: int
    records: int


class KafkaTxDataSource(DataSource):
    """Data source `kafka-tx`; register it with ``spark.dataSource.register(KafkaTxDataSource)``."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``spark.read.format`` and ``df.write.format``."""
        return "kafka-tx"

    def schema(self) -> StructType:
        """Return the columns of a read if the user gives no schema."""
        return from_arrow_schema(make_default_schema(ReadOptions.of(dict(self.options))))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader of the topic's committed records."""
        return KafkaTxReader(ReadOptions.of(dict(self.options)), arrow_schema(schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Make the writer that sends a DataFrame of the given schema in transactions."""
        if overwrite:
            raise SettingsError("a topic cannot be overwritten", 'Write with mode("append").', option="mode")
        options = WriteOptions.of(dict(self.options))
        _check_schema(schema, options)
        columns = {field.name: field for field in arrow_schema(schema)}
        typed = {
            side: ColumnWriter.of(field, columns[side], options.topic or "")
            for side, field in options.converters.items()
            if side in columns
        }
        return KafkaTxWriter(options, typed)


class KafkaTxWriter(DataSourceArrowWriter):
    """Writer of a DataFrame to Kafka, with one transaction for each Spark partition.

    It is created on the driver, where it claims the connector; :meth:`write` runs on executors.
    """

    def __init__(self, options: WriteOptions, typed: Mapping[str, ColumnWriter] | None = None) -> None:
        self._options = options
        self._typed = typed or {}
        self._topic_ids: dict[str, str] = {}
        with self._open_control() as control:
            state = control.take(options.slots, options.write_id, {}, -1)
            self._generation = control.record.generation
            self._complete = write_ids.is_complete(state, options.name, options.write_id)
            if not self._complete:
                topic_id = (
                    self._resolve_topic(write_ids.find_topic_id(state, options.write_id)) if options.topic else ""
                )
                write_ids.begin_write(control, state, options.write_id, named=options.named, topic_id=topic_id)
                control.fence_slots()  # an older write may have open slots that this write does not open

    @contextmanager
    def _open_control(self) -> Iterator[ConfigsWriter]:
        clients = self._options.clients()
        clients.check()
        control = ConfigsWriter(clients, Topics(clients), self._options.prefix, self._options.name)
        try:
            yield control
        finally:
            control.close()

    def _resolve_topic(self, topic_id: str) -> str:
        """Check that a continued write finds its topic unchanged, and return the topic's id.

        :param topic_id: the topic's id when the write began; empty: the topic is new, or has no id.
        :raises TopicError: the topic was deleted since.
        """
        topics = Topics(self._options.clients())
        topic = self._options.topic or ""
        if topic_id and topics.identities([topic]).get(topic, ("", 0))[0] != topic_id:
            raise TopicError(
                "the topic was deleted since this write sent a part of its records to it",
                "Give another write_id: all records are sent then.",
                topic=topic,
                write_id=self._options.write_id,
            )
        return self._ensure_topic(topics, topic)

    def _ensure_topic(self, topics: Topics, topic: str) -> str:
        """Create a topic if it is missing, and return its id."""
        if topic not in self._topic_ids:
            topics.ensure([TopicSpec(topic, -1)])
            self._topic_ids[topic] = topics.identities([topic]).get(topic, ("", 0))[0]
        return self._topic_ids[topic]

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Record on the driver that the write is complete, after every task has committed."""
        options = self._options
        if options.named and not self._complete:
            with self._open_control() as control:
                state = control.take(options.slots, options.write_id, {}, -1)
                write_ids.end_write(control, state, options.write_id, self._generation)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Send the rows of one Spark partition in one transaction, unless an earlier attempt has committed them.

        :raises SettingsError: the DataFrame has more partitions than slots, or a row has no topic.
        """
        context = TaskContext.get()
        assert context is not None
        options = self._options
        partition = context.partitionId()
        reserve(options.reserved)
        if self._complete:
            return CommitMessage(partition, 0)
        if partition >= options.slots:
            raise SettingsError(
                f"the DataFrame has more partitions than slots ({options.slots})",
                f"Call repartition({options.slots}) first, or give the connector more slots from its first write on.",
                option="slots",
            )
        clients = options.clients()
        owner = Owner(self._generation, attempt=context.attemptNumber())
        limits = TransactionLimits(timeout_ms=options.transaction_timeout_ms)
        topics = Topics(clients)
        writer = SlotOpener(clients, topics, options.name, options.prefix, owner, limits, 1_000_000)(partition)
        try:
            if partition in writer.state.done(options.write_id, UNIT, ""):
                return CommitMessage(partition, 0)
            count = 0
            for batch in iterator:
                for topic, records in _split_by_topic(batch, options.topic, options.prefix, self._typed):
                    writer.send(topic, None, records, self._ensure_topic(topics, topic))
                    count += len(records)
            writer.unit_done(UNIT, partition, "", options.write_id, count)
            writer.commit()
            return CommitMessage(partition, count)
        finally:
            writer.close()


def _split_by_topic(
    batch: pa.RecordBatch, topic: str | None, prefix: str, typed: Mapping[str, ColumnWriter]
) -> Iterator[tuple[str, Records]]:
    """Convert the rows of a batch to records, and yield these by topic.

    :param prefix: prefix of internal topics, which no row may name.
    :param typed: writers of typed columns.
    """
    table = pa.table(batch)
    groups = (
        [(topic, table)]
        if topic
        else [(name, table.filter(pc.equal(table["topic"], name))) for name in table["topic"].unique().to_pylist()]
    )
    for name, rows in groups:
        if name is None:
            raise SettingsError(
                "a row has no topic", "Fill the column topic, or give the option topic.", option="topic"
            )
        check_data_topic("topic", name, prefix)
        values = _to_bytes(rows, "value", name, typed)
        keys = _to_bytes(rows, "key", name, typed) if "key" in rows.column_names else pa.nulls(len(rows), pa.binary())
        yield name, Records(keys, values, headers=_to_headers(rows), times_ms=_to_times_ms(rows))


def _to_bytes(rows: pa.Table, side: str, topic: str, typed: Mapping[str, ColumnWriter]) -> pa.BinaryArray:
    if side not in typed:
        return gather(rows[side].chunks)
    column = rows[side].combine_chunks()
    return gather([typed[side].write(column.chunk(0) if isinstance(column, pa.ChunkedArray) else column, topic)])


def _to_headers(rows: pa.Table) -> pa.ListArray | None:
    if "headers" not in rows.column_names:
        return None
    headers = rows["headers"].combine_chunks()
    keys = headers.flatten().field("key")
    if keys.null_count:
        raise SettingsError(
            "a header has no key", "Fill the field key of each element of column headers.", column="headers"
        )
    counts = list_sizes(headers)
    return headers_of(counts, keys, headers.flatten().field("value").cast(pa.binary()))


def _to_times_ms(rows: pa.Table) -> Int64Array | None:
    """Convert the column timestamp to milliseconds; null becomes 0, the time of sending."""
    if "timestamp" not in rows.column_names:
        return None
    times = pc.floor_temporal(rows["timestamp"].combine_chunks(), unit="millisecond").cast(pa.timestamp("ms", "UTC"))
    numbers = times.cast(pa.int64())
    if pc.any(pc.less_equal(numbers, 0)).as_py():
        what = "a timestamp is not after 1970-01-01T00:00Z, where those of Kafka's records begin"
        raise SettingsError(
            what, "Drop or correct the column timestamp; null is the time of sending.", column="timestamp"
        )
    return np.asarray(pc.fill_null(numbers, 0))


def _has_required_type(column: StructField) -> bool:
    """Return whether the column headers or timestamp has the required type; true for other columns."""
    if column.name == "headers":
        return column.dataType.simpleString() == "array<struct<key:string,value:binary>>"
    return column.name != "timestamp" or column.dataType.typeName() == "timestamp"


def _check_schema(schema: StructType, options: WriteOptions) -> None:
    types = {column.name: column.dataType.typeName() for column in schema.fields}
    untyped = [name for name in ("key", "value") if name not in options.converters]
    wrong = [f"{name} is {types[name]}" for name in untyped if types.get(name, "string") not in ("string", "binary")]
    wrong += [
        f"{column.name} is {column.dataType.simpleString()}"
        for column in schema.fields
        if not _has_required_type(column)
    ]
    if "value" not in types or wrong:
        raise SettingsError(
            f"the columns are {types}" + (f": {', '.join(wrong)}" if wrong else ""),
            "Give a column value, and a column key if records have one, each string or binary unless the options name "
            "its converter; headers, if given, is array<struct<key:string,value:binary>>, and timestamp a timestamp.",
        )
    if options.topic is None and types.get("topic") != "string":
        raise SettingsError("no topic is given", "Give the option topic or a string column topic.", option="topic")
