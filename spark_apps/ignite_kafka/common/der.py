"""Reader of DER, the binary encoding of ASN.1 in key stores and certificates."""

from __future__ import annotations

from collections.abc import Iterator

SEQUENCE = 0x30
INTEGER = 0x02
OCTETS = 0x04
OID = 0x06
MAX_DEPTH = 24
_LONGEST_LENGTH = 4


def items(data: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Yield the elements of one level: tag, start and end of the content, in bytes.

    :raises ValueError: the data is no DER, or an element is longer than its surrounding element.
    """
    end = len(data) if end is None else end
    while start < end:
        tag, start, stop = _head(data, start, end)
        yield tag, start, stop
        start = stop


def _head(data: bytes, start: int, end: int) -> tuple[int, int, int]:
    if end - start < 2:
        raise ValueError("an element is cut off")
    tag = data[start]
    length = data[start + 1]
    start = start + 2
    if tag & 0x1F == 0x1F:
        raise ValueError("a tag has several bytes")
    if length & 0x80:
        size = length & 0x7F
        if not 1 <= size <= _LONGEST_LENGTH or end - start < size:
            raise ValueError("a length is indefinite, too long or cut off")
        length = int.from_bytes(data[start : start + size], "big")
        start = start + size
    if length > end - start:
        raise ValueError("an element is longer than what holds it")
    return tag, start, start + length


def walk(data: bytes) -> Iterator[list[tuple[int, int, int]]]:
    """Yield the elements of every level, including elements within octet strings of DER.

    Time is linear in size and depth.

    :raises ValueError: see :func:`items`; or the elements are nested more than ``MAX_DEPTH`` deep.
    """
    waiting = [(0, len(data), 0)]
    while waiting:
        start, end, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"elements are nested more than {MAX_DEPTH} deep")
        group = list(items(data, start, end))
        yield group
        for tag, inner, stop in group:
            if tag & 0x20 or (tag == OCTETS and _holds_der(data, inner, stop)):
                waiting.append((inner, stop, depth + 1))


def _holds_der(data: bytes, start: int, end: int) -> bool:
    """Return whether an octet string contains DER, instead of a value such as a hash."""
    if end - start < 2 or data[start] != SEQUENCE:
        return False
    try:
        if next(items(data, start, end))[2] != end:
            return False
        for _ in items(data, start, end):
            pass
    except ValueError:
        return False
    return True
