"""Values with a grade, which decides between the writes of clusters, and the entries of the caches as tests compare them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from pyignite import GenericObjectMeta
from pyignite.datatypes import IntObject, String

from tests.integration.active_active.clusters import CACHE, RANKED, State
from tools.servers import IgniteCluster

Ranked: Any = GenericObjectMeta("Ranked", (), {}, schema={"grade": IntObject, "text": String})
"""Value of the cache with a rule."""
ZERO_RANK = 1 << 56
"""Rank of grade 0."""
_FIELDS = struct.Struct("<24xBiBi")  # header of the object; type and value of `grade`; type and length of `text`


def all_entries(cluster: IgniteCluster) -> dict[tuple[str, int], Any]:
    """Return the values of both caches, by cache and key."""
    with cluster.client() as client:
        client.register_binary_type(Ranked)
        entries: dict[tuple[str, int], Any] = {}
        for name in (CACHE, RANKED):
            if name in client.get_cache_names():
                for key, value in client.get_cache(name).scan(page_size=1_000):
                    entries[name, key] = value if name == CACHE else (value.grade, value.text)
        return entries


def key_number(key: bytes) -> int:
    """Decode a long in Ignite's binary form."""
    return int.from_bytes(key[1:], "little", signed=True)


def grade_and_text(value: bytes) -> tuple[int, bytes]:
    """Decode the fields of an object in Ignite's binary form."""
    _, grade, _, length = _FIELDS.unpack_from(value)
    return grade, value[_FIELDS.size : _FIELDS.size + length]


def java_lines(cache: str, newest: Mapping[bytes, State]) -> set[str]:
    """Return what ReadTypes prints of a cache that has the newest writes."""
    lines = set()
    for key, (_, value) in newest.items():
        if value is None:
            continue
        if cache == CACHE:
            text = f"str:{value[5:].hex()}"
        else:
            grade, content = grade_and_text(value)
            text = f"Ranked(grade=int:{grade},text=str:{content.hex()})"
        lines.add(f"{cache}\tlong:{key_number(key)}\t{text}\ttrue")
    return lines


def assert_ranks(newest: Mapping[bytes, State], greatest: Mapping[int, int], shown: str) -> None:
    """Assert that ranks are those of the values, and that no key has a lesser one than a put of it that has returned.

    :param greatest: of each key, the greatest grade that any cluster's program has put.
    """
    for (rank, _, _), value in newest.values():
        assert value is None or rank == ZERO_RANK + grade_and_text(value)[0], shown
    ranks = {key_number(key): rank for key, ((rank, _, _), _) in newest.items()}
    lost = {key: (grade, ranks.get(key)) for key, grade in greatest.items() if ranks.get(key, 0) < ZERO_RANK + grade}
    assert not lost, f"{shown}: keys with a lesser rank than that of a put: {lost}"
