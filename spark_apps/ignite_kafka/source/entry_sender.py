"""Conversion of entries to Kafka records, which are queued in the open transaction of a slot.

The error policy decides about bad entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..common.arrays import Int64Array
from ..convert import Converters
from ..convert.filter.entries import EntryFilter
from ..convert.rules.failure_stages import Stage, failed_in_filter, policy_of
from ..convert.to_kafka.bad_entries import ENTRY_ERRORS, BadEntry, Conversion, raise_stopping, separate_bad_entries
from ..convert.to_kafka.key_types import key_types_in
from ..errors import AmbiguousKeys, IgniteKafkaError
from ..ignite.cluster import Cluster
from ..ignite.entry_versions import EntryVersions
from ..ignite.types.model import CacheInfo, Page
from ..kafka.cache_headers import with_cache_header
from ..kafka.dead_letters import DeadLetter, context_headers, entry_headers
from ..kafka.headers import joined_headers
from ..kafka.producer import TransactionalProducer
from ..kafka.records import KeyType, Records, with_tombstones
from ..kafka.version_headers import sender_headers, version_headers
from ..plan.source_plan import CachePlan, TransferPlan
from ..settings.cache_header import described_name
from ..settings.error_policies import DEAD_LETTER, STOP
from ..settings.topic_names import types_topic
from ..state.slot_writer import SlotWriter
from ..state.types_topic import write_uses
from .entry_selection import EntrySelectors
from .provenance import Origin, Provenance
from .record_topics import RecordTopics

REFUSE = "REFUSE"
_NONE: Int64Array = np.zeros(0, np.int64)


@dataclass(frozen=True)
class EntryBatch:
    """N entries of one cache to be converted and sent together, in this order.

    :param pages: pages with N entries in all.
    :param partitions: N Ignite partitions.
    :param removed: N flags: the entry is a tombstone; None: no entry is, and the order of the entries does not matter.
    :param changes: N update counters and N capture times (milliseconds) of changes; None: the entries were read from
        the cache.
    :param versions: N versions, sent as headers; None: none are sent.
    """

    pages: Sequence[Page]
    partitions: npt.NDArray[np.integer[Any]]
    removed: npt.NDArray[np.bool_] | None = None
    changes: tuple[Int64Array, Int64Array] | None = None
    versions: EntryVersions | None = None


@dataclass(frozen=True)
class Sent:
    """Records sent for the N entries of a batch, and the entries without a record.

    :param bad: rows of the entries that cannot be sent, which are skipped or become dead letters.
    :param filtered: rows of the entries left out by the filter.
    :param dropped: rows of the entries dropped by transforms.
    :param dead_letters: rows of the bad entries that became dead letters.
    """

    records: Records
    bad: Int64Array
    filtered: Int64Array
    dropped: Int64Array
    dead_letters: Int64Array = field(default_factory=lambda: _NONE)


class EntrySender:
    """Converts entries to records and queues them in the slots of one Spark task; not thread-safe.

    :param converters: converters of the caches; None: by the settings.
    """

    def __init__(self, plan: TransferPlan, cluster: Cluster, converters: Converters | None = None) -> None:
        settings = plan.settings
        self._connector = plan.connector
        self._generation = plan.generation
        self._settings = settings
        self._header = settings.cache_header
        self._cluster_id = plan.cluster_id
        self._cluster = cluster
        self._types_topic = types_topic(settings.internal_topic_prefix)
        self._converters = converters or Converters(settings)
        self._selectors = EntrySelectors(settings, self._converters, cluster)
        self._provenance = Provenance(plan)
        self._topics = RecordTopics(settings)

    def send(self, writer: SlotWriter, slot: int, cache: CachePlan, info: CacheInfo, batch: EntryBatch) -> Sent:
        """Filter, convert and queue the entries of a batch; bad entries become dead letters or events.

        :raises AmbiguousKeys: keys of two types can give the same Kafka key, and setting `coinciding_keys` refuses
            that.
        :raises SettingsError, TopicError: from :meth:`.record_topics.RecordTopics.divided`.
        :raises DecodeError, UnsupportedType, TransformFailed, RecordTooLarge: of a bad entry if the policy is to stop;
            whatever the policy, of a page whose entry boundaries cannot be found.
        """
        chosen = self._selectors.select(info, cache.topic, batch.pages, batch.removed)
        in_order = batch.removed is not None or batch.versions is not None or bool(self._provenance)
        conversion = self._convert_batch(writer, cache, info, chosen.pages, in_order=in_order)
        records = conversion.records
        rows = np.array([bad.row for bad in conversion.bad], np.int64)
        sent = np.delete(np.arange(chosen.count), rows) if records.rows is None else records.rows
        # transforms have already received the null of a removed entry, and may have replaced it
        if chosen.removed is not None and records.rows is None:
            records = with_tombstones(records, chosen.removed[sent])
        if self._provenance:
            origin = Origin(cache, batch.partitions, *(batch.changes or (None, None))).of_rows(chosen.positions(sent))
            headers = self._provenance.headers(origin, cache.topic)
            records = replace(records, headers=joined_headers(records.headers, headers))
        if batch.versions is not None:
            headers = version_headers(batch.versions[chosen.positions(sent)], cache.conflict_rule)
            if self._settings.forward_foreign_changes:
                headers = joined_headers(headers, sender_headers(self._cluster_id, len(headers)))
            records = replace(records, headers=joined_headers(records.headers, headers))
        records = with_cache_header(records, self._header, cache.name)
        self.note_key_types(cache.name, records.key_types)
        for target, part in self._topics.divided(writer, cache, records):
            name = described_name(target.topic, cache.name, self._header)
            write_uses(writer, self._types_topic, name, part, self._cluster)
            writer.send(target.topic, target.topic_partitions, part, target.topic_id)
        every_bad = np.concatenate([np.array([bad.row for bad in chosen.bad], np.int64), chosen.positions(rows)])
        dead = [
            self._skip(writer, slot, cache, partition, bad)
            for bad, partition in zip((*chosen.bad, *conversion.bad), batch.partitions[every_bad].tolist(), strict=True)
        ]
        every_one = len(sent) + len(rows) == chosen.count
        dropped = _NONE if every_one else np.setdiff1d(np.arange(chosen.count), np.concatenate([sent, rows]))
        return Sent(records, every_bad, chosen.filtered, chosen.positions(dropped), every_bad[np.array(dead, bool)])

    def note_key_types(self, cache: str, types: Iterable[KeyType]) -> None:
        """Report or refuse a cache's key types that can give the same Kafka key, such as the text 1 and the number 1.

        Types are compared with the types noted before in the same run.

        :raises AmbiguousKeys: two types can give the same Kafka key, and setting `coinciding_keys` refuses that.
        """
        key_types = key_types_in(self._connector, self._generation, cache)
        new = key_types.meet(types)
        if key_types.coinciding and self._settings.of(cache).coinciding_keys == REFUSE:
            first, second = key_types.coinciding[0]
            examples = [f"{key_type.name} (such as {key_type.example or '?'})" for key_type in (first, second)]
            what = f"keys are of {' and of '.join(examples)}"
            remedy = "Use the ignite-binary converter or keys of one type, or set coinciding_keys to EVENT."
            raise AmbiguousKeys(f"{what}, which can give the same Kafka key", remedy, cache=cache)
        for first, second in new:
            shown = {"first_example": first.example or "?", "second_example": second.example or "?"}
            events.emit(events.KEYS_MAY_COINCIDE, cache=cache, first=first.name, second=second.name, **shown)

    def _convert_batch(
        self, writer: SlotWriter, cache: CachePlan, info: CacheInfo, pages: Sequence[Page], *, in_order: bool
    ) -> Conversion:
        """Convert a batch as a whole, or entry by entry if that fails, to isolate the bad entries.

        The error of the first bad entry that stops the run is raised.
        """
        settings = self._settings
        if settings.always_stops:
            return Conversion(self._all_or_none(cache, info, pages, in_order=in_order))

        def refuses(records: Records) -> Mapping[int, IgniteKafkaError]:
            if settings.conversion_policy == STOP:
                return {}
            sent = with_cache_header(records, self._header, cache.name)
            return writer.too_large(cache.topic, cache.topic_bytes, sent)

        try:
            records = self._converters.of(cache.name).convert(
                pages, info, self._cluster, topic=cache.topic, in_order=in_order
            )
            if not records.refused and not refuses(records):
                return Conversion(records)
        except ENTRY_ERRORS:
            pass
        conversion = separate_bad_entries(
            self._converters.of(cache.name), pages, info, self._cluster, refuses, cache.topic
        )
        raise_stopping(settings, conversion.bad)
        return conversion

    def _all_or_none(self, cache: CachePlan, info: CacheInfo, pages: Sequence[Page], *, in_order: bool) -> Records:
        """Convert a whole batch, or raise the error of its first bad entry, with the entry's key."""
        try:
            records = self._converters.of(cache.name).convert(
                pages, info, self._cluster, topic=cache.topic, in_order=in_order
            )
            if not records.refused:
                return records
            cause: IgniteKafkaError = records.refused[0][1]
        except ENTRY_ERRORS as error:
            if "key" in error.where:
                raise
            cause = error
        conversion = separate_bad_entries(
            self._converters.of(cache.name), pages, info, self._cluster, lambda _: {}, cache.topic
        )
        raise (conversion.bad[0].error if conversion.bad else cause) from cause

    def _skip(self, writer: SlotWriter, slot: int, cache: CachePlan, partition: int, bad: BadEntry) -> bool:
        """Send a bad entry to the dead-letter topic, or only emit an event; return whether it is a dead letter."""
        error = type(bad.error)(bad.error.what, "", **bad.error.where | {"partition": partition})
        if policy_of(self._settings, bad.stage, bad.error.where) != DEAD_LETTER:
            if not failed_in_filter(bad.stage, bad.error.where):  # a failed filter has its own event
                events.emit(events.CONVERTER_FAILED, reason=error.what, stage=str(bad.stage), **error.where)
            return False
        component = self._component(cache, bad)
        context = context_headers(error, bad.stage, component, self._connector, slot, {})
        headers = [*context, *entry_headers(cache.name, partition, cache.topic)]
        writer.send_dead_letters([DeadLetter(self._settings.dead_letter_topic, bad.key, bad.value, headers)])
        return True

    def _component(self, cache: CachePlan, bad: BadEntry) -> type | str:
        """Return the class of the failed filter, transform, converter or producer, for a dead letter's headers."""
        if bad.stage == Stage.TRANSFORMATION:
            return (
                EntryFilter if failed_in_filter(bad.stage, bad.error.where) else str(bad.error.where["transform_class"])
            )
        converter = self._converters.of(cache.name)
        if bad.stage == Stage.POLL:
            return type(converter)
        return TransactionalProducer if bad.stage == Stage.PRODUCE else converter.component(bad.stage)


def rows_by_partition(partitions: Int64Array) -> dict[int, int]:
    """Count entries by Ignite partition.

    :param partitions: the partitions of N entries.
    """
    counts = np.bincount(partitions)
    present = np.flatnonzero(counts)
    return dict(zip(present.tolist(), counts[present].tolist(), strict=True))
