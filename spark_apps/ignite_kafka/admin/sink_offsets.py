"""Changes of a sink's next offsets while no run is active, in its consumer group and in the offsets topic's copies.

As in :mod:`.offsets`, all changes are one transaction, while no run can change an offset: a run that is still alive,
or starts meanwhile, reads the offsets again and does not overwrite the change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from confluent_kafka import TopicPartition as TopicPartitionOffset
from confluent_kafka.admin import OffsetSpec

from ..common.python_compat import parse_time_ms
from ..errors import IgniteKafkaError, SettingsError, TopicError
from ..kafka.bounded_calls import close_consumer
from ..kafka.topics import TopicPartition, Topics
from ..plan.sink_offsets import PartitionKey, PartitionOffset
from ..plan.slots import slot_of
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.sink import EARLIEST, LATEST, SinkSettings
from ..settings.suggestions import did_you_mean
from .connector_lag import list_topics
from .offset_transaction import OffsetTransaction
from .offsets import InactiveConnector
from .recorded_settings import recorded_settings

NOWHERE = -1
_SPECS: Mapping[str, OffsetSpec] = {EARLIEST: OffsetSpec.earliest(), LATEST: OffsetSpec.latest()}


@dataclass(frozen=True)
class MovedOffsets:
    """Next offset of each topic partition, before and after the change; -1: none before."""

    offsets: Mapping[TopicPartition, tuple[int, int]]

    def to_dict(self) -> dict[str, object]:
        """Return the offsets as JSON values; partitions have the format of Kafka Connect (KIP-875)."""
        rows = [
            {
                "partition": {"kafka_topic": topic, "kafka_partition": partition},
                "before": None if before < 0 else before,
                "after": after,
            }
            for (topic, partition), (before, after) in sorted(self.offsets.items())
        ]
        return {"offsets": rows}


def move(
    settings: ConnectorSettings,
    secrets: Secrets,
    to: str,
    topic: str | None = None,
    partition: int | None = None,
    *,
    force: bool = False,
) -> MovedOffsets:
    """Set the position where the next run of a sink continues. Repeatable.

    :param to: ``earliest``, ``latest``, an ISO 8601 time (UTC unless it has an offset), or the offset of the next
        record.
    :param topic: None for all topics that the newest run read.
    :param partition: partition of that topic; None for all. Required with an offset.
    :param force: proceed although the newest run's status record shows no end.
    :raises NotStopped: the newest run has not ended, and ``force`` is False.
    :raises SettingsError: the connector was never started, is a source, does not read that partition, or cannot
        continue at that position.
    :raises TopicError: a topic does not exist.
    :raises Fenced: a newer run of the connector has begun meanwhile.
    :raises TransactionTimeout: the brokers were too slow; nothing is changed.
    """
    position = parse_position(to)
    if isinstance(position, int) and partition is None:
        raise SettingsError(
            f"offset {position} is given without its partition", "Choose topic and partition too.", to=to
        )
    if topic is None and partition is not None:
        raise SettingsError("a partition is given without its topic", "Choose the topic too.", partition=partition)
    hold = InactiveConnector.take(settings, secrets, force, sink=True)
    return _write(hold, _resolve_position(hold.topics, _select_partitions(hold, topic, partition), position))


def set_offsets(settings: ConnectorSettings, secrets: Secrets, offsets: Mapping[TopicPartition, int]) -> MovedOffsets:
    """Set the next offset of some partitions.

    :raises NotStopped, SettingsError, TopicError, Fenced: as :func:`move`.
    """
    return _write(InactiveConnector.take(settings, secrets, force=False, sink=True), offsets)


def parse_position(text: str) -> int | OffsetSpec:
    """Parse a position in a topic: ``earliest``, ``latest``, a time or an offset.

    :raises SettingsError: the text is not a position.
    """
    text = text.strip()
    named: OffsetSpec | None = _SPECS.get(text.lower())
    if named is not None:
        return named
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        at_ms = parse_time_ms(text)
    except ValueError as error:
        remedy = "Give earliest, latest, a time such as 2025-01-31T12:00:00Z, or the offset of the next record."
        raise SettingsError(f"{text!r} is no place in a topic", remedy) from error
    since: OffsetSpec = OffsetSpec.for_timestamp(at_ms)
    return since


def _select_partitions(hold: InactiveConnector, topic: str | None, partition: int | None) -> list[TopicPartition]:
    """Return the partitions read by the newest run: all partitions, those of one topic, or a single one.

    :raises SettingsError: the run did not read that topic or partition.
    """
    names = list_topics(recorded_settings(SinkSettings, hold.record), hold.topics)
    if topic is not None and topic not in names:
        remedy = did_you_mean(topic, names) or f"It reads {', '.join(names) or 'none'}."
        raise SettingsError("the connector does not read that topic", remedy, connector=hold.connector, topic=topic)
    counts = hold.topics.counts(names if topic is None else [topic])
    places = [
        (name, number) for name, count in counts.items() for number in range(count) if partition in (None, number)
    ]
    if partition is not None and not places:
        raise SettingsError(
            "the topic has no such partition", "See ignite-kafka offsets show.", topic=topic, partition=partition
        )
    return places


def _resolve_position(
    topics: Topics, places: Collection[TopicPartition], to: int | OffsetSpec
) -> dict[TopicPartition, int]:
    """Return the offset of a position in each partition.

    For a time after the last record, the offset is the end of the committed records.

    :raises SettingsError: a partition does not have the offset.
    """
    ends = topics.offsets(places, OffsetSpec.latest(), committed=True)
    if not isinstance(to, int):
        offsets = ends if to is _SPECS[LATEST] else topics.offsets(places, to)
        return {place: offset if offset >= 0 else ends[place] for place, offset in offsets.items()}
    starts = topics.offsets(places, OffsetSpec.earliest())
    for topic, partition in places:
        first = starts[topic, partition]
        end = ends[topic, partition]
        if not first <= to <= end:
            remedy = f"The partition has offsets {first} to {end}."
            raise SettingsError(f"offset {to} is outside of the partition", remedy, topic=topic, partition=partition)
    return dict.fromkeys(places, to)


def _write(hold: InactiveConnector, offsets: Mapping[TopicPartition, int]) -> MovedOffsets:
    """Commit the offsets in one transaction, and check them by reading them back."""
    if not offsets:
        return MovedOffsets({})
    ids = {name: topic_id for name, (topic_id, _) in hold.topics.identities({topic for topic, _ in offsets}).items()}
    for topic, _ in offsets:
        if topic not in ids:
            raise TopicError("the topic does not exist", "Correct the name, or create it.", topic=topic)
    copies = {place: PartitionOffset(offset, ids[place[0]], hold.generation) for place, offset in offsets.items()}
    slots = {place: slot_of(*place, hold.slots) for place in offsets}
    owned = sorted(set(slots.values()))
    with hold.own(owned, len(offsets)) as transaction:
        states = hold.read(owned, lambda state: state.by_topic)
        group_offsets = hold.topics.group_offsets(hold.group, offsets)
        before = {
            place: group_offsets[place][0] if place in group_offsets else _offset_of(states[slots[place]].get(place))
            for place in offsets
        }
        _commit(hold, transaction, copies, slots)
    _check(hold, offsets)
    return MovedOffsets({place: (before[place], offset) for place, offset in offsets.items()})


def _commit(
    hold: InactiveConnector,
    transaction: OffsetTransaction,
    copies: Mapping[TopicPartition, PartitionOffset],
    slots: Mapping[TopicPartition, int],
) -> None:
    """Commit offsets of the group and their copies in the offsets topic, in one transaction."""
    group = hold.clients.reader(**{"group.id": hold.group})
    try:
        transaction.begin()
        for place, copy in copies.items():
            key = PartitionKey(hold.connector, *place).to_json()
            transaction.produce(hold.offsets_topic, key, copy.to_json(), slots[place])
        committed = [
            TopicPartitionOffset(*place, copy.offset, copy.metadata(hold.offsets_topic))
            for place, copy in copies.items()
        ]
        transaction.send_offsets(committed, group.consumer_group_metadata())
        transaction.commit()
    finally:
        close_consumer(group)


def _offset_of(copy: PartitionOffset | None) -> int:
    return NOWHERE if copy is None else copy.offset


def _check(hold: InactiveConnector, offsets: Mapping[TopicPartition, int]) -> None:
    """Check the group's offsets by reading them back.

    :raises IgniteKafkaError: another program has changed the offsets meanwhile.
    """
    committed = {place: offset for place, (offset, _) in hold.topics.group_offsets(hold.group, offsets).items()}
    if committed != dict(offsets):
        raise IgniteKafkaError(
            "offsets of the group differ from those just committed: another program committed some meanwhile",
            "Make sure that no run of the connector is active, then see ignite-kafka offsets show.",
            connector=hold.connector,
            group=hold.group,
        )
