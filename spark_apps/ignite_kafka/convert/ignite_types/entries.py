"""Input and output of the conversion of Kafka records to Ignite entries, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from ...common.arrays import RowIndex
from ...ignite.types.model import BinaryType, TypeSource
from ..rules.stage import Stage


@dataclass(frozen=True)
class BadRecord:
    """A record that cannot be converted: its row in the :class:`Consumed`, and the reason with the field's name.

    :param where: of a record that a transform refuses: alias and class of the transform, and the exception's class. Of
        one that the converters read, and that makes no entry: `part`, key or value of the entry.
    """

    row: int
    stage: Stage
    reason: str
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Entries:
    """Entries of a batch in the order of their records: `rows` (rising) are the records' rows in the :class:`Consumed`.

    `keys` and `values` are ``pa.binary()`` arrays of N values in Ignite's binary format, each with its type code; a
    null value removes its key. `bad` has the records that cannot be converted, by rising row: every record is in one of
    the two.
    """

    rows: RowIndex
    keys: pa.BinaryArray
    values: pa.BinaryArray
    bad: tuple[BadRecord, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.keys) == len(self.values):
            raise ValueError(f"{len(self.rows)} rows, {len(self.keys)} keys and {len(self.values)} values")

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, first: int, last: int) -> Entries:
        """Return the entries from `first` to `last` (excluded), without bad records."""
        return Entries(self.rows[first:last], self.keys[first:last], self.values[first:last])

    def without(self, refused: Sequence[BadRecord]) -> Entries:
        """Return the entries without the refused records, which are added to `bad`."""
        good = ~np.isin(self.rows, [record.row for record in refused])
        mask = pa.array(good)
        bad = sorted([*self.bad, *refused], key=lambda record: record.row)
        return Entries(self.rows[good], self.keys.filter(mask), self.values.filter(mask), tuple(bad))


@dataclass(frozen=True)
class EntryTypes:
    """Types of a cache's keys and values as marked Arrow fields (ignite/types/type_table.py, marked_fields.py).

    :param objects: name of a binary type to the fields that a query entity declares.
    :param key_objects: which of them are keys.
    :param value_types: names of the types that values may have, where query entities declare several; empty: `value`
        says it.
    """

    key: pa.Field
    value: pa.Field
    objects: Mapping[str, tuple[pa.Field, ...]] = field(default_factory=dict)
    key_objects: frozenset[str] = frozenset()
    value_types: tuple[str, ...] = ()


class Types(TypeSource, Protocol):
    """The binary types of a cluster, which the conversion reads and extends."""

    def register(self, kind: BinaryType, *, unless_known: bool = False) -> BinaryType:
        """Add a type, or the fields and schemas that it lacks, and give the type as the cluster holds it then.

        :param unless_known: add nothing to an existing type.
        :raises UnsupportedType: the cluster has a field of the type under another type code.
        """
