"""Result types of the conversion from Kafka records to Ignite entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from ...common.arrays import Int64Array, RowIndex
from ...ignite.entry_versions import EntryVersions
from ...ignite.types.model import BinaryType, TypeSource
from ..rules.failure_stages import Stage


@dataclass(frozen=True)
class BadRecord:
    """A record that cannot be converted, with the reason.

    :param where: details of the error. If a transform refuses the record: alias and class of the transform, and the
        exception's class. If the record was read but makes no entry: `part`, the entry's key or value.
    """

    row: int
    stage: Stage
    reason: str
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Entries:
    """Ignite entries converted from a batch of records, in the records' order, and the bad records.

    `rows` is ascending. `keys` and `values` are ``pa.binary()`` arrays of N values in Ignite's binary format, each with
    its type code; a null value removes its key. `bad` has the records that cannot be converted, in the order of rows:
    every record is either an entry or in `bad`. `versions` are those of the N writes; None: entries have the order of
    their records.

    :param order: N numbers, if the greatest of a key's values remains and not the last; None: the last remains.
    """

    rows: RowIndex
    keys: pa.BinaryArray
    values: pa.BinaryArray
    bad: tuple[BadRecord, ...] = ()
    order: Int64Array | None = None
    versions: EntryVersions | None = None

    def __post_init__(self) -> None:
        versions = len(self.rows if self.versions is None else self.versions)
        if not len(self.rows) == len(self.keys) == len(self.values) == versions:
            counts = f"{len(self.rows)} rows, {len(self.keys)} keys, {len(self.values)} values and {versions} versions"
            raise ValueError(counts)

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, first: int, last: int) -> Entries:
        """Return the entries from index `first` to index `last` (excluded), without the bad records."""
        # slices, which copy nothing
        order = None if self.order is None else self.order[first:last]
        versions = None if self.versions is None else self.versions[first:last]
        return Entries(self.rows[first:last], self.keys[first:last], self.values[first:last], (), order, versions)

    def before(self, row: int) -> Entries:
        """Return the entries of the rows before a row of the records, without the bad records."""
        return self.part(0, int(np.searchsorted(self.rows, row)))

    def take(self, rows: RowIndex) -> Entries:
        """Return the entries at some positions, in their order, with all bad records."""
        index = pa.array(rows)
        order = None if self.order is None else self.order[rows]
        versions = None if self.versions is None else self.versions[rows]
        return Entries(self.rows[rows], self.keys.take(index), self.values.take(index), self.bad, order, versions)

    def without(self, refused: Sequence[BadRecord]) -> Entries:
        """Return the entries of all but the refused records, which become bad records."""
        good = ~np.isin(self.rows, [record.row for record in refused])
        bad = sorted([*self.bad, *refused], key=lambda record: record.row)
        return replace(self.take(np.flatnonzero(good)), bad=tuple(bad))


@dataclass(frozen=True)
class EntryTypes:
    """Types of a cache's keys and values, as Arrow fields with marks.

    :param objects: fields of binary types, by name of the type, as a query entity declares them.
    :param key_objects: names of the types in `objects` that keys have.
    :param value_types: names of the types that values may have, if query entities declare several; empty if all values
        have the type of `value`.
    """

    key: pa.Field
    value: pa.Field
    objects: Mapping[str, tuple[pa.Field, ...]] = field(default_factory=dict)
    key_objects: frozenset[str] = frozenset()
    value_types: tuple[str, ...] = ()


class Types(TypeSource, Protocol):
    """Interface to a cluster's binary types, which the conversion reads and extends."""

    def register(self, kind: BinaryType, *, unless_known: bool = False) -> BinaryType:
        """Register a binary type, or its missing fields and schemas; return it as the cluster then has it.

        :param unless_known: add nothing to an existing type.
        :raises UnsupportedType: the cluster has another type code for a field of the type.
        """
