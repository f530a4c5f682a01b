"""Reduction of a batch to one operation per key, so that puts and removals can be sent in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...ignite.entry_versions import concat_versions
from ..ignite_types.entries import Entries


def last_per_key(entries: Entries, *, overwrite: bool) -> Entries:
    """Keep one operation per key: the last one or, without overwriting, the first put and no removal.

    Of ordered entries the greatest one is kept, and of equal ones the last.

    :param overwrite: if true, keep the last operation of each key; if false, keep the first put of each key and drop
        removals, because existing entries are not changed. Of entries with versions, the one with the highest version
        is kept.
    """
    if not overwrite and entries.values.null_count:
        entries = entries.take(np.flatnonzero(np.asarray(entries.values.is_valid())))
    code = pc.dictionary_encode(entries.keys).indices.to_numpy(zero_copy_only=False)
    keep = np.empty(int(code.max(initial=-1)) + 1, np.int64)
    if keep.size == code.size:
        return entries
    rows = np.arange(code.size)
    if entries.order is not None:
        rows = np.argsort(entries.order, kind="stable")
    elif entries.versions is not None:
        rows = entries.versions.ascending()
    # if a place occurs several times, numpy keeps the last assignment
    if overwrite:
        keep[code[rows]] = rows
    else:
        keep[code[::-1]] = rows[::-1]
    return entries.take(np.sort(keep))


def concat_entries(parts: Sequence[Entries]) -> Entries:
    """Concatenate the entries of several batches; rows are numbered anew, and bad records are left out."""
    if len(parts) == 1:
        return parts[0]
    keys = pa.concat_arrays([part.keys for part in parts])
    values = pa.concat_arrays([part.values for part in parts])
    orders = [part.order for part in parts if part.order is not None]
    versions = [part.versions for part in parts if part.versions is not None]
    return Entries(
        np.arange(len(keys)),
        keys,
        values,
        order=np.concatenate(orders) if orders else None,
        versions=concat_versions(versions) if versions else None,
    )


def merge_rows(parts: Sequence[Entries]) -> Entries:
    """Merge entries converted from parts of one batch, in the order of their rows; bad records are left out."""
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate([part.rows for part in parts])
    order = np.argsort(rows)
    return replace(concat_entries(parts).take(order), rows=rows[order])
