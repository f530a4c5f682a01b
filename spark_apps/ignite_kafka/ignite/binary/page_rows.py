"""Cuts pages down to some of their entries, without decoding them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...common.arrays import Mask
from ..types import type_codes as codes
from ..types.model import CacheInfo, Page, TypeSource
from .entry_bounds import EntryBounds, entry_bounds, entry_cuts, raw_entries
from .page_buffer import Positions, Wire

_NULL = bytes([codes.NULL])
_WRAPPED_HEAD, _WRAPPED_TAIL = 5, 4  # code and length before a wrapped object, the object's offset behind it


def kept_rows(pages: Sequence[Page], kept: Mask, cache: CacheInfo, types: TypeSource) -> list[Page]:
    """The pages with the kept entries alone; a page of which none is kept is empty.

    :param kept: a flag for each entry of all pages.
    :raises DecodeError: the bounds of a page's entries are broken.
    """
    ends = np.cumsum([page.rows for page in pages])
    parts = np.split(kept, ends[:-1])
    return [_cut(page, part, cache, types) for page, part in zip(pages, parts, strict=True)]


def with_nulls(pages: Sequence[Page], nulls: Mask, cache: CacheInfo) -> list[Page]:
    """The pages with Ignite's null as the value of some entries.

    :param nulls: a flag for each entry of all pages.
    :raises DecodeError: the bounds of a page's entries are broken.
    """
    flags = iter(nulls.tolist())
    made = []
    for page in pages:
        entries = [(key, _NULL if next(flags) else value) for key, value in raw_entries(page, cache.name)]
        data = b"".join(_wrapped(part) for entry in entries for part in entry)
        made.append(Page(page.partition, page.rows, memoryview(data), page.last))
    return made


def _wrapped(value: bytes) -> bytes:
    """A key or value as it travels in pages."""
    if value[0] != codes.OBJECT:
        return value
    return bytes([codes.WRAPPED]) + len(value).to_bytes(4, "little") + value + bytes(4)


def _cut(page: Page, kept: Mask, cache: CacheInfo, types: TypeSource) -> Page:
    if kept.all():
        return page
    if not kept.any():
        return Page(page.partition, 0, memoryview(b""), page.last)
    wire = Wire.of([page], cache, types)
    starts = _starts(wire, entry_bounds(page, cache.name))
    if starts is None:
        starts = np.array(entry_cuts(page, cache.name)[::2], np.int64)
    data = wire.ragged(starts[:-1][kept], np.diff(starts)[kept])[1]
    return Page(page.partition, int(kept.sum()), memoryview(data.data), page.last)


def _starts(wire: Wire, bounds: EntryBounds) -> Positions | None:
    """Where each entry begins as it travels, and where the last one ends; None: only one look after the other can say.

    Bounds are those of unwrapped keys and values. Between a value and the next key are the tail of a wrapped value and the head of a
    wrapped key, or one of them, or nothing.
    """
    value_end = bounds.value_end[:-1]
    gaps = bounds.key_start[1:] - value_end
    tails = (gaps == _WRAPPED_TAIL) | (gaps == _WRAPPED_HEAD + _WRAPPED_TAIL)
    heads = gaps == _WRAPPED_HEAD + _WRAPPED_TAIL
    if not (tails | (gaps == 0)).all() or (wire.ints(value_end[tails]) != 0).any():
        return None
    keys, ends = bounds.key_start[1:][heads], bounds.key_end[1:][heads]
    if (wire.data[keys - _WRAPPED_HEAD] != codes.WRAPPED).any() or (wire.ints(keys - 4) != ends - keys).any():
        return None
    return np.concatenate(([0], value_end + np.where(tails, _WRAPPED_TAIL, 0), [wire.data.size]))
