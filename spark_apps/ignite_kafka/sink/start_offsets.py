"""Where the partitions of a sink go on: what the group, the copies of its offsets, and the partitions themselves say together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from confluent_kafka.admin import OffsetSpec

from ..kafka.topics import Place, Topics
from ..plan.sink_offsets import Log, PartitionOffset, Start, start_of
from ..plan.sink_plan import TopicPlan
from ..settings.sink import SinkSettings


@dataclass(frozen=True)
class Starts:
    """The first offset of each partition; ``unrecorded``: their group has another one, or none; ``reset``: what was to be read is gone."""

    offsets: dict[Place, int] = field(default_factory=dict)
    unrecorded: set[Place] = field(default_factory=set)
    reset: dict[Place, Start] = field(default_factory=dict)


def resolved(plans: Mapping[Place, TopicPlan], settings: SinkSettings, topics: Topics, copies: Mapping[Place, PartitionOffset]) -> Starts:
    """Where each partition goes on.

    :raises TopicError: a topic is gone, or is another one than when it was read.
    :raises RecordsLost: what is to be read next is gone, and auto_offset_reset is none.
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
