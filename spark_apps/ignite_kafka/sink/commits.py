"""Commits of a sink's task: what is stored and not committed, and how far a strict sink may store before it commits."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ..kafka.consumer import RecordReader
from ..kafka.dead_letters import DeadLetter
from ..kafka.records import Consumed
from ..kafka.topics import TopicPartition
from ..runtime.latencies import observe_latencies
from ..state.status import CacheCount
from .repetition import Repetition
from .slots import SinkSlots
from .store import Stored

Counts = list[tuple[TopicPartition, CacheCount]]
"""Counts of stored batches, by topic partition."""


class PutLimits:
    """Offsets up to which records may be stored before the next commit; each is committed before it is relied on.

    The next task to read a partition finds in its limit how much an earlier one can have stored. A limit allows twice
    what was stored between the last two commits, so that a steady task needs no commit for its limits alone.

    :param limits: limit of each partition that an earlier task committed, or its start.
    :param least: number of offsets that a new limit allows at least.
    """

    def __init__(self, limits: Mapping[TopicPartition, int], least: int) -> None:
        self._limits = dict(limits)
        self._least = least

    def exceeded(self, ahead: Mapping[TopicPartition, int]) -> bool:
        """Whether some records before these positions lie behind a limit."""
        return any(position > self._limits[place] for place, position in ahead.items())

    def narrow(self, ahead: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """Return the partitions that allow less than the least: they get a new limit if any does."""
        return {place for place, position in ahead.items() if self._limits[place] < position + self._least}

    def above(self, positions: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """Return the partitions whose limits are greater than these positions."""
        return {place for place, position in positions.items() if self._limits[place] > position}

    def extended(self, place: TopicPartition, ahead: int, stored: int) -> int:
        """Return the next limit of a partition, never less than the present one.

        :param ahead: position up to which records are read.
        :param stored: number of offsets between the last commit and this one.
        """
        return max(self._limits[place], ahead + max(self._least, 2 * stored))

    def committed(self, limits: Mapping[TopicPartition, int]) -> None:
        """Note the limits of a commit."""
        self._limits |= limits


class Commits:
    """Commits of one task, each for all that is stored.

    :param limits: limits of a strict sink, which bound what its next task has to compare; None: no limits.
    :param repetition: records that may be stored already: a partition is not committed amid them.
    """

    def __init__(
        self, slots: SinkSlots, reader: RecordReader, limits: PutLimits | None, repetition: Repetition
    ) -> None:
        self._slots = slots
        self._reader = reader
        self._limits = limits
        self._repetition = repetition
        self._committed = dict(reader.positions)
        self._counts: Counts = []
        self._letters: dict[TopicPartition, list[DeadLetter]] = defaultdict(list)
        self._begun_ms: list[int] = []

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
        self._begun_ms += [consumed.first_ms for consumed in batch]
        skipped = {(consumed.topic, consumed.partition): len(records) for consumed, records in stored.skipped}
        for consumed in batch:
            place = consumed.topic, consumed.partition
            entries, filtered, bad = stored.entries[place], stored.filtered.get(place, 0), skipped.get(place, 0)
            sizes = len(consumed), consumed.read_bytes
            self._counts.append((place, CacheCount(entries, *sizes, started=started, bad=bad, filtered=filtered)))
        for place, of_place in letters.items():
            self._letters[place] += of_place
            self._counts.append((place, CacheCount(dead_letters=len(of_place))))

    def needed(self) -> bool:
        """Whether records that were read may not be stored before a commit raises the limits."""
        return self._limits is not None and self._limits.exceeded(self._reader.positions)

    def commit(self, positions: Mapping[TopicPartition, int], *, last: bool = False) -> Counts:
        """Commit positions up to which all is stored and acknowledged, with dead letters and limits.

        :param positions: position of each partition.
        :param last: whether nothing behind the positions is stored; no records are repeated after such a commit.
        :returns: counts of what is committed now and was not before.
        """
        done = {place for place, position in positions.items() if not self._repetition.covers(place, position)}
        settled = {place: positions[place] if place in done else offset for place, offset in self._committed.items()}
        letters = {place: self._letters.pop(place) for place in done & self._letters.keys()}
        moved = {place for place, offset in settled.items() if offset != self._committed[place]} | letters.keys()
        limits = self._next_limits(settled, moved, done if last else set())
        offsets = {place: settled[place] for place in sorted(moved | limits.keys())}
        self._slots.commit(offsets, limits, letters, self._reader.group_metadata)
        if self._limits is not None:
            self._limits.committed(limits)
        self._committed = settled
        observe_latencies(np.array(self._begun_ms, np.int64))
        self._begun_ms = []
        counts = [(place, count) for place, count in self._counts if place in done]
        self._counts = [(place, count) for place, count in self._counts if place not in done]
        for _, count in counts:
            count.ended = time.time()
        return counts

    def _next_limits(
        self,
        offsets: Mapping[TopicPartition, int],
        moved: Iterable[TopicPartition],
        ending: Collection[TopicPartition],
    ) -> dict[TopicPartition, int]:
        """Return the limits to commit with offsets, also of partitions without progress if they need another limit.

        :param ending: partitions of which nothing behind the offset is stored.
        """
        if self._limits is None:
            return {}
        ahead = self._reader.positions
        places = {*moved}
        if self._limits.exceeded(ahead):
            places |= self._limits.narrow(ahead)
        if ending:
            places |= self._limits.above({place: offsets[place] for place in ending})
        return {
            place: offsets[place]
            if place in ending
            else self._limits.extended(place, ahead[place], offsets[place] - self._committed[place])
            for place in places
        }
