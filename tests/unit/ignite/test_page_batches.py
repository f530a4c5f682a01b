"""How pages are collected into batches."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.ignite.page_batches import batches
from ignite_kafka.ignite.types.model import Page

UNITS = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=5), max_size=12)


def pages(units: list[list[int]]) -> list[Page]:
    return [
        Page(number, rows, memoryview(bytes(rows * 10)), at == len(unit) - 1)
        for number, unit in enumerate(units)
        for at, rows in enumerate(unit)
    ]


@given(UNITS, st.integers(1, 30), st.integers(1, 300))
def test_no_page_is_lost_and_order_is_kept(units: list[list[int]], rows: int, size: int) -> None:
    given_pages = pages(units)
    assert [page for batch in batches(iter(given_pages), rows, lambda: size) for page in batch] == given_pages


@given(UNITS, st.integers(1, 30), st.integers(1, 300))
def test_memory_is_bounded_by_a_batch_and_a_page(units: list[list[int]], rows: int, size: int) -> None:
    for batch in batches(iter(pages(units)), rows, lambda: size):
        assert sum(page.rows for page in batch[:-1]) < rows
        assert sum(len(page.data) for page in batch[:-1]) < size


@given(UNITS, st.integers(1, 30), st.integers(1, 300))
def test_every_unit_ends_a_batch_or_ends_inside_one_with_the_units_after_it(units: list[list[int]], rows: int, size: int) -> None:
    """So a transaction can always close: a batch that ends within a unit is followed by batches of that unit alone."""
    found = list(batches(iter(pages(units)), rows, lambda: size))
    for batch, following in pairwise(found):
        if not batch[-1].last:
            assert {page.partition for page in following} == {batch[-1].partition}


def test_a_unit_that_was_split_ends_its_batch() -> None:
    found = [[page.partition for page in batch] for batch in batches(iter(pages([[5, 1], [1], [1]])), 5, lambda: 10**9)]
    assert found == [[0], [0], [1, 2]]
