"""Separation of a batch's bad entries, so that all other entries can be sent in their order.

Entries are separated by their bounds. If the entries of a page do not fill it exactly, a length is broken, and no
bounds are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...common.redaction import in_message
from ...errors import DecodeError, IgniteKafkaError, TransformFailed, UnsupportedType, ValueNotWritten
from ...ignite.binary import entry_bounds, entry_cuts
from ...ignite.types import type_codes as codes
from ...ignite.types.model import CacheInfo, Page, TypeSource
from ...kafka.records import Records, concat_records, take_rows
from ...settings.connector import ConnectorSettings
from ...settings.error_policies import STOP
from ..rules.failure_stages import Stage, policy_of

if TYPE_CHECKING:
    from .converter import Converter

ENTRY_ERRORS = (DecodeError, UnsupportedType, TransformFailed)
"""Errors of a whole batch that one bad entry may have caused."""

Refuses = Callable[[Records], Mapping[int, IgniteKafkaError]]
"""Function that returns, by row, the errors of converted records that Kafka would refuse."""

_SHOWN = 80  # bytes of a key in a message


@dataclass(frozen=True)
class BadEntry:
    """An entry that cannot be converted or sent, with its error.

    :param row: row of the entry in its batch.
    :param key: key in Ignite's binary format, not wrapped.
    :param value: value in the same format; None for a removal.
    """

    row: int
    key: bytes
    value: bytes | None
    stage: Stage
    error: IgniteKafkaError


@dataclass(frozen=True)
class Conversion:
    """Records converted from a batch of entries, in the entries' order, and the bad entries."""

    records: Records
    bad: tuple[BadEntry, ...] = ()


def separate_bad_entries(
    converter: Converter, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, refuses: Refuses, topic: str = ""
) -> Conversion:
    """Convert the entries of pages; find bad entries by converting halves of a failing batch.

    A bad entry costs some 30 small conversions.

    :param refuses: function that returns the errors of records that cannot be sent, by row.
    :raises DecodeError: the bounds of a page's entries are broken; nothing of the batch is used.
    """
    bisection = _Bisection(converter, pages, cache, types, refuses, topic)
    bisection.convert(0, bisection.count)
    return Conversion(concat_records(bisection.parts), tuple(sorted(bisection.bad, key=lambda bad: bad.row)))


def raise_stopping(settings: ConnectorSettings, bad: Iterable[BadEntry]) -> None:
    """Raise the first error whose error policy stops the run."""
    for entry in bad:
        if policy_of(settings, entry.stage, entry.error.where) == STOP:
            raise entry.error


def bad_entry(
    converter: Converter, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, topic: str, row: int,
    error: IgniteKafkaError,
    stage: Stage,
) -> BadEntry:  # fmt: skip
    """Return the bad entry at a row, with its key and value, for an error found before its conversion."""
    return _Bisection(converter, pages, cache, types, lambda _: {}, topic).bad_entry(row, error, stage)


class _Bisection:
    def __init__(
        self,
        converter: Converter,
        pages: Sequence[Page],
        cache: CacheInfo,
        types: TypeSource,
        refuses: Refuses,
        topic: str,
    ) -> None:
        self._converter = converter
        self._cache = cache
        self._types = types
        self._topic = topic
        self._refuses = refuses
        self._pages = pages
        self._cuts = [entry_cuts(page, cache.name) for page in pages]
        self._starts = np.cumsum([0, *(page.rows for page in pages)])
        self.count = int(self._starts[-1])
        self.parts: list[Records] = []
        self.bad: list[BadEntry] = []

    def convert(self, first: int, last: int) -> None:
        """Convert the entries from `first` to `last` (excluded), and separate the bad entries."""
        try:
            records = self._convert(self._slices(first, last))
        except ENTRY_ERRORS as error:
            if last - first == 1:
                self.bad.append(self.bad_entry(first, error))
                return
            middle = (first + last) // 2
            self.convert(first, middle)
            self.convert(middle, last)
            return
        rows = np.arange(len(records)) if records.rows is None else records.rows
        self.bad += [self.bad_entry(first + row, error, Stage.TRANSFORMATION) for row, error in records.refused]
        refused = self._refuses(records)
        self.bad += [self.bad_entry(first + int(rows[at]), refused[at], Stage.PRODUCE) for at in sorted(refused)]
        kept = replace(records, rows=None if records.rows is None else rows + first, refused=())
        self.parts.append(take_rows(kept, np.delete(np.arange(len(records)), list(refused))) if refused else kept)

    def _convert(self, pages: Sequence[Page]) -> Records:
        return self._converter.convert(pages, self._cache, self._types, topic=self._topic, in_order=True)

    def _slices(self, first: int, last: int) -> list[Page]:
        """Return pages with only the entries from `first` to `last` (excluded)."""
        pages = []
        for at in range(
            int(np.searchsorted(self._starts, first, "right")) - 1, int(np.searchsorted(self._starts, last, "left"))
        ):
            start = int(self._starts[at])
            page = self._pages[at]
            cuts = self._cuts[at]
            low = max(first - start, 0)
            high = min(last - start, page.rows)
            if high > low:
                pages.append(Page(page.partition, high - low, page.data[cuts[2 * low] : cuts[2 * high]], page.last))
        return pages

    def bad_entry(self, row: int, error: IgniteKafkaError, stage: Stage | None = None) -> BadEntry:
        """Return the bad entry at a row, with key, value, and the stage at which it failed.

        Without a given stage: if a converter cannot write the entry, the stage is KEY if the key alone cannot be
        converted, else VALUE. If the entry cannot become Connect data, the stage is POLL, and the error has `part`, key
        or value.
        """
        (page,) = self._slices(row, row + 1)
        bounds = entry_bounds(page, self._cache.name)
        key = bytes(page.data[int(bounds.key_start[0]) : int(bounds.key_end[0])])
        value = bytes(page.data[int(bounds.value_start[0]) : int(bounds.value_end[0])])
        shown, failed = self._shown_key(page, key)
        place = {
            **error.where,
            "cache": self._cache.name,
            "partition": page.partition,
            "key": in_message(shown[:_SHOWN]),
        }
        place.pop("position", None)  # a position within the converted bytes
        if stage is None and not isinstance(error, ValueNotWritten):
            stage, place["part"] = Stage.POLL, "key" if failed == Stage.KEY else "value"
        failed_stage = stage or failed
        return BadEntry(
            row,
            key,
            None if value[0] == codes.NULL else value,
            failed_stage,
            type(error)(error.what, error.remedy, **place),
        )

    def _shown_key(self, page: Page, key: bytes) -> tuple[bytes, Stage]:
        """Return the key to show in messages, and whether the key or the value cannot be converted."""
        _, end, _ = entry_cuts(page, self._cache.name)
        try:
            alone = self._convert(
                [Page(page.partition, 1, memoryview(bytes(page.data[:end]) + bytes([codes.NULL])), True)]
            )
        except ENTRY_ERRORS:
            return key, Stage.KEY
        # transforms may drop the record, or make another key
        return (alone.keys[0].as_py() or key) if len(alone) else key, Stage.VALUE
