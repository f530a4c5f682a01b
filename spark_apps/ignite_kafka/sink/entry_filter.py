"""Filter of a sink: which converted entries are stored; removals always pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from ..convert.filter.columns import TIMESTAMP, OfRecords
from ..convert.filter.entries import EntryFilter
from ..convert.filter.failed_rows import Decided, decide_each_row
from ..convert.rules.failure_stages import Stage
from ..convert.to_ignite import BadRecord, Entries
from ..ignite.types.model import CacheInfo, TypeSource
from ..kafka.records import Consumed


def kept_entries(
    entries: Entries, consumed: Consumed, entry_filter: EntryFilter, cache: CacheInfo, types: TypeSource
) -> Entries:
    """Return the entries that pass the topic's filter, and all removals; a record is bad if the filter fails for it.

    :param consumed: the records that the entries were made of.
    :param types: source of the values' binary types.
    """
    put = np.asarray(entries.values.is_valid())
    is_put = pa.array(put)
    keys = entries.keys.filter(is_put)
    values = entries.values.filter(is_put)
    rows = entries.rows[put]
    records = _columns(consumed, rows)

    def part(first: int, last: int) -> Decided:
        columns = {name: column[first:last] for name, column in records.items()}
        return entry_filter.of_arrays(keys[first:last], values[first:last], cache, types, columns)

    kept, errors = decide_each_row(len(keys), part)
    bad = [BadRecord(int(rows[row]), Stage.TRANSFORMATION, error.what) for row, error in sorted(errors.items())]
    left = np.ones(len(entries), bool)
    left[np.flatnonzero(put)] = kept
    if left.all():
        return entries
    mask = pa.array(left)
    passed = replace(
        entries, rows=entries.rows[left], keys=entries.keys.filter(mask), values=entries.values.filter(mask)
    )
    return passed.without(bad) if bad else passed


def _columns(consumed: Consumed, rows: np.ndarray) -> OfRecords:
    """Build the metadata columns that a filter may use: topic, partition, offset and, if read, timestamp."""
    columns: dict[str, pa.Array] = {
        "_topic": pa.repeat(pa.scalar(consumed.topic), rows.size),
        "_partition": pa.repeat(pa.scalar(consumed.partition, pa.int32()), rows.size),
        "_offset": pa.array(consumed.offsets[rows]),
    }
    if consumed.times_ms is not None:
        times = consumed.times_ms[rows]
        columns[TIMESTAMP] = pa.array(times, mask=times < 0).cast(pa.timestamp("ms", "UTC"))
    return columns
