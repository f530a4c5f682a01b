"""Spark data source `ignite`: reads a cache in parallel as a DataFrame, and puts a DataFrame into a cache.

    spark.dataSource.register(IgniteDataSource)
    spark.read.format("ignite").option("addresses", "127.0.0.1:10800").option("cache", "flights").load()

Options: docs/options.md, from :mod:`~ignite_kafka.datasources.option_tables`.

Columns: ``_key`` (a struct if keys are objects), then the fields of the values, or ``_value`` if values are no objects.
A cache of several types has the fields of all, and ``_type``. Without query entities the types come from a sample
(``sample_rows``). An entry of a type that the sample lacks ends the read with an error; no row is left out. Give the
columns with ``.schema(…)`` where the sample lacks some, or where the cache is empty and has no query entity.

Filters ``_key = …`` and ``_key IN (…)`` on whole numbers and strings become gets by key (:mod:`.pushdown`) if
``spark.sql.python.filterPushdown.enabled`` is true and ``partitions`` is not given. The thin protocol evaluates no
other condition without a class on the nodes: Spark evaluates the rest.

A DataFrame to write has the same form: a key, and the fields of the value, or ``_value`` alone.

    df.write.format("ignite").option("cache", "flights").option("key", "id").mode("append").save()

Writes are not exactly once: a task that is retried puts its rows again. Puts are idempotent by key, so the cache ends
the same if each key is in one row, or in rows of one Spark partition, of which the last counts (without overwrite, the
first). Rows that were put before a job failed stay in the cache. Types are those of the cache's query entity and of the
cluster; a column that does not fit them (:mod:`.frame_types`) ends the job before anything is put. A field without a
column is left out of the objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from ..errors import SettingsError, UnsupportedType
from ..ignite.binary import decode_entries
from ..ignite.binary.entry_table import entries_schema, to_batch
from ..ignite.cache_reader import get_all
from ..ignite.cluster import Cluster
from ..ignite.page_batches import MIN_BATCH_ROWS, batches
from ..ignite.scan import scan_partitions
from ..ignite.types.model import CacheInfo, Page
from .ignite_write import WriteOptions, ignite_writer
from .option_tables import IGNITE_READ
from .options import IgniteOptions, read_ignite_fields
from .pushdown import optional_pushdown, split_key_conditions
from .spark_api import Filter, arrow_schema


@dataclass(frozen=True)
class ReadOptions(IgniteOptions):
    """Parsed and checked options of a read from a cache."""

    cache: str
    partitions: tuple[int, ...] | None
    num_partitions: int
    page_bytes: int
    sample_rows: int

    @staticmethod
    def of(options: Mapping[str, str]) -> ReadOptions:
        """Return the checked options of a read.

        :raises SettingsError: an option is unknown, missing, out of range, or a secret.
        """
        values = IGNITE_READ.read(options)
        partitions = values["partitions"]
        return ReadOptions.from_values(values, parse_partitions(partitions) if partitions is not None else None)

    @staticmethod
    def from_values(values: Mapping[str, Any], partitions: tuple[int, ...] | None = None) -> ReadOptions:
        """Make the options of a read from values that an option table has parsed."""
        sizes = (values[name] for name in ("num_partitions", "page_bytes", "sample_rows"))
        return ReadOptions(*read_ignite_fields(values), values["cache"], partitions, *sizes)


@dataclass(frozen=True)
class Partitions(InputPartition):
    """Work of one Spark task: Ignite partitions to scan, or keys to get."""

    numbers: tuple[int, ...] = ()
    keys: tuple[object, ...] = field(default=())


class IgniteDataSource(DataSource):
    """Data source `ignite`; register it with ``spark.dataSource.register(IgniteDataSource)``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format in Spark."""
        return "ignite"

    _own: pa.Schema | None = None
    """Columns of the cache, from :meth:`schema`; None: the user gave the schema.

    Spark sends this object to the process that creates the reader, so a read has one schema. A second sample could have
    other columns, and Spark's schema lacks the marks of Ignite types."""

    def schema(self) -> StructType:
        """Return the columns of the cache's DataFrame, from its query entities and a sample of entries."""
        options = ReadOptions.of(dict(self.options))
        with options.connect() as cluster:
            self._own = read_schema(options, cluster, cluster.cache(options.cache))
        return from_arrow_schema(self._own)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader of the cache, on the driver."""
        options = ReadOptions.of(dict(self.options))
        with options.connect() as cluster:
            info = cluster.cache(options.cache)
            return IgniteReader(
                options, info, self._own or choose_columns(lambda: read_schema(options, cluster, info), schema)
            )

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return a writer for DataFrames of the given schema."""
        if overwrite:
            remedy = 'Write with mode("append"); the option overwrite decides whether existing entries are replaced.'
            raise SettingsError("a cache is not emptied before it is written to", remedy, option="mode")
        return ignite_writer(WriteOptions.of(dict(self.options)), schema)


class IgniteReader(DataSourceReader):
    """Reader of a cache in parallel Spark tasks, which yield Arrow batches of exactly the given schema."""

    def __init__(self, options: ReadOptions, info: CacheInfo, schema: pa.Schema) -> None:
        self._options = options
        self._info = info
        self._schema = schema
        self._keys: tuple[object, ...] | None = None

    @optional_pushdown
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Turn a condition on whole keys into gets by key, and return the conditions that are left to Spark."""
        self._keys, left = split_key_conditions(filters, self._schema, self._options.partitions)
        return left

    def partitions(self) -> list[Partitions]:
        """Distribute the Ignite partitions over Spark partitions; keys to get form one partition.

        :raises SettingsError: the option ``partitions`` has a number that the cache lacks.
        """
        if self._keys is not None:
            return [Partitions(keys=self._keys)]
        numbers = (
            self._options.partitions if self._options.partitions is not None else tuple(range(self._info.partitions))
        )
        beyond = [number for number in numbers if number >= self._info.partitions]
        if beyond:
            raise SettingsError(
                f"the cache has {self._info.partitions} partitions and no partition {beyond[0]}",
                option="partitions",
                cache=self._info.name,
            )
        parts = min(self._options.num_partitions, len(numbers)) or 1
        return [Partitions(numbers[first::parts]) for first in range(parts)]

    def read(self, partition: Partitions) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """Yield the entries of one Spark task's Ignite partitions or keys as Arrow batches."""
        with self._options.connect() as cluster:
            if self._keys is not None:
                pages: Iterator[Page] = iter(
                    get_all(cluster, self._info, partition.keys, self._schema.field("_key").type)
                )
            else:
                pages = scan_partitions(cluster, self._info, partition.numbers, page_bytes=self._options.page_bytes)
            for batch in batches(pages, MIN_BATCH_ROWS, lambda: 2 * self._options.page_bytes):
                for group in decode_entries(batch, self._info, cluster):
                    yield to_batch(group, self._schema)


def read_schema(options: ReadOptions, cluster: Cluster, info: CacheInfo) -> pa.Schema:
    """Determine the columns of a cache, from its query entities and a sample of its entries."""
    sample: list[Page] = []
    pages = scan_partitions(cluster, info, range(info.partitions), page_bytes=1 << 16)
    try:
        for page in pages:
            sample.append(page)
            if sum(held.rows for held in sample) >= options.sample_rows:
                break
    finally:
        pages.close()
    return entries_schema(info, cluster, decode_entries(sample, info, cluster))


def choose_columns(own: Callable[[], pa.Schema], schema: StructType) -> pa.Schema:
    """Return the columns of a user's schema, with the marks of Ignite types if they equal the cache's columns.

    Spark's schemas have no such marks.
    """
    try:
        own_schema = own()
    except UnsupportedType:
        return arrow_schema(schema)
    return own_schema if from_arrow_schema(own_schema) == schema else arrow_schema(schema)


def parse_partitions(text: str) -> tuple[int, ...]:
    """Parse numbers and ranges such as ``0-63,100``; return the sorted numbers, each once.

    :raises SettingsError: the text has another form.
    """
    numbers: set[int] = set()
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            numbers.update(range(int(first), int(last or first) + 1))
    except ValueError:
        raise SettingsError(
            f"option 'partitions' is {text!r}", "Write numbers and ranges, as 0-63,100.", option="partitions"
        ) from None
    return tuple(sorted(numbers))
