"""Java's hash of a text, which is Ignite's id of a cache, a type, or a field."""

from __future__ import annotations


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`, over UTF-16 units, as a signed int32.

    Ignite's id of a cache, and of a type or field in lower case.
    """
    number = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        number = (31 * number + unit) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number
