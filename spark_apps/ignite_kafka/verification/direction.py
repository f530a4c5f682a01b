"""What the comparison of one direction must know: how records and entries are read alike, and what a difference is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from ..common.arrays import RowIndex
from ..common.python_compat import Self
from .entry_comparison import Verified
from .fingerprints import PLACE_BITS, ROW, Rows

MOST_UNKNOWN = 1_000
Columns = tuple[pa.BinaryArray, pa.BinaryArray]


@dataclass(frozen=True)
class Target:
    """A cache and its topic: the unit of the report.

    :param ends: first offset and end of each of the topic's partitions; empty if the cache gets only records of other
        targets' topics.
    :param partitions: number of the cache's partitions; 0 if the topic's records go to other caches, or the cache does
        not exist.
    :param routed: transforms choose the cache of each record.
    :param first_place: number of the topic's first partition among the partitions of all topics.
    """

    cache: str
    topic: str
    ends: tuple[tuple[int, int], ...]
    partitions: int
    routed: bool = False
    first_place: int = 0

    @property
    def span(self) -> int:
        """Number of offsets: at least that of records."""
        return sum(end - first for first, end in self.ends)


@dataclass(frozen=True)
class Batch:
    """Records or entries of a target.

    :param rows: N fingerprints.
    :param columns: of some of the N rows what :meth:`Direction.judge` needs.
    :param keys: the records' keys, where they are not among ``columns``.
    :param cache: cache of the records; None for the target's cache.
    :param bad: why entries or records could not be converted; they have no row.
    """

    rows: Rows
    columns: Callable[[RowIndex], Columns]
    bad: Sequence[str] = ()
    keys: pa.BinaryArray | None = None
    cache: str | None = None


def columns_of(first: pa.BinaryArray, second: pa.BinaryArray) -> Callable[[RowIndex], Columns]:
    """The rows that are asked for, of two columns."""
    return lambda at: (first.take(pa.array(at)), second.take(pa.array(at)))


@dataclass
class Found:
    """Records or entries of suspects, with all their bytes."""

    rows: list[Rows] = field(default_factory=list)
    first: list[pa.BinaryArray] = field(default_factory=list)
    second: list[pa.BinaryArray] = field(default_factory=list)

    def add(self, rows: Rows, columns: Columns) -> None:
        """Add a block."""
        self.rows.append(rows)
        self.first.append(columns[0])
        self.second.append(columns[1])

    def last(self) -> list[tuple[bytes, bytes | None]]:
        """Both columns of the last row of each key, by the order of rows."""
        return [(key, values[-1]) for key, values in self.last_of_places().items()]

    def last_of_places(self, *, first: bool = False) -> dict[bytes, list[bytes | None]]:
        """By key, for each partition with the key, the second column of its last row, or of its first row with a value.

        The relevant value is the last in the list, or with `first` the first.
        """
        values_of: dict[bytes, dict[int, bytes | None]] = {}
        rows: Rows = np.concatenate([np.zeros(0, ROW), *self.rows])
        pairs = self.pairs()
        for at in np.argsort(rows["order"], kind="stable").tolist():
            (key, value), place = pairs[at], int(rows["order"][at]) >> PLACE_BITS
            if not first:
                values_of.setdefault(key, {})[place] = value
            elif value is not None:
                values_of.setdefault(key, {}).setdefault(place, value)
        return {key: list(values.values()) for key, values in values_of.items()}

    def pairs(self) -> list[tuple[bytes, bytes | None]]:
        """Both columns, row by row."""
        columns = ([item for part in parts for item in part.to_pylist()] for parts in (self.first, self.second))
        return list(zip(*columns, strict=True))


@dataclass
class Judged:
    """Differences of the suspects of a bucket.

    :param repaired: keys that were sent, put or removed.
    :param unknown: fields (:func:`.entry_comparison.fields_of_key`) of at most :data:`MOST_UNKNOWN` unexpected keys
        that are objects in JSON, and how many keys have them.
    """

    result: Verified
    repaired: int = 0
    unknown: Counter[str] = field(default_factory=Counter)

    @property
    def empty(self) -> bool:
        """True if there was nothing to compare or to skip."""
        return not (self.result.entries or self.result.records or self.result.skipped)

    @property
    def equal(self) -> bool:
        """Whether nothing differs, or every difference was repaired."""
        return (
            self.result.equal or self.repaired == self.result.missing + self.result.different + self.result.unexpected
        )


class Direction(Protocol):
    """Reads and judges on an executor; a context manager that holds the connections."""

    def __enter__(self) -> Self:
        """Begin to use it."""

    def __exit__(self, *_: object) -> None:
        """Close its connections."""

    def records(self, target: Target, partitions: Sequence[int]) -> Iterator[Batch]:
        """Records of the topic's partitions, in the order of each."""

    def entries(self, target: Target, partitions: Sequence[int], *, again: bool) -> Iterator[Batch]:
        """Entries of the cache's partitions.

        :param again: to read the suspects; then :attr:`Batch.columns` can be called.
        """

    def judge(self, target: Target, topic: Found, cache: Found, *, repair: bool, complete: bool) -> Judged:
        """Compare the suspects in full, by their meaning.

        :param complete: whether every entry was converted; otherwise a key without an entry may belong to an
            unconverted one.
        """

    def caches(self, target: Target, partitions: Sequence[int]) -> Iterator[Counter[str]]:
        """Number of records for each cache."""
