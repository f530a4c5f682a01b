"""Converter `ignite-binary`: keys and values exactly as Ignite marshalled them, not decoded.

Each is a value of Ignite's binary format with its type code first; an object that travels wrapped (code 27) stands without its wrapper.
A reader needs the binary types: they are on the types topic before a type's first record.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..thin.codec import entry_bounds
from ..thin.model import CacheInfo, Page, TypeSource
from .records import MOST_BYTES, Records, no_records, too_large


class IgniteBinaryConverter:
    """Raw bytes of keys and values, in the order of the pages."""

    name = "ignite-binary"
    needs_types = True

    def check(self, cache: CacheInfo, types: TypeSource) -> None:
        """Every type can travel: nothing is refused."""

    def convert(self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource) -> Records:
        """Copy each key and value out of the pages.

        The joined pages are seen, without a copy, as one array of pieces (key, gap, value, gap, key, ...); every fourth one is taken.

        :raises DecodeError: a page whose entries do not fill it exactly: cache, partition, position.
        """
        filled = [page for page in pages if page.rows]
        if not filled:
            return no_records()
        size = sum(len(page.data) for page in filled)
        if size > MOST_BYTES:
            raise too_large(size)
        data = filled[0].data if len(filled) == 1 else b"".join(page.data for page in filled)
        cuts = _cuts(filled, cache)
        pieces = pa.Array.from_buffers(pa.binary(), cuts.size - 1, [None, pa.py_buffer(cuts), pa.py_buffer(data)])
        keys, values = (pa.array(np.arange(first, cuts.size - 1, 4, dtype=np.int32)) for first in (0, 2))
        return Records(pieces.take(keys), pieces.take(values))


def _cuts(pages: Sequence[Page], cache: CacheInfo) -> npt.NDArray[np.int32]:
    """Key start, key end, value start, value end of each entry, as positions in the joined pages; they never go back."""
    blocks, base = [], 0
    for page in pages:
        bounds = entry_bounds(page, cache.name)
        block = np.empty((page.rows, 4), np.int32)
        for column, cut in enumerate((bounds.key_start, bounds.key_end, bounds.value_start, bounds.value_end)):
            np.add(cut, base, out=block[:, column], casting="unsafe")
        blocks.append(block.ravel())
        base += len(page.data)
    return np.concatenate(blocks) if len(blocks) > 1 else blocks[0]
