"""Looks at suspect keys beside a run: a difference counts if it is still there after the lag has passed.

A key that differs may have a change on its way. So the first look counts no difference. The next look begins when the
connector has copied all that it had to copy at the end of the look before. A change that was on its way has then given
the key another record. A key with the record of before differs indeed; a key with another record is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from typing import Any

from .direction import Direction, Judged, SuspectRows
from .fingerprint_join import find_keys, join_keys, split_moved
from .fingerprints import Rows, fingerprint_keys
from .task import Task

MOST_LOOKS = 4
"""Maximum number of looks at a key beside a run."""


class Look(Enum):
    """How a look at suspects counts differences: none, those of unmoved keys, or all."""

    FIRST = "first"
    AGAIN = "again"
    FINAL = "final"


def judge_bucket(task: Task, look: Look, repair: bool, blocks: Iterator[tuple[int, Any]]) -> dict[int, Judged]:
    """Compare the suspect keys of each pair in one bucket, and repair them if requested."""
    parts: dict[int, tuple[SuspectRows, SuspectRows]] = {}
    for number, (topic, rows, columns) in blocks:
        parts.setdefault(number, (SuspectRows(), SuspectRows()))[topic].add(rows, columns)
    if not parts:
        return {}
    with task.begin() as direction:
        if look is Look.FINAL:
            return {
                number: _judge(direction, task, number, topic, cache, repair=repair)
                for number, (cache, topic) in parts.items()
            }
        return {
            number: _judge_beside_run(direction, task, look, number, topic, cache)
            for number, (cache, topic) in parts.items()
        }


def _judge(
    direction: Direction, task: Task, number: int, topic: SuspectRows, cache: SuspectRows, *, repair: bool = False
) -> Judged:
    complete = number not in task.incomplete
    return direction.judge(task.pairs[number], topic, cache, repair=repair, complete=complete)


def _judge_beside_run(
    direction: Direction, task: Task, look: Look, number: int, topic: SuspectRows, cache: SuspectRows
) -> Judged:
    """Judge the suspects of a pair; differences of keys that may have a change on its way are returned as `moved`."""
    rows = topic.joined_rows(), cache.joined_rows()
    if look is Look.FIRST:
        moved = join_keys(*rows, first=task.first_counts)
    else:
        still, moved = split_moved(task.suspects[number], *rows, first=task.first_counts)
        topic, settled_topic = topic.select(moved), topic.select(still)
        cache, settled_cache = cache.select(moved), cache.select(still)
    judged = _withhold(_judge(direction, task, number, topic, cache), moved)
    if look is Look.AGAIN:
        settled = _judge(direction, task, number, settled_topic, settled_cache)
        judged.result.add(settled.result)
        judged.unknown.update(settled.unknown)
        judged.differing = settled.differing
    return judged


def _withhold(judged: Judged, keys: Rows) -> Judged:
    """Move the differences of keys from the counts to :attr:`.Judged.moved`; those without a key stay counted.

    :param keys: sorted fingerprints of the judged keys, with the order of their records.
    """
    differing = fingerprint_keys(judged.differing)
    differing.sort(order=["high", "low"])
    result = judged.result
    counted = replace(
        result,
        missing=result.keyless,
        different=0,
        unexpected=0,
        noted=[item for item in result.noted if item.kind == "skipped" or not item.key],
    )
    return Judged(counted, moved=keys[find_keys(keys, differing)])
