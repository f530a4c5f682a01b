"""Selection of the entries to send, by the filter that the settings give a cache.

Other entries are left out; a change to an entry that no longer passes the filter may become a tombstone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import events
from ..common.arrays import Mask, RowIndex
from ..convert import Converters
from ..convert.filter import Filters
from ..convert.filter.entries import EntryFilter
from ..convert.filter.failed_rows import ROW_ERRORS, Decided, decide_each_row
from ..convert.rules.failure_stages import Stage
from ..convert.to_kafka.bad_entries import BadEntry, bad_entry
from ..convert.to_kafka.converter import Converter
from ..errors import IgniteKafkaError
from ..ignite.binary import JoinedPages, entry_bounds, kept_rows, with_nulls
from ..ignite.types.model import CacheInfo, Page, TypeSource
from ..settings.error_policies import STOP
from ..settings.source import SourceSettings


@dataclass(frozen=True)
class Selection:
    """The entries of scanned or changed pages that passed the cache's filter.

    :param pages: pages with the selected entries only.
    :param rows: positions of the selected entries among all entries; None: all are selected.
    :param removed: a flag for each selected entry: it is a tombstone; None: no entry is, and the order of the entries
        does not matter.
    :param bad: entries for which the filter fails; their rows are positions among all entries.
    :param filtered: positions of the entries left out, among all entries.
    """

    pages: Sequence[Page]
    rows: RowIndex | None = None
    removed: Mask | None = None
    bad: tuple[BadEntry, ...] = ()
    filtered: RowIndex = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def count(self) -> int:
        """Number of the selected entries."""
        return sum(page.rows for page in self.pages)

    def positions(self, rows: RowIndex) -> RowIndex:
        """Translate positions among the selected entries to positions among all entries of the batch."""
        return rows if self.rows is None else self.rows[rows]


class EntrySelector:
    """Applies the filter of one cache to pages of its entries.

    :param tombstones: whether a change to an entry that does not pass the filter is sent as a tombstone.
    """

    def __init__(
        self,
        entry_filter: EntryFilter,
        converter: Converter,
        info: CacheInfo,
        types: TypeSource,
        topic: str,
        *,
        tombstones: bool,
    ):
        self._filter = entry_filter
        self._converter = converter
        self._info = info
        self._types = types
        self._topic = topic
        self._tombstones = tombstones

    def select(self, pages: Sequence[Page], removed: Mask | None) -> Selection:
        """Return the entries of pages that pass the filter.

        :param removed: a flag for each entry: it is a removal, which no filter leaves out; None: the entries were read
            from the cache, and are no changes.
        :raises DecodeError: the bounds of a page's entries are broken.
        :raises ProgramFault: the user's function failed.
        """
        pages = JoinedPages(pages, self._info, self._types)
        count = sum(page.rows for page in pages)
        live = np.ones(count, bool) if removed is None else ~removed
        kept, errors = self._kept(kept_rows(pages, live, self._info, self._types))
        at = np.flatnonzero(live)
        bad = tuple(self._bad(pages, int(at[row]), error) for row, error in sorted(errors.items()))
        left = np.zeros(count, bool)
        left[at[~kept]] = True
        left[[entry.row for entry in bad]] = False
        sent = ~left
        if removed is not None and self._tombstones:
            removed = removed | left
            sent = np.ones(count, bool)
            if left.any():
                pages = with_nulls(pages, removed, self._info)
        sent[[entry.row for entry in bad]] = False
        if sent.all():
            return Selection(pages, None, removed)
        filtered = np.flatnonzero(left & ~sent)
        gone = None if removed is None else removed[sent]
        return Selection(kept_rows(pages, sent, self._info, self._types), np.flatnonzero(sent), gone, bad, filtered)

    def _kept(self, pages: Sequence[Page]) -> Decided:
        """Evaluate the filter; return a flag for each entry, and by row the errors of a failed evaluation."""
        count = sum(page.rows for page in pages)
        if not count:
            return np.zeros(0, bool), {}
        try:
            return self._filter.of_pages(pages, self._info, self._types)
        except ROW_ERRORS:
            for page in pages:
                entry_bounds(page, self._info.name)  # a broken page has no entries to tell apart

        def part(first: int, last: int) -> Decided:
            in_part = np.zeros(count, bool)
            in_part[first:last] = True
            return self._filter.of_pages(kept_rows(pages, in_part, self._info, self._types), self._info, self._types)

        return decide_each_row(count, part)

    def _bad(self, pages: Sequence[Page], row: int, error: IgniteKafkaError) -> BadEntry:
        return bad_entry(self._converter, pages, self._info, self._types, self._topic, row, error, Stage.TRANSFORMATION)


class EntrySelectors:
    """Applies the filters of all caches of a connector to pages of their entries.

    :param settings: settings of the connector.
    :param converters: converters of the caches, for the keys of bad entries.
    """

    def __init__(self, settings: SourceSettings, converters: Converters, types: TypeSource) -> None:
        self._settings = settings
        self._converters = converters
        self._types = types
        self._filters = Filters(settings)

    def select(self, info: CacheInfo, topic: str, pages: Sequence[Page], removed: Mask | None = None) -> Selection:
        """Return the entries of pages that pass the cache's filter; all entries if the cache has none.

        :param topic: topic of the cache's records.
        :param removed: as in :meth:`EntrySelector.select`.
        :raises ConditionFailed, DecodeError, UnsupportedType: the filter fails for an entry, and the error policy is to
            stop.
        """
        entry_filter = self._filters.of(info.name)
        if entry_filter is None:
            return Selection(pages, removed=removed)
        converter = self._converters.of(info.name)
        tombstones = self._settings.process_removals
        selection = EntrySelector(entry_filter, converter, info, self._types, topic, tombstones=tombstones).select(
            pages, removed
        )
        stops = self._settings.error_handling_policy == STOP
        for bad in selection.bad[:1] if stops else selection.bad:
            events.emit(events.FILTER_FAILED, **{"reason": bad.error.what, **bad.error.where})
            if stops:
                raise bad.error
        return selection
