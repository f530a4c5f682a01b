"""Stores batches of records in caches.

Converts them, keeps one operation a key, sends these, awaits the nodes' acknowledgements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..convert.connect_converters import deserializer
from ..convert.filter import Filters
from ..convert.rules.stage import Stage, policy_of
from ..convert.to_ignite import (
    BadRecord,
    ClusterTypes,
    Entries,
    RecordConverter,
    concat_entries,
    last_per_key,
    merge_rows,
)
from ..errors import EntriesRefused, RecordRefused, SettingsError
from ..ignite.cache_writer import CacheWriter
from ..ignite.cluster import Cluster
from ..ignite.types.model import CacheInfo
from ..kafka.clients import KafkaClients
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition
from ..kafka.value_heads import HeadOf
from ..plan.sink_plan import SinkPlan
from ..settings.error_policies import STOP
from ..settings.sink import HEADER, SinkSettings
from ..state.types import TypesTopic
from .caches import routed_cache
from .carried_types import CarriedTypes, TypesGrown
from .conversion import inbound_rules, reads_headers, transforming, value_head_of
from .dead_letters import reported
from .entry_filter import kept_entries
from .program_faults import guarded

if TYPE_CHECKING:
    from ..convert.to_ignite.record_sides import ReadSide
    from ..convert.to_ignite.transforming_reader import TransformingReader

SinkKey = str | tuple[str, str]
"""The source of a cache's records: a topic or, with transforms or select, a pair of original and new topic."""
Part = tuple[SinkKey, Entries]
CachePart = tuple[str, Entries]
"""The name of a cache and entries for it."""


@dataclass
class Stored:
    """The result of a batch.

    :param entries: number of entries to put or remove, by partition.
    :param filtered: number of entries that the filter left out, by partition; none where there is no filter.
    :param skipped: bad records, with the records that they are of.
    :param stopped: the first bad record of a partition where the error policy is to stop.
    :param stopping: the records of ``stopped``, in the form of ``skipped``.
    """

    entries: dict[TopicPartition, int] = field(default_factory=dict)
    filtered: dict[TopicPartition, int] = field(default_factory=dict)
    skipped: list[tuple[Consumed, tuple[BadRecord, ...]]] = field(default_factory=list)
    stopped: dict[TopicPartition, RecordRefused] = field(default_factory=dict)
    stopping: list[tuple[Consumed, tuple[BadRecord, ...]]] = field(default_factory=list)


class Store:
    """Stores records in the caches of one task. For one thread; after an error it is only closed.

    :param in_order: whether records of a partition are put in parts, one after the other. This finds the records that a
        cache refuses, which become bad records; else they end :meth:`store` or :meth:`flush`.
    """

    def __init__(self, plan: SinkPlan, cluster: Cluster, clients: KafkaClients, *, in_order: bool = False) -> None:
        self._in_order = in_order
        self._settings = plan.settings
        self._cluster = cluster
        self._plans = {topic.name: topic for topic in plan.topics}
        self._carried = CarriedTypes(ClusterTypes(cluster), TypesTopic(clients, plan.settings.carried_types_topic))
        self._filters = Filters(plan.settings)
        self._overwrite = plan.settings.process_updates
        self._converters: dict[SinkKey, RecordConverter] = {}
        self._writers: dict[str, CacheWriter] = {}  # by cache: transforms may give one cache several topics
        self._transforms: dict[str, TransformingReader | None] = {}

    def store(self, batch: Sequence[Consumed]) -> Stored:
        """Convert the batch while the nodes store the one before, wait for that, and send this one.

        :meth:`flush` waits for it.

        Records of one key are of one partition, or have no order. So one operation a key and cache is kept: the last
        one, or the first where entries are not overwritten.

        :param batch: records of several partitions.
        :raises EntriesRefused: a cache refuses an entry of this batch, or of the one before.
        :raises ProgramFault: the conversion failed by a fault of this program.
        """
        stored = Stored()
        by_cache = defaultdict(list)
        self._carried.new_batch()
        for consumed in batch:
            converted, bad = self._filter(consumed, *self._convert(consumed), stored)
            parts = self._by_cache(converted)
            if self._in_order:
                parts, bad = self._put_in_order(parts, bad)
            parts = self._apply_error_policy(consumed, parts, bad, stored)
            stored.entries[consumed.topic, consumed.partition] = sum(len(entries) for _, entries in parts)
            for cache, entries in parts:
                by_cache[cache].append(entries)
        if self._in_order:
            return stored
        kept = [
            (self._writers[cache], last_per_key(concat_entries(parts), overwrite=self._overwrite))
            for cache, parts in by_cache.items()
        ]
        self.flush()
        for writer, entries in kept:
            _write(writer, entries)
        return stored

    def converted(self, consumed: Consumed, leave_out: Collection[str] = ()) -> tuple[list[CachePart], list[BadRecord]]:
        """The entries that :meth:`store` would put or remove, each with the name of its cache, and the bad records.

        For comparisons.

        Nothing is stored, and caches in `leave_out` are not created.

        :param consumed: records of one partition.
        :param leave_out: caches chosen by transforms whose records are ignored.
        :raises ProgramFault: as :meth:`store`.
        """
        self._carried.new_batch()
        parts, bad = self._filter(consumed, *self._convert(consumed, leave_out), Stored())
        return self._by_cache(parts), bad

    def caches_of(self, consumed: Consumed) -> Counter[str]:
        """Number of records for each cache, without records that transforms refuse or drop.

        :param consumed: records of one partition.
        """
        reader = self._reader(consumed.topic)
        if reader is None:
            return Counter({self._plans[consumed.topic].cache: len(consumed.offsets)})
        routed, _ = guarded(consumed, lambda: reader.read(consumed))
        return Counter({self._routed_name(part.topic): len(part.rows) for part in routed})

    def flush(self) -> None:
        """Wait until all batches are in the caches."""
        for writer in self._writers.values():
            writer.flush()

    @property
    def needs_times(self) -> bool:
        """Whether a filter or transforms need the records' timestamps."""
        filters = [self._filters.of(topic) for topic in self._plans]
        return any(item is not None and item.needs_times for item in filters) or any(
            item.transforms for item in self._of_topics
        )

    @property
    def needs_headers(self) -> bool:
        """Whether keys or transforms need the records' headers."""
        return any(settings.key_policy == HEADER or reads_headers(settings) for settings in self._of_topics)

    @property
    def head_of(self) -> HeadOf | None:
        """Function that finds the heads of values convertible without them.

        None if no topic has such values.
        """
        finders = {topic: value_head_of(self._settings.of(topic)) for topic in self._plans}
        finder_of = {topic: finder for topic, finder in finders.items() if finder is not None}
        return (lambda topic, value: finder_of[topic](value) if topic in finder_of else b"") if finder_of else None

    @property
    def _of_topics(self) -> list[SinkSettings]:
        return [self._settings.of(topic) for topic in self._plans]

    def _filter(
        self, consumed: Consumed, parts: list[Part], bad: list[BadRecord], stored: Stored
    ) -> tuple[list[Part], list[BadRecord]]:
        """Apply the topic's filter: return the entries kept, and the bad records with those it fails for."""
        entry_filter = self._filters.of(consumed.topic)
        if entry_filter is None:
            return parts, bad
        refused = list(bad)
        kept = []
        filtered = 0
        for key, entries in parts:
            left = kept_entries(
                replace(entries, bad=()), consumed, entry_filter, self._converters[key].cache, self._carried
            )
            filtered += len(entries) - len(left) - len(left.bad)
            refused += left.bad
            kept.append((key, left))
        stored.filtered[consumed.topic, consumed.partition] = filtered
        return kept, sorted(refused, key=lambda record: record.row)

    def _convert(self, consumed: Consumed, leave_out: Collection[str] = ()) -> tuple[list[Part], list[BadRecord]]:
        """Entries of records by the caches that they go to, and the bad records, by row."""
        reader = self._reader(consumed.topic)
        if reader is None:
            entries = self._entries(consumed.topic, consumed, {})
            return [(consumed.topic, entries)], list(entries.bad)
        routed, bad = guarded(consumed, lambda: reader.read(consumed))
        parts: list[Part] = []
        for part in routed:
            if leave_out and self._routed_name(part.topic) in leave_out:
                continue
            key = consumed.topic, part.topic
            entries = self._entries(key, part.consumed, part.read)
            parts.append((key, replace(entries, rows=part.rows[entries.rows], bad=())))
            bad += [replace(record, row=int(part.rows[record.row])) for record in entries.bad]
        return parts, sorted(bad, key=lambda record: record.row)

    def _reader(self, topic: str) -> TransformingReader | None:
        """Reader that applies a topic's transforms and `select`; None if it has neither."""
        if topic not in self._transforms:
            self._transforms[topic] = transforming(self._settings.of(topic))
        return self._transforms[topic]

    def _entries(self, key: SinkKey, consumed: Consumed, read: Mapping[str, ReadSide]) -> Entries:
        """Entries of records, by the types that the source has described meanwhile, if records introduce some."""
        while True:
            converter = self._converter(key)
            try:
                return _converted(converter, consumed, read)
            except TypesGrown:
                self._converters[key] = self._new_converter(key, converter.cache)

    def _by_cache(self, parts: Sequence[Part]) -> list[CachePart]:
        """The entries of each cache in the order of their records.

        A key's records may come by several topics that transforms make.
        """
        by_cache: dict[str, list[Entries]] = defaultdict(list)
        for key, entries in parts:
            by_cache[self._converters[key].cache.name].append(entries)
        return [(cache, merge_rows(of_cache)) for cache, of_cache in by_cache.items()]

    def _converter(self, key: SinkKey) -> RecordConverter:
        if key not in self._converters:
            cache = self._cache(key)
            if cache.name not in self._writers:
                self._writers[cache.name] = CacheWriter(self._cluster, cache, overwrite=self._overwrite)
            self._converters[key] = self._new_converter(key, cache)
        elif self._settings.streams:  # else the source has seen everything that is read before the first record was
            converter = self._converters[key]
            if converter.uses is not None and self._carried.register_used(_read_from(key)) != converter.uses:
                self._converters[key] = self._new_converter(key, converter.cache)
        return self._converters[key]

    def _cache(self, key: SinkKey) -> CacheInfo:
        """Return the cache of a topic's records; create it for a topic made by transforms."""
        plan = self._plans[_read_from(key)]
        if isinstance(key, str):
            return self._cluster.cache(plan.cache)
        return routed_cache(self._cluster, self._routed_name(key[1]), self._settings.of(plan.name))

    def _routed_name(self, topic: str) -> str:
        """Name of the cache for a topic that transforms set."""
        named = self._settings.cache_of(topic)
        if not named.name:
            remedy = "Choose another topic_prefix, or a cache_prefix"
            raise SettingsError("a topic's name leaves none for its cache", remedy, topic=topic, named_by=named.rule)
        return named.name

    def _new_converter(self, key: SinkKey, cache: CacheInfo) -> RecordConverter:
        topic = _read_from(key)
        uses = self._carried.register_used(topic)
        rules = inbound_rules(self._settings.of(topic))
        reader = None if isinstance(key, str) else self._reader(topic)
        return RecordConverter(
            cache,
            self._carried,
            rules,
            self._carried,
            deserializers=deserializer,
            topic=topic,
            uses=uses,
            read_sides=frozenset() if reader is None else reader.sides,
        )

    def _put_in_order(
        self, parts: Sequence[CachePart], bad: Sequence[BadRecord]
    ) -> tuple[list[CachePart], list[BadRecord]]:
        """Put the entries of each cache in order.

        Returns them without the refused ones, and the bad records with these.
        """
        records = list(bad)
        done = []
        for cache, entries in parts:
            refused = self._put_part(self._writers[cache], entries, records)
            records = sorted([*records, *refused], key=lambda record: record.row)
            done.append((cache, entries.without(refused)))
        return done, records

    def _put_part(self, writer: CacheWriter, entries: Entries, before: Sequence[BadRecord]) -> list[BadRecord]:
        """Put entries in parts, and halve a part that the cache refuses, down to single records.

        :param before: bad records, by row.
        :returns: the refused records; at most one if the error policy for them is to stop. No entry behind a bad record
            that stops the run is put.
        """
        stops = self._settings.error_handling_policy == STOP
        stopping = self._stopping(before)
        end = len(entries) if stopping is None else int(np.searchsorted(entries.rows, stopping.row))
        bad: list[BadRecord] = []
        at = 0
        size = end
        while at < end and not (stops and bad):
            part = entries.part(at, min(at + size, end))
            error = _refusal(writer, last_per_key(part, overwrite=self._overwrite))
            if error is not None and len(part) > 1:
                size = len(part) // 2
                continue
            if error is not None:
                bad.append(BadRecord(int(part.rows[0]), Stage.PUT, error.what, {"cache": writer.cache.name}))
            at = at + len(part)
            size = size * 2
        return bad

    def _apply_error_policy(
        self, consumed: Consumed, parts: list[CachePart], bad: Sequence[BadRecord], stored: Stored
    ) -> list[CachePart]:
        """The entries to store; bad records are noted in `stored`."""
        stopping = self._stopping(bad)
        skipped = bad if stopping is None else [record for record in bad if record.row < stopping.row]
        if skipped:
            stored.skipped.append((consumed, tuple(skipped)))
        for record in skipped:
            reported(consumed, record)
        if stopping is None:
            return parts
        stored.stopped[consumed.topic, consumed.partition] = reported(consumed, stopping)
        stored.stopping.append((consumed, (stopping,)))
        return [(cache, entries.part(0, int(np.searchsorted(entries.rows, stopping.row)))) for cache, entries in parts]

    def _stopping(self, bad: Sequence[BadRecord]) -> BadRecord | None:
        """The first bad record for which the error policy is to stop."""
        return next((record for record in bad if policy_of(self._settings, record.stage, record.where) == STOP), None)

    def close(self) -> None:
        """Wait until no request is in flight: an older entry must not arrive after a newer one.

        :raises OutcomeUnknown: a request got no reply.
        """
        for writer in self._writers.values():
            writer.close()


def _read_from(key: SinkKey) -> str:
    """The topic that records were read from."""
    return key if isinstance(key, str) else key[0]


def _converted(converter: RecordConverter, consumed: Consumed, read: Mapping[str, ReadSide]) -> Entries:
    """Convert records to entries; raises :class:`ProgramFault` if the program fails."""
    return guarded(consumed, lambda: converter.convert(consumed, read))


def _write(writer: CacheWriter, entries: Entries) -> None:
    """Send puts and removals of different keys."""
    if not entries.values.null_count:
        writer.put(entries.keys, entries.values)
        return
    put = entries.values.is_valid()
    writer.put(entries.keys.filter(put), entries.values.filter(put))
    writer.remove(entries.keys.filter(entries.values.is_null()))


def _refusal(writer: CacheWriter, entries: Entries) -> EntriesRefused | None:
    """The error with which a cache refuses some of these entries; None: all are stored.

    No request is in flight afterwards.
    """
    try:
        _write(writer, entries)
        writer.flush()
    except EntriesRefused as error:
        with suppress(EntriesRefused):
            writer.flush()
        return error
    return None
