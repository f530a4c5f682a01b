"""Spark data source `ignite-backlog`: streams the changes of a cache as rows, at least once.

    spark.dataSource.register(IgniteBacklogDataSource)
    spark.readStream.format("ignite-backlog").option("cache", "trades").option("connector", "my-stream").load()

Options: docs/options.md, from :mod:`~ignite_kafka.datasources.option_tables`.

Columns: those of source `ignite` (``_key``, the fields of the values, …), and

============== ======================================================================================================
``_change``    created, updated, removed, expired; loaded: see ``on_loss``. Removed and expired keys have null in the
               value's columns
``_number``    Ignite's update counter: rises with the changes of a key. Null if the state was read from the cache
               because the change alone did not determine it, for example after a node died or a key expired
``_partition`` the Ignite partition: all changes of a key have the same one
``_time``      time of the capture by a node
============== ======================================================================================================

The capture begins with the query's first trigger; read the earlier content of the cache with source `ignite` after
that. It continues while no query runs, until ``ignite-kafka backlog cleanup`` ends it. The columns of a cache that is
empty and has no query entity are unknown: give them with ``.schema(…)``.

With ``backlog_secret`` in the secrets file (part ``ignite``) nobody else can acknowledge these changes or end the
capture. Keep the secret for the life of the query.

**Guarantee.** At least once, by the query's checkpoint: only batches completed there are acknowledged, and a repeated
batch has at least its former changes. Within a batch the changes of a key are in order. For exactly-once
delivery into Kafka use the pipeline. ``trigger(availableNow=True)`` is a bounded catch-up: it ends with the changes
that were captured when it began.

A batch read shows the content of the backlog and acknowledges nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ..errors import IgniteKafkaError
from ..ignite.cluster import Cluster
from ..ignite.page_batches import MIN_BATCH_ROWS, batches
from ..ignite.scan import scan_partitions
from ..plan.source_plan import CachePlan
from ..settings.source import SourceSettings
from .backlog_batches import BacklogBatchPlanner
from .backlog_offset import Offset
from .backlog_rows import ChangeRows, concat_rows, make_loaded_rows, split_rows, to_change_batch, with_change_columns
from .ignite import ReadOptions, choose_columns, read_schema
from .option_tables import BACKLOG
from .streamed_cache import StreamedCache

_NAME = "ignite-backlog"


@dataclass(frozen=True)
class BacklogOptions:
    """Parsed and checked options of a query of the backlog."""

    read: ReadOptions
    settings: SourceSettings
    reload: bool

    @staticmethod
    def of(options: Mapping[str, str]) -> BacklogOptions:
        """Parse and check the options of a query of the backlog.

        :raises SettingsError: an option is unknown, missing, out of range, or a secret.
        """
        values = BACKLOG.read(options)
        settings = SourceSettings(
            name=values["connector"],
            batch_bytes=values["max_bytes"],
            **{name: values[name] for name in _SETTINGS},
        )
        return BacklogOptions(ReadOptions.from_values(values), settings, values["on_loss"] == "reload")

    def streamed_cache(self, cluster: Cluster) -> StreamedCache:
        """Make the description of the cache to stream, before its capture starts."""
        info = cluster.cache(self.read.cache)
        cache = CachePlan(info.name, info.cache_id, "", info.partitions, 0, load=False)
        return StreamedCache(cache, self.settings, self.reload, self.read.num_partitions)

    def read_columns(self) -> pa.Schema:
        """Determine the columns of the DataFrame: the cache's columns, then `_change`, `_number` and so on."""
        with self.read.connect() as cluster:
            info = cluster.cache(self.read.cache)
            return with_change_columns(read_schema(self.read, cluster, info), info.name)


_SETTINGS = (
    "page_bytes",
    "poll_interval_ms",
    "backlog_cache_name",
    "backlog_service_name",
    "backlog_memory_region_name",
    "backlog_cache_backups",
    "backlog_flush_freq_ms",
)


@dataclass(frozen=True)
class Changes(InputPartition):
    """Work of one Spark task: changes to decode to rows."""

    pieces: tuple[ChangeRows, ...]


@dataclass(frozen=True)
class Entries(InputPartition):
    """Work of one Spark task: cache partitions to scan."""

    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Backlogs(InputPartition):
    """Work of one Spark task of a batch read: cache partitions to read the backlog of."""

    numbers: tuple[int, ...]
    streamed: StreamedCache


class IgniteBacklogDataSource(DataSource):
    """Data source `ignite-backlog`; register it with ``spark.dataSource.register(IgniteBacklogDataSource)``."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``spark.readStream.format``."""
        return _NAME

    _own: pa.Schema | None = None
    """Columns from :meth:`schema`, see :attr:`.ignite.IgniteDataSource._own`."""

    def schema(self) -> StructType:
        """Return the columns of the DataFrame: the cache's columns, then `_change`, `_number` and so on."""
        self._own = BacklogOptions.of(dict(self.options)).read_columns()
        return from_arrow_schema(self._own)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Make the reader of a streaming query."""
        options = BacklogOptions.of(dict(self.options))
        return BacklogStreamReader(options, self._own or choose_columns(options.read_columns, schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader of a batch query, which shows the backlog's content."""
        options = BacklogOptions.of(dict(self.options))
        return BacklogBatchReader(options, self._own or choose_columns(options.read_columns, schema))


class _RowReader:
    """Base class of the streaming and the batch reader, with the method that runs in Spark tasks."""

    def __init__(self, options: BacklogOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one Spark task as Arrow batches."""
        with self._options.read.connect() as cluster:
            if isinstance(partition, Changes):
                rows: Iterator[ChangeRows] = iter(partition.pieces)
            elif isinstance(partition, Entries):
                rows = self._read_entries(cluster, partition.numbers)
            else:
                assert isinstance(partition, Backlogs)
                rows = self._read_backlogs(cluster, partition)
            info = cluster.cache(self._options.read.cache)
            for piece in concat_rows(rows, MIN_BATCH_ROWS):
                yield to_change_batch(piece, self._schema, info, cluster)

    def _read_entries(self, cluster: Cluster, numbers: Sequence[int]) -> Iterator[ChangeRows]:
        page_bytes = self._options.read.page_bytes
        pages = scan_partitions(cluster, cluster.cache(self._options.read.cache), numbers, page_bytes=page_bytes)
        for batch in batches(pages, MIN_BATCH_ROWS, lambda: 2 * page_bytes):
            yield make_loaded_rows(batch, _now_ms())

    def _read_backlogs(self, cluster: Cluster, partition: Backlogs) -> Iterator[ChangeRows]:
        reader = partition.streamed.reader(cluster)
        streamed = partition.streamed
        for number in partition.numbers:
            batches = reader.read_all(number)
            streamed.check(reader.marks)
            if number in reader.marks:
                yield from self._read_entries(cluster, [number])
                continue
            if batches[0].changes.more.any():
                raise IgniteKafkaError(
                    "the backlog has more changes than one read gives",
                    "Catch up with a stream: trigger(availableNow=True).",
                    cache=streamed.cache.name,
                    partition=number,
                )
            for batch in batches:
                yield from split_rows(batch, _now_ms(), 1)


class BacklogStreamReader(_RowReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reader of a streaming query: plans its micro-batches for the driver, and reads them in Spark tasks."""

    def __init__(self, options: BacklogOptions, schema: pa.Schema) -> None:
        super().__init__(options, schema)
        self._planner = BacklogBatchPlanner(options.read.connect, options.streamed_cache)

    def initialOffset(self) -> dict[str, Any]:
        """Return the start offset of a query without checkpoint."""
        return self._planner.beginning().to_dict()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the target size of a micro-batch, from the option max_bytes."""
        return ReadMaxBytes(self._options.settings.batch_bytes)

    def prepareForTriggerAvailableNow(self) -> None:
        """End the query with the changes captured so far, as the trigger availableNow demands."""
        self._planner.end_here()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end offset of the next micro-batch; `start` while there is no change."""
        before = Offset.from_dict(start)
        after = self._planner.plan_next(before)
        return start if after is before else after.to_dict()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Split a micro-batch into work for Spark tasks."""
        batch = self._planner.batch(Offset.from_dict(start), Offset.from_dict(end))
        most = self._options.read.num_partitions
        changes = [Changes(tuple(batch.pieces[first::most])) for first in range(min(most, len(batch.pieces)))]
        return [*changes, *(Entries(numbers) for numbers in _deal(batch.load, most))]

    def commit(self, end: dict[str, Any]) -> None:
        """Acknowledge the changes up to an offset that Spark has committed."""
        self._planner.acknowledge(Offset.from_dict(end))

    def stop(self) -> None:
        """Close the connections at the end of the query."""
        self._planner.close()


class BacklogBatchReader(_RowReader, DataSourceReader):
    """Reader of a batch query: shows the backlog's content, and acknowledges nothing."""

    def partitions(self) -> list[InputPartition]:
        """Distribute the cache's partitions over Spark tasks."""
        with self._options.read.connect() as cluster:
            streamed, _ = self._options.streamed_cache(cluster).start_capture(cluster)
        return [
            Backlogs(numbers, streamed)
            for numbers in _deal(range(streamed.cache.partitions), self._options.read.num_partitions)
        ]


def _deal(numbers: Sequence[int], most: int) -> list[tuple[int, ...]]:
    return [tuple(numbers[first::most]) for first in range(min(most, len(numbers)))]


def _now_ms() -> int:
    return int(time.time() * 1000)
