"""Commits of a sink's task: what is stored and not committed, and how far a strict sink may store before it commits."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ..kafka.consumer import RecordReader
from ..kafka.dead_letters import DeadLetter
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition
from ..runtime.latencies import observe_latencies
from ..state.status import CacheCount
from .put_limits import exceeded, raised
from .repetition import Repetition
from .slots import SinkSlots
from .store import Stored

Counts = list[tuple[TopicPartition, CacheCount]]
"""Counts of stored batches, by topic partition."""


class Commits:
    """Commits of one task, each for all that is stored.

    :param limits: limits that are committed, of a strict sink whose next task must know what this one can have stored;
        None: no limits.
    :param least: number of offsets that a new limit allows at least.
    :param repetition: records that may be stored already: a partition is not committed amid them.
    """

    def __init__(
        self,
        slots: SinkSlots,
        reader: RecordReader,
        repetition: Repetition,
        limits: Mapping[TopicPartition, int] | None = None,
        least: int = 1,
    ) -> None:
        self._slots = slots
        self._reader = reader
        self._repetition = repetition
        self._limits = None if limits is None else dict(limits)
        self._least = least
        self._committed = dict(reader.positions)
        self._counts: Counts = []
        self._letters: dict[TopicPartition, list[DeadLetter]] = defaultdict(list)
        self._begun_ms: list[tuple[TopicPartition, int]] = []

    def begin(self, unrecorded: Collection[TopicPartition]) -> None:
        """Commit the start offsets of partitions for which the group has another offset, or none.

        Limits are raised if there is anything to read; otherwise no later commit would take them back.
        """
        limits = {} if self._reader.finished else self._raised(unrecorded)
        self._write({place: self._committed[place] for place in unrecorded}, limits)

    def raise_limits(self) -> None:
        """Commit higher limits if records that were read lie behind one, to be called before these are stored.

        Offsets stay as they are, so this waits for no puts.
        """
        if self._limits is None or not exceeded(self._limits, self._reader.positions):
            return
        limits = {place: limit for place, limit in self._raised(self._limits).items() if limit > self._limits[place]}
        self._write({place: self._committed[place] for place in limits}, limits)

    def add(
        self,
        batch: Sequence[Consumed],
        stored: Stored,
        letters: Mapping[TopicPartition, Sequence[DeadLetter]],
        started: float,
    ) -> None:
        """Add a batch that was stored.

        :param letters: the dead letters of its bad records.
        :param started: time when its storing began, in seconds since 1970.
        """
        self._begun_ms += [((consumed.topic, consumed.partition), consumed.first_ms) for consumed in batch]
        skipped = {(consumed.topic, consumed.partition): len(records) for consumed, records in stored.skipped}
        for consumed in batch:
            place = consumed.topic, consumed.partition
            entries, filtered, bad = stored.entries[place], stored.filtered.get(place, 0), skipped.get(place, 0)
            sizes = len(consumed), consumed.read_bytes
            self._counts.append((place, CacheCount(entries, *sizes, started=started, bad=bad, filtered=filtered)))
        for place, of_place in letters.items():
            self._letters[place] += of_place
            self._counts.append((place, CacheCount(dead_letters=len(of_place))))

    def commit(self, positions: Mapping[TopicPartition, int], *, last: bool = False) -> Counts:
        """Commit positions up to which all is stored and acknowledged, with dead letters and limits.

        :param positions: position of each partition.
        :param last: whether nothing behind the positions is stored; no records are repeated after such a commit.
        :returns: counts of what is committed now and was not before.
        """
        done = {place for place, position in positions.items() if not self._repetition.covers(place, position)}
        letters = {place: self._letters.pop(place) for place in done & self._letters.keys()}
        offsets = {
            place: positions[place] for place in done if positions[place] != self._committed[place] or place in letters
        }
        limits = self._raised(offsets)
        if last and self._limits is not None:
            limits = {
                place: positions[place] for place in done if place in offsets or self._limits[place] > positions[place]
            }
        self._write({place: positions[place] for place in sorted(offsets.keys() | limits.keys())}, limits, letters)
        observe_latencies(np.array([first_ms for place, first_ms in self._begun_ms if place in done], np.int64))
        self._begun_ms = [begun for begun in self._begun_ms if begun[0] not in done]
        counts = [(place, count) for place, count in self._counts if place in done]
        self._counts = [(place, count) for place, count in self._counts if place not in done]
        for _, count in counts:
            count.ended = time.time()
        return counts

    def _raised(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the next limits of partitions; none without limits.

        Records of a repetition do not count, because they say nothing about this task's rate.
        """
        if self._limits is None:
            return {}
        ends = self._repetition.ends
        since = {place: max(offset, ends.get(place, 0)) for place, offset in self._committed.items()}
        limits = raised(self._limits, since, self._reader.positions, self._least)
        return {place: limits[place] for place in places}

    def _write(
        self,
        offsets: Mapping[TopicPartition, int],
        limits: Mapping[TopicPartition, int],
        letters: Mapping[TopicPartition, Sequence[DeadLetter]] | None = None,
    ) -> None:
        self._slots.commit(offsets, limits, letters or {}, self._reader.group_metadata)
        self._committed |= offsets
        if self._limits is not None:
            self._limits |= limits
