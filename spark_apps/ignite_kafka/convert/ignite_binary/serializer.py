"""Source converter `ignite-binary`: keys and values as Ignite marshalled them, copied without decoding.

Each key or value begins with its type code; objects are not wrapped (code 27).
A reader needs the binary types: the types topic has a type before the type's first record.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...ignite.binary import EntryBounds, PageBuffer, concat_bounds, type_ids_within
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.model import CacheInfo, Page, TypeSource
from ...kafka.records import MOST_BYTES, Records, no_records, too_large
from ..rules.failure_stages import Stage


class IgniteBinaryConverter:
    """Converter from entries to records that copies the marshalled bytes of keys and values."""

    name = key_name = "ignite-binary"

    def component(self, stage: Stage) -> type:
        """Return this class, which converts both keys and values; a dead letter's headers name it."""
        return type(self)

    def check(self, cache: CacheInfo, types: TypeSource, topic: str = "") -> None:
        """Do nothing: values of every type can be copied."""

    def register(self, cache: CacheInfo, types: TypeSource, topic: str) -> None:
        """Do nothing: the sender writes types to the types topic with the first records that need them."""

    def convert(
        self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, topic: str = "", in_order: bool = True
    ) -> Records:
        """Return the keys and values in the pages as records, and the ids of the binary types in them.

        The joined pages are treated, without a copy, as one array of pieces (key, gap, value, gap, key, ...); the keys
        are every fourth piece, and so are the values.

        :raises DecodeError: the entries of a page do not fill it exactly (cache, partition, position); or the cluster
            does not know a type.
        """
        size = sum(len(page.data) for page in pages)
        if not size and not any(page.rows for page in pages):
            return no_records()
        if size > MOST_BYTES:
            raise too_large(size)
        wire = PageBuffer.of(pages, cache, types)
        bounds = concat_bounds(pages, wire)
        cuts = _cuts(bounds)
        pieces = pa.Array.from_buffers(pa.binary(), cuts.size - 1, [None, pa.py_buffer(cuts), pa.py_buffer(wire.data)])
        keys, values = (pa.array(np.arange(first, cuts.size - 1, 4, dtype=np.int32)) for first in (0, 2))
        type_ids = type_ids_within(wire, bounds)
        for type_id in type_ids:
            types.binary_type(type_id)
        return Records(pieces.take(keys), pieces.take(values), frozenset(type_ids))

    def key_forms(
        self, keys: Sequence[bytes], kinds: Collection[KeyKind], cache: CacheInfo, types: TypeSource, *, topic: str = ""
    ) -> list[list[bytes]]:
        """Return each key unchanged: the Kafka key is Ignite's key; none of whose bytes is no key."""
        return [[key] if key else [] for key in keys]


def _cuts(bounds: EntryBounds) -> npt.NDArray[np.int32]:
    """Return the start and end positions of each entry's key and value as one ascending array."""
    cuts = np.empty((bounds.key_start.size, 4), np.int32)
    for column, cut in enumerate((bounds.key_start, bounds.key_end, bounds.value_start, bounds.value_end)):
        cuts[:, column] = cut
    return cuts.ravel()
