"""Arithmetic of page sizes."""

from __future__ import annotations

import pytest

from ignite_kafka.ignite.page_size import MAX_PAGE_ROWS, PROBE_ROWS, PageSize


@pytest.mark.parametrize(
    ("pages", "rows"),
    [
        ([], PROBE_ROWS),
        ([(0, 0)], PROBE_ROWS),
        ([(32, 3_200)], 10_000),
        ([(32, 3_200), (0, 0)], 10_000),
        ([(100, 1_000), (100, 10_000)], 10_000),  # the last page is wider than the mean: it counts
        ([(100, 100_000), (100, 1_000)], 1_980),  # the mean is wider
        ([(10, 50_000_000)], 1),
        ([(10, 10)], MAX_PAGE_ROWS),
    ],
)
def test_rows_for_a_page(pages: list[tuple[int, int]], rows: int) -> None:
    size = PageSize(1_000_000)
    for seen, length in pages:
        size.saw(seen, length)
    assert size.rows == rows


def test_opening_again_pays_only_when_pages_are_far_too_small() -> None:
    size = PageSize(1_000_000)
    assert not size.far_above(PROBE_ROWS)
    size.saw(32, 320_000)
    assert not size.far_above(PROBE_ROWS)
    assert size.rows == 100
    size.saw(3_200, 320_000)
    assert size.far_above(PROBE_ROWS)


def test_pages_that_small_partitions_do_not_fill() -> None:
    size = PageSize(1_000_000)
    assert size.page_mean == 1_000_000
    size.saw(32, 3_200)
    size.saw(0, 0)
    assert size.page_mean == 3_200
    size.saw(64, 6_400)
    assert size.page_mean == 6_400  # the last page is larger than the mean: it counts
    size.saw(2, 200)
    assert size.page_mean == 3_266
