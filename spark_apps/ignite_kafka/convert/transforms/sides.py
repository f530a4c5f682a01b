"""Common parts of transforms: change of the key or the value, with separate handling of nulls and failed records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ..connect.columns import ConnectColumn
from .batch import ConnectBatch, Position, Transformed
from .json_tokens import NULL
from .thrown import Failures, Thrown

Change = Callable[[ConnectBatch, Failures], ConnectBatch]
"""Function that returns a changed batch.

It notes the records that fail, or raises :class:`~.thrown.Thrown` if all fail.
"""

ChangeColumn = Callable[[ConnectColumn, Failures], ConnectColumn]
"""Function that returns a changed column; failures as in :data:`Change`."""


class Side(Enum):
    """Side of a record that a transform works on, with the name of its nested class in Java."""

    KEY = "Key"
    VALUE = "Value"

    def of(self, batch: ConnectBatch) -> ConnectColumn:
        """Return the keys or values of a batch."""
        return batch.key if self is Side.KEY else batch.value

    def replaced(self, batch: ConnectBatch, column: ConnectColumn) -> ConnectBatch:
        """Return a batch with other keys or values."""
        return replace(batch, key=column) if self is Side.KEY else replace(batch, value=column)


def selected(batch: ConnectBatch, mask: Mask) -> ConnectBatch:
    """Return the records of a batch with a true flag; the same batch if all flags are true."""
    if mask.all():
        return batch
    flags = pa.array(mask)
    return ConnectBatch(
        batch.rows[mask],
        _filter(batch.key, flags),
        _filter(batch.value, flags),
        batch.topics.filter(flags),
        batch.times_ms[mask],
        tuple(replace(header, column=_filter(header.column, flags)) for header in batch.headers),
        batch.position and Position(batch.position.partitions[mask], batch.position.offsets[mask]),
    )


def by_topic(batch: ConnectBatch) -> list[tuple[str, ConnectBatch]]:
    """Return a batch for each topic of a batch's records."""
    return [
        (name, selected(batch, np.asarray(pc.equal(batch.topics, name)))) for name in batch.topics.unique().to_pylist()
    ]


def _filter(column: ConnectColumn, mask: pa.BooleanArray) -> ConnectColumn:
    return ConnectColumn(column.data.filter(mask), column.schema)


def present(column: ConnectColumn) -> Mask:
    """Return N flags: whether a value is not Java's null."""
    valid: Mask = np.asarray(column.data.is_valid())
    if column.schema is None and pa.types.is_binary(column.data.type):
        valid = valid & ~np.asarray(pc.fill_null(pc.equal(column.data, NULL), False))
    return valid


def side_change(side: Side, with_schema: ChangeColumn, without_schema: ChangeColumn) -> Change:
    """Return a change of keys or values by one of two functions, with or without a schema."""

    def change(batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        column = side.of(batch)
        return side.replaced(batch, (without_schema if column.schema is None else with_schema)(column, failures))

    return change


def changed(batch: ConnectBatch, change: Change) -> Transformed:
    """Return a batch changed by a function, with the failed records separated."""
    if not len(batch):
        return Transformed(())
    failures = Failures(len(batch))
    try:
        result = change(batch, failures)
    except Thrown as error:
        failures.add_all(error)
        return Transformed((), failures.bad_rows(batch.rows))
    if not failures.bad.any():
        return Transformed((result,))
    good = selected(result, ~failures.bad)
    return Transformed((good,) if len(good) else (), failures.bad_rows(batch.rows))


def changed_where(batch: ConnectBatch, mask: Mask, change: Change) -> Transformed:
    """Change only the records with a true flag; the other records stay unchanged."""
    if mask.all():
        return changed(batch, change)
    result = changed(selected(batch, mask), change)
    return Transformed((selected(batch, ~mask), *result.batches), result.bad)
