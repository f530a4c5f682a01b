"""Spark data source `kafka-tx`: records of Kafka, written in transactions and read from committed ones.

Writes any DataFrame of keys and values, each Spark partition in one transaction, exactly once:

    df.write.format("kafka-tx").options(**{"bootstrap.servers": "…", "topic": "t", "name": "w"}).mode("append").save()

Options: docs/options.md, from :mod:`.option_tables`.

Columns: ``value`` (string or binary, null = tombstone), optional ``key`` (string or binary) and ``topic`` (string).

A Spark partition is a unit: (cache ``dataframe``, partition number) under snapshot id = ``write_id``. How each given id ended is kept in
``<prefix>-configs`` (write_ids.py), a record an id.

Reads the committed records of a topic up to its end when the job began; what stands behind a transaction that is open then is not read:

    spark.read.format("kafka-tx").options(**{"bootstrap.servers": "…", "topic": "t"}).load()

Columns: ``key`` and ``value`` (binary, null where the record has none), ``topic``, ``partition`` (int), ``offset`` (long), ``timestamp``
(of the record; null where it has none).

A read keeps no offsets: where it shall go on next time is for the program to remember. Pipelines do that (`ignite-kafka run`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, WriterCommitMessage
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from ..convert.records import Records, gather
from ..errors import SettingsError
from ..kafka.clients import KafkaClients
from ..kafka.control import Control
from ..kafka.slots import SlotClaim, SlotWriter, TransactionLimits
from ..kafka.topics import Topics
from ..offsets import Owner
from ..transport import ALLOW
from . import write_ids
from .kafka_tx_read import SCHEMA, KafkaTxReader, ReadOptions
from .option_tables import KAFKA_WRITE
from .options import clients, kafka_options

UNIT = "dataframe"


@dataclass(frozen=True)
class WriteOptions:
    """The options of one write, checked.

    :param named: whether the write's id was given.
    """

    name: str
    write_id: str
    named: bool
    topic: str | None
    kafka: Mapping[str, str]
    secrets_file: str | None
    slots: int
    prefix: str
    transaction_timeout_ms: int
    allow_insecure: bool

    @staticmethod
    def of(options: Mapping[str, str]) -> WriteOptions:
        """
        :raises SettingsError: an option is unknown, missing, out of range, or a secret.
        """
        values = KAFKA_WRITE.read(options)
        return WriteOptions(
            values["name"],
            values["write_id"] or uuid.uuid4().hex,
            bool(values["write_id"]),
            values["topic"],
            kafka_options(options, KAFKA_WRITE),
            *(values[name] for name in ("secrets_file", "slots", "internal_topic_prefix", "transaction_timeout_ms", ALLOW)),
        )

    def clients(self) -> KafkaClients:
        return clients(self.kafka, self.secrets_file, self.allow_insecure)


@dataclass
class Written(WriterCommitMessage):
    """What one partition sent; 0 records where an earlier attempt had sent them."""

    partition: int
    records: int


class KafkaTxDataSource(DataSource):
    """Register with ``spark.dataSource.register(KafkaTxDataSource)``."""

    @classmethod
    def name(cls) -> str:
        return "kafka-tx"

    def schema(self) -> StructType:
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        return KafkaTxReader(ReadOptions.of(dict(self.options)))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        if overwrite:
            raise SettingsError("a topic cannot be overwritten", 'Write with mode("append").', setting="mode")
        options = WriteOptions.of(dict(self.options))
        _check_schema(schema, options)
        return KafkaTxWriter(options)


class KafkaTxWriter(DataSourceArrowWriter):
    """Made on the driver, where it takes the next generation of the connector; its tasks run on executors."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        with self._control() as control:
            found = control.take(options.slots, options.write_id, {}, -1)
            self._generation = control.record.generation
            self._complete = write_ids.is_complete(found, options.name, options.write_id)
            if not self._complete:
                write_ids.begin(control, found, options.write_id, named=options.named)
                control.fence_slots()  # this write may leave slots unopened that an older one still writes to

    @contextmanager
    def _control(self) -> Iterator[Control]:
        clients = self._options.clients()
        clients.check()
        control = Control(clients, Topics(clients), self._options.prefix, self._options.name)
        try:
            yield control
        finally:
            control.close()

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """On the driver, when every task has committed."""
        options = self._options
        if options.named and not self._complete:
            with self._control() as control:
                found = control.take(options.slots, options.write_id, {}, -1)
                write_ids.end(control, found, options.write_id, self._generation)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        options, partition = self._options, context.partitionId()
        if self._complete:
            return Written(partition, 0)
        if partition >= options.slots:
            raise SettingsError(
                f"the DataFrame has more partitions than slots ({options.slots})",
                f"Call repartition({options.slots}) first, or give the connector more slots from its first write on.",
                setting="slots",
            )
        clients = options.clients()
        claim = SlotClaim.of(options.name, partition, Owner(self._generation, attempt=context.attemptNumber()), options.prefix)
        limits = TransactionLimits(timeout_ms=options.transaction_timeout_ms)
        writer = SlotWriter(clients, claim, limits, 1_000_000)
        try:
            if partition in writer.state.done(options.write_id, UNIT, ""):
                return Written(partition, 0)
            count = 0
            for batch in iterator:
                for topic, records in _by_topic(batch, options.topic):
                    writer.send(topic, None, records)
                    count += len(records)
            writer.unit_done(UNIT, partition, "", options.write_id, count)
            writer.commit()
            return Written(partition, count)
        finally:
            writer.close()


def _by_topic(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, Records]]:
    """Records of a batch, one group a topic, each in the order of its rows."""
    table = pa.table(batch)
    groups = (
        [(topic, table)]
        if topic
        else [(name, table.filter(pc.equal(table["topic"], name))) for name in table["topic"].unique().to_pylist()]
    )
    for name, rows in groups:
        if name is None:
            raise SettingsError("a row has no topic", "Fill the column topic, or give the option topic.", setting="topic")
        values = gather(rows["value"].chunks)
        keys = gather(rows["key"].chunks) if "key" in rows.column_names else pa.nulls(len(rows), pa.binary())
        yield name, Records(keys, values)


def _check_schema(schema: StructType, options: WriteOptions) -> None:
    types = {column.name: column.dataType.typeName() for column in schema.fields}
    wrong = [f"{name} is {types[name]}" for name in ("key", "value") if types.get(name, "string") not in ("string", "binary")]
    if "value" not in types or wrong:
        raise SettingsError(
            f"the columns are {types}" + (f": {', '.join(wrong)}" if wrong else ""),
            "Give a column value, and a column key if records have one, each string or binary.",
        )
    if options.topic is None and types.get("topic") != "string":
        raise SettingsError("there is no topic", "Give the option topic or a string column topic.", setting="topic")
