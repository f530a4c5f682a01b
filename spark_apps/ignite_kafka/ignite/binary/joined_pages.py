"""Pages shared by several readers, so that they are joined and searched for entries only once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

import numpy as np

from ..types import type_codes as codes
from ..types.model import CacheInfo, Page, TypeSource
from .entry_bounds import EntryBounds, concat_bounds, entry_cuts
from .page_buffer import PageBuffer, Positions

_WRAPPED_HEAD = 5  # code and length before a wrapped object, the object's offset after it
_WRAPPED_TAIL = 4


class JoinedPages(Sequence[Page]):
    """Sequence of pages with a cached joined buffer, shared by filter and decoder."""

    def __init__(self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource) -> None:
        self._pages = tuple(pages)
        self._cache = cache
        self._types = types

    @classmethod
    def of(cls, pages: Sequence[Page], cache: CacheInfo, types: TypeSource) -> JoinedPages:
        """Wrap pages, unless they are JoinedPages already."""
        return pages if isinstance(pages, JoinedPages) else cls(pages, cache, types)

    @overload
    def __getitem__(self, at: int) -> Page: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Page]: ...
    def __getitem__(self, at: int | slice) -> Page | Sequence[Page]:
        return self._pages[at]

    def __len__(self) -> int:
        return len(self._pages)

    @cached_property
    def entries(self) -> tuple[PageBuffer, EntryBounds]:
        """All pages in one buffer, and the positions of keys and values in it.

        :raises DecodeError: the bounds are broken.
        """
        wire = PageBuffer.of(self._pages, self._cache, self._types)
        return wire, concat_bounds(self._pages, wire)

    @cached_property
    def starts(self) -> Positions:
        """Start positions of the N entries with their wrappers, and the end of the last: N + 1 in all.

        :raises DecodeError: the bounds are broken.
        """
        wire, bounds = self.entries
        starts = _starts(wire, bounds)
        if starts is not None:
            return starts
        cuts = [entry_cuts(page, self._cache.name)[:-1:2] for page in self._pages]
        shifted = [np.array(cut, np.int64) + start for cut, start in zip(cuts, wire.starts[:-1].tolist(), strict=True)]
        return np.concatenate([*shifted, wire.starts[-1:]])


def _starts(wire: PageBuffer, bounds: EntryBounds) -> Positions | None:
    """Compute the start of each entry, with its wrapper, and the end of the last.

    None if the starts can only be found by reading one entry after the other.

    Bounds are those of unwrapped keys and values. Between a value and the next key there can be the tail of a wrapped
    value and the head of a wrapped key.
    """
    value_end = bounds.value_end[:-1]
    gaps = bounds.key_start[1:] - value_end
    tails = (gaps == _WRAPPED_TAIL) | (gaps == _WRAPPED_HEAD + _WRAPPED_TAIL)
    heads = gaps == _WRAPPED_HEAD + _WRAPPED_TAIL
    if not (tails | (gaps == 0)).all() or (wire.ints(value_end[tails]) != 0).any():
        return None
    keys = bounds.key_start[1:][heads]
    ends = bounds.key_end[1:][heads]
    if (wire.data[keys - _WRAPPED_HEAD] != codes.WRAPPED).any() or (wire.ints(keys - 4) != ends - keys).any():
        return None
    return np.concatenate(([0], value_end + np.where(tails, _WRAPPED_TAIL, 0), [wire.data.size]))
