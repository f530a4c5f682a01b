"""Coverage of a cache: when each part of its keys was compared, and the choice of the next part.

Pure functions of times and numbers of slices (:mod:`.key_slices`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..common.time_spans import format_span
from .key_slices import SLICES, SliceRange

NEVER = 0
"""Time of slices that were never compared."""
MOST_RANGES = 200
"""Maximum number of ranges of a coverage, so that its record has less than 10 kB."""
MOST_DIFFERING = 100
"""Maximum number of ranges with differences."""


@dataclass(frozen=True)
class ComparedRange:
    """Adjacent slices that were last compared at the same time.

    :param end: number after the last slice.
    :param compared_ms: start of their last comparison, in milliseconds since 1970; :data:`NEVER` without one.
    """

    first: int
    end: int
    compared_ms: int

    @property
    def count(self) -> int:
        """Number of slices."""
        return self.end - self.first


@dataclass(frozen=True)
class Coverage:
    """Times of the last comparison of each slice of a cache.

    :param ranges: adjacent ranges from slice 0 to the last one.
    :param since_ms: start of the first comparison, in milliseconds since 1970.
    :param differing: ranges in whose slices the last comparison left differences: each comparison has them beside its
        share, until they are equal.
    """

    ranges: tuple[ComparedRange, ...] = (ComparedRange(0, SLICES, NEVER),)
    since_ms: int = NEVER
    differing: tuple[SliceRange, ...] = ()

    @staticmethod
    def of(ranges: Sequence[Sequence[int]], since_ms: int, differing: Sequence[SliceRange] = ()) -> Coverage:
        """Build a coverage from triples of first slice, end and time, as its record has them.

        :raises ValueError: the ranges do not cover all slices in order, or a differing range is none.
        """
        parts = tuple(ComparedRange(*part) for part in ranges if len(part) == len(ComparedRange.__annotations__))
        ends = [part.end for part in parts]
        ordered = all(part.first < part.end for part in parts)
        if not (ordered and [part.first for part in parts] == [0, *ends[:-1]] and ends[-1:] == [SLICES]):
            raise ValueError(f"its ranges do not cover slices 0 to {SLICES}")
        if not all(0 <= first < end <= SLICES for first, end in differing):
            raise ValueError(f"its ranges with differences are not within slices 0 to {SLICES}")
        return Coverage(parts, since_ms, tuple(differing))

    @property
    def oldest_ms(self) -> int:
        """Time of the slices that were not compared for the longest time; :data:`NEVER` if some never were."""
        return min(part.compared_ms for part in self.ranges)

    def count_before(self, limit_ms: int) -> int:
        """Count the slices last compared before a time; slices without a comparison count from :attr:`since_ms` on."""
        return sum(part.count for part in self.ranges if max(part.compared_ms, self.since_ms) < limit_ms)

    def oldest(self, count: int) -> tuple[SliceRange, ...]:
        """Choose the slices with the oldest comparison, lower numbers first; adjacent ones are joined."""
        chosen: list[SliceRange] = []
        left = count
        for part in sorted(self.ranges, key=lambda part: (part.compared_ms, part.first)):
            size = min(part.count, left)
            left -= size
            if size > 0:
                chosen.append((part.first, part.first + size))
        return _join(sorted(chosen))

    def with_compared(self, compared: Iterable[SliceRange], at_ms: int) -> Coverage:
        """Return the coverage after a comparison of some slices that began at a time.

        Beyond :data:`MOST_RANGES`, adjacent ranges of about the same time are joined, with the older time.
        """
        times = np.repeat([part.compared_ms for part in self.ranges], [part.count for part in self.ranges])
        for first, end in compared:
            times[first:end] = at_ms
        cuts = [0, *(np.flatnonzero(np.diff(times)) + 1).tolist(), SLICES]
        parts = [ComparedRange(first, end, int(times[first])) for first, end in pairwise(cuts)]
        while len(parts) > MOST_RANGES:
            gaps = [abs(part.compared_ms - following.compared_ms) for part, following in pairwise(parts)]
            at = gaps.index(min(gaps))
            older = min(parts[at].compared_ms, parts[at + 1].compared_ms)
            parts[at : at + 2] = [ComparedRange(parts[at].first, parts[at + 1].end, older)]
        return Coverage(tuple(parts), self.since_ms or at_ms, self.differing)

    def with_differing(self, slices: Iterable[int]) -> Coverage:
        """Return the coverage with other slices of differences, found by the newest comparison.

        Beyond :data:`MOST_DIFFERING` ranges, those with the fewest slices between them are joined.
        """
        ranges = list(_join([(number, number + 1) for number in sorted(slices)]))
        while len(ranges) > MOST_DIFFERING:
            gaps = [following[0] - part[1] for part, following in pairwise(ranges)]
            at = gaps.index(min(gaps))
            ranges[at : at + 2] = [(ranges[at][0], ranges[at + 1][1])]
        return replace(self, differing=tuple(ranges))


@dataclass(frozen=True)
class SamplePlan:
    """Share of the keys to compare, and the time within which all keys must have been compared.

    :param slices: number of slices in each comparison; None: as many as `within_ms` requires.
    :param within_ms: named time in milliseconds; 0: none.
    """

    slices: int | None = None
    within_ms: int = 0

    def choose(self, coverage: Coverage, interval_ms: int | None, now_ms: int) -> tuple[SliceRange, ...]:
        """Choose the slices of a cache that are compared now.

        Without a number of slices, these are the part that the interval is of the named time, and all that would be
        too old at the next comparison. Slices with differences are always among them, beside the share of the others.

        :param interval_ms: time between two comparisons; None: unknown, then all slices are compared.
        """
        count = self.slices
        if count is None and self.within_ms and interval_ms is not None:
            part_of_time = -(-SLICES * min(interval_ms, self.within_ms) // self.within_ms)
            due = sum(
                part.count for part in coverage.ranges if part.compared_ms < now_ms + interval_ms - self.within_ms
            )
            count = max(1, part_of_time, due)
        share = coverage.oldest(SLICES if count is None else min(count, SLICES))
        return _join(sorted([*share, *coverage.differing]))

    def find_gap(self, coverage: Coverage, interval_ms: int | None, now_ms: int) -> str:
        """Return why not all keys are compared within the named time; empty if they are.

        :param coverage: coverage before the comparison that begins now.
        """
        if not self.within_ms:
            return ""
        if coverage.since_ms and (late := coverage.count_before(now_ms - self.within_ms)):
            age = now_ms - max(coverage.oldest_ms, coverage.since_ms)
            return f"{late / SLICES:.2%} of its keys were last compared {format_span(age)} ago or never"
        if self.slices is not None and interval_ms is not None:
            cycle_ms = -(-SLICES // self.slices) * interval_ms
            if cycle_ms > self.within_ms:
                share = f"{self.slices / SLICES:.2%} every {format_span(interval_ms)}"
                return f"{share} compares all keys in {format_span(cycle_ms)}"
        return ""


def _join(ranges: Sequence[SliceRange]) -> tuple[SliceRange, ...]:
    joined: list[SliceRange] = []
    for first, end in ranges:
        if joined and joined[-1][1] >= first:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((first, end))
    return tuple(joined)
