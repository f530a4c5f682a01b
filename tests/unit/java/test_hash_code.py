"""Java's hash of a text, which is Ignite's id of a cache, a type, or a field."""

from __future__ import annotations

import pytest

from ignite_kafka.ignite.protocol import cache_id
from ignite_kafka.java.hash_code import java_hash


@pytest.mark.parametrize(
    ("text", "number"),
    [("", 0), ("trade", 110621028), ("polygenelubricants", -(2**31)), ("\N{GRINNING FACE}", 31 * 0xD83D + 0xDE00)],
)
def test_hashes_are_those_of_java(text: str, number: int) -> None:
    """A character beyond the basic plane counts as its two UTF-16 units."""
    assert java_hash(text) == cache_id(text) == number
