"""Helpers of all transforms: change of keys or values, with failed records separated."""

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
"""Function that changes a batch and records the failures of single records.

It adds failed records to the argument, or raises :class:`~.thrown.Thrown` if all fail.
"""

ChangeColumn = Callable[[ConnectColumn, Failures], ConnectColumn]
"""Function that changes a column of keys or values; failures as in :data:`Change`."""


class Side(Enum):
    """Whether a transform works on keys or values, with the suffix of its Java class."""

    KEY = "Key"
    VALUE = "Value"

    def of(self, batch: ConnectBatch) -> ConnectColumn:
        """Return the batch's keys or its values."""
        return batch.key if self is Side.KEY else batch.value

    def replaced(self, batch: ConnectBatch, column: ConnectColumn) -> ConnectBatch:
        """Return the batch with its keys, or its values, replaced."""
        return replace(batch, key=column) if self is Side.KEY else replace(batch, value=column)


def selected(batch: ConnectBatch, mask: Mask) -> ConnectBatch:
    """Return the records of a batch that a mask selects."""
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
    """Split a batch into one batch for each topic of its records."""
    return [
        (name, selected(batch, np.asarray(pc.equal(batch.topics, name)))) for name in batch.topics.unique().to_pylist()
    ]


def _filter(column: ConnectColumn, mask: pa.BooleanArray) -> ConnectColumn:
    return ConnectColumn(column.data.filter(mask), column.schema)


def present(column: ConnectColumn) -> Mask:
    """Return a mask of the values that are not null in Java; JSON's null is null, too."""
    valid: Mask = np.asarray(column.data.is_valid())
    if column.schema is None and pa.types.is_binary(column.data.type):
        valid = valid & ~np.asarray(pc.fill_null(pc.equal(column.data, NULL), False))
    return valid


def side_change(side: Side, with_schema: ChangeColumn, without_schema: ChangeColumn) -> Change:
    """Return the function that changes keys or values by one of two functions, for columns with or without a schema."""

    def change(batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        column = side.of(batch)
        return side.replaced(batch, (without_schema if column.schema is None else with_schema)(column, failures))

    return change


def changed(batch: ConnectBatch, change: Change) -> Transformed:
    """Apply a change to a batch; return the changed records and the failed records."""
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
    """Apply a change to the records that a mask selects; other records stay unchanged."""
    if mask.all():
        return changed(batch, change)
    result = changed(selected(batch, mask), change)
    return Transformed((selected(batch, ~mask), *result.batches), result.bad)
