"""One operation a key: what lets puts and removals of a batch be sent without regard to their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .entries import Entries


def last_per_key(entries: Entries, *, overwrite: bool) -> Entries:
    """The entries with each key once, in the order of their records.

    With `overwrite` the last operation of a key is the one that counts, as it would be after all of them. Without it the first put
    counts, since an entry that exists stays as it is, and removals are left out: nothing that exists is changed.
    """
    if not overwrite and entries.values.null_count:
        entries = _taken(entries, np.flatnonzero(np.asarray(entries.values.is_valid())))
    code = pc.dictionary_encode(entries.keys).indices.to_numpy(zero_copy_only=False)
    keep = np.empty(int(code.max(initial=-1)) + 1, np.int64)
    if keep.size == code.size:
        return entries
    rows = np.arange(code.size)
    # of several assignments to one place numpy keeps the last
    if overwrite:
        keep[code] = rows
    else:
        keep[code[::-1]] = rows[::-1]
    return _taken(entries, np.sort(keep))


def _taken(entries: Entries, rows: np.ndarray) -> Entries:
    index = pa.array(rows)
    return replace(entries, rows=entries.rows[rows], keys=entries.keys.take(index), values=entries.values.take(index))
