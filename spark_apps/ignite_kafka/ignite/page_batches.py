"""Grouping of a scan's pages into batches that are decoded together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .types.model import Page

MIN_BATCH_ROWS = 20_000
"""Minimum entries of a batch, unless its bytes suffice: with fewer, numpy's overhead per call outweighs the gain."""


def batches(pages: Iterator[Page], rows: int, size: Callable[[], int]) -> Iterator[list[Page]]:
    """Group pages into batches of at least ``rows`` entries or ``size()`` bytes, which decode faster.

    Memory is bounded by a batch and one page.

    No batch has pages of two units. So each unit's end is a batch's end, where a transaction can close.
    """
    batch: list[Page] = []
    held = held_bytes = 0
    split = False
    for page in pages:
        batch.append(page)
        held = held + page.rows
        held_bytes = held_bytes + len(page.data)
        if held >= rows or held_bytes >= size() or (split and page.last):
            yield batch
            batch = []
            held = 0
            held_bytes = 0
            split = not page.last
    if batch:
        yield batch
