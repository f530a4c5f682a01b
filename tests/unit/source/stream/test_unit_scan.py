"""Scans of the keys that were removed from an active-active cache, beside those of its entries."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ignite_kafka.errors import CacheNotFound
from ignite_kafka.ignite.binary import raw_entries
from ignite_kafka.ignite.types.model import Page
from ignite_kafka.source.stream.batch import page_of_states
from ignite_kafka.source.stream.unit_scan import UnitScanner, add_removed
from tests.support.backlog_changes import CACHE, key_bytes, value_bytes

UNITS = np.array([1, 2])


def page(partition: int, *keys: int) -> Page:
    found = page_of_states([(key_bytes(key), value_bytes(0)) for key in keys])
    return Page(partition, found.rows, found.data, True)


def scanner(*caches: str) -> UnitScanner:
    """Scanner of nodes with these caches, whose unit is its partition plus one."""

    def cache(name: str) -> str:
        if name not in caches:
            raise CacheNotFound("there is no such cache", "Name another", cache=name)
        return name

    def scan(_: object, info: str, partitions: list[int], **__: object) -> Iterator[Page]:
        assert info == f"ignite-kafka-tombstones-{CACHE.name}"
        yield from (page(partition, partition) for partition in partitions)

    states = SimpleNamespace(
        table=SimpleNamespace(partition=lambda unit: unit - 1, cache=np.zeros(9, np.int64)),
        plan=SimpleNamespace(cluster_id=1, settings=SimpleNamespace(page_bytes=1, batch_bytes=1_000)),
    )
    return UnitScanner(cast(Any, SimpleNamespace(cache=cache)), cast(Any, None), cast(Any, states), None, cast(Any, scan))


def test_removed_keys_are_those_of_the_nodes_own_cache_if_there_is_one() -> None:
    assert scanner().removed(CACHE, UNITS) == {}
    removed = scanner(f"ignite-kafka-tombstones-{CACHE.name}").removed(CACHE, UNITS)
    assert {unit: [found.partition for found in pages] for unit, pages in removed.items()} == {1: [0], 2: [1]}


def test_removed_keys_count_for_the_number_of_partitions_of_the_next_scan() -> None:
    """A cache that is used as a queue has few entries and many removed keys: all of these are held at once, too."""
    scans = scanner()
    assert scans.next_units(np.arange(9)).size == 1
    pages = {1: [page(0)]}
    add_removed(pages, {1: [page(0, *range(20))]}, CACHE.name)
    scans.note_size(pages)
    size = sum(len(found.data) for found in pages[1])
    assert 100 < size < 500
    assert scans.next_units(np.arange(9)).size == 1_000 // size


def test_a_key_that_was_put_again_is_no_removed_one() -> None:
    pages = {1: [page(0, 7)], 2: [page(1, 8)]}
    add_removed(pages, {1: [page(0, 5, 7)], 2: [page(1)]}, CACHE.name)
    keys = {unit: [key for found in each for key, _ in raw_entries(found, CACHE.name)] for unit, each in pages.items()}
    assert keys == {1: [key_bytes(7), key_bytes(5)], 2: [key_bytes(8)]}
