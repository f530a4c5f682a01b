"""Search for the start and end of each key and value in a page, without decoding."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...errors import DecodeError
from ..types import type_codes as codes
from ..types.model import Page
from .page_buffer import Bytes, PageBuffer, Positions
from .value_end import Malformed, end_of

_int = struct.Struct("<i").unpack_from


@dataclass(frozen=True)
class EntryBounds:
    """Start and end positions of each entry's key and value in a page.

    For a wrapped key or value (code 27), start and end of the object inside.
    """

    key_start: Positions
    key_end: Positions
    value_start: Positions
    value_end: Positions


def entry_bounds(page: Page, cache: str = "") -> EntryBounds:
    """Find the positions of all keys and values in a page.

    Raises DecodeError (cache, partition, position) unless keys and values fill the page exactly.
    """
    data = np.frombuffer(page.data, np.uint8)
    if page.rows == 0 and data.size == 0:
        none = np.zeros(0, np.int64)
        return EntryBounds(none, none, none, none)
    bounds = (
        _bounds_of_fixed_sizes(data, page.rows)
        or _bounds_of_wrapped_values(data, page.rows)
        or _bounds_of_wrapped_entries(data, page.rows)
    )
    return bounds or _measure_each(page, cache)


def raw_entries(page: Page, cache: str = "") -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of each entry of a page as encoded bytes, unwrapped.

    Raises DecodeError as :func:`entry_bounds` does.
    """
    bounds = entry_bounds(page, cache)
    columns = (bounds.key_start, bounds.key_end, bounds.value_start, bounds.value_end)
    for key_start, key_end, value_start, value_end in zip(*(column.tolist() for column in columns), strict=True):
        yield bytes(page.data[key_start:key_end]), bytes(page.data[value_start:value_end])


def concat_bounds(pages: Sequence[Page], wire: PageBuffer) -> EntryBounds:
    """Find the keys and values of all pages in their joined buffer; DecodeError as :func:`entry_bounds`.

    If all entries have the same form and each page begins with an entry, the whole buffer is searched at once; else
    each page alone.
    """
    counts = np.array([page.rows for page in pages], np.int64)
    rows = int(counts.sum())
    whole = (
        _bounds_of_fixed_sizes(wire.data, rows)
        or _bounds_of_wrapped_values(wire.data, rows)
        or _bounds_of_wrapped_entries(wire.data, rows)
    )
    if whole is not None:
        first = np.cumsum(counts) - counts
        filled = counts > 0
        sizes = np.diff(wire.starts)
        if (whole.key_start[first[filled]] == wire.starts[:-1][filled]).all() and not sizes[~filled].any():
            return whole
    each = [entry_bounds(page, wire.cache) for page in pages]
    shifts = wire.starts[:-1].tolist()

    def join(parts: list[Positions]) -> Positions:
        return (
            np.concatenate([part + shift for part, shift in zip(parts, shifts, strict=True)])
            if parts
            else np.zeros(0, np.int64)
        )

    return EntryBounds(
        join([bounds.key_start for bounds in each]),
        join([bounds.key_end for bounds in each]),
        join([bounds.value_start for bounds in each]),
        join([bounds.value_end for bounds in each]),
    )


def _bounds_of_fixed_sizes(data: Bytes, rows: int) -> EntryBounds | None:
    """Compute the positions if all keys, and all values, have one type of fixed size; else None."""
    if rows <= 0 or data.size % rows or data.size < 2:
        return None
    key = int(codes.FIXED[data[0]])
    stride = data.size // rows
    if (
        key == 0
        or key >= stride
        or int(codes.FIXED[data[key]]) != stride - key
        or {int(data[0]), int(data[key])} & codes.NAMED
    ):
        return None
    if (data[::stride] != data[0]).any() or (data[key::stride] != data[key]).any():
        return None
    start = np.arange(rows, dtype=np.int64) * stride
    return EntryBounds(start, start + key, start + key, start + stride)


def _wrapped_candidates(data: Bytes) -> tuple[Positions, Positions]:
    """Search for bytes that look like the start of a wrapped object (27, length, 103, protocol 1)."""
    if data.size < codes.HEADER + 9:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    at = np.flatnonzero(data[: data.size - codes.HEADER - 5] == codes.WRAPPED)
    at = at[(data[at + 5] == codes.OBJECT) & (data[at + 6] == 1)]
    length = np.ndarray((data.size - 3,), "<i4", data, 0, (1,))[at + 1].astype(np.int64)
    fits = (length >= codes.HEADER) & (at + length + 9 <= data.size)
    return at[fits], length[fits]


def _are_plain_payloads(data: Bytes, at: Positions, length: Positions) -> bool:
    """Return whether each wrapped object fills its payload, so that positions can be computed."""
    ints = np.ndarray((data.size - 3,), "<i4", data, 0, (1,))
    return bool((ints[at + 5 + length] == 0).all() and (ints[at + 17] == length).all())


def _bounds_of_wrapped_values(data: Bytes, rows: int) -> EntryBounds | None:
    """Compute the positions if keys have one scalar type and values are wrapped objects; else None.

    Values are found by their signature and proved by the chain of lengths.
    """
    if data.size == 0 or data[0] not in (codes.STRING, *codes.FIXED_SIZE) or data[0] in codes.NAMED:
        return None
    at, length = _wrapped_candidates(data)
    for _ in range(3):
        if at.size < rows or rows == 0:
            return None
        after = at + length + 9
        start = np.concatenate((np.zeros(1, np.int64), after[:-1]))
        good = _key_sizes(data, start) == at - start
        if at.size == rows and good.all() and after[-1] == data.size and _are_plain_payloads(data, at, length):
            return EntryBounds(start, at, at + 5, at + 5 + length)
        keep = _is_after_key(data, at, after)
        if keep.all():
            return None
        at = at[keep]
        length = length[keep]
    return None


def _is_after_key(data: Bytes, at: Positions, after: Positions) -> np.ndarray:
    """Flag the candidates that follow a key directly; a key starts at 0 or at a candidate's end."""
    starts = np.concatenate((np.zeros(1, np.int64), after))
    starts = starts[starts < data.size]
    sizes = _key_sizes(data, starts)
    targets = np.sort((starts + sizes)[sizes > 0])
    if targets.size == 0:
        return np.zeros(at.size, bool)
    index = np.minimum(np.searchsorted(targets, at), targets.size - 1)
    reached: np.ndarray = targets[index] == at
    return reached


def _key_sizes(data: Bytes, start: Positions) -> Positions:
    """Compute the size of the key at each start; 0 if it cannot be a key of the first key's type."""
    code = data[0]
    inside = start + 5 <= data.size
    safe = np.where(inside, start, 0)
    if code == codes.STRING:
        sizes = 5 + np.ndarray((data.size - 3,), "<i4", data, 0, (1,))[np.minimum(safe + 1, data.size - 4)].astype(
            np.int64
        )
    else:
        sizes = np.full(start.size, codes.FIXED[code], np.int64)
    fits: Positions = np.where((data[safe] == code) & inside & (sizes > 0), sizes, 0)
    return fits


def _bounds_of_wrapped_entries(data: Bytes, rows: int) -> EntryBounds | None:
    """Compute the bounds of keys and values if all are wrapped objects; else return None."""
    if data.size == 0 or data[0] != codes.WRAPPED:
        return None
    at, length = _wrapped_candidates(data)
    if at.size != 2 * rows or rows == 0 or at[0] != 0:
        return None
    after = at + length + 9
    if (after[:-1] != at[1:]).any() or after[-1] != data.size or not _are_plain_payloads(data, at, length):
        return None
    start = at + 5
    end = at + 5 + length
    return EntryBounds(start[0::2], end[0::2], start[1::2], end[1::2])


def _measure_each(page: Page, cache: str) -> EntryBounds:
    """Find the positions of entries of any types, by measuring one value after the other."""
    data = _bytes_of(page)
    spans: list[int] = []
    add = spans.extend
    try:
        for position, end in pairwise(entry_cuts(page, cache)):
            add(_unwrap(data, position, end) if data[position] == codes.WRAPPED else (position, end))
    except Malformed as error:
        raise _broken_page_error(page, cache, error.position, error.what) from None
    flat = np.array(spans, np.int64).reshape(-1, 4)
    return EntryBounds(flat[:, 0].copy(), flat[:, 1].copy(), flat[:, 2].copy(), flat[:, 3].copy())


def entry_cuts(page: Page, cache: str = "") -> list[int]:
    """Find the start of each key and value of a page, with its wrapper, and the end of the last value.

    2 * rows + 1 positions.

    :raises DecodeError: the entries do not fill the page exactly; names cache, partition and position.
    """
    data = _bytes_of(page)
    size = len(data)
    position = 0
    cuts = [0]
    try:
        for _ in range(2 * page.rows):
            position = end_of(data, position, size)
            cuts.append(position)
    except Malformed as error:
        raise _broken_page_error(page, cache, error.position, error.what) from None
    if position != size:
        raise _broken_page_error(
            page, cache, position, f"{size - position} bytes are left after the last of {page.rows} entries"
        )
    return cuts


def _bytes_of(page: Page) -> memoryview:
    return page.data if page.data.format == "B" else page.data.cast("B")


def _unwrap(data: memoryview, position: int, end: int) -> tuple[int, int]:
    """Find the object inside a wrapped value (code, length, payload, offset of the object)."""
    offset = _int(data, end - 4)[0]
    start = position + 5 + offset
    limit = end - 4
    if offset < 0 or start >= limit:
        raise Malformed(position, f"The offset {offset} of a wrapped object is outside its payload")
    return start, end_of(data, start, limit)


def _broken_page_error(page: Page, cache: str, position: int, what: str) -> DecodeError:
    return DecodeError(
        what,
        "The page is broken; nothing of it was used",
        cache=cache or None,
        partition=page.partition,
        position=position,
    )
