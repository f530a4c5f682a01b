"""Search for the end of a value of any type, without decoding it."""

from __future__ import annotations

import struct

from ..types import type_codes as codes

_int = struct.Struct("<i").unpack_from
_FIXED = tuple(0 if code in codes.NAMED else codes.FIXED_SIZE.get(code, 0) for code in range(256))
_WIDTH = tuple(codes.ELEMENT_WIDTH.get(code, 0) for code in range(256))
NESTING = frozenset({codes.COLLECTION, codes.MAP, codes.PROXY, *codes.CODED_ARRAYS, *codes.TYPED_ARRAYS})
"""Codes of values whose elements follow the header: the end is known only after the elements are measured."""
_PREFIX = {codes.STRING: 5, codes.WRAPPED: 9, codes.OPTIMIZED: 5}


class Malformed(Exception):
    """Raised for bytes that are no value; callers turn it into a DecodeError with cache and partition."""

    def __init__(self, position: int, what: str) -> None:
        super().__init__(what)
        self.position = position
        self.what = what


def end_of(data: memoryview, position: int, limit: int) -> int:
    """Find the end of the value at `position`; Malformed if it is no value or ends after `limit`."""
    pending = 1
    while pending:
        pending -= 1
        if position >= limit:
            raise Malformed(position, "The bytes end where a value is due")
        code = data[position]
        end = position + _FIXED[code]
        if end == position:
            end, inner = _variable(data, position, code, limit)
            pending += inner
        if end > limit:
            raise Malformed(position, f"A value of type code {code} ends {end - limit} bytes after its limit")
        if pending > limit - end:
            raise Malformed(position, f"A value of type code {code} has more elements than bytes are left")
        position = end
    return position


def measure(data: memoryview, position: int, limit: int, ends: dict[int, int]) -> int:
    """Find the end of a value as :func:`end_of`, and store the ends of its inner containers in `ends`.

    The keys of `ends` are positions. A reader of nested containers, level by level, then measures no byte twice.
    """
    if position >= limit or data[position] not in NESTING:
        return end_of(data, position, limit)
    measured = ends.get(position)
    if measured is not None and measured <= limit:
        return measured
    open_: list[list[int]] = []  # start of each container that is not at its end, and number of values left in it
    while True:
        if position < limit and data[position] in NESTING:
            start = position
            position, inner = _variable(data, start, data[start], limit)
            if inner > limit - position:
                raise Malformed(start, f"A value of type code {data[start]} has more elements than bytes are left")
            open_.append([start, inner])
        else:
            position = end_of(data, position, limit)
        while open_ and not open_[-1][1]:
            ends[open_.pop()[0]] = position
        if not open_:
            return position
        open_[-1][1] -= 1


def end_of_head(data: memoryview, position: int, limit: int) -> int:
    """Find the first element of an array, collection or map; raises as :func:`end_of`."""
    return _variable(data, position, data[position], limit)[0]


def _variable(data: memoryview, position: int, code: int, limit: int) -> tuple[int, int]:
    """Find the end of a value of variable size; of a container the end of its header and the element count."""
    if code == codes.OBJECT:
        length = _count(data, position, position + 12, limit)
        if length < codes.HEADER:
            raise Malformed(position, f"A binary object of {length} bytes is shorter than its header")
        return position + length, 0
    if code in _PREFIX:
        return position + _PREFIX[code] + _count(data, position, position + 1, limit), 0
    if _WIDTH[code]:
        return position + 5 + _WIDTH[code] * _count(data, position, position + 1, limit), 0
    if code == codes.DECIMAL:
        return position + 9 + _count(data, position, position + 5, limit), 0
    if code in codes.CODED_ARRAYS:
        return position + 5, _count(data, position, position + 1, limit)
    if code in (codes.COLLECTION, codes.MAP):
        return position + 6, _count(data, position, position + 1, limit) * (2 if code == codes.MAP else 1)
    if code in codes.TYPED_ARRAYS:
        after = _after_type(data, position, limit)
        return after + 4, _count(data, position, after, limit)
    if code in codes.NAMED:
        return _after_type(data, position, limit) + (0 if code == codes.CLASS else 4), 0
    if code == codes.PROXY:
        return _proxy(data, position, limit), 1
    raise Malformed(position, f"There is no type code {code}")


def _count(data: memoryview, position: int, at: int, limit: int) -> int:
    if at + 4 > limit:
        raise Malformed(position, "The bytes end within a length")
    count: int = _int(data, at)[0]
    if count < 0:
        raise Malformed(position, f"The length {count} is negative")
    return count


def _after_type(data: memoryview, position: int, limit: int, at: int | None = None) -> int:
    """Find the end of a type id, and of the class name after a type id of 0."""
    at = position + 1 if at is None else at
    if at + 4 > limit:
        raise Malformed(position, "The bytes end within a type id")
    if _int(data, at)[0] != 0:
        return at + 4
    if at + 4 >= limit or data[at + 4] != codes.STRING:
        raise Malformed(position, "A type id of 0 is not followed by a class name")
    return at + 9 + _count(data, position, at + 5, limit)


def _proxy(data: memoryview, position: int, limit: int) -> int:
    count = _count(data, position, position + 1, limit)
    at = position + 5
    for _ in range(min(count, limit - at)):
        at = _after_type(data, position, limit, at)
    return at
