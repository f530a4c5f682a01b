"""Stores batches of records in caches: converts them, keeps one operation a key, sends these, awaits the nodes' acknowledgements."""

from __future__ import annotations

import logging
import traceback
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from .. import events
from ..common.redaction import in_message
from ..convert.connect_converters import deserializer
from ..convert.filter import Filters
from ..convert.rules.stage import Stage
from ..convert.to_ignite import BadRecord, ClusterTypes, ConversionRules, Entries, RecordConverter, SideRules, last_per_key
from ..errors import EntriesRefused, IgniteKafkaError, ProgramFault, RecordRefused
from ..ignite.cache_writer import CacheWriter
from ..ignite.cluster import Cluster
from ..ignite.types.model import CacheInfo
from ..kafka.clients import KafkaClients
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition
from ..plan.sink_plan import SinkPlan, TopicPlan
from ..settings.connector import LOG_ONLY, STOP
from ..settings.sink import SinkSettings
from ..state.types import TypesTopic
from .carried_types import CarriedTypes, TypesGrown
from .dead_letters import error_of
from .entry_filter import kept_entries

log = logging.getLogger(__name__)


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
        self._sinks: dict[str, tuple[RecordConverter, CacheWriter]] = {}

    def store(self, batch: Sequence[Consumed]) -> Stored:
        """Convert the batch while the nodes store the one before, wait for that, and send this one; :meth:`flush` waits for it.

        Records of one key are of one partition, or have no order. So one operation a key and topic is kept: the last one, or the first
        where entries are not overwritten.

        :param batch: records of several partitions.
        :raises EntriesRefused: a cache refuses an entry of this batch, or of the one before.
        :raises ProgramFault: the conversion failed by a fault of this program.
        """
        stored, by_topic = Stored(), defaultdict(list)
        self._carried.new_batch()
        for consumed in batch:
            entries, writer = self._convert(consumed)
            entries = self._filter(consumed, entries, stored)
            if self._in_order:
                entries = entries.without(self._put_in_order(writer, entries))
            entries = self._apply_error_policy(consumed, entries, stored)
            stored.entries[consumed.topic, consumed.partition] = len(entries)
            by_topic[consumed.topic].append(entries)
        if self._in_order:
            return stored
        kept = [
            (self._sinks[topic][1], last_per_key(_concat_entries(parts), overwrite=self._overwrite)) for topic, parts in by_topic.items()
        ]
        self.flush()
        for writer, entries in kept:
            _write(writer, entries)
        return stored

    def flush(self) -> None:
        """Wait until all batches are in the caches."""
        for _, writer in self._sinks.values():
            writer.flush()

    @property
    def needs_times(self) -> bool:
        """Whether a filter needs the records' timestamps."""
        filters = [self._filters.of(topic) for topic in self._plans]
        return any(one is not None and one.needs_times for one in filters)

    def _filter(self, consumed: Consumed, entries: Entries, stored: Stored) -> Entries:
        """The entries that the topic's filter keeps."""
        entry_filter = self._filters.of(consumed.topic)
        if entry_filter is None:
            return entries
        kept = kept_entries(entries, consumed, entry_filter, self._sinks[consumed.topic][0].cache, self._carried)
        stored.filtered[consumed.topic, consumed.partition] = len(entries) - len(kept) - (len(kept.bad) - len(entries.bad))
        return kept

    def _convert(self, consumed: Consumed) -> tuple[Entries, CacheWriter]:
        """Entries of records, by the types that the source has described meanwhile, if records introduce some."""
        while True:
            converter, writer = self._sink(self._plans[consumed.topic])
            try:
                return _converted(converter, consumed), writer
            except TypesGrown:
                self._sinks[consumed.topic] = self._converter(consumed.topic, converter.cache), writer

    def _sink(self, topic: TopicPlan) -> tuple[RecordConverter, CacheWriter]:
        if topic.name not in self._sinks:
            cache = self._cluster.cache(topic.cache)
            writer = CacheWriter(self._cluster, cache, overwrite=self._overwrite)
            self._sinks[topic.name] = self._converter(topic.name, cache), writer
        elif self._settings.streams:  # else the source has seen everything that is read before the first record was
            converter, writer = self._sinks[topic.name]
            if converter.uses is not None and self._carried.register_used(topic.name) != converter.uses:
                self._sinks[topic.name] = self._converter(topic.name, converter.cache), writer
        return self._sinks[topic.name]

    def _converter(self, topic: str, cache: CacheInfo) -> RecordConverter:
        uses, rules = self._carried.register_used(topic), inbound_rules(self._settings.of(topic))
        return RecordConverter(cache, self._carried, rules, self._carried, deserializers=deserializer, topic=topic, uses=uses)

    def _put_in_order(self, writer: CacheWriter, entries: Entries) -> list[BadRecord]:
        """Put entries in parts, and halve a part that the cache refuses, down to single records.

        :returns: the refused records. If the error policy is to stop: at most one, and no entry behind a bad record is put.
        """
        stops = self._settings.error_handling_policy == STOP
        end = int(np.searchsorted(entries.rows, entries.bad[0].row)) if stops and entries.bad else len(entries)
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

    def _apply_error_policy(self, consumed: Consumed, entries: Entries, stored: Stored) -> Entries:
        """The entries to store; bad records are noted in `stored`."""
        if not entries.bad:
            return entries
        if self._settings.error_handling_policy == STOP:
            first = entries.bad[0]
            stored.stopped[consumed.topic, consumed.partition] = error_of(consumed, first)
            count = int(np.searchsorted(entries.rows, first.row))
            return entries.part(0, count)
        stored.skipped.append((consumed, entries.bad))
        if self._settings.error_handling_policy == LOG_ONLY:
            for bad in entries.bad:
                error = error_of(consumed, bad)
                events.emit(events.OBJECT_NOT_BUILT, **{"reason": error.what, **error.where})
        return entries

    def close(self) -> None:
        """Wait until no request is in flight: an older entry must not arrive after a newer one.

        :raises OutcomeUnknown: a request got no reply.
        """
        for _, writer in self._sinks.values():
            writer.close()


def _converted(converter: RecordConverter, consumed: Consumed) -> Entries:
    """Convert records to entries.

    An exception that is no error of this package is a fault of the program. It must not make a bad record; raised as it is, it would not
    name the records, and Spark would retry the task in vain.

    :raises ProgramFault: the program failed.
    """
    try:
        return converter.convert(consumed)
    except (IgniteKafkaError, MemoryError, TypesGrown):
        raise
    except Exception as error:
        raise _fault(consumed, error) from error


def _fault(consumed: Consumed, error: Exception) -> ProgramFault:
    """The error that the driver and the user see. Errors travel as JSON without their cause, so its text names the cause."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    first, last = (int(consumed.offsets[0]), int(consumed.offsets[-1])) if len(consumed) else (None, None)
    text = in_message(error)
    what = f"a fault of this program: converting records failed with {type(error).__name__}: {text} ({Path(at.filename).name}:{at.lineno})"
    remedy = "Report it, with the traceback in the log of the executor and, if you can, these records; no error policy skips them."
    lines = "".join(traceback.format_tb(error.__traceback__))
    log.error("converting records of %s-%s, offsets %s to %s\n%s%s", consumed.topic, consumed.partition, first, last, lines, text)
    return ProgramFault(what, remedy, topic=consumed.topic, partition=consumed.partition, first_offset=first, last_offset=last)


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


def inbound_rules(settings: SinkSettings) -> ConversionRules:
    """The rules of conversion that the settings choose."""
    key, value = (SideRules(getattr(settings, f"{side}_converter"), settings.converter_properties(side)) for side in ("key", "value"))
    header = SideRules(settings.header_converter, settings.converter_properties("header"))
    return ConversionRules(key, value, settings.key_policy, settings.key_fields, settings.date_time_zone, header)


def _concat_entries(parts: Sequence[Entries]) -> Entries:
    if len(parts) == 1:
        return parts[0]
    keys, values = pa.concat_arrays([part.keys for part in parts]), pa.concat_arrays([part.values for part in parts])
    return replace(parts[0], rows=np.arange(len(keys)), keys=keys, values=values, bad=())
