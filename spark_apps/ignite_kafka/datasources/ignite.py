"""Spark data source `ignite`: a cache as a DataFrame, read in parallel inside the one cache, and any DataFrame put into a cache.

    spark.dataSource.register(IgniteDataSource)
    spark.read.format("ignite").option("addresses", "127.0.0.1:10800").option("cache", "flights").load()

Options: docs/options.md, from :mod:`~ignite_kafka.datasources.option_tables`.

Columns: ``_key`` (a struct where keys are objects), then the fields of the values; ``_value`` where values are no objects; ``_type`` where
a cache holds several types, whose fields are united. Without query entities the types are those of a sample (``sample_rows``); an entry
of a type that the sample did not show ends the read with an error: never a missing row. Of a cache that is empty and has no query entity
the columns are not known: give them with ``.schema(…)``, which also says them where the sample does not show all.

Filters ``_key = …`` and ``_key IN (…)`` on whole numbers and strings become gets by key, the only condition that the
thin protocol can evaluate without a class on the nodes, where ``spark.sql.python.filterPushdown.enabled`` is true and ``partitions`` not
given. Spark evaluates all other filters on the rows that are read.

Written are DataFrames of the same form: a key, and the fields of the value, or ``_value`` alone.

    df.write.format("ignite").option("cache", "flights").option("key", "id").mode("append").save()

Nothing here is exactly once: a task that is tried again puts its rows again. Puts are idempotent by key, so that the cache ends alike,
provided that a key is in one row, or in rows of one Spark partition, of which the last counts (without overwrite, the first). What a job
has put before it failed stays there. Types are those of the cache's query entity and of the cluster's binary types; a column that does not
fit them ends the job before anything is put (frame_types.py says what fits). Columns that are left out leave their fields out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, EqualTo, Filter, In, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from ..errors import SettingsError, UnsupportedType
from ..ignite.binary import decode_entries
from ..ignite.binary.entry_table import entries_schema, is_own, to_batch
from ..ignite.cache_reader import encodable, get_all
from ..ignite.cluster import Cluster
from ..ignite.endpoint import IgniteEndpoint
from ..ignite.page_batches import batches
from ..ignite.scan import scan_partitions
from ..ignite.types.model import CacheInfo, Page
from ..settings.transport_security import ALLOW
from .ignite_write import WriteOptions, ignite_writer
from .option_tables import IGNITE_READ
from .options import connected, ignite_endpoint
from .pushdown import optional_pushdown

_BATCH_ROWS = 20_000
_KEY = ("_key",)


@dataclass(frozen=True)
class ReadOptions:
    """The options of one read, checked."""

    cache: str
    endpoint: IgniteEndpoint
    partitions: tuple[int, ...] | None
    num_partitions: int
    page_bytes: int
    sample_rows: int
    secrets_file: str | None
    allow_insecure: bool

    @staticmethod
    def of(options: Mapping[str, str]) -> ReadOptions:
        """
        :raises SettingsError: an option is unknown, missing, out of range, or a secret.
        """
        values = IGNITE_READ.read(options)
        partitions = values["partitions"]
        return ReadOptions.from_values(values, parse_partitions(partitions) if partitions is not None else None)

    @staticmethod
    def from_values(values: Mapping[str, Any], partitions: tuple[int, ...] | None = None) -> ReadOptions:
        """From values that a table of options gave."""
        names = ("num_partitions", "page_bytes", "sample_rows", "secrets_file", ALLOW)
        return ReadOptions(values["cache"], ignite_endpoint(values), partitions, *(values[name] for name in names))

    def connect(self) -> Cluster:
        return connected(self.endpoint, self.secrets_file, self.allow_insecure)


@dataclass(frozen=True)
class Partitions(InputPartition):
    """Ignite partitions of one Spark partition, or the keys to get."""

    numbers: tuple[int, ...] = ()
    keys: tuple[object, ...] = field(default=())


class IgniteDataSource(DataSource):
    """Register with ``spark.dataSource.register(IgniteDataSource)``."""

    @classmethod
    def name(cls) -> str:
        return "ignite"

    _own: pa.Schema | None = None
    """What :meth:`schema` found. Spark sends this object on to where the reader is made, so that a read has one schema: another sample
    may have other columns, and Spark's schema has no marks of Ignite types. None where the user gave the schema."""

    def schema(self) -> StructType:
        options = ReadOptions.of(dict(self.options))
        with options.connect() as cluster:
            self._own = read_schema(options, cluster, cluster.cache(options.cache))
        return from_arrow_schema(self._own)

    def reader(self, schema: StructType) -> DataSourceReader:
        options = ReadOptions.of(dict(self.options))
        with options.connect() as cluster:
            info = cluster.cache(options.cache)
            return IgniteReader(options, info, self._own or columns(lambda: read_schema(options, cluster, info), schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        if overwrite:
            remedy = 'Write with mode("append"); whether entries that are there are replaced says the option overwrite.'
            raise SettingsError("a cache is not emptied before it is written to", remedy, setting="mode")
        return ignite_writer(WriteOptions.of(dict(self.options)), schema)


class IgniteReader(DataSourceReader):
    """Splits a cache over Spark partitions; yields Arrow batches of exactly the schema given."""

    def __init__(self, options: ReadOptions, info: CacheInfo, schema: pa.Schema) -> None:
        self._options, self._info, self._schema = options, info, schema
        self._keys: tuple[object, ...] | None = None

    @optional_pushdown
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take the first condition on the key that names keys; Spark evaluates the others, on the rows that those keys have.

        Of some partitions none is taken: a get finds keys of the others too. Nor where the schema is not the cache's own, which alone says
        what the type of a key stands for.
        """
        gets = self._options.partitions is None and is_own(self._schema)
        for condition in filters:
            keys = _keys_of(condition, self._schema.field("_key")) if gets else None
            if keys is None or self._keys is not None:
                yield condition
            else:
                self._keys = keys

    def partitions(self) -> list[Partitions]:
        if self._keys is not None:
            return [Partitions(keys=self._keys)]
        wanted = self._options.partitions if self._options.partitions is not None else tuple(range(self._info.partitions))
        beyond = [number for number in wanted if number >= self._info.partitions]
        if beyond:
            raise SettingsError(
                f"the cache has {self._info.partitions} partitions and no partition {beyond[0]}",
                setting="partitions",
                cache=self._info.name,
            )
        parts = min(self._options.num_partitions, len(wanted)) or 1
        return [Partitions(wanted[first::parts]) for first in range(parts)]

    def read(self, partition: Partitions) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        with self._options.connect() as cluster:
            if self._keys is not None:
                pages: Iterator[Page] = iter(get_all(cluster, self._info, partition.keys, self._schema.field("_key").type))
            else:
                pages = scan_partitions(cluster, self._info, partition.numbers, page_bytes=self._options.page_bytes)
            for batch in batches(pages, _BATCH_ROWS, 2 * self._options.page_bytes):
                for group in decode_entries(batch, self._info, cluster):
                    yield to_batch(group, self._schema)


def read_schema(options: ReadOptions, cluster: Cluster, info: CacheInfo) -> pa.Schema:
    """The schema of a cache from its query entities and a sample of its entries."""
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


def columns(own: Callable[[], pa.Schema], given: StructType) -> pa.Schema:
    """Columns of the rows where the user gave the schema: the cache's own if they are the same, as these have the marks of Ignite types."""
    try:
        told = own()
    except UnsupportedType:
        return to_arrow_schema(given, timezone="UTC")
    return told if from_arrow_schema(told) == given else to_arrow_schema(given, timezone="UTC")


def parse_partitions(text: str) -> tuple[int, ...]:
    """``0-63,100`` as numbers, sorted, each once."""
    numbers: set[int] = set()
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            numbers.update(range(int(first), int(last or first) + 1))
    except ValueError:
        raise SettingsError(f"option 'partitions' is {text!r}", "Write numbers and ranges, as 0-63,100.", setting="partitions") from None
    return tuple(sorted(numbers))


def _keys_of(condition: Filter, column: pa.Field) -> tuple[object, ...] | None:
    """The keys that a condition names, if it is one on the whole key and each can be put on the wire."""
    if isinstance(condition, EqualTo) and condition.attribute == _KEY:
        keys: tuple[object, ...] = (condition.value,)
    elif isinstance(condition, In) and condition.attribute == _KEY:
        keys = tuple(condition.value)
    else:
        return None
    return keys if all(encodable(key, column) for key in keys) else None
