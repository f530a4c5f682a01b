"""Interface by which the comparison handles source and sink alike: read topics and caches, judge differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from ..common.arrays import RowIndex
from ..common.python_compat import Self
from ..ignite.cluster import Cluster
from ..kafka.clients import KafkaClients
from ..plan.sink_plan import SinkPlan
from ..plan.source_plan import TransferPlan
from ..runtime.clients import ignite_cluster, kafka_clients
from ..settings.secrets import Secrets
from .entry_comparison import PairDifferences
from .fingerprint_join import find_keys
from .fingerprints import OFFSET_BITS, ROW, Rows, fingerprint_keys
from .key_slices import ALL, SliceRange, slice_numbers

MOST_UNKNOWN = 1_000
Columns = tuple[pa.BinaryArray, pa.BinaryArray]


@dataclass(frozen=True)
class ComparedPair:
    """Cache and topic to compare with each other.

    :param ends: first offset and end offset of each partition of the topic; empty if the cache gets only records of
        other pairs' topics.
    :param partitions: number of the cache's partitions; 0 if the topic's records go to other caches, or the cache does
        not exist.
    :param routed: transforms choose the cache of each record.
    :param first_partition: number of the topic's first partition among the partitions of all topics.
    :param slices: slices of the cache's keys to compare.
    :param committed: offset up to which the records of each partition are committed, if those behind it are compared,
        too; a record that stops the sink ends the partition there. Empty: all are committed.
    """

    cache: str
    topic: str
    ends: tuple[tuple[int, int], ...]
    partitions: int
    routed: bool = False
    first_partition: int = 0
    slices: tuple[SliceRange, ...] = ALL
    committed: tuple[int, ...] = ()

    @property
    def span(self) -> int:
        """Number of offsets to read in the topic, an upper bound of its number of records."""
        return sum(end - first for first, end in self.ends)


@dataclass(frozen=True)
class Batch:
    """Fingerprints of some records or entries, and access to their bytes.

    :param rows: N fingerprints.
    :param take: takes some of the N rows of both columns that :meth:`Direction.judge` needs.
    :param keys: N keys of the records, if the columns do not have them.
    :param cache: cache of the records; None for the pair's cache.
    :param bad: reasons of entries or records that could not be converted; they have no row.
    """

    rows: Rows
    take: Callable[[RowIndex], Columns]
    bad: Sequence[str] = ()
    keys: pa.BinaryArray | None = None
    cache: str | None = None


def make_taker(first: pa.BinaryArray, second: pa.BinaryArray) -> Callable[[RowIndex], Columns]:
    """Make the function :attr:`Batch.take`, which takes rows of two columns."""
    return lambda at: (first.take(pa.array(at)), second.take(pa.array(at)))


@dataclass
class SuspectRows:
    """Full bytes of records or entries with suspect keys, collected for judging."""

    rows: list[Rows] = field(default_factory=list)
    first: list[pa.BinaryArray] = field(default_factory=list)
    second: list[pa.BinaryArray] = field(default_factory=list)

    def add(self, rows: Rows, columns: Columns) -> None:
        """Add the fingerprints of some rows, and the rows' values in both columns."""
        self.rows.append(rows)
        self.first.append(columns[0])
        self.second.append(columns[1])

    def joined_rows(self) -> Rows:
        """Return the fingerprints of all rows."""
        rows: Rows = np.concatenate([np.zeros(0, ROW), *self.rows])
        return rows

    def select(self, keys: Rows) -> SuspectRows:
        """Return only the rows of some keys.

        :param keys: sorted fingerprints.
        """
        selected = SuspectRows()
        for rows, first, second in zip(self.rows, self.first, self.second, strict=True):
            at = find_keys(rows, keys)
            selected.add(rows[at], (first.take(pa.array(at)), second.take(pa.array(at))))
        return selected

    def last(self) -> list[tuple[bytes, bytes | None]]:
        """Return the last row of each key, as a pair of the values of both columns."""
        return [(key, values[-1]) for key, values in self.last_by_partition().items()]

    def last_by_partition(self, *, first: bool = False) -> dict[bytes, list[bytes | None]]:
        """Return, by key, its last value (second column) in each topic partition, of the rows with its greatest rank.

        :param first: use the first row of each partition that has a value. The value that counts is then the
            first of the list, otherwise the last.
        """
        values_of: dict[bytes, dict[int, bytes | None]] = {}
        rank_of: dict[bytes, int] = {}
        rows = self.joined_rows()
        columns = self.zip_columns()
        for at in np.lexsort((rows["order"], rows["rank"])).tolist():
            key, value = columns[at]
            partition = int(rows["order"][at]) >> OFFSET_BITS
            rank = int(rows["rank"][at])
            if first:
                if value is not None:
                    values_of.setdefault(key, {}).setdefault(partition, value)
                continue
            if rank_of.get(key) != rank:  # greater than the ranks of the rows before
                rank_of[key] = rank
                values_of[key] = {}
            values_of[key][partition] = value
        return {key: list(values.values()) for key, values in values_of.items()}

    def zip_columns(self) -> list[tuple[bytes, bytes | None]]:
        """Return the rows as pairs of first and second column."""
        columns = ([item for part in parts for item in part.to_pylist()] for parts in (self.first, self.second))
        return list(zip(*columns, strict=True))


@dataclass
class Judged:
    """Comparison result of one cache and topic, or of their suspect keys in one bucket.

    :param repaired: number of keys that were sent, put or removed.
    :param unknown: number of keys by their fields (:func:`.entry_comparison.normalize_fields`), for at most
        :data:`MOST_UNKNOWN` unexpected keys that are JSON objects.
    :param differing: keys that differ, of one bucket.
    :param slices: slices of the keys that differ, of all buckets that were added (:meth:`add`).
    :param moved: fingerprints of keys whose differences are not counted: they may have a change on its way
        (:mod:`.looks`).
    """

    result: PairDifferences
    repaired: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    differing: Sequence[bytes] = ()
    slices: set[int] = field(default_factory=set)
    moved: Rows = field(default_factory=lambda: np.zeros(0, ROW))

    def add(self, bucket: Judged) -> None:
        """Add the result of the suspect keys of a bucket."""
        self.result.add(bucket.result)
        self.repaired += bucket.repaired
        self.slices.update(slice_numbers(fingerprint_keys(bucket.differing)).tolist())

    @property
    def empty(self) -> bool:
        """Whether neither topic nor cache had anything to compare."""
        return not (self.result.entries or self.result.records or self.result.skipped)

    @property
    def equal(self) -> bool:
        """Whether topic and cache are equal, or were made equal by a repair."""
        return self.result.equal or self.repaired == self.result.count


class Direction(Protocol):
    """Source or sink as the comparison sees it on an executor; a context manager for its connections."""

    def __enter__(self) -> Self:
        """Enter the context; connections open only at their first use."""

    def __exit__(self, *_: object) -> None:
        """Close the connections to Ignite and Kafka."""

    def read_records(self, pair: ComparedPair, partitions: Sequence[int]) -> Iterator[Batch]:
        """Read the records of topic partitions as batches of fingerprints, each partition in offset order."""

    def read_entries(self, pair: ComparedPair, partitions: Sequence[int], *, again: bool) -> Iterator[Batch]:
        """Read the entries of cache partitions as batches of fingerprints.

        :param again: read the suspects; :attr:`Batch.take` can then be called.
        """

    def judge(
        self, pair: ComparedPair, topic: SuspectRows, cache: SuspectRows, *, repair: bool, complete: bool
    ) -> Judged:
        """Compare records and entries of suspect keys by their decoded values, and repair them if requested.

        :param complete: whether every entry was converted; otherwise a key without an entry may belong to an
            unconverted entry.
        """

    def count_caches(self, pair: ComparedPair, partitions: Sequence[int]) -> Iterator[Counter[str]]:
        """Count a topic's records by the cache that transforms choose for them."""


class DirectionClients:
    """Base class with the clients of a comparison on an executor, created at their first use.

    A subclass has the plan and the secrets.
    """

    plan: SinkPlan | TransferPlan
    secrets: Secrets

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if "cluster" in self.__dict__:
            self.cluster.close()

    @cached_property
    def cluster(self) -> Cluster:
        """Connection to the Ignite cluster."""
        return ignite_cluster(self.plan.settings, self.secrets)

    @cached_property
    def clients(self) -> KafkaClients:
        """Kafka clients; creating them also sets up the schema registries."""
        return kafka_clients(self.plan.settings, self.secrets)
