"""Planner of the data source `ignite-backlog`: which changes a batch of Structured Streaming has, and when they are acknowledged.

Spark decides about a batch by its end: it asks for one (:meth:`CacheStream.latest`), writes it down, has the batch read, writes down that
it is done, and asks for the next one from there. So what a batch has is read from the backlog when its end is asked for; it is acknowledged
once Spark says that it is done, or asks for what comes after it, which it does only then. A batch whose reader is gone (after a restart of
the query) is read from the backlog again, up to the numbers that its end names.
"""

from __future__ import annotations

import base64
import logging
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .. import events
from ..common.arrays import Int64Array
from ..common.retry import retry
from ..errors import CacheDestroyed, ChangesLost, IgniteKafkaError, SettingsError
from ..ignite.backlog_service import ASKED, EXPIRED, GIVEN_UP, LOST, MISSED, BacklogService, Changes
from ..ignite.cluster import Cluster
from ..kafka.clients import KafkaClients
from ..plan.slots import UnitOffset
from ..plan.source_plan import CachePlan, TransferPlan
from ..settings.source import SourceSettings
from ..source.stream.backlog_reader import BacklogReader
from ..source.stream.batch import ChangeBatch
from ..source.stream.capture import Capture, Captured
from ..source.stream.dedup import Classification
from ..source.stream.unit_table import UnitTable
from .backlog_rows import ChangeRows, rows_of

log = logging.getLogger(__name__)

T = TypeVar("T")
_WHOLE_UNIT = 1 << 30  # bytes: all of one unit that a read gives
_OWNER = "data source ignite-backlog"
_TOO_MUCH = 1 << 16  # beside the service's marks
_WHY = {
    GIVEN_UP: "given up because region or buffer was full",
    MISSED: "missed while nothing captured",
    LOST: "lost with their backlog",
    _TOO_MUCH: "too many to be read at once where one of them was in doubt",
}
_UNITS = np.dtype([("high", "<i8"), ("topology", "<i8"), ("digest", "<u4"), ("touched", "u1")])
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Offset:
    """The end of a batch, as it stands in Spark's checkpoint.

    :param batch: rising by one a batch; 0 is the beginning.
    :param capture_id: of the capture that the numbers are of, and `incarnation` of the cache.
    :param units: a row a partition: the highest number of all batches up to this one (-1: none); the topology of the cluster under which
        all of it is sent (-1: not known); whether this batch has anything of it, and a digest of its numbered changes, so that a restarted
        query knows them again while they are not acknowledged.
    :param load: partitions whose entries this batch reads from the cache.
    """

    batch: int
    capture_id: int
    incarnation: str
    units: npt.NDArray[np.void]
    load: tuple[int, ...] = ()

    @staticmethod
    def beginning(capture_id: int, incarnation: str, partitions: int) -> Offset:
        units = np.zeros(partitions, _UNITS)
        units["high"] = units["topology"] = -1
        return Offset(0, capture_id, incarnation, units)

    def to_dict(self) -> dict[str, Any]:
        """The form that Spark takes: primitive values."""
        units = base64.b64encode(zlib.compress(b"".join(self.units[name].tobytes() for name in _UNITS.names or ()))).decode()
        load = ",".join(map(str, self.load))
        return {"batch": self.batch, "capture": str(self.capture_id), "incarnation": self.incarnation, "units": units, "load": load}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Offset:
        """
        :raises SettingsError: it was written by something else.
        """
        try:
            columns = zlib.decompress(base64.b64decode(data["units"]))
            units = np.zeros(len(columns) // _UNITS.itemsize, _UNITS)
            position = 0
            for name in _UNITS.names or ():
                units[name] = np.frombuffer(columns, _UNITS[name], len(units), position)
                position += units[name].nbytes
            load = tuple(int(number) for number in data["load"].split(",") if number)
            return Offset(int(data["batch"]), int(data["capture"]), data["incarnation"], units, load)
        except (KeyError, ValueError, TypeError, zlib.error) as error:
            what = f"an offset in the checkpoint is none of this source: {error}"
            raise SettingsError(what, "Give the query a checkpointLocation of its own.") from error


@dataclass(frozen=True)
class Batch:
    """What a batch reads: changes, in pieces whose order does not count, and then partitions of the cache."""

    pieces: tuple[ChangeRows, ...] = ()
    load: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Planned:
    end: Offset
    batch: Batch
    acknowledgements: tuple[bytes, ...]


@dataclass(frozen=True)
class BacklogTarget:
    """Whose backlog is read.

    :param settings: the connector's name, and how its changes are captured and read.
    :param reload: whether a unit whose changes were lost is read from the cache; else it is an error.
    :param pieces: most pieces that what one read gives is cut into.
    """

    cache: CachePlan
    settings: SourceSettings
    reload: bool
    pieces: int

    def captured(self, cluster: Cluster) -> tuple[BacklogTarget, Captured]:
        """Capture the cache, from before it returns on.

        :raises BacklogMissing: no node has the service.
        :raises SettingsError, BacklogRefused: something else captures under the connector's name.
        """
        capture = Capture(self.settings, cluster, _OWNER)
        capture.check()
        present = capture.present()
        others = set(present.incarnations) - {self.cache.name} if present is not None else set()
        if others:
            raise SettingsError(
                f"the connector captures {', '.join(sorted(others))} already",
                "Give each stream a connector name of its own.",
                setting="connector",
                connector=self.settings.name,
            )
        found = capture.start([self.cache.name])
        return replace(self, cache=found.named(self.cache)), found

    def reader(self, cluster: Cluster) -> CacheReader:
        """A reader of the cache, which is captured."""
        plan = TransferPlan(self.settings.name, "", 0, 1, self.settings, (self.cache,))
        return CacheReader(plan, UnitTable.of(plan, [0]), cluster)

    def check(self, marks: Mapping[int, int]) -> None:
        """
        :param marks: of partitions.
        :raises ChangesLost: changes were lost, and they are not to be reloaded.
        """
        lost = {unit: marked for unit, marked in marks.items() if marked & ~ASKED}
        if not lost or self.reload:
            return
        why = " or ".join(text for bit, text in _WHY.items() if any(marked & bit for marked in lost.values()))
        raise self.lost(why, sorted(lost))

    def lost(self, why: str, partitions: Sequence[int]) -> ChangesLost:
        shown = ", ".join(map(str, partitions[:20])) + (f" and {len(partitions) - 20} more" if len(partitions) > 20 else "")
        return ChangesLost(
            f"changes were {why}",
            "Go on with the option on_loss = reload: the entries that these partitions have now come as 'loaded'.",
            connector=self.settings.name,
            cache=self.cache.name,
            partitions=shown,
        )


class CacheReader(BacklogReader):
    """Reads the units of one cache; a unit's position is its partition.

    :ivar marks: of partitions of which no change is read until they are forgotten here.
    :ivar open: which partitions are read.
    """

    def __init__(self, plan: TransferPlan, table: UnitTable, cluster: Cluster) -> None:
        super().__init__(plan, table, cluster, KafkaClients({}))  # no topic is ever swept
        self._loaded[:] = True
        self.marks: dict[int, int] = {}
        self.open = np.ones(len(table), bool)
        self._until: Int64Array | None = None
        self._delivered: dict[int, int] = {}  # partition to the digest of its changes in the last batch, until they are seen

    def begin(self, offset: Offset, until: Int64Array | None) -> None:
        """Go on behind a batch.

        :param until: highest numbers to read of each partition; None: there is no end.
        """
        self._until = until
        self._topology_of = offset.units["topology"].copy()
        for unit in np.flatnonzero(offset.units["high"] >= 0).tolist():
            high = int(offset.units["high"][unit])
            self.memory.restore(unit, UnitOffset(0, "", ranges=((0, high),)), time.monotonic())
        touched = np.flatnonzero(offset.units["touched"])
        self._delivered = dict(zip(touched.tolist(), offset.units["digest"][touched].tolist(), strict=True))

    def changes(self) -> list[ChangeBatch]:
        """What one read gives of the partitions that are open; with an end, those of which it shows all up to there are closed."""
        units = np.flatnonzero(self._ready() & self.open)
        batch = self._classified(units, self._read_backlog(units, self._settings.batch_bytes))
        batches = [batch, *self._settled(batch)]
        if self._until is None:
            return batches
        last = np.full(len(self.open), -1)
        np.maximum.at(last, batch.classified.unit, batch.changes.number)
        shown = np.zeros(len(self.open), bool)
        shown[units] = ~batch.changes.more | (last[units] > self._until[units])
        for each in batches:
            within = (each.changes.number >= 0) & (each.changes.number <= self._until[each.classified.unit])
            undone = each.classified.unit[within & ~each.done]
            shown[undone[~np.isin(undone, each.left)]] = False
        self.open &= ~shown
        return [up_to(each, self._until) for each in batches]

    def all_of(self, unit: int) -> list[ChangeBatch]:
        """What one read gives of a single partition: as much as a node answers at once."""
        units = np.array([unit])
        batch = self._classified(units, self._read_backlog(units, _WHOLE_UNIT))
        return [batch, *self._settled(batch)]

    def clear(self, partitions: Sequence[int]) -> None:
        """Take the marks of these partitions away, and read their changes from now on; those that are not marked keep what they have."""
        states = self.ask(lambda service: service.units(self._plan.connector))
        wanted = np.isin(states.unit, self._table.units[list(partitions)]) & (states.marks != 0)
        self._again |= zip(states.unit["partition"][wanted].tolist(), states.mark_number[wanted].tolist(), strict=True)
        self._clear(np.array(partitions))
        for partition in partitions:
            self.marks.pop(partition, None)

    def remember(self, batch: ChangeBatch) -> bytes:
        """What acknowledges a batch, which is not given again by this reader."""
        now = time.monotonic()
        self.memory.remember(batch.classified, batch.done, batch.changes, now)
        for (unit, key), value in batch.states.items():
            self.memory.remember_state(unit, key, value, now)
        self.memory.forget(now)
        self.committed(batch)
        return batch.changes.acknowledgement(self._table.units[batch.units], batch.done, batch.stamps)

    @property
    def topology(self) -> Int64Array:
        """Of each partition: that under which all of it is sent."""
        return self._topology_of

    def _read_backlog(self, units: Int64Array, most_bytes: int) -> Changes:
        changes = first_changes(super()._read_backlog(units, most_bytes), most_bytes)
        self._recognise(units, changes)
        return changes

    def _classified(self, units: Int64Array, changes: Changes, *, whole: bool = False) -> ChangeBatch:
        batch = super()._classified(units, changes, whole=whole)
        if self._gone.any():
            what = "the cache was destroyed, or made again"
            raise CacheDestroyed(what, "Start the query again.", cache=self._table.caches[0].name)
        unsound = np.flatnonzero(~batch.sound)
        self.marks |= {int(units[position]): int(changes.marks[position]) or _TOO_MUCH for position in unsound.tolist()}
        return batch

    def _recognise(self, units: Int64Array, changes: Changes) -> None:
        """Remember the changes of the last batch before a restart where they stand in the backlog as they did."""
        if not self._delivered:
            return
        unit = np.repeat(units, changes.count)
        ends = np.cumsum(changes.count)
        for position in np.flatnonzero(changes.count).tolist():
            digest = self._delivered.pop(int(units[position]), None)
            rows = np.arange(ends[position] - changes.count[position], ends[position])
            rows = rows[(changes.number[rows] >= 0) & (changes.number[rows] <= self.memory.high(int(units[position])))]
            if digest is not None and digest == digest_of(changes, rows):
                known, none = np.isin(np.arange(unit.size), rows), np.zeros(unit.size, bool)
                self.memory.remember(Classification(unit, none, known, none), known, changes, time.monotonic())


def first_changes(changes: Changes, most_bytes: int) -> Changes:
    """The first changes of an answer, at least one, up to a number of bytes; expired keys of a unit stay together."""
    offsets = changes.entry_offsets()
    rows = max(1, int(np.searchsorted(offsets, most_bytes, "right")) - 1)
    if rows >= len(changes.number):
        return changes
    ends = np.cumsum(changes.count)
    if changes.kind[rows] == EXPIRED:
        rows = int(ends[np.searchsorted(ends, rows, "right")])
    count = np.clip(rows - (ends - changes.count), 0, changes.count).astype(np.int32)
    cut = count < changes.count
    columns = {name: getattr(changes, name)[:rows] for name in ("number", "time_ms", "hash", "kind", "key_length", "value_length")}
    stamps = np.where(cut, 0, changes.expired_stamp)
    return replace(changes, count=count, more=changes.more | cut, expired_stamp=stamps, entries=changes.entries[: offsets[rows]], **columns)


def up_to(batch: ChangeBatch, highest: Int64Array) -> ChangeBatch:
    """A batch without the changes above the highest number of their unit; they are left in the backlog."""
    within = batch.changes.number <= highest[batch.classified.unit]
    topology = np.where(np.isin(batch.units, batch.classified.unit[~within]), -1, batch.topology)
    return replace(batch, classified=batch.classified.only(within), done=batch.done & within, topology=topology)


def digest_of(changes: Changes, rows: Int64Array) -> int:
    """Of numbers and hashes of some changes."""
    return zlib.crc32(changes.hash[rows].tobytes(), zlib.crc32(changes.number[rows].tobytes()))


class CacheStream:
    """Batches of the changes of one cache, one after the other. For one thread.

    What fails and may pass is tried again for a minute; the reader is then made anew, as after a restart of the query.
    """

    def __init__(self, connect: Callable[[], Cluster], target: Callable[[Cluster], BacklogTarget]) -> None:
        self._connect, self._target_of = connect, target
        self._planned: dict[int, _Planned] = {}
        self._cluster: Cluster | None = None
        self._reader: CacheReader | None = None
        self._until: Int64Array | None = None
        self._lost = False
        self._idle_since_s = float("-inf")

    def beginning(self) -> Offset:
        """Where a new query begins: what was captured and not acknowledged, and what changes from now on."""
        return self._steadily(
            lambda: Offset.beginning(self._opened().capture_id, self._target.cache.incarnation, self._target.cache.partitions)
        )

    def end_here(self) -> None:
        """Let batches end with what was captured up to now."""

        def bound() -> Int64Array:
            self._opened()
            until = np.full(self._target.cache.partitions, -1)
            for (_, partition), high in Capture(self._target.settings, self._open_cluster, _OWNER).highest_numbers().items():
                until[partition] = high
            return until

        self._until = self._steadily(bound)

    def latest(self, start: Offset) -> Offset:
        """The end of the batch that follows `start`; `start` itself while there is nothing.

        :raises ChangesLost: changes were lost, and they are not to be reloaded.
        """
        return self._steadily(lambda: self._latest(start))

    def batch(self, start: Offset, end: Offset) -> Batch:
        """What the batch between two ends reads."""
        return self._steadily(lambda: self._batch(start, end))

    def done(self, end: Offset) -> None:
        """Acknowledge the batches up to `end`."""
        self._steadily(lambda: self._done(end))

    def close(self) -> None:
        """Close the connections; the next call opens others."""
        if self._cluster is not None:
            self._cluster.close()
        self._cluster = self._reader = None

    def _latest(self, start: Offset) -> Offset:
        self._done(start)
        if start.batch + 1 in self._planned:
            return self._planned[start.batch + 1].end
        reader = self._reader_at(start)
        self._wait()
        pieces: list[ChangeRows] = []
        while True:
            before = int(reader.open.sum())
            batches = reader.changes()
            self._target.check(reader.marks)
            pieces = self._pieces(batches)
            acknowledgements = [sent for sent in map(reader.remember, batches) if sent]
            load = tuple(range(self._target.cache.partitions)) if self._lost else tuple(sorted(reader.marks))
            if pieces or load:
                end = self._end(start, batches, load)
                self._planned[end.batch] = _Planned(end, Batch(tuple(pieces), load), tuple(acknowledgements))
                return end
            self._acknowledge(acknowledgements)  # sent before, and put back by a slow node
            if self._until is None or not (acknowledgements or int(reader.open.sum()) < before):
                self._idle_since_s = time.monotonic()
                return start

    def _end(self, start: Offset, batches: Sequence[ChangeBatch], load: tuple[int, ...]) -> Offset:
        reader, cache = self._reader_at(start), self._target.cache
        units = np.zeros(cache.partitions, _UNITS)
        units["high"] = [reader.memory.high(unit) for unit in range(cache.partitions)]
        units["topology"] = reader.topology
        for batch in batches:
            units["touched"][[unit for unit, _ in batch.states]] = 1
            units["touched"][batch.classified.unit[batch.done]] = 1
            for unit in np.unique(batch.classified.unit[batch.done]).tolist():
                span = batch.rows_of(unit, unit)
                rows = np.flatnonzero(batch.done[span] & (batch.changes.number[span] >= 0)) + span.start
                units["digest"][unit] = digest_of(batch.changes, rows)
        return Offset(start.batch + 1, self._capture_id, cache.incarnation, units, load)

    def _batch(self, start: Offset, end: Offset) -> Batch:
        if start.batch == end.batch:
            return Batch()
        if end.batch not in self._planned:
            self._planned[end.batch] = self._planned_again(start, end)
        batch = self._planned[end.batch].batch
        if batch.load:
            self._reader_at(end).clear(batch.load)
            self._lost = False
        return batch

    def _planned_again(self, start: Offset, end: Offset) -> _Planned:
        """A batch whose reader is gone: what it had stands in the backlog still."""
        reader = self._reader_at(start)
        if (end.capture_id, end.incarnation) != (self._capture_id, self._target.cache.incarnation):
            return _Planned(end, Batch(), ())  # what it had is lost; the next batch begins anew, or says so
        batches = []
        for unit in np.flatnonzero(end.units["touched"]).tolist():
            read = reader.all_of(unit)
            self._check_repeated(unit, read[0].changes, int(end.units["high"][unit]))
            batches += [up_to(batch, end.units["high"]) for batch in read]
        pieces = self._pieces(batches)
        return _Planned(end, Batch(tuple(pieces), end.load), tuple(sent for sent in map(reader.remember, batches) if sent))

    def _check_repeated(self, unit: int, changes: Changes, high: int) -> None:
        """A batch that is read again must have what it had.

        :raises IgniteKafkaError: one answer of a node does not reach its end: changes with lower numbers came since, or the node's heap is
            smaller than that of the node that answered before.
        """
        if changes.more.any() and (not changes.number.size or int(changes.number.max()) < high):
            raise IgniteKafkaError(
                "a batch that is to be read again is larger than a node answers at once",
                "Give the nodes more heap (an answer has at most a sixteenth of it, and 64 MiB); or begin with a new checkpoint and read "
                "what the cache holds with source ignite.",
                connector=self._target.settings.name,
                cache=self._target.cache.name,
                partition=unit,
            )

    def _pieces(self, batches: Sequence[ChangeBatch]) -> list[ChangeRows]:
        now_ms = int(time.time() * 1000)
        return [piece for batch in batches for piece in rows_of(batch, now_ms, self._target.pieces)]

    def _done(self, end: Offset) -> None:
        for number in sorted(number for number in self._planned if number <= end.batch):
            self._opened()
            self._acknowledge(self._planned[number].acknowledgements)
            del self._planned[number]

    def _acknowledge(self, acknowledgements: Sequence[bytes]) -> None:
        name, secret = self._target.settings.name, self._open_cluster.credentials.backlog_secret
        for sent in acknowledgements:
            self._open_cluster.ask(lambda connection, sent=sent: BacklogService(connection, secret).acknowledge(name, sent))  # type: ignore[misc]

    def _wait(self) -> None:
        """After a read that gave nothing, for the time between two."""
        until_s = self._idle_since_s + self._target.settings.poll_interval_ms / 1000
        time.sleep(max(0.0, until_s - time.monotonic()))

    def _opened(self) -> Captured:
        """Connect and capture."""
        if self._cluster is None:
            self._cluster = self._connect()
            self._target, self._captured = self._target_of(self._cluster).captured(self._cluster)
            if self._cluster.credentials.backlog_secret is None:
                events.emit(events.CAPTURE_OPEN, connector=self._target.settings.name)
        return self._captured

    def _reader_at(self, offset: Offset) -> CacheReader:
        """The reader, made when there is none."""
        if self._reader is None:
            captured = self._opened()
            cache = self._target.cache
            reader = self._target.reader(self._open_cluster)
            self._lost = (offset.capture_id, offset.incarnation) != (captured.capture_id, cache.incarnation)
            if self._lost and not self._target.reload:
                why = "lost with the whole backlog, or the cache was made again"
                raise self._target.lost(why, range(cache.partitions))
            reader.begin(Offset.beginning(captured.capture_id, cache.incarnation, cache.partitions) if self._lost else offset, self._until)
            self._reader = reader
        return self._reader

    @property
    def _capture_id(self) -> int:
        return self._opened().capture_id

    @property
    def _open_cluster(self) -> Cluster:
        self._opened()
        assert self._cluster is not None
        return self._cluster

    def _steadily(self, question: Callable[[], T]) -> T:
        def asked() -> T:
            try:
                return question()
            except IgniteKafkaError:
                self.close()
                raise

        return retry(
            asked,
            _PATIENCE_S,
            lambda error: not error.final,
            failed=lambda error: log.warning("the backlog cannot be read now: %s", error),
        )
