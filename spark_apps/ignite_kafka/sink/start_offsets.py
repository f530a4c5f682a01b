"""Start offsets of a sink's partitions, from the group's offsets, their copies, and first and end offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka.admin import OffsetSpec

from ..kafka.topics import TopicPartition, Topics
from ..plan.sink_offsets import Log, PartitionOffset, Start, check_group, start_of
from ..plan.sink_plan import TopicPlan
from ..settings.sink import SinkSettings
from ..state.internal_names import offsets_topic


@dataclass(frozen=True)
class Starts:
    """Offsets at which a task starts to read its partitions.

    :param unrecorded: partitions for which the group has another offset, or none.
    :param reset: partitions whose next record is gone, with their start by ``auto_offset_reset``.
    """

    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    unrecorded: set[TopicPartition] = field(default_factory=set)
    reset: dict[TopicPartition, Start] = field(default_factory=dict)


def own_group_offsets(
    places: Iterable[TopicPartition], settings: SinkSettings, topics: Topics, *, stable: bool = True
) -> dict[TopicPartition, tuple[int, str | None]]:
    """Read the group's committed offsets and metadata, and check that no other connector committed them.

    :returns: by partition, without partitions that have no committed offset.
    :param stable: see :meth:`.Topics.group_offsets`.
    :raises SettingsError: another connector commits the group's offsets.
    """
    committed = topics.group_offsets(settings.group_id, places, stable=stable)
    check_group(settings.group_id, offsets_topic(settings.internal_topic_prefix, settings.name), committed)
    return committed


def resolve_starts(
    plans: Mapping[TopicPartition, TopicPlan],
    settings: SinkSettings,
    topics: Topics,
    copies: Mapping[TopicPartition, PartitionOffset],
) -> Starts:
    """Decide at which offset each partition is read first.

    :param copies: the offsets topic's copies of the group's offsets.
    :raises SettingsError: another connector commits the group's offsets.
    :raises TopicError: a topic was deleted, or made again since it was read.
    :raises RecordsLost: the next record is gone, and auto_offset_reset is none.
    """
    first, end = (topics.offsets(plans, spec) for spec in (OffsetSpec.earliest(), OffsetSpec.latest()))
    group = own_group_offsets(plans, settings, topics)
    starts = Starts()
    for place, topic in plans.items():
        log = Log(topic.topic_id, first[place], end[place])
        of_group = PartitionOffset.of_group(*group[place]) if place in group else None
        begin = topic.begins[place[1]] if place[1] < len(topic.begins) else None  # a partition may be new
        start = start_of(*place, log, of_group, copies.get(place), begin, settings.auto_offset_reset)
        starts.offsets[place] = start.offset
        if start.instead_of is not None:
            starts.reset[place] = start
        if of_group is None or of_group.offset != start.offset:
            starts.unrecorded.add(place)
    return starts


def repeated_ends(
    starts: Mapping[TopicPartition, int], limits: Mapping[TopicPartition, int], topics: Topics
) -> dict[TopicPartition, int]:
    """Return the end of stored and uncommitted records of each partition that may have any.

    To be called when no earlier task can store anything any more: it read no record that is not readable now.

    :param limits: result of :func:`.committed_limits`.
    """
    ends = topics.offsets(
        [place for place, limit in limits.items() if limit > starts[place]], OffsetSpec.latest(), committed=True
    )
    return {place: min(limits[place], end) for place, end in ends.items() if end > starts[place]}
