"""Writer of data source `ignite`: encodes rows of a DataFrame as entries, and puts them into a cache.

See :mod:`.ignite`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from ..convert.to_ignite import ClusterTypes, Entries, last_per_key
from ..errors import CacheNotFound, EncodeError, SettingsError
from ..ignite.binary import encoded
from ..ignite.cache_configuration import CacheConfiguration
from ..ignite.cache_writer import CacheWriter
from ..ignite.schema import get_or_create_cache, query_entity
from ..ignite.types.model import CacheInfo
from .frame_arrays import conform
from .frame_types import Part, list_layouts, make_parts
from .option_tables import IGNITE_WRITE
from .options import IgniteOptions, read_ignite_fields
from .spark_api import arrow_schema


@dataclass(frozen=True)
class WriteOptions(IgniteOptions):
    """Parsed and checked options of a write to a cache."""

    cache: str
    key: tuple[str, ...]
    overwrite: bool
    create: bool
    backups: int | None
    key_type: str | None
    value_type: str | None

    @staticmethod
    def of(options: Mapping[str, str]) -> WriteOptions:
        """Parse and check the options of a write to a cache.

        :raises SettingsError: an option is unknown, missing, out of range, or a secret.
        """
        values = IGNITE_WRITE.read(options)
        key = tuple(name.strip() for name in values["key"].split(","))
        if not all(key) or len({name.lower() for name in key}) < len(key):
            raise SettingsError(
                f"option 'key' is {values['key']!r}",
                "Give names of columns, each once, as id or day,number.",
                option="key",
            )
        names = ("overwrite", "create", "backups", "key_type", "value_type")
        return WriteOptions(*read_ignite_fields(values), values["cache"], key, *(values[name] for name in names))


@dataclass
class CommitMessage(WriterCommitMessage):
    """Number of entries that one Spark task has put; rows with equal keys in a batch count once."""

    entries: int


def ignite_writer(options: WriteOptions, schema: StructType) -> IgniteWriter:
    """Make the writer of a DataFrame on the driver: check columns, create a missing cache, register types.

    :raises SettingsError, UnsupportedType, TypeClash: the columns do not fit the cache.
    :raises CacheNotFound: the cache does not exist, and the option create is false.
    """
    arrow = arrow_schema(schema)
    with options.connect() as cluster:
        types = ClusterTypes(cluster)

        def make_key_and_value(cache: CacheInfo) -> tuple[Part, Part]:
            return make_parts(arrow, cache, types, options.key, options.key_type, options.value_type)

        try:
            cache = cluster.cache(options.cache)
        except CacheNotFound as missing:
            if not options.create:
                raise CacheNotFound(
                    "there is no such cache", "Create it, or set the option create to true.", cache=options.cache
                ) from missing
            key, value = make_key_and_value(CacheInfo(options.cache, 0))
            table = options.value_type.rpartition(".")[2] if options.value_type else options.cache
            entity = query_entity(table, key.field, value.field)
            cache = get_or_create_cache(
                cluster, CacheConfiguration(options.cache, backups=options.backups, query_entities=(entity,))
            )
        parts = make_key_and_value(cache)
        for part in parts:
            for layout in list_layouts(part.field):
                types.register(layout.metadata)
    return IgniteWriter(options, cache, *parts)


class IgniteWriter(DataSourceArrowWriter):
    """Writer of a DataFrame's rows to a cache; created on the driver, :meth:`write` runs in Spark tasks."""

    def __init__(self, options: WriteOptions, cache: CacheInfo, key: Part, value: Part) -> None:
        self._options = options
        self._cache = cache
        self._key = key
        self._value = value

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Put the rows of one Spark partition into the cache, and return the number of entries.

        :raises EncodeError: a value does not fit its field; the error names the row.
        """
        context = TaskContext.get()
        assert context is not None
        rows = count = 0
        with (
            self._options.connect() as cluster,
            CacheWriter(cluster, self._cache, overwrite=self._options.overwrite) as writer,
        ):
            for batch in iterator:
                try:
                    entries = self._make_entries(batch)
                except EncodeError as error:
                    where = error.where | {"row": rows + int(error.where.get("row", 0))}
                    raise EncodeError(
                        error.what, error.remedy, cache=self._cache.name, spark_partition=context.partitionId(), **where
                    ) from error
                writer.flush()  # the nodes have stored the previous batch meanwhile; two batches may have the same key
                writer.put(entries.keys, entries.values)
                rows += batch.num_rows
                count += len(entries)
            writer.flush()
        return CommitMessage(count)

    def _make_entries(self, batch: pa.RecordBatch) -> Entries:
        """Encode rows as entries; of rows with equal keys only one is kept."""
        keys, values = (_encode(batch, part, role) for part, role in ((self._key, "key"), (self._value, "value")))
        return last_per_key(Entries(np.arange(batch.num_rows), keys, values), overwrite=self._options.overwrite)


def _encode(batch: pa.RecordBatch, part: Part, role: str) -> pa.BinaryArray:
    columns = [batch.column(name) for name in part.columns]
    if not part.whole:
        return encoded(conform(pa.StructArray.from_arrays(columns, part.columns), part.field), part.field)
    (column,) = columns
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        what = f"A {role} is null, which no cache holds, in column {part.columns[0]}"
        raise EncodeError(what, "Leave such rows out.", field=part.columns[0], row=row)
    return encoded(conform(column, part.field), part.field)
