"""Samples slide over all keys, and what a named time requires is chosen or reported."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.verification.coverage import MOST_DIFFERING, MOST_RANGES, NEVER, ComparedRange, Coverage, SamplePlan
from ignite_kafka.verification.key_slices import ALL, SLICES, count_slices

DAY = 86_400_000
START = 1_000 * DAY


def compared(plan: SamplePlan, days: int, coverage: Coverage | None = None) -> list[Coverage]:
    """The coverage after each of some daily comparisons."""
    after = [coverage or Coverage()]
    for day in range(days):
        now = START + day * DAY
        after.append(after[-1].with_compared(plan.choose(after[-1], DAY if day else None, now), now))
    return after[1:]


@pytest.mark.parametrize(("slices", "runs"), [(500, 20), (3_000, 4), (50, 200), (SLICES, 1)])
def test_samples_slide_over_all_slices(slices: int, runs: int) -> None:
    coverage = Coverage()
    for run in range(runs):
        assert coverage.oldest_ms == NEVER
        coverage = coverage.with_compared(SamplePlan(slices).choose(coverage, None, 0), run + 1)
    assert coverage.oldest_ms == 1
    assert sum(part.count for part in coverage.ranges) == SLICES


def test_a_coverage_has_a_limited_number_of_ranges() -> None:
    """Joined ranges have the older time, so that nothing counts as newer than it is."""
    coverage = Coverage().with_compared(ALL, 1)
    for run in range(2, 2 * MOST_RANGES):
        (chosen,) = coverage.oldest(1)
        assert chosen == (run - 2, run - 1), "in the order of slices"
        coverage = coverage.with_compared([chosen], run)
        assert len(coverage.ranges) <= MOST_RANGES
    times = [part.compared_ms for part in coverage.ranges for _ in range(part.count)]
    assert all(time <= number + 2 for number, time in enumerate(times[: 2 * MOST_RANGES - 2]))
    assert set(times[2 * MOST_RANGES - 2 :]) == {1}


def test_slices_with_differences_stay_due_beside_the_share_of_the_others() -> None:
    plan = SamplePlan(500)
    coverage = Coverage().with_compared(((0, 500),), 1).with_differing([7, 8, 30])
    for run in range(2, 21):
        chosen = plan.choose(coverage, DAY, run)
        assert chosen == ((7, 9), (30, 31), (500 * (run - 1), 500 * run)), "no other slice waits for them"
        coverage = coverage.with_compared(chosen, run).with_differing([7, 8, 30])
    assert coverage.oldest_ms == 1
    assert plan.choose(coverage, DAY, 22) == ((0, 503),)
    assert plan.choose(coverage.with_differing([]), DAY, 22) == ((0, 7), (9, 30), (31, 503))
    assert SamplePlan().choose(coverage, DAY, 22) == ALL


def test_ranges_with_differences_are_limited_in_number() -> None:
    coverage = Coverage().with_differing(range(0, 4 * MOST_DIFFERING, 2))
    assert len(coverage.differing) == MOST_DIFFERING
    covered = {number for first, end in coverage.differing for number in range(first, end)}
    assert covered >= set(range(0, 4 * MOST_DIFFERING, 2))
    assert coverage.differing[-1] == (4 * MOST_DIFFERING - 2, 4 * MOST_DIFFERING - 1), "near ones are joined first"
    with pytest.raises(ValueError, match="not within slices"):
        Coverage.of([(0, SLICES, 1)], 1, [(5, 5)])


@given(
    st.lists(st.tuples(st.integers(0, SLICES - 1), st.integers(1, SLICES), st.integers(1, 9)), max_size=20),
    st.integers(1, SLICES),
    st.randoms(),
)
def test_the_oldest_slices_are_chosen(parts: list[tuple[int, int, int]], count: int, chance: Random) -> None:
    coverage, times = Coverage(), [NEVER] * SLICES
    for first, size, at in parts:
        end = min(SLICES, first + size)
        coverage = coverage.with_compared([(first, end)], at)
        times[first:end] = [at] * (end - first)
    chosen = coverage.oldest(count)
    taken = {number for first, end in chosen for number in range(first, end)}
    assert len(taken) == count_slices(chosen) == count
    left = [times[number] for number in range(SLICES) if number not in taken]
    assert max(times[number] for number in taken) <= min(left, default=max(times))
    assert all(before[1] < after[0] for before, after in pairwise(chosen))
    assert coverage.oldest_ms == min(times)
    assert Coverage.of([(part.first, part.end, part.compared_ms) for part in coverage.ranges], 0).ranges == coverage.ranges
    limit = chance.randint(0, 10)
    assert coverage.count_before(limit) == sum(max(time, coverage.since_ms) < limit for time in times)


@pytest.mark.parametrize(
    "ranges",
    [[], [(0, 5, 1)], [(0, SLICES + 1, 1)], [(1, SLICES, 1)], [(0, 9, 1), (8, SLICES, 1)], [(0, 0, 1), (0, SLICES, 1)], [(0, SLICES)]],
)
def test_ranges_that_do_not_cover_all_slices_are_refused(ranges: list[tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="do not cover"):
        Coverage.of(ranges, 1)


def test_a_named_time_chooses_the_share() -> None:
    """The first comparison takes all; each later one a seventh, and after seven days all are compared anew."""
    plan = SamplePlan(within_ms=7 * DAY)
    assert plan.choose(Coverage(), None, START) == ALL
    coverage = compared(plan, 15)
    shares = [sum(part.count for part in after.ranges if part.compared_ms == START + day * DAY) for day, after in enumerate(coverage)]
    assert shares[0] == SLICES
    assert shares[1:7] == [1_429] * 6
    for day, after in enumerate(coverage):
        assert START + day * DAY - after.oldest_ms <= 6 * DAY
        assert plan.find_gap(after, DAY, START + (day + 1) * DAY) == ""


def test_what_would_be_too_old_at_the_next_comparison_is_chosen() -> None:
    coverage = compared(SamplePlan(within_ms=7 * DAY), 8)[-1]
    late = START + 13 * DAY  # six days after the last one
    chosen = SamplePlan(within_ms=7 * DAY).choose(coverage, DAY, late)
    after = coverage.with_compared(chosen, late)
    assert late + DAY - after.oldest_ms <= 7 * DAY
    assert SamplePlan(within_ms=7 * DAY).choose(coverage, 30 * DAY, late) == ALL


def test_comparisons_that_come_too_late_are_reported() -> None:
    plan = SamplePlan(within_ms=2 * DAY)
    after = Coverage().with_compared(ALL, START)
    assert plan.find_gap(after, DAY, START + 2 * DAY) == ""
    assert plan.find_gap(after, DAY, START + 3 * DAY) == "100.00% of its keys were last compared 3 d ago or never"
    part = Coverage().with_compared([(0, 5_000)], START)
    assert plan.find_gap(part, DAY, START + 3 * DAY).startswith("100.00% of its keys")
    assert part.with_compared([(0, 5_000)], START + 2 * DAY).count_before(START + DAY) == 5_000


def test_a_share_that_is_too_small_is_reported_at_once() -> None:
    first = Coverage()
    assert SamplePlan(500, 7 * DAY).find_gap(first, None, START) == "", "the interval is not known yet"
    assert SamplePlan(500, 7 * DAY).find_gap(first, DAY, START) == "5.00% every 1 d compares all keys in 20 d"
    assert SamplePlan(500, 20 * DAY).find_gap(first, DAY, START) == ""
    assert SamplePlan(500).find_gap(first, DAY, START) == "", "no time is named"


def test_without_a_share_and_a_time_all_is_compared() -> None:
    assert SamplePlan().choose(Coverage((ComparedRange(0, SLICES, 5),), 5), DAY, START) == ALL
