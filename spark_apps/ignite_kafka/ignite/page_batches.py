"""Groups pages of a scan into batches that are decoded together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .types.model import Page

MIN_BATCH_ROWS = 20_000
"""Entries of a batch, unless its bytes are enough before: below it numpy's call overhead eats the gain."""


def batches(pages: Iterator[Page], rows: int, size: Callable[[], int]) -> Iterator[list[Page]]:
    """Pages collected until they hold at least ``rows`` entries or ``size()`` bytes.

    Memory is bounded by a batch and one page.

    A batch ends with a unit, or lies within one: so every unit ends some batch, where a transaction can close.
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
