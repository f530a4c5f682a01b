"""One batch of records into caches: converted, one operation a key, sent, and acknowledged by the nodes."""

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
from ..convert.rules.stage import Stage
from ..convert.to_ignite import BadRecord, ClusterTypes, Entries, Inbound, InboundRules, compacted
from ..errors import EntriesRefused, IgniteKafkaError, ProgramFault, RecordRefused
from ..ignite.cache_writer import CacheWriter
from ..ignite.cluster import Cluster
from ..kafka.clients import KafkaClients
from ..kafka.records import Consumed
from ..kafka.topics import Place
from ..plan.sink_plan import SinkPlan, TopicPlan
from ..settings.connector import LOG_ONLY, STOP
from ..settings.sink import SinkSettings
from ..state.types import TypesTopic
from .carried_types import CarriedTypes
from .dead_letters import refused

log = logging.getLogger(__name__)


@dataclass
class Stored:
    """What became of a batch. ``bad`` are the records that were passed over; ``stopped`` the first that must not be, and where."""

    entries: dict[Place, int] = field(default_factory=dict)
    bad: list[tuple[Consumed, tuple[BadRecord, ...]]] = field(default_factory=list)
    stopped: dict[Place, RecordRefused] = field(default_factory=dict)


class Store:
    """The caches of one task. For one thread; close it when it has failed.

    :param in_order: records of a partition are put in their order, each part of them once what was before it is in the cache. So those
        that the cache refuses are found, and are bad records then; without it they end :meth:`store` or :meth:`flush`.
    """

    def __init__(self, plan: SinkPlan, cluster: Cluster, clients: KafkaClients, *, in_order: bool = False) -> None:
        self._in_order = in_order
        self._settings, self._cluster = plan.settings, cluster
        self._plans = {topic.name: topic for topic in plan.topics}
        self._types = ClusterTypes(cluster)
        self._carried = CarriedTypes(self._types, TypesTopic(clients, plan.settings.carried_types_topic))
        self._rules = inbound_rules(plan.settings)
        self._overwrite = plan.settings.process_updates
        self._sinks: dict[str, tuple[Inbound, CacheWriter]] = {}

    def store(self, batch: Sequence[Consumed]) -> Stored:
        """Convert the batch while the one before is on its way, wait for that, and send what this one says; :meth:`flush` waits for it.

        Records of one key are all of one partition, or have no order: so one operation a key and topic is left, the last one, or where
        entries are not overwritten the first.

        :raises EntriesRefused: a cache does not take some entry of this batch, or of the one before.
        :raises ProgramFault: the conversion failed in a way that says nothing of a record.
        """
        stored, by_topic = Stored(), defaultdict(list)
        self._carried.new_batch()
        for consumed in batch:
            inbound, writer = self._sink(self._plans[consumed.topic])
            entries = _converted(inbound, consumed)
            if self._in_order:
                entries = entries.without(self._put_in_order(writer, entries))
            entries = self._judged(consumed, entries, stored)
            stored.entries[consumed.topic, consumed.partition] = len(entries)
            by_topic[consumed.topic].append(entries)
        if self._in_order:
            return stored
        lefts = [(self._sinks[topic][1], compacted(_joined(parts), overwrite=self._overwrite)) for topic, parts in by_topic.items()]
        self.flush()
        for writer, left in lefts:
            _write(writer, left)
        return stored

    def flush(self) -> None:
        """Return once all batches are in the caches."""
        for _, writer in self._sinks.values():
            writer.flush()

    def _sink(self, topic: TopicPlan) -> tuple[Inbound, CacheWriter]:
        if topic.name not in self._sinks:
            cache = self._cluster.cache(topic.cache)
            writer = CacheWriter(self._cluster, cache, overwrite=self._overwrite)
            self._sinks[topic.name] = Inbound(cache, self._types, self._rules, self._carried), writer
        return self._sinks[topic.name]

    def _put_in_order(self, writer: CacheWriter, entries: Entries) -> list[BadRecord]:
        """Put entries, of a run that stops those before the first bad record; the answer is what was refused."""
        stops = self._settings.error_handling_policy == STOP
        end = int(np.searchsorted(entries.rows, entries.bad[0].row)) if stops and entries.bad else len(entries)
        bad: list[BadRecord] = []
        at, size = 0, end
        while at < end and not (stops and bad):
            part = entries.part(at, min(at + size, end))
            error = _refusal(writer, compacted(part, overwrite=self._overwrite))
            if error is not None and len(part) > 1:
                size = len(part) // 2
                continue
            if error is not None:
                bad.append(BadRecord(int(part.rows[0]), Stage.PUT, error.what))
            at, size = at + len(part), size * 2
        return bad

    def _judged(self, consumed: Consumed, entries: Entries, stored: Stored) -> Entries:
        """What of the entries is to be stored, by the error policy."""
        if not entries.bad:
            return entries
        if self._settings.error_handling_policy == STOP:
            first = entries.bad[0]
            stored.stopped[consumed.topic, consumed.partition] = refused(consumed, first)
            count = int(np.searchsorted(entries.rows, first.row))
            return entries.part(0, count)
        stored.bad.append((consumed, entries.bad))
        if self._settings.error_handling_policy == LOG_ONLY:
            for bad in entries.bad:
                error = refused(consumed, bad)
                events.emit(events.OBJECT_NOT_BUILT, **{"reason": error.what, **error.where})
        return entries

    def close(self) -> None:
        """Return once nothing is on its way: it must not come after what is stored next. Raises OutcomeUnknown."""
        for _, writer in self._sinks.values():
            writer.close()


def _converted(inbound: Inbound, consumed: Consumed) -> Entries:
    """The records as entries.

    An exception that is no error of this package says where the program is wrong, not which record is: it must not make a bad record,
    and as it is it would end the Spark task without a place, to be tried again in vain.
    """
    try:
        return inbound.convert(consumed)
    except (IgniteKafkaError, MemoryError):
        raise
    except Exception as error:
        raise _fault(consumed, error) from error


def _fault(consumed: Consumed, error: Exception) -> ProgramFault:
    """The error of the driver and the user; its text has what is left behind with the cause where errors travel as JSON."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    first, last = (int(consumed.offsets[0]), int(consumed.offsets[-1])) if len(consumed) else (None, None)
    text = in_message(error)
    what = f"a fault of this program: converting records failed with {type(error).__name__}: {text} ({Path(at.filename).name}:{at.lineno})"
    remedy = "Report it, with the traceback in the log of the executor and, if you can, these records; no error policy passes over them."
    lines = "".join(traceback.format_tb(error.__traceback__))
    log.error("converting records of %s-%s, offsets %s to %s\n%s%s", consumed.topic, consumed.partition, first, last, lines, text)
    return ProgramFault(what, remedy, topic=consumed.topic, partition=consumed.partition, first_offset=first, last_offset=last)


def _write(writer: CacheWriter, entries: Entries) -> None:
    """Send entries of different keys."""
    if not entries.values.null_count:
        writer.put(entries.keys, entries.values)
        return
    put = entries.values.is_valid()
    writer.put(entries.keys.filter(put), entries.values.filter(put))
    writer.remove(entries.keys.filter(entries.values.is_null()))


def _refusal(writer: CacheWriter, entries: Entries) -> EntriesRefused | None:
    """Why the cache does not take some of these entries, or None: all are in it. Either way nothing is on its way."""
    try:
        _write(writer, entries)
        writer.flush()
    except EntriesRefused as error:
        with suppress(EntriesRefused):
            writer.flush()
        return error
    return None


def inbound_rules(settings: SinkSettings) -> InboundRules:
    return InboundRules(settings.key_converter, settings.value_converter, settings.key_policy, settings.key_fields, settings.decimal_format)


def _joined(parts: Sequence[Entries]) -> Entries:
    if len(parts) == 1:
        return parts[0]
    keys, values = pa.concat_arrays([part.keys for part in parts]), pa.concat_arrays([part.values for part in parts])
    return replace(parts[0], rows=np.arange(len(keys)), keys=keys, values=values, bad=())
