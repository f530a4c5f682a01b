"""Removal of entries, or of their values, from pages without decoding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...common.arrays import Mask
from ..types import type_codes as codes
from ..types.model import CacheInfo, Page, TypeSource
from .entry_bounds import raw_entries
from .joined_pages import JoinedPages

_NULL = bytes([codes.NULL])


def kept_rows(pages: Sequence[Page], kept: Mask, cache: CacheInfo, types: TypeSource) -> Sequence[Page]:
    """Keep only the flagged entries of pages; a page may become empty.

    :param pages: :class:`~.joined_pages.JoinedPages` are not parsed again.
    :param kept: a flag for each entry of all pages.
    :raises DecodeError: the bounds of a page's entries are broken.
    """
    if kept.all():
        return pages
    whole = JoinedPages.of(pages, cache, types)
    wire = whole.entries[0]
    starts = whole.starts
    offsets, data = wire.ragged(starts[:-1][kept], np.diff(starts)[kept])
    flags = np.concatenate(([0], np.cumsum(kept)))
    ends = flags[np.cumsum([0, *(page.rows for page in pages)])]
    spans = pairwise(offsets[ends].tolist())
    counts = np.diff(ends).tolist()
    return [
        Page(page.partition, rows, memoryview(data[start:end].data), page.last)
        for page, rows, (start, end) in zip(pages, counts, spans, strict=True)
    ]


def with_nulls(pages: Sequence[Page], nulls: Mask, cache: CacheInfo) -> list[Page]:
    """Replace the values of some entries of pages by Ignite's null.

    :param nulls: a flag for each entry of all pages.
    :raises DecodeError: the bounds of a page's entries are broken.
    """
    flags = iter(nulls.tolist())
    pages_with_nulls = []
    for page in pages:
        entries = [(key, _NULL if next(flags) else value) for key, value in raw_entries(page, cache.name)]
        data = b"".join(_wrap(part) for entry in entries for part in entry)
        pages_with_nulls.append(Page(page.partition, page.rows, memoryview(data), page.last))
    return pages_with_nulls


def _wrap(value: bytes) -> bytes:
    """Wrap a binary object as in a scan page; other values are unchanged."""
    if value[0] != codes.OBJECT:
        return value
    return bytes([codes.WRAPPED]) + len(value).to_bytes(4, "little") + value + bytes(4)
