"""Offsets up to which a strict sink may store records before its next commit; pure arithmetic.

A limit is committed before any record behind the one before it is stored. So the next task to read a partition finds in
its limit how much an earlier one can have stored.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..kafka.topics import TopicPartition
from ..plan.sink_offsets import PartitionOffset
from ..plan.sink_plan import TopicPlan

_BATCHES = 10


def committed_limits(
    plans: Mapping[TopicPartition, TopicPlan],
    starts: Mapping[TopicPartition, int],
    copies: Mapping[TopicPartition, PartitionOffset],
) -> dict[TopicPartition, int]:
    """Return the offset before which records of each partition may be stored already; not less than its start.

    Nothing is known of a partition whose start was set back: all that follows is put again, by the user's wish.

    :param copies: offsets and limits of the offsets topic.
    """
    return {
        place: max(start, copies[place].put_limit)
        if place in copies and copies[place].topic_id == plans[place].topic_id and start >= copies[place].offset
        else start
        for place, start in starts.items()
    }


def least_ahead(batch_size: int, partitions: int) -> int:
    """Return how many offsets a new limit allows at least: ten batches, divided among the partitions of a task."""
    return max(1, _BATCHES * batch_size // max(1, partitions))


def exceeded(limits: Mapping[TopicPartition, int], positions: Mapping[TopicPartition, int]) -> bool:
    """Whether records before some position lie behind the limit of their partition."""
    return any(position > limits[place] for place, position in positions.items())


def raised(
    limits: Mapping[TopicPartition, int],
    since: Mapping[TopicPartition, int],
    positions: Mapping[TopicPartition, int],
    least: int,
) -> dict[TopicPartition, int]:
    """Return the next limit of each partition, never less than the present one.

    It allows twice what was read since the last commit. So a steady task raises it in the commits that it makes anyway.

    :param since: position of the last commit.
    :param positions: position up to which records are read.
    :param least: number of offsets that a limit allows at least.
    """
    return {
        place: max(limits[place], position + max(least, 2 * (position - since[place])))
        for place, position in positions.items()
    }
