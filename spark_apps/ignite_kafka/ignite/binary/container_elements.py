"""Search for the elements of many arrays, collections and maps in a buffer, as one flat list of positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..types import type_codes as codes
from .decode_scalars import lengths
from .page_buffer import PageBuffer, Positions
from .value_end import Malformed, measure

_LENGTH_AT = {
    codes.STRING: (1, 5),
    codes.WRAPPED: (1, 9),
    codes.OPTIMIZED: (1, 5),
    codes.DECIMAL: (5, 9),
    codes.OBJECT: (12, 0),
}
_STEPS_WORTH = 40


@dataclass(frozen=True)
class Elements:
    """Positions of the elements of n arrays, collections or maps.

    Container i has the elements [offsets[i], offsets[i + 1]): they begin at `at` and end before `end`.
    """

    offsets: Positions
    at: Positions
    end: Positions


def element_places(wire: PageBuffer, code: int, at: Positions, end: Positions) -> Elements:
    """Find the elements of arrays, collections or maps of one type code; a map's keys and values alternate."""
    first, count = _first_and_count(wire, code, at, end)
    return _places(wire, first, count, end)


def tree_places(wire: PageBuffer, start: Positions, stop: Positions, each: int) -> Elements:
    """Find the elements of java.util.TreeMap (`each` 2) or TreeSet (`each` 1) objects.

    Such an object has raw data: comparator, int32 size, elements.
    """
    size_at = after(wire, start + codes.HEADER, stop)
    count = each * lengths(wire, size_at, stop, 4, each, "A TreeMap or TreeSet")
    return _places(wire, size_at + 4, count, stop)


def _places(wire: PageBuffer, first: Positions, count: Positions, end: Positions) -> Elements:
    offsets = np.zeros(count.size + 1, np.int64)
    np.cumsum(count, out=offsets[1:])
    wire.spend(16 * int(offsets[-1]), int(first[0]))
    if offsets[-1] > np.iinfo(np.int32).max:
        raise wire.unsupported(int(first[0]), "A column of more than 2^31 elements in one batch: use smaller pages")
    places = _walk(wire, first, end, count, offsets)
    return Elements(offsets, places, np.repeat(end, count))


def _first_and_count(wire: PageBuffer, code: int, at: Positions, end: Positions) -> tuple[Positions, Positions]:
    """Read each container's number of elements, and find the first element; check the numbers by the bytes left.

    An element has at least one byte.
    """
    if code in codes.CODED_ARRAYS:
        return at + 5, lengths(wire, at, end, 5, 1, "An array")
    if code in (codes.COLLECTION, codes.MAP):
        what = "A Map" if code == codes.MAP else "A Collection"
        each = 2 if code == codes.MAP else 1
        wire.require(at, at + 6, end, what)
        return at + 6, each * lengths(wire, at, end, 5, each, what)
    wire.require(at, at + 9, end, "An array")
    named = wire.ints(at + 1) == 0
    after = at + 5
    if named.any():
        rows = np.flatnonzero(named)
        after[rows] += 5 + lengths(wire, at[rows] + 5, end[rows], 5, 1, "A class name")
    return after + 4, lengths(wire, after - 1, end, 5, 1, "An array")


def _walk(wire: PageBuffer, first: Positions, end: Positions, count: Positions, offsets: Positions) -> Positions:
    places = np.empty(int(offsets[-1]), np.int64)
    if places.size == 0:
        return places
    longest = int(count.max())
    if longest * _STEPS_WORTH > places.size:
        _walk_rows(wire, first, end, count, places)
        return places
    rows = np.flatnonzero(count > 0)
    current = first[count > 0]
    for step in range(longest):
        places[offsets[rows] + step] = current
        more = count[rows] > step + 1
        rows = rows[more]
        current = after(wire, current[more], end[rows])
    return places


def _walk_rows(wire: PageBuffer, first: Positions, end: Positions, count: Positions, places: Positions) -> None:
    data = wire.data.data
    index = 0
    for position, limit, size in zip(first.tolist(), end.tolist(), count.tolist(), strict=True):
        for _ in range(size):
            places[index] = position
            index += 1
            position = _end(wire, data, position, limit)


def _end(wire: PageBuffer, data: memoryview, position: int, limit: int) -> int:
    try:
        return measure(data, position, limit, wire.ends)
    except Malformed as error:
        raise wire.error(error.position, error.what) from None


def after(wire: PageBuffer, at: Positions, end: Positions) -> Positions:
    """Find the end of each value, of any type code."""
    wire.require(at, at + 1, end, "An element")
    code = wire.data[at]
    size = codes.FIXED[code]
    size[np.isin(code, list(codes.NAMED))] = 0
    for type_code in np.unique(code[size == 0]):
        rows = np.flatnonzero(code == type_code)
        size[rows] = _sizes(wire, int(type_code), at[rows], end[rows])
    beyond: Positions = at + size
    wire.require(at, beyond, end, "An element")
    return beyond


def _sizes(wire: PageBuffer, code: int, at: Positions, end: Positions) -> Positions:
    if code in _LENGTH_AT:
        where, header = _LENGTH_AT[code]
        wire.require(at, at + where + 4, end, "An element")
        length = wire.ints(at + where)
        if (length < 0).any() or (code == codes.OBJECT and (length < codes.HEADER).any()):
            raise wire.error(int(at[length.argmin()]), "An element has a length that cannot be")
        return header + length
    sizes: Positions = ends_of(wire, at) - at
    return sizes


def ends_of(wire: PageBuffer, at: Positions) -> Positions:
    """Find the end of each value by measuring one at a time; equal positions are measured once."""
    data = wire.data.data
    size = int(wire.data.size)
    places, index = np.unique(at, return_inverse=True)
    ends = np.array([_end(wire, data, position, size) for position in places.tolist()], np.int64)
    end_of_each: Positions = ends[index.ravel()]
    return end_of_each
