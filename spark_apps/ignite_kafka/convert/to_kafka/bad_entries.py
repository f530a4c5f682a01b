"""A batch that cannot be sent as a whole, narrowed to the entries at fault; the others are records all the same, in their order.

Only what has bounds can be told apart: where the entries of a page do not fill it exactly, a length is broken and any cut is a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...common.redaction import in_message
from ...errors import DecodeError, IgniteKafkaError, UnsupportedType
from ...ignite.binary import entry_bounds, entry_cuts
from ...ignite.types import type_codes as codes
from ...ignite.types.model import CacheInfo, Page, TypeSource
from ...kafka.records import Records, concat_records, take_rows
from ..rules.stage import Stage

if TYPE_CHECKING:
    from .converter import Converter

ENTRY_ERRORS = (DecodeError, UnsupportedType)
"""What one entry can make of a whole batch."""

Refuses = Callable[[Records], Mapping[int, IgniteKafkaError]]
"""Rows of records that cannot be sent, and why."""

_SHOWN = 80  # bytes of a key


@dataclass(frozen=True)
class BadEntry:
    """An entry that no record can be made of: `row` among the entries of its batch, key and value as Ignite holds them, and why.

    Both are values of Ignite's binary format, not wrapped; a removal has no value.
    """

    row: int
    key: bytes
    value: bytes | None
    stage: Stage
    error: IgniteKafkaError


@dataclass(frozen=True)
class Narrowed:
    """Records of a batch in the order of its entries, and the entries that are none, by row."""

    records: Records
    bad: tuple[BadEntry, ...] = ()


def narrowed(converter: Converter, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, refuses: Refuses) -> Narrowed:
    """Convert the entries of pages, half by half where they are refused. A bad entry costs some 30 small conversions.

    :raises DecodeError: a page's entries have no sound bounds: nothing of the batch is used.
    """
    narrowing = _Narrowing(converter, pages, cache, types, refuses)
    narrowing.narrow(0, narrowing.count)
    return Narrowed(concat_records(narrowing.parts), tuple(narrowing.bad))


class _Narrowing:
    def __init__(self, converter: Converter, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, refuses: Refuses) -> None:
        self._converter, self._cache, self._types, self._refuses = converter, cache, types, refuses
        self._pages = pages
        self._cuts = [entry_cuts(page, cache.name) for page in pages]
        self._starts = np.cumsum([0, *(page.rows for page in pages)])
        self.count = int(self._starts[-1])
        self.parts: list[Records] = []
        self.bad: list[BadEntry] = []

    def narrow(self, first: int, last: int) -> None:
        """Take the entries from `first` to `last` (excluded) into :attr:`parts` or :attr:`bad`."""
        try:
            records = self._convert(self._slices(first, last))
        except ENTRY_ERRORS as error:
            if last - first == 1:
                self.bad.append(self._bad(first, error))
                return
            middle = (first + last) // 2
            self.narrow(first, middle)
            self.narrow(middle, last)
            return
        refused = self._refuses(records)
        self.bad += [self._bad(first + row, refused[row], Stage.PRODUCE) for row in sorted(refused)]
        self.parts.append(take_rows(records, np.delete(np.arange(len(records)), list(refused))) if refused else records)

    def _convert(self, pages: Sequence[Page]) -> Records:
        return self._converter.convert(pages, self._cache, self._types, in_order=True)

    def _slices(self, first: int, last: int) -> list[Page]:
        """Pages of these entries alone."""
        found = []
        for at in range(int(np.searchsorted(self._starts, first, "right")) - 1, int(np.searchsorted(self._starts, last, "left"))):
            start, page, cuts = int(self._starts[at]), self._pages[at], self._cuts[at]
            low, high = max(first - start, 0), min(last - start, page.rows)
            if high > low:
                found.append(Page(page.partition, high - low, page.data[cuts[2 * low] : cuts[2 * high]], page.last))
        return found

    def _bad(self, row: int, error: IgniteKafkaError, stage: Stage | None = None) -> BadEntry:
        """The entry of this row. Where no stage is given, it is told by whether the key alone can be converted."""
        (page,) = self._slices(row, row + 1)
        bounds = entry_bounds(page, self._cache.name)
        key = bytes(page.data[int(bounds.key_start[0]) : int(bounds.key_end[0])])
        value = bytes(page.data[int(bounds.value_start[0]) : int(bounds.value_end[0])])
        shown, failed = self._shown_key(page, key)
        place = {**error.where, "cache": self._cache.name, "partition": page.partition, "key": in_message(shown[:_SHOWN])}
        place.pop("position", None)  # within what was converted
        found = stage or failed
        return BadEntry(row, key, None if value[0] == codes.NULL else value, found, type(error)(error.what, error.remedy, **place))

    def _shown_key(self, page: Page, key: bytes) -> tuple[bytes, Stage]:
        """The record's key, and that the value is at fault; or the bytes of the key, if it is the key."""
        _, end, _ = entry_cuts(page, self._cache.name)
        try:
            alone = self._convert([Page(page.partition, 1, memoryview(bytes(page.data[:end]) + bytes([codes.NULL])), True)])
        except ENTRY_ERRORS:
            return key, Stage.KEY
        return alone.keys[0].as_py(), Stage.VALUE
