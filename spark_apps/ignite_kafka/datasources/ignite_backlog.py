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
    """Checked options of a query."""

    read: ReadOptions
    settings: SourceSettings
    reload: bool

    @staticmethod
    def of(options: Mapping[str, str]) -> BacklogOptions:
        """Return the checked options of a query.

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
        """Return the cache to read, which is not captured yet."""
        info = cluster.cache(self.read.cache)
        cache = CachePlan(info.name, info.cache_id, "", info.partitions, 0, load=False)
        return StreamedCache(cache, self.settings, self.reload, self.read.num_partitions)

    def read_columns(self) -> pa.Schema:
        """Return the columns of the rows, read from the cache."""
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
    """A Spark partition of changes to be turned into rows."""

    pieces: tuple[ChangeRows, ...]


@dataclass(frozen=True)
class Entries(InputPartition):
    """A Spark partition of cache partitions to be scanned."""

    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Backlogs(InputPartition):
    """A Spark partition of cache partitions whose backlog is read."""

    numbers: tuple[int, ...]
    streamed: StreamedCache


class IgniteBacklogDataSource(DataSource):
    """Data source `ignite-backlog`; register it with ``spark.dataSource.register(IgniteBacklogDataSource)``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format in Spark."""
        return _NAME

    _own: pa.Schema | None = None
    """Columns from :meth:`schema`, see :attr:`.ignite.IgniteDataSource._own`."""

    def schema(self) -> StructType:
        """Return the columns of the cache and of changes."""
        self._own = BacklogOptions.of(dict(self.options)).read_columns()
        return from_arrow_schema(self._own)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return a reader of the changes."""
        options = BacklogOptions.of(dict(self.options))
        return BacklogStreamReader(options, self._own or choose_columns(options.read_columns, schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of the content of the backlog."""
        options = BacklogOptions.of(dict(self.options))
        return BacklogBatchReader(options, self._own or choose_columns(options.read_columns, schema))


class _RowReader:
    """Reader of Spark partitions, in the tasks of a stream or of a batch read."""

    def __init__(self, options: BacklogOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a Spark partition as Arrow batches."""
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
    """Planner of the query's batches, in a process beside the driver; tasks have a copy that only reads."""

    def __init__(self, options: BacklogOptions, schema: pa.Schema) -> None:
        super().__init__(options, schema)
        self._planner = BacklogBatchPlanner(options.read.connect, options.streamed_cache)

    def initialOffset(self) -> dict[str, Any]:
        """Return the offset of a new query."""
        return self._planner.beginning().to_dict()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the target size of a batch."""
        return ReadMaxBytes(self._options.settings.batch_bytes)

    def prepareForTriggerAvailableNow(self) -> None:
        """Let the query end with the changes captured so far."""
        self._planner.end_here()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the next batch; `start` while there is no change."""
        before = Offset.from_dict(start)
        after = self._planner.plan_next(before)
        return start if after is before else after.to_dict()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the Spark partitions of a batch."""
        batch = self._planner.batch(Offset.from_dict(start), Offset.from_dict(end))
        most = self._options.read.num_partitions
        changes = [Changes(tuple(batch.pieces[first::most])) for first in range(min(most, len(batch.pieces)))]
        return [*changes, *(Entries(numbers) for numbers in _deal(batch.load, most))]

    def commit(self, end: dict[str, Any]) -> None:
        """Acknowledge the batches up to an offset."""
        self._planner.acknowledge(Offset.from_dict(end))

    def stop(self) -> None:
        """Close the connections."""
        self._planner.close()


class BacklogBatchReader(_RowReader, DataSourceReader):
    """Reader of the backlog's content, without acknowledgements; each task reads the backlog of its partitions."""

    def partitions(self) -> list[InputPartition]:
        """Distribute the partitions of the cache over Spark partitions."""
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
