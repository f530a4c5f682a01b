"""Report of timestamps losing fractions of a millisecond, which JSON and Connect do not have.

JSON and Kafka Connect have only milliseconds, so a converter cuts off fractions, and the run reports it (event 15163).

Decoded timestamps have microseconds, so a fraction of only nanoseconds is not found.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...events import FRACTIONS_CUT, note

_PER_MS = {"us": 1_000, "ns": 1_000_000}


class CutFractions:
    """Reports of lost timestamp fractions, once per cache for keys and once for values. Threads may share it."""

    def __init__(self) -> None:
        self._noted: set[tuple[str, str]] = set()

    def look(self, cache: str, part: str, values: pa.Array, converter: str) -> None:
        """Report a column of keys or values whose timestamps will lose fractions of a millisecond.

        :param part: `key` or `value`. :param converter: name of the converter in the settings.
        """
        if (cache, part) not in self._noted and has_fractions(values):
            self._noted.add((cache, part))
            note(FRACTIONS_CUT, cache=cache, part=part, converter=converter)


def has_fractions(array: pa.Array) -> bool:
    """Return whether a timestamp in a column, at any depth, has a fraction of a millisecond."""
    kind = array.type
    if pa.types.is_timestamp(kind):
        per_ms = _PER_MS.get(kind.unit)
        return per_ms is not None and bool(np.any(np.asarray(array.view(pa.int64()).drop_null()) % per_ms))
    if pa.types.is_struct(kind):
        return any(map(has_fractions, array.flatten()))
    if pa.types.is_map(kind):
        return has_fractions(array.keys) or has_fractions(array.items)
    if pa.types.is_list(kind):
        return has_fractions(array.flatten())
    return pa.types.is_union(kind) and any(has_fractions(array.field(number)) for number in range(kind.num_fields))
