"""The start offsets of a sink's partitions, from the group's offsets, their copies, and the bounds of the partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from confluent_kafka.admin import OffsetSpec

from ..kafka.topics import TopicPartition, Topics
from ..plan.sink_offsets import Log, PartitionOffset, Start, start_of
from ..plan.sink_plan import TopicPlan
from ..settings.sink import SinkSettings


@dataclass(frozen=True)
class Starts:
    """The start offset of each partition.

    :param unrecorded: partitions whose group has another offset, or none.
    :param reset: partitions whose next record is gone, by ``auto_offset_reset``.
    """

    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    unrecorded: set[TopicPartition] = field(default_factory=set)
    reset: dict[TopicPartition, Start] = field(default_factory=dict)


def resolve_starts(
    plans: Mapping[TopicPartition, TopicPlan], settings: SinkSettings, topics: Topics, copies: Mapping[TopicPartition, PartitionOffset]
) -> Starts:
    """Find the start offset of each partition.

    :param copies: the offsets topic's copies of the group's offsets.
    :raises TopicError: a topic was deleted, or made again since it was read.
    :raises RecordsLost: the next record is gone, and auto_offset_reset is none.
    """
    first, end = (topics.offsets(plans, spec) for spec in (OffsetSpec.earliest(), OffsetSpec.latest()))
    group = topics.group_offsets(settings.group_id, plans)
    starts = Starts()
    for place, topic in plans.items():
        log = Log(topic.topic_id, first[place], end[place])
        known = PartitionOffset.of_group(*group[place]) if place in group else None
        begin = topic.begins[place[1]] if place[1] < len(topic.begins) else None  # a partition may be new
        start = start_of(*place, log, known, copies.get(place), begin, settings.auto_offset_reset)
        starts.offsets[place] = start.offset
        if start.instead_of is not None:
            starts.reset[place] = start
        if known is None or known.offset != start.offset:
            starts.unrecorded.add(place)
    return starts
