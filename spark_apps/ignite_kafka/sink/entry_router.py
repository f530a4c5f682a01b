"""Routing of records to caches: transforms, conversion to entries, filter, and choice of the cache."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ..convert.connect_converters import deserializer
from ..convert.filter import Filters
from ..convert.rules.failure_stages import CONTRACT
from ..convert.to_ignite import BadRecord, ClusterTypes, Entries, RecordConverter, merge_rows
from ..errors import SettingsError
from ..ignite.active_active import check_unversioned, read_rule
from ..ignite.cluster import Cluster
from ..ignite.sql_views import with_present_tables
from ..ignite.types.model import CacheInfo
from ..kafka.clients import KafkaClients
from ..kafka.records import Consumed
from ..kafka.value_heads import HeadOf
from ..plan.sink_plan import SinkPlan
from ..settings.cache_header import described_name
from ..settings.schema_contracts import EVOLVE, STORE
from ..settings.sink import HEADER, SinkSettings
from ..state.types_topic import TypesTopic
from .cache_division import cache_of_name, divide_by_cache
from .caches import no_source, routed_cache
from .conversion import inbound_rules, reads_headers, transforming, value_head_of
from .entry_filter import kept_entries
from .entry_order import with_order
from .program_faults import convert_or_fault
from .record_types import RecordTypes, TypesGrown
from .record_versions import with_versions
from .sender_check import check_senders

if TYPE_CHECKING:
    from ..convert.to_ignite.record_sides import ReadSide
    from ..convert.to_ignite.transforming_reader import TransformingReader

SourceKey = str | tuple[str, str]
"""Source of a cache's records: a topic; with transforms or select, a pair of original and new topic; with a header that
names the cache, a pair of topic and name in the header."""
CachePart = tuple[str, Entries]
"""Name of a cache, and entries for this cache."""


@dataclass(frozen=True)
class RoutedEntries:
    """Entries by cache, converted from the records of one topic partition.

    :param parts: entries of each cache, in the order of their records, without bad records.
    :param bad: bad records, by row.
    :param filtered: number of entries that the filter left out; None without a filter.
    """

    parts: list[CachePart]
    bad: list[BadRecord]
    filtered: int | None = None

    def before(self, row: int) -> RoutedEntries:
        """Return the entries and bad records of the rows before a row."""
        parts = [(cache, entries.before(row)) for cache, entries in self.parts]
        return RoutedEntries(parts, [record for record in self.bad if record.row < row], self.filtered)


class EntryRouter:
    """Converts one task's records to entries, and assigns the entries to caches; not thread-safe."""

    def __init__(self, plan: SinkPlan, cluster: Cluster, clients: KafkaClients) -> None:
        self._settings = plan.settings
        self._cluster_id = plan.cluster_id
        self._cluster = cluster
        self._plans = {topic.name: topic for topic in plan.topics}
        self._record_types = RecordTypes(ClusterTypes(cluster), TypesTopic(clients, plan.settings.source_types_topic))
        self._filters = Filters(plan.settings)
        self._converters: dict[SourceKey, RecordConverter] = {}
        self._transforms: dict[str, TransformingReader | None] = {}
        self._caches: dict[str, CacheInfo] = {}
        self._looked_up: set[SourceKey] = set()
        self._rules: dict[str, str] = {}

    def begin_batch(self) -> None:
        """Begin a batch: the types topic, the cluster's types and the columns of tables may be read once more."""
        self._record_types.new_batch()
        self._looked_up = set()

    def route(self, consumed: Consumed, leave_out: Collection[str] = ()) -> RoutedEntries:
        """Convert the records of one topic partition to entries by cache, without storing them.

        1. Read the records, with the topics that transforms give them.
        2. Convert those of each topic to entries of its cache.
        3. Leave out the entries that the filter does not keep.
        4. Number the entries by the field that orders them, if there is one.
        5. Merge the entries of each cache: a key's records may come by several topics that transforms make.

        :param leave_out: caches chosen by transforms whose records are ignored, and which are not created.
        :raises ProgramFault: the conversion failed by a fault of this program.
        :raises SettingsError: by their versions, records come from a cluster with the number of the sink's.
        """
        own = self._settings.of(consumed.topic)
        if self._cluster_id:
            check_senders(consumed, self._cluster_id, own)
        entry_filter = self._filters.of(consumed.topic)
        filtered = 0
        bad: list[BadRecord] = []
        by_cache: dict[str, list[Entries]] = defaultdict(list)
        for key, entries in self._convert(consumed, leave_out, bad):  # 1. and 2.
            cache = self._converters[key].cache
            kept = entries
            if entry_filter is not None:  # 3.
                kept = kept_entries(entries, consumed, entry_filter, cache, self._record_types)
                filtered += len(entries) - len(kept) - len(kept.bad)
                bad += kept.bad
            if own.order_field:  # 4.
                kept = with_order(replace(kept, bad=()), own.order_field, cache, self._record_types, own.date_time_zone)
                bad += kept.bad
            by_cache[cache.name].append(replace(kept, bad=()))
        parts = [(cache, merge_rows(of_cache)) for cache, of_cache in by_cache.items()]  # 5.
        bad.sort(key=lambda record: record.row)
        return RoutedEntries(parts, bad, None if entry_filter is None else filtered)

    def count_caches(self, consumed: Consumed) -> Counter[str]:
        """Count records by cache, leaving out records that transforms refuse or drop.

        :param consumed: records of one topic partition.
        """
        reader = self._reader(consumed.topic)
        if self._settings.cache_header:
            counts = Counter[str]()
            for of_cache in divide_by_cache(consumed, self._settings)[0]:
                counts[of_cache.cache] += _count_kept(reader, of_cache.consumed)
            return +counts
        if reader is None:
            return Counter({self._plans[consumed.topic].cache: len(consumed.offsets)})
        routed, _ = convert_or_fault(consumed, lambda: reader.read(consumed))
        return Counter({self._name_cache(part.topic): len(part.rows) for part in routed})

    def cache(self, name: str) -> CacheInfo:
        """Return the description of a cache that :meth:`route` has returned entries for."""
        return self._caches[name]

    def days(self, cache: str) -> frozenset[tuple[str, str]] | None:
        """Return types and fields that a cache's records have as days, if its tables grow; None if they do not grow."""
        growing = [
            converter
            for key, converter in self._converters.items()
            if converter.cache.name == cache and self._settings.of(_read_topic(key)).schema_contract == EVOLVE
        ]
        return frozenset().union(*(converter.days for converter in growing)) if growing else None

    @property
    def needs_times(self) -> bool:
        """Whether a filter or transforms need record timestamps; otherwise these are not read."""
        filters = [self._filters.of(topic) for topic in self._plans]
        return any(item is not None and item.needs_times for item in filters) or any(
            item.transforms for item in self._of_topics
        )

    @property
    def needs_headers(self) -> bool:
        """Whether keys, transforms or versions need record headers; otherwise these are not read."""
        return (
            self._settings.active_active
            or bool(self._settings.cache_header)
            or any(settings.key_policy == HEADER or reads_headers(settings) for settings in self._of_topics)
        )

    @property
    def head_of(self) -> HeadOf | None:
        """Function that finds a value's head, the common beginning with the schema, to cut it off while reading.

        It is None if no topic has such values.
        """
        finders = {topic: value_head_of(self._settings.of(topic)) for topic in self._plans}
        finder_of = {topic: finder for topic, finder in finders.items() if finder is not None}
        return (lambda topic, value: finder_of[topic](value) if topic in finder_of else b"") if finder_of else None

    @property
    def _of_topics(self) -> list[SinkSettings]:
        return [self._settings.of(topic) for topic in self._plans]

    def _convert(
        self, consumed: Consumed, leave_out: Collection[str], bad: list[BadRecord]
    ) -> Iterator[tuple[SourceKey, Entries]]:
        """Convert records, and yield entries by topic after transforms; bad records are added to `bad`."""
        if not self._settings.cache_header:
            yield from self._convert_part(consumed, "", leave_out, bad)
            return
        parts, refused = divide_by_cache(consumed, self._settings)
        bad += refused
        for part in parts:
            if part.cache in leave_out:
                continue
            refused = []
            for key, entries in self._convert_part(part.consumed, part.named, (), refused):
                yield key, replace(entries, rows=part.rows[entries.rows])
            bad += [replace(record, row=int(part.rows[record.row])) for record in refused]

    def _convert_part(
        self, consumed: Consumed, named: str, leave_out: Collection[str], bad: list[BadRecord]
    ) -> Iterator[tuple[SourceKey, Entries]]:
        """Convert records of one topic partition.

        :param named: name of their cache in their header; empty: their topic names it.
        """
        reader = self._reader(consumed.topic)
        if reader is None:
            key: SourceKey = (consumed.topic, named) if named else consumed.topic
            entries = self._make_entries(key, consumed, {})
            if self._settings.active_active:
                rule = self._rule(self._converters[key].cache.name)
                entries = with_versions(entries, consumed, rule)
            bad += entries.bad
            yield key, replace(entries, bad=())
            return
        routed, refused = convert_or_fault(consumed, lambda: reader.read(consumed))
        bad += refused
        for part in routed:
            if leave_out and self._name_cache(part.topic) in leave_out:
                continue
            key = consumed.topic, named or part.topic
            entries = self._make_entries(key, part.consumed, part.read)
            bad += [replace(record, row=int(part.rows[record.row])) for record in entries.bad]
            yield key, replace(entries, rows=part.rows[entries.rows], bad=())

    def _rule(self, cache: str) -> str:
        """Return what decides between clusters by the configuration of a cache's nodes; read once."""
        if cache not in self._rules:
            self._rules[cache] = read_rule(self._cluster, cache)
        return self._rules[cache]

    def _reader(self, topic: str) -> TransformingReader | None:
        """Return the cached reader that applies a topic's transforms and `select`; None if the topic has neither."""
        if topic not in self._transforms:
            self._transforms[topic] = transforming(self._settings.of(topic))
        return self._transforms[topic]

    def _make_entries(self, key: SourceKey, consumed: Consumed, read: Mapping[str, ReadSide]) -> Entries:
        """Convert records to entries; convert again if new types arrive in the types topic meanwhile."""
        while True:
            converter = self._converter(key)
            try:
                entries = convert_or_fault(consumed, partial(converter.convert, consumed, read))
            except TypesGrown:
                self._converters[key] = self._make_converter(key, converter.cache)
                continue
            if not (any(CONTRACT in record.where for record in entries.bad) and self._has_new_columns(key)):
                return entries

    def _has_new_columns(self, key: SourceKey) -> bool:
        """Read the tables of a cache again, once a batch; if they changed, make the converter again and return True."""
        if key in self._looked_up:
            return False
        self._looked_up.add(key)
        cache = self._converters[key].cache
        present = self._with_tables(cache)
        if present.query_entities == cache.query_entities:
            return False
        self._caches[cache.name] = present
        self._converters[key] = self._make_converter(key, present)
        return True

    def _converter(self, key: SourceKey) -> RecordConverter:
        if key not in self._converters:
            cache = self._get_cache(key)
            self._caches[cache.name] = cache
            self._converters[key] = self._make_converter(key, cache)
        elif self._settings.streams:  # in other runs, the source described all types before the first record was read
            converter = self._converters[key]
            if converter.uses is not None and self._record_types.register_used(self._described(key)) != converter.uses:
                self._converters[key] = self._make_converter(key, converter.cache)
        return self._converters[key]

    def _get_cache(self, key: SourceKey) -> CacheInfo:
        """Return the cache that records go to; create a missing one if transforms or a header chose it.

        :raises BacklogRefused: records chose a cache that other clusters write, too.
        """
        plan = self._plans[_read_topic(key)]
        settings = self._settings.of(plan.name)
        if isinstance(key, str):
            cache = self._cluster.cache(plan.cache)
        else:
            source = partial(self._record_types.source_configuration, self._described(key))
            cache = routed_cache(
                self._cluster, self._name_cache(key[1]), settings, source if settings.cache_header else no_source
            )
            if not settings.allow_unversioned:  # active_active excludes transforms and headers that choose caches
                check_unversioned(self._cluster, [cache.name])
        return cache if settings.schema_contract == STORE else self._with_tables(cache)

    def _with_tables(self, cache: CacheInfo) -> CacheInfo:
        """Return a cache's description with the columns that its tables have now."""
        present = with_present_tables(self._cluster, self._cluster.configuration(cache.name))
        return replace(cache, query_entities=present.query_entities)

    def _name_cache(self, topic: str) -> str:
        """Derive the cache name from a topic name that transforms gave a record, or from an admitted header."""
        if self._settings.cache_header:
            admitted = cache_of_name(topic, self._settings)
            assert admitted is not None, "records of other names are bad records"
            return admitted
        named = self._settings.cache_of(topic)
        if not named.name:
            remedy = "Choose another topic_prefix, or a cache_prefix"
            raise SettingsError("a topic's name leaves none for its cache", remedy, topic=topic, named_by=named.rule)
        return named.name

    def _described(self, key: SourceKey) -> str:
        """Return the name under which the types topic describes the records."""
        topic = _read_topic(key)
        return topic if isinstance(key, str) else described_name(topic, key[1], self._settings.cache_header)

    def _make_converter(self, key: SourceKey, cache: CacheInfo) -> RecordConverter:
        topic = _read_topic(key)
        uses = self._record_types.register_used(self._described(key))
        rules = inbound_rules(self._settings.of(topic))
        reader = None if isinstance(key, str) else self._reader(topic)
        return RecordConverter(
            cache,
            self._record_types,
            rules,
            self._record_types,
            deserializers=deserializer,
            topic=topic,
            uses=uses,
            read_sides=frozenset() if reader is None else reader.sides,
        )


def _read_topic(key: SourceKey) -> str:
    """Return the topic that records were read from, before transforms renamed it."""
    return key if isinstance(key, str) else key[0]


def _count_kept(reader: TransformingReader | None, consumed: Consumed) -> int:
    """Count the records that transforms neither refuse nor drop."""
    if reader is None:
        return len(consumed)
    routed, _ = convert_or_fault(consumed, partial(reader.read, consumed))
    return sum(len(part.rows) for part in routed)
