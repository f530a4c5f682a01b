"""Stores batches of records in caches: converts them, keeps one operation a key, sends these, awaits the nodes' acknowledgements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from .. import events
from ..convert.connect_converters import deserializer, head_of
from ..convert.filter import Filters
from ..convert.rules.stage import Stage
from ..convert.to_ignite import BadRecord, ClusterTypes, ConversionRules, Entries, RecordConverter, SideRules, last_per_key
from ..errors import EntriesRefused, RecordRefused, SettingsError
from ..ignite.cache_writer import CacheWriter
from ..ignite.cluster import Cluster
from ..ignite.types.model import CacheInfo
from ..kafka.clients import KafkaClients
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition
from ..kafka.value_heads import HeadOf
from ..plan.sink_plan import SinkPlan
from ..settings.connector import LOG_ONLY, STOP
from ..settings.sink import HEADER, VALUE, SinkSettings
from ..settings.transforms import chain_of
from ..state.types import TypesTopic
from .caches import routed_cache
from .carried_types import CarriedTypes, TypesGrown
from .dead_letters import error_of
from .entry_filter import kept_entries
from .program_faults import guarded

if TYPE_CHECKING:
    from ..convert.to_ignite.transforming_reader import TransformingReader

SinkKey = str | tuple[str, str]
"""What goes to one cache: records of a topic; with transforms those of one topic that get another."""
Part = tuple[SinkKey, Entries]


@dataclass
class Stored:
    """The result of a batch.

    :param entries: number of entries to put or remove, by partition.
    :param filtered: number of entries that the filter left out, by partition; none where there is no filter.
    :param skipped: bad records, with the records that they are of.
    :param stopped: the first bad record of a partition where the error policy is to stop.
    """

    entries: dict[TopicPartition, int] = field(default_factory=dict)
    filtered: dict[TopicPartition, int] = field(default_factory=dict)
    skipped: list[tuple[Consumed, tuple[BadRecord, ...]]] = field(default_factory=list)
    stopped: dict[TopicPartition, RecordRefused] = field(default_factory=dict)


class Store:
    """Stores records in the caches of one task. For one thread; after an error it is only closed.

    :param in_order: whether records of a partition are put in parts, one after the other. This finds the records that a cache refuses,
        which become bad records; else they end :meth:`store` or :meth:`flush`.
    """

    def __init__(self, plan: SinkPlan, cluster: Cluster, clients: KafkaClients, *, in_order: bool = False) -> None:
        self._in_order = in_order
        self._settings, self._cluster = plan.settings, cluster
        self._plans = {topic.name: topic for topic in plan.topics}
        self._carried = CarriedTypes(ClusterTypes(cluster), TypesTopic(clients, plan.settings.carried_types_topic))
        self._filters = Filters(plan.settings)
        self._overwrite = plan.settings.process_updates
        self._sinks: dict[SinkKey, tuple[RecordConverter, CacheWriter]] = {}
        self._transforms: dict[str, TransformingReader | None] = {}

    def store(self, batch: Sequence[Consumed]) -> Stored:
        """Convert the batch while the nodes store the one before, wait for that, and send this one; :meth:`flush` waits for it.

        Records of one key are of one partition, or have no order. So one operation a key and topic is kept: the last one, or the first
        where entries are not overwritten.

        :param batch: records of several partitions.
        :raises EntriesRefused: a cache refuses an entry of this batch, or of the one before.
        :raises ProgramFault: the conversion failed by a fault of this program.
        """
        stored, by_sink = Stored(), defaultdict(list)
        self._carried.new_batch()
        for consumed in batch:
            parts, bad = self._filter(consumed, *self._convert(consumed), stored)
            if self._in_order:
                parts, bad = self._put_in_order(parts, bad)
            parts = self._apply_error_policy(consumed, parts, bad, stored)
            stored.entries[consumed.topic, consumed.partition] = sum(len(entries) for _, entries in parts)
            for key, entries in parts:
                by_sink[key].append(entries)
        if self._in_order:
            return stored
        kept = [(self._sinks[key][1], last_per_key(_concat_entries(parts), overwrite=self._overwrite)) for key, parts in by_sink.items()]
        self.flush()
        for writer, entries in kept:
            _write(writer, entries)
        return stored

    def converted(self, consumed: Consumed) -> Entries:
        """The entries that :meth:`store` would put or remove, in the order of their records; for comparisons. Nothing is stored.

        :param consumed: records of one partition.
        :raises ProgramFault: as :meth:`store`.
        """
        self._carried.new_batch()
        parts, bad = self._filter(consumed, *self._convert(consumed), Stored())
        return _one_part([entries for _, entries in parts], bad)

    def flush(self) -> None:
        """Wait until all batches are in the caches."""
        for _, writer in self._sinks.values():
            writer.flush()

    @property
    def needs_times(self) -> bool:
        """Whether a filter or transforms need the records' timestamps."""
        filters = [self._filters.of(topic) for topic in self._plans]
        return any(one is not None and one.needs_times for one in filters) or any(one.transforms for one in self._of_topics)

    @property
    def needs_headers(self) -> bool:
        """Whether keys or transforms need the records' headers."""
        return any(one.key_policy == HEADER or reads_headers(one) for one in self._of_topics)

    @property
    def head_of(self) -> HeadOf | None:
        """What finds the heads of values that are converted without them; None: no topic has such values."""
        finders = {topic: value_head_of(settings) for topic in self._plans if not (settings := self._settings.of(topic)).transforms}
        found = {topic: finder for topic, finder in finders.items() if finder is not None}
        return (lambda topic, value: found[topic](value) if topic in found else b"") if found else None

    @property
    def _of_topics(self) -> list[SinkSettings]:
        return [self._settings.of(topic) for topic in self._plans]

    def _filter(self, consumed: Consumed, parts: list[Part], bad: list[BadRecord], stored: Stored) -> tuple[list[Part], list[BadRecord]]:
        """The entries that the filter of the topic keeps, and the bad records with those for which it fails."""
        entry_filter = self._filters.of(consumed.topic)
        if entry_filter is None:
            return parts, bad
        found, kept, filtered = list(bad), [], 0
        for key, entries in parts:
            left = kept_entries(replace(entries, bad=()), consumed, entry_filter, self._sinks[key][0].cache, self._carried)
            filtered += len(entries) - len(left) - len(left.bad)
            found += left.bad
            kept.append((key, left))
        stored.filtered[consumed.topic, consumed.partition] = filtered
        return kept, sorted(found, key=lambda record: record.row)

    def _convert(self, consumed: Consumed) -> tuple[list[Part], list[BadRecord]]:
        """Entries of records by the caches that they go to, and the bad records, by row."""
        reader = self._reader(consumed.topic)
        if reader is None:
            entries = self._entries(consumed.topic, consumed)
            return [(consumed.topic, entries)], list(entries.bad)
        routed, bad = guarded(consumed, lambda: reader.read(consumed))
        parts: list[Part] = []
        for one in routed:
            key = consumed.topic, one.topic
            entries = self._entries(key, one.consumed)
            parts.append((key, replace(entries, rows=one.rows[entries.rows], bad=())))
            bad += [replace(record, row=int(one.rows[record.row])) for record in entries.bad]
        return parts, sorted(bad, key=lambda record: record.row)

    def _reader(self, topic: str) -> TransformingReader | None:
        """What applies the transforms of a topic; None: it has none."""
        if topic not in self._transforms:
            settings = self._settings.of(topic)
            self._transforms[topic] = _transforming(settings) if settings.transforms else None
        return self._transforms[topic]

    def _entries(self, key: SinkKey, consumed: Consumed) -> Entries:
        """Entries of records, by the types that the source has described meanwhile, if records introduce some."""
        while True:
            converter, writer = self._sink(key)
            try:
                return _converted(converter, consumed)
            except TypesGrown:
                self._sinks[key] = self._converter(key, converter.cache), writer

    def _sink(self, key: SinkKey) -> tuple[RecordConverter, CacheWriter]:
        if key not in self._sinks:
            cache = self._cache(key)
            writer = CacheWriter(self._cluster, cache, overwrite=self._overwrite)
            self._sinks[key] = self._converter(key, cache), writer
        elif self._settings.streams:  # else the source has seen everything that is read before the first record was
            converter, writer = self._sinks[key]
            if converter.uses is not None and self._carried.register_used(_read_from(key)) != converter.uses:
                self._sinks[key] = self._converter(key, converter.cache), writer
        return self._sinks[key]

    def _cache(self, key: SinkKey) -> CacheInfo:
        """The cache of a topic's records; that of a topic which transforms make is created if it is missing."""
        plan = self._plans[_read_from(key)]
        if isinstance(key, str):
            return self._cluster.cache(plan.cache)
        named = self._settings.cache_of(key[1])
        if not named.name:
            remedy = "Choose another topic_prefix, or a cache_prefix"
            raise SettingsError("a topic's name leaves none for its cache", remedy, topic=key[1], named_by=named.rule)
        return routed_cache(self._cluster, named.name, self._settings.of(plan.name))

    def _converter(self, key: SinkKey, cache: CacheInfo) -> RecordConverter:
        topic = _read_from(key)
        uses, rules = self._carried.register_used(topic), inbound_rules(self._settings.of(topic))
        reader = None if isinstance(key, str) else self._reader(topic)
        makes = deserializer if reader is None else reader.deserializers
        return RecordConverter(cache, self._carried, rules, self._carried, deserializers=makes, topic=topic, uses=uses)

    def _put_in_order(self, parts: Sequence[Part], bad: Sequence[BadRecord]) -> tuple[list[Part], list[BadRecord]]:
        """Put the entries of each cache in order; returns them without the refused ones, and the bad records with these."""
        found, done = list(bad), []
        for key, entries in parts:
            refused = self._put_part(self._sinks[key][1], entries, found)
            found = sorted([*found, *refused], key=lambda record: record.row)
            done.append((key, entries.without(refused)))
        return done, found

    def _put_part(self, writer: CacheWriter, entries: Entries, known: Sequence[BadRecord]) -> list[BadRecord]:
        """Put entries in parts, and halve a part that the cache refuses, down to single records.

        :param known: bad records, by row.
        :returns: the refused records. If the error policy is to stop: at most one, and no entry behind a bad record is put.
        """
        stops = self._settings.error_handling_policy == STOP
        end = int(np.searchsorted(entries.rows, known[0].row)) if stops and known else len(entries)
        bad: list[BadRecord] = []
        at, size = 0, end
        while at < end and not (stops and bad):
            part = entries.part(at, min(at + size, end))
            error = _refusal(writer, last_per_key(part, overwrite=self._overwrite))
            if error is not None and len(part) > 1:
                size = len(part) // 2
                continue
            if error is not None:
                bad.append(BadRecord(int(part.rows[0]), Stage.PUT, error.what))
            at, size = at + len(part), size * 2
        return bad

    def _apply_error_policy(self, consumed: Consumed, parts: list[Part], bad: Sequence[BadRecord], stored: Stored) -> list[Part]:
        """The entries to store; bad records are noted in `stored`."""
        if not bad:
            return parts
        if self._settings.error_handling_policy == STOP:
            first = bad[0]
            stored.stopped[consumed.topic, consumed.partition] = error_of(consumed, first)
            return [(key, entries.part(0, int(np.searchsorted(entries.rows, first.row)))) for key, entries in parts]
        stored.skipped.append((consumed, tuple(bad)))
        if self._settings.error_handling_policy == LOG_ONLY:
            for record in bad:
                error = error_of(consumed, record)
                events.emit(events.OBJECT_NOT_BUILT, **{"reason": error.what, **error.where})
        return parts

    def close(self) -> None:
        """Wait until no request is in flight: an older entry must not arrive after a newer one.

        :raises OutcomeUnknown: a request got no reply.
        """
        for _, writer in self._sinks.values():
            writer.close()


def _transforming(settings: SinkSettings) -> TransformingReader:
    """What applies the transforms of a topic."""
    from ..convert.to_ignite.transforming_reader import TransformingReader  # which a run without transforms does not load
    from ..convert.transforms.steps import make_steps

    return TransformingReader(make_steps(settings), chain_of(settings), inbound_rules(settings), deserializer)


def reads_headers(settings: SinkSettings) -> bool:
    """Whether the transforms of a topic need the headers of records."""
    if not settings.transforms:
        return False
    from ..convert.transforms import steps

    return steps.reads_headers(chain_of(settings))


def _read_from(key: SinkKey) -> str:
    """The topic that records were read from."""
    return key if isinstance(key, str) else key[0]


def _converted(converter: RecordConverter, consumed: Consumed) -> Entries:
    """Convert records to entries; raises :class:`ProgramFault` if the program fails."""
    return guarded(consumed, lambda: converter.convert(consumed))


def _write(writer: CacheWriter, entries: Entries) -> None:
    """Send puts and removals of different keys."""
    if not entries.values.null_count:
        writer.put(entries.keys, entries.values)
        return
    put = entries.values.is_valid()
    writer.put(entries.keys.filter(put), entries.values.filter(put))
    writer.remove(entries.keys.filter(entries.values.is_null()))


def _refusal(writer: CacheWriter, entries: Entries) -> EntriesRefused | None:
    """The error with which a cache refuses some of these entries; None: all are stored. No request is in flight afterwards."""
    try:
        _write(writer, entries)
        writer.flush()
    except EntriesRefused as error:
        with suppress(EntriesRefused):
            writer.flush()
        return error
    return None


def value_head_of(settings: SinkSettings) -> Callable[[bytes], bytes] | None:
    """What finds the heads of a topic's values; None: they have none, or keys are made of whole values."""
    return None if settings.key_policy == VALUE else head_of(inbound_rules(settings).value)


def inbound_rules(settings: SinkSettings) -> ConversionRules:
    """The rules of conversion that the settings choose."""
    key, value = (SideRules(getattr(settings, f"{side}_converter"), settings.converter_properties(side)) for side in ("key", "value"))
    header = SideRules(settings.header_converter, settings.converter_properties("header"))
    return ConversionRules(key, value, settings.key_policy, settings.key_fields, settings.date_time_zone, header)


def _one_part(parts: Sequence[Entries], bad: Sequence[BadRecord]) -> Entries:
    """Entries of one batch by the rows of their records."""
    if len(parts) == 1:
        return replace(parts[0], bad=tuple(bad))
    none = pa.array([], pa.binary())
    keys, values = pa.concat_arrays([none, *(part.keys for part in parts)]), pa.concat_arrays([none, *(part.values for part in parts)])
    rows = np.concatenate([np.zeros(0, np.int64), *(part.rows for part in parts)])
    order = np.argsort(rows)
    return Entries(rows[order], keys.take(pa.array(order)), values.take(pa.array(order)), tuple(bad))


def _concat_entries(parts: Sequence[Entries]) -> Entries:
    if len(parts) == 1:
        return parts[0]
    keys, values = pa.concat_arrays([part.keys for part in parts]), pa.concat_arrays([part.values for part in parts])
    return replace(parts[0], rows=np.arange(len(keys)), keys=keys, values=values, bad=())
