"""Ignite to Kafka: the last record of each key against what the converter of the copy makes of the entry now.

Records and entries whose bytes are equal are equal. All others are judged by :func:`.entry_comparison.compare_last`.
JSON has a decoder of its own, which shares no code with the converter: it reads one entry of 256, or, if the comparison
is to be thorough, all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from ..common.arrays import RowIndex
from ..common.python_compat import Self
from ..convert import Converters
from ..convert.to_kafka.bad_entries import ENTRY_ERRORS, Conversion, raise_stopping, separate_bad_entries
from ..errors import IgniteKafkaError
from ..ignite.binary import decode_rows, entry_bounds
from ..ignite.cluster import Cluster
from ..ignite.page_batches import batches
from ..ignite.scan import scan_partitions
from ..ignite.types.model import CacheInfo, Page
from ..kafka.clients import KafkaClients
from ..kafka.producer import size_limit
from ..kafka.record_size import SizeLimit
from ..kafka.records import Records
from ..plan.source_plan import CachePlan, TransferPlan
from ..runtime.clients import ignite_cluster, kafka_clients, producer_settings
from ..settings.error_policies import STOP
from ..settings.secrets import Secrets
from ..source.entry_selection import EntrySelectors
from .direction import MOST_UNKNOWN, Batch, Columns, Found, Judged, Target, columns_of
from .entry_comparison import Verified, compare_last, fields_of_key
from .entry_reader import EntryReader
from .fingerprints import Rows, fingerprints, order_of, sampled
from .repair import records_to_send, send_again
from .repair_claim import RepairClaim
from .topic_batches import topic_batches

_BATCH_ROWS = 20_000
_BATCH_PAGES = 2
_CHECKED = 256
"""One of so many entries is read by rows, too."""
_JUDGED_ROWS = 1_000
_UNLIKE = -1
_UNLIKE_VALUE = b""


@dataclass
class SourceDirection:
    """The comparison of a source connector's topics.

    :param percent: of the keys, that are compared.
    :param thorough: whether all entries are read by rows, too.
    :param limit: maximum number of differences to describe.
    :param claim: of the repair; None: nothing is repaired.
    """

    plan: TransferPlan
    secrets: Secrets
    percent: float = 100
    thorough: bool = False
    limit: int = 5
    claim: RepairClaim | None = None
    readers: dict[str, EntryReader] = field(default_factory=dict, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if "cluster" in self.__dict__:
            self.cluster.close()

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster, connected at the first use."""
        return ignite_cluster(self.plan.settings, self.secrets)

    @cached_property
    def clients(self) -> KafkaClients:
        """Clients of Kafka, and of the schema registries."""
        return kafka_clients(self.plan.settings, self.secrets)

    @cached_property
    def size_limit(self) -> SizeLimit:
        """The size limits of the copy's producers."""
        return size_limit(self.clients, producer_settings(self.plan))

    @cached_property
    def converters(self) -> Converters:
        """The converters of the copy."""
        return Converters(self.plan.settings)

    @cached_property
    def selectors(self) -> EntrySelectors:
        """The filters of the copy."""
        return EntrySelectors(self.plan.settings, self.converters, self.cluster)

    def records(self, target: Target, partitions: Sequence[int]) -> Iterator[Batch]:
        """Records of the topic."""
        for part in topic_batches(self.clients, target, partitions):
            keys = part.keys.fill_null(b"")
            rows = fingerprints(keys, part.values, order_of(part.partition, part.offsets))
            yield Batch(rows, columns_of(keys, part.values))

    def entries(self, target: Target, partitions: Sequence[int], *, again: bool) -> Iterator[Batch]:
        """Entries of the cache, as records.

        :raises DecodeError, UnsupportedType, TransformFailed: of a bad entry, if the error policy is to stop.
        """
        _ = self.clients  # knows the schema registries
        info = self.cluster.cache(target.cache)
        size = self.plan.settings.page_bytes
        pages = scan_partitions(self.cluster, info, partitions, page_bytes=size)
        checks = not again and self._reader(target, info).by_rows
        checked = list[bytes]()
        for batch in batches(pages, _BATCH_ROWS, lambda: _BATCH_PAGES * size):
            if not any(page.rows for page in batch):
                continue
            converted = self._converted(target, info, batch, again=again)
            yield converted
            checked += converted.columns(self._to_check(converted.rows))[0].to_pylist() if checks else []
            if len(checked) >= _JUDGED_ROWS:
                yield self._unlike(target, info, checked)
                checked = []
        if checked:
            yield self._unlike(target, info, checked)

    def _converted(self, target: Target, info: CacheInfo, pages: Sequence[Page], *, again: bool) -> Batch:
        """Fingerprints of the entries that are sent; their bytes are looked for only if they are asked for."""
        chosen = self.selectors.select(info, target.topic, pages)
        conversion = self._conversion(target, info, chosen.pages, in_order=again or self.thorough)
        records = conversion.records
        rows = fingerprints(records.keys, records.values)
        bad = [row.row for row in conversion.bad]

        def columns(at: RowIndex) -> Columns:
            # transforms drop entries
            places = np.delete(np.arange(chosen.count), bad) if records.rows is None else records.rows
            entries = pa.array(_entries_at(chosen.pages, info.name, places[at]), pa.binary())
            return entries, pa.nulls(len(entries), pa.binary())

        return Batch(rows, columns, [str(row.error) for row in (*chosen.bad, *conversion.bad)], records.keys)

    def _conversion(self, target: Target, info: CacheInfo, pages: Sequence[Page], *, in_order: bool) -> Conversion:
        """Records of entries, and the bad entries.

        :raises DecodeError, UnsupportedType, TransformFailed: of a bad entry, if the error policy is to stop.
        """
        converter = self.converters.of(target.cache)
        try:
            records = converter.convert(pages, info, self.cluster, topic=target.topic, in_order=in_order)
            for _, error in records.refused:
                raise error
            if not self._too_large(target, records):
                return Conversion(records)
        except ENTRY_ERRORS:
            if self.plan.settings.always_stops:
                raise
        conversion = separate_bad_entries(
            converter, pages, info, self.cluster, lambda records: self._too_large(target, records), target.topic
        )
        raise_stopping(self.plan.settings, conversion.bad)
        return conversion

    def _too_large(self, target: Target, records: Records) -> Mapping[int, IgniteKafkaError]:
        """Errors, by row, of records that the error policy skips because of their size."""
        if self.plan.settings.conversion_policy == STOP:
            return {}
        return self.size_limit.exceeded(records, target.topic, self._plan_of(target).topic_bytes)

    def _plan_of(self, target: Target) -> CachePlan:
        return next(cache for cache in self.plan.caches if cache.name == target.cache)

    def _reader(self, target: Target, info: CacheInfo) -> EntryReader:
        if target.cache not in self.readers:
            self.readers[target.cache] = EntryReader(self.plan.settings, target.topic, self.cluster, info, decode_rows)
        return self.readers[target.cache]

    def _to_check(self, rows: Rows) -> RowIndex:
        """The rows whose entries are read by rows, too."""
        if self.thorough:
            return np.flatnonzero(sampled(rows, self.percent))
        return np.arange(0, len(rows), _CHECKED)

    def _unlike(self, target: Target, info: CacheInfo, entries: Sequence[bytes]) -> Batch:
        """Second fingerprints of entries read otherwise, or not at all, by the row decoder."""
        page = _page(entries)
        records = self.converters.of(target.cache).convert(
            [page], info, self.cluster, topic=target.topic, in_order=True
        )
        keys = records.keys.to_pylist()
        values = records.values.to_pylist()
        reader = self._reader(target, info)
        try:
            expected = [value for _, value in reader.entries(page)]
            unlike = [key for key, same in zip(keys, reader.same_values(expected, values), strict=True) if not same]
        except ENTRY_ERRORS:
            unlike = keys
        same_value = pa.array([_UNLIKE_VALUE] * len(unlike), pa.binary())
        at_fault = pa.array(unlike, pa.binary())
        rows = fingerprints(at_fault, same_value, np.full(len(unlike), _UNLIKE, np.int64))
        return Batch(rows, columns_of(at_fault, same_value))

    def caches(self, target: Target, partitions: Sequence[int]) -> Iterator[Counter[str]]:
        """Yield nothing, because a source's topic has the records of one cache."""
        yield from ()

    def judge(self, target: Target, topic: Found, cache: Found, *, repair: bool, complete: bool) -> Judged:
        """Compare the suspects by their meaning, and send again what differs.

        If entries cannot be converted, a key without an entry may belong to one of them, so no tombstone is sent.
        """
        _ = self.clients  # knows the schema registries
        planned = self._plan_of(target)
        result = Verified(target.cache, target.topic, limit=self.limit, keys={})
        entries = [entry for entry, _ in cache.pairs()]
        pages = [_page(entries[at : at + _JUDGED_ROWS]) for at in range(0, len(entries), _JUDGED_ROWS)]
        compare_last(result, self.plan, planned, self.cluster, dict(topic.last()), pages)
        repaired = self._send_again(planned, pages, result, tombstones=complete) if repair else 0
        gone = sorted((result.keys or {}).get("unexpected", set()))
        unknown = filter(None, map(fields_of_key, gone[:MOST_UNKNOWN])) if self._json_keys(target) else ()
        result.keys = None  # counted when all of the cache's keys are seen
        result.other_bytes = 0
        return Judged(result, repaired, Counter(unknown))

    def _json_keys(self, target: Target) -> bool:
        return self._reader(target, self.cluster.cache(target.cache)).json_keys

    def _send_again(self, cache: CachePlan, pages: Sequence[Page], result: Verified, *, tombstones: bool) -> int:
        """Send records of missing or different entries, and tombstones of keys without an entry."""
        info = self.cluster.cache(cache.name)
        target = Target(cache.name, cache.topic, (), info.partitions)
        records = [self._conversion(target, info, [page], in_order=True).records for page in pages]
        chosen = records_to_send(records, result, tombstones=tombstones)
        assert self.claim is not None, "a repair has a claim"
        return send_again(self.plan, self.claim, self.clients, self.cluster, cache, chosen)


def _page(entries: Sequence[bytes]) -> Page:
    """Entries of any partitions."""
    return Page(-1, len(entries), memoryview(b"".join(entries)), True)


def _entries_at(pages: Sequence[Page], cache: str, places: RowIndex) -> list[bytes]:
    """Keys with their values, unwrapped, of the entries at these places of the pages together."""
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
