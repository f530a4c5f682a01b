"""Java's hash code of a text, which Ignite uses as the id of a cache, type, or field."""

from __future__ import annotations


def java_hash(text: str) -> int:
    """Return Java's ``String.hashCode`` of a text, as a signed 32-bit integer.

    It is computed over UTF-16 units. Ignite's ids are the hash of a cache's name, or of a type's or field's name in
    lower case.
    """
    number = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        number = (31 * number + unit) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number
