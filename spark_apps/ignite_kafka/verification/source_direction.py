"""Comparison for a source: each key's last record, with the record that the entry would give now.

Records and entries with equal bytes are equal. :func:`.entry_comparison.compare_last_records` judges the others. For
JSON a second decoder, which shares no code with the converter, reads every 256th entry, or all in a thorough
comparison.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from ..common.arrays import RowIndex
from ..convert import Converters
from ..convert.to_kafka.bad_entries import ENTRY_ERRORS, Conversion, raise_stopping, separate_bad_entries
from ..errors import IgniteKafkaError
from ..ignite.binary import decode_rows, entry_bounds
from ..ignite.page_batches import batches
from ..ignite.scan import scan_partitions
from ..ignite.types.model import CacheInfo, Page
from ..kafka.cache_headers import is_of_cache, with_cache_header
from ..kafka.producer import size_limit
from ..kafka.record_size import SizeLimit
from ..kafka.records import Records, take_consumed
from ..plan.source_plan import CachePlan, TransferPlan
from ..runtime.clients import producer_settings
from ..settings.error_policies import STOP
from ..settings.secrets import Secrets
from ..source.entry_selection import EntrySelectors
from .direction import MOST_UNKNOWN, Batch, Columns, ComparedPair, DirectionClients, Judged, SuspectRows, make_taker
from .entry_comparison import PairDifferences, compare_last_records, normalize_fields
from .entry_reader import EntryReader
from .fingerprints import Rows, fingerprint, record_order
from .key_slices import select_slices
from .repair import select_records, send_again
from .repair_claim import RepairClaim
from .topic_batches import topic_batches

_BATCH_ROWS = 20_000
_BATCH_PAGES = 2
_CHECKED = 256
"""Distance between the entries that the row decoder reads, too."""
_JUDGED_ROWS = 1_000
_UNLIKE = -1
_UNLIKE_VALUE = b""


@dataclass
class SourceDirection(DirectionClients):
    """Reads and compares a source's records in topics with the converted entries of its caches.

    :param thorough: the row decoder reads all entries, too.
    :param limit: maximum number of described differences.
    :param claim: claim of the repair; None: nothing is repaired.
    """

    plan: TransferPlan
    secrets: Secrets
    thorough: bool = False
    limit: int = 5
    claim: RepairClaim | None = None
    readers: dict[str, EntryReader] = field(default_factory=dict, init=False)

    @cached_property
    def size_limit(self) -> SizeLimit:
        """Limits of record size in the source's runs, to recognize entries that a run skips."""
        return size_limit(self.clients, producer_settings(self.plan))

    @cached_property
    def converters(self) -> Converters:
        """Converters that the source's runs use for each cache."""
        return Converters(self.plan.settings)

    @cached_property
    def selectors(self) -> EntrySelectors:
        """Filters that the source's runs apply to entries."""
        return EntrySelectors(self.plan.settings, self.converters, self.cluster)

    def read_records(self, pair: ComparedPair, partitions: Sequence[int]) -> Iterator[Batch]:
        """Read the cache's records of topic partitions, and fingerprint them."""
        header = self.plan.settings.cache_header
        for whole in topic_batches(self.clients, pair, partitions, headers=bool(header)):
            part = whole
            if header:
                assert whole.headers is not None
                part = take_consumed(whole, np.flatnonzero(is_of_cache(whole.headers, header, pair.cache)))
            keys = part.keys.fill_null(b"")
            rows = fingerprint(keys, part.values, record_order(part.partition, part.offsets))
            yield Batch(rows, make_taker(keys, part.values))

    def read_entries(self, pair: ComparedPair, partitions: Sequence[int], *, again: bool) -> Iterator[Batch]:
        """Scan cache partitions, convert the entries to records, and fingerprint these.

        :raises DecodeError, UnsupportedType, TransformFailed: an entry is bad, and the error policy is to stop.
        """
        _ = self.clients  # registers the schema registries
        info = self.cluster.cache(pair.cache)
        size = self.plan.settings.page_bytes
        pages = scan_partitions(self.cluster, info, partitions, page_bytes=size)
        checks = not again and self._reader_of(pair, info).by_rows
        checked = list[bytes]()
        for batch in batches(pages, _BATCH_ROWS, lambda: _BATCH_PAGES * size):
            if not any(page.rows for page in batch):
                continue
            converted = self._convert(pair, info, batch, again=again)
            yield converted
            checked += converted.take(self._choose_checked(pair, converted.rows))[0].to_pylist() if checks else []
            if len(checked) >= _JUDGED_ROWS:
                yield self._fingerprint_unlike(pair, info, checked)
                checked = []
        if checked:
            yield self._fingerprint_unlike(pair, info, checked)

    def _convert(self, pair: ComparedPair, info: CacheInfo, pages: Sequence[Page], *, again: bool) -> Batch:
        """Filter and convert entries, and fingerprint their records; the entries' bytes are taken only on request."""
        chosen = self.selectors.select(info, pair.topic, pages)
        conversion = self._convert_pages(pair, info, chosen.pages, in_order=again or self.thorough)
        records = conversion.records
        rows = fingerprint(records.keys, records.values)
        bad = [row.row for row in conversion.bad]

        def take(at: RowIndex) -> Columns:
            # with `rows`, transforms have dropped entries
            places = np.delete(np.arange(chosen.count), bad) if records.rows is None else records.rows
            entries = pa.array(_take_entries(chosen.pages, info.name, places[at]), pa.binary())
            return entries, pa.nulls(len(entries), pa.binary())

        return Batch(rows, take, [str(row.error) for row in (*chosen.bad, *conversion.bad)], records.keys)

    def _convert_pages(
        self, pair: ComparedPair, info: CacheInfo, pages: Sequence[Page], *, in_order: bool
    ) -> Conversion:
        """Convert entries to records as a run would, and separate the bad entries.

        :raises DecodeError, UnsupportedType, TransformFailed: an entry is bad, and the error policy is to stop.
        """
        converter = self.converters.of(pair.cache)
        try:
            records = converter.convert(pages, info, self.cluster, topic=pair.topic, in_order=in_order)
            for _, error in records.refused:
                raise error
            if not self._find_too_large(pair, records):
                return Conversion(records)
        except ENTRY_ERRORS:
            if self.plan.settings.always_stops:
                raise
        conversion = separate_bad_entries(
            converter, pages, info, self.cluster, lambda records: self._find_too_large(pair, records), pair.topic
        )
        raise_stopping(self.plan.settings, conversion.bad)
        return conversion

    def _find_too_large(self, pair: ComparedPair, records: Records) -> Mapping[int, IgniteKafkaError]:
        """Return errors, by row, of records too large to be sent, which a run would skip."""
        if self.plan.settings.conversion_policy == STOP:
            return {}
        sent = with_cache_header(records, self.plan.settings.cache_header, pair.cache)
        return self.size_limit.exceeded(sent, pair.topic, self._plan_of(pair).topic_bytes)

    def _plan_of(self, pair: ComparedPair) -> CachePlan:
        return next(cache for cache in self.plan.caches if cache.name == pair.cache)

    def _reader_of(self, pair: ComparedPair, info: CacheInfo) -> EntryReader:
        if pair.cache not in self.readers:
            self.readers[pair.cache] = EntryReader(self.plan.settings, pair.topic, self.cluster, info, decode_rows)
        return self.readers[pair.cache]

    def _choose_checked(self, pair: ComparedPair, rows: Rows) -> RowIndex:
        """Choose entries that the row decoder reads too, as a check of the converter."""
        if self.thorough:
            return np.flatnonzero(select_slices(rows, pair.slices))
        return np.arange(0, len(rows), _CHECKED)

    def _fingerprint_unlike(self, pair: ComparedPair, info: CacheInfo, entries: Sequence[bytes]) -> Batch:
        """Make keys suspect, by a second fingerprint, where the two decoders read an entry differently."""
        page = _join_page(entries)
        records = self.converters.of(pair.cache).convert([page], info, self.cluster, topic=pair.topic, in_order=True)
        keys = records.keys.to_pylist()
        values = records.values.to_pylist()
        reader = self._reader_of(pair, info)
        try:
            expected = [value for _, value in reader.entries(page)]
            unlike = [
                key for key, same in zip(keys, reader.equality.compare(expected, values), strict=True) if not same
            ]
        except ENTRY_ERRORS:
            unlike = keys
        same_value = pa.array([_UNLIKE_VALUE] * len(unlike), pa.binary())
        at_fault = pa.array(unlike, pa.binary())
        rows = fingerprint(at_fault, same_value, np.full(len(unlike), _UNLIKE, np.int64))
        return Batch(rows, make_taker(at_fault, same_value))

    def count_caches(self, pair: ComparedPair, partitions: Sequence[int]) -> Iterator[Counter[str]]:
        """Yield nothing, because a pair reads the records of its own cache only."""
        yield from ()

    def judge(
        self, pair: ComparedPair, topic: SuspectRows, cache: SuspectRows, *, repair: bool, complete: bool
    ) -> Judged:
        """Compare suspect keys by their decoded values; in a repair, send the differing records again.

        If entries cannot be converted, a key without an entry may belong to one of them, so no tombstone is sent.
        """
        _ = self.clients  # registers the schema registries
        planned = self._plan_of(pair)
        result = PairDifferences(pair.cache, pair.topic, limit=self.limit, keys={})
        entries = [entry for entry, _ in cache.zip_columns()]
        pages = [_join_page(entries[at : at + _JUDGED_ROWS]) for at in range(0, len(entries), _JUDGED_ROWS)]
        compare_last_records(result, self.plan, planned, self.cluster, dict(topic.last()), pages)
        repaired = self._send_again(planned, pages, result, tombstones=complete) if repair else 0
        gone = sorted((result.keys or {}).get("unexpected", set()))
        unknown = filter(None, map(normalize_fields, gone[:MOST_UNKNOWN])) if self._has_json_keys(pair) else ()
        differing = result.pop_keys()  # counted only after all keys of the cache are known
        result.other_bytes = 0
        return Judged(result, repaired, Counter(unknown), differing)

    def _has_json_keys(self, pair: ComparedPair) -> bool:
        return self._reader_of(pair, self.cluster.cache(pair.cache)).json_keys

    def _send_again(self, cache: CachePlan, pages: Sequence[Page], result: PairDifferences, *, tombstones: bool) -> int:
        """Repair: send records of missing or different entries, and tombstones for topic keys without an entry."""
        info = self.cluster.cache(cache.name)
        pair = ComparedPair(cache.name, cache.topic, (), info.partitions)
        records = [self._convert_pages(pair, info, [page], in_order=True).records for page in pages]
        chosen = select_records(records, result, tombstones=tombstones)
        assert self.claim is not None, "a repair has a claim"
        return send_again(self.plan, self.claim, self.clients, self.cluster, cache, chosen)


def _join_page(entries: Sequence[bytes]) -> Page:
    """Build one page from the bytes of entries, which may be of several partitions."""
    return Page(-1, len(entries), memoryview(b"".join(entries)), True)


def _take_entries(pages: Sequence[Page], cache: str, places: RowIndex) -> list[bytes]:
    """Take the bytes (unwrapped key and value) of entries at positions counted through all pages."""
    ends = np.cumsum([page.rows for page in pages])
    entries: list[bytes] = [b""] * len(places)
    page_of = np.searchsorted(ends, places, side="right")
    for number in np.unique(page_of).tolist():
        page = pages[number]
        bounds = entry_bounds(pages[number], cache)
        for at in np.flatnonzero(page_of == number).tolist():
            row = int(places[at] - ends[number] + page.rows)
            key = (bounds.key_start[row], bounds.key_end[row])
            value = (bounds.value_start[row], bounds.value_end[row])
            entries[at] = bytes(page.data[key[0] : key[1]]) + bytes(page.data[value[0] : value[1]])
    return entries
