"""Topics: made when missing, checked when there, read to their end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from ..errors import KafkaUnavailable, OffsetsLost, TopicError
from .clients import REQUEST_TIMEOUT_S, ErrorMemory, KafkaClients, translate

# the active segment is not compacted, and every start, and every epoch of a stream, reads it: it stays small
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": "16777216",
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
}
_LEADER_MOVED = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}
_LEADER_WAIT_S = 0.25
_MAY_NOT_DESCRIBE = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}
_POLICY = "cleanup.policy"

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True)
class TopicSpec:
    """What a topic is made with when it is missing (names of KIP-158)."""

    name: str
    partitions: int
    replication_factor: int = -1
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TopicState:
    """What the cluster says of a topic: its id (hex), partition count and the settings that matter to a copy.

    ``max_message_bytes`` and ``cleanup_policy`` are None where the user of the Kafka connection may not describe the topic's settings
    (DESCRIBE_CONFIGS, a right of its own). They are never guessed: records are refused, and offsets trusted, by them.
    """

    name: str
    topic_id: str
    partitions: int
    max_message_bytes: int | None
    cleanup_policy: str | None


class Topics:
    """Topic administration of one connector."""

    def __init__(self, clients: KafkaClients) -> None:
        self._clients = clients
        self._timeout_s = min(REQUEST_TIMEOUT_S, clients.patience_s)
        self._admin: AdminClient
        self._memory: ErrorMemory
        self._admin, self._memory = clients.admin()

    def existing(self) -> dict[str, int]:
        """All topics of the cluster with their partition counts."""
        try:
            topics = self._admin.list_topics(timeout=self._timeout_s).topics
        except KafkaException as cause:
            raise translate(cause.args[0], "listing topics", self._memory) from cause
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}

    def cluster_id(self) -> str:
        """What Kafka calls itself; the same for all brokers, and for ever."""
        try:
            return str(self._admin.list_topics(timeout=self._timeout_s).cluster_id)
        except KafkaException as cause:
            raise translate(cause.args[0], "asking for the cluster's id", self._memory) from cause

    def ensure(self, specs: list[TopicSpec], have: Mapping[str, int] | None = None) -> dict[str, int]:
        """Make the topics that are missing and return the partition count of each.

        :param have: what :meth:`existing` said before; a topic made by somebody else in between is taken as it is.
        :raises TopicError: a topic may not be made, or its settings are refused.
        """
        have = self.existing() if have is None else have
        missing = [spec for spec in specs if spec.name not in have]
        made = [NewTopic(spec.name, spec.partitions, spec.replication_factor, config=dict(spec.config)) for spec in missing]
        for name, future in (self._admin.create_topics(made) if made else {}).items():
            try:
                future.result(REQUEST_TIMEOUT_S)
            except KafkaException as cause:
                if cause.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    continue
                error = translate(cause.args[0], "creating a topic", self._memory, topic=name)
                retriable = isinstance(error, KafkaUnavailable) and cause.args[0].retriable()
                raise error if retriable or not isinstance(error, KafkaUnavailable) else TopicError(error.what, **error.where) from cause
        counts = dict(have)
        deadline = time.monotonic() + REQUEST_TIMEOUT_S
        while missing and not all(spec.name in counts for spec in missing):
            counts = self.existing()
            if time.monotonic() > deadline:
                hidden = [spec.name for spec in missing if spec.name not in counts]
                remedy = "Grant the user of the Kafka connection the right to describe them."
                raise TopicError("topics are there but do not show in the cluster's metadata", remedy, topics=hidden)
        return {spec.name: counts[spec.name] for spec in specs}

    def partitions(self, topic: str) -> int:
        """Partition count of a topic.

        :raises TopicError: it is not there.
        """
        found = self.existing()
        if topic not in found:
            raise TopicError("the topic does not exist", "Run the snapshot first.", topic=topic)
        return found[topic]

    def describe(self, names: list[str]) -> dict[str, TopicState]:
        """State of topics that exist; one that does not is left out."""
        found = self.identities(names)
        configs = self._configs(list(found))
        return {
            name: TopicState(name, topic_id, partitions, _whole(settings, "max.message.bytes"), settings.get(_POLICY))
            for name, (topic_id, partitions) in found.items()
            if (settings := configs.get(name)) is not None
        }

    def identities(self, names: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Id and partition count of topics that exist; one that does not is left out."""
        names = list(names)
        if not names:
            return {}
        described = self._admin.describe_topics(TopicCollection(names), request_timeout=REQUEST_TIMEOUT_S)
        found = {}
        for name, future in described.items():
            try:
                topic = future.result()
                found[name] = str(topic.topic_id), len(topic.partitions)
            except KafkaException as cause:
                if cause.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise translate(cause.args[0], "describing a topic", self._memory, topic=name) from cause
        return found

    def _configs(self, names: list[str]) -> dict[str, dict[str, str]]:
        """Settings of topics; none of one whose settings may not be described, and a topic that went meanwhile is left out."""
        if not names:
            return {}
        wanted = self._admin.describe_configs(
            [ConfigResource(ResourceType.TOPIC, name) for name in names], request_timeout=REQUEST_TIMEOUT_S
        )
        result = {}
        for resource, future in wanted.items():
            try:
                result[resource.name] = {entry.name: entry.value for entry in future.result().values()}
            except KafkaException as cause:
                if cause.args[0].code() in _MAY_NOT_DESCRIBE:
                    result[resource.name] = {}
                elif cause.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise translate(cause.args[0], "describing a topic's settings", self._memory, topic=resource.name) from cause
        return result

    def ends(self, topic: str, partitions: list[int]) -> dict[int, int]:
        """End offsets, READ_UNCOMMITTED: a transaction still open counts. Waits while a partition's leader changes.

        :raises OffsetsLost: the topic is not there.
        """
        places = [(topic, number) for number in partitions]
        try:
            return {place[1]: offset for place, offset in self.offsets(places, OffsetSpec.latest()).items()}
        except TopicError as error:
            raise OffsetsLost(error.what, error.remedy, **error.where) from error

    def offsets(self, places: Iterable[Place], spec: OffsetSpec, *, committed: bool = False) -> dict[Place, int]:
        """First or end offsets of partitions. Waits while a partition's leader changes.

        :param committed: an end is that of what no open transaction stands before.
        :raises TopicError: a topic is not there.
        """
        wanted = {TopicPartition(*place): spec for place in places}
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        deadline = time.monotonic() + self._timeout_s
        while True:
            admin = self._admin
            try:
                return self._offsets(admin, wanted, isolation) if wanted else {}
            except KafkaUnavailable as error:
                if not _leader_moved(error) or time.monotonic() > deadline:
                    raise
            time.sleep(_LEADER_WAIT_S)
            # librdkafka's admin client goes on asking with the leader epoch that it has, for five minutes
            # (topic.metadata.refresh.interval.ms), though it is told that it is old: rd_kafka_admin_result_err_refresh leaves
            # FENCED_LEADER_EPOCH out. A new client asks anew
            if self._admin is admin:
                self._admin, self._memory = self._clients.admin()

    def _offsets(self, admin: AdminClient, wanted: dict[TopicPartition, OffsetSpec], isolation: IsolationLevel) -> dict[Place, int]:
        found = {}
        for place, future in admin.list_offsets(wanted, isolation_level=isolation, request_timeout=self._timeout_s).items():
            try:
                found[place.topic, place.partition] = future.result().offset
            except KafkaException as cause:
                raise translate(cause.args[0], "reading offsets", self._memory, topic=place.topic, partition=place.partition) from cause
        return found

    def group_offsets(self, group: str, places: Iterable[Place]) -> dict[Place, tuple[int, str | None]]:
        """Offset and metadata that a consumer group has for each of these partitions; one for which it has none is left out.

        Offsets of a transaction that is being settled are waited for.
        """
        wanted = [TopicPartition(*place) for place in places]
        if not wanted:
            return {}
        # not the admin client's list_consumer_group_offsets: it does not wait while the group's coordinator loads
        consumer = self._clients.reader(**{"group.id": group})
        try:
            found = consumer.committed(wanted, self._timeout_s)
        except KafkaException as cause:
            raise translate(cause.args[0], "reading a group's offsets", self._memory, group=group) from cause
        finally:
            consumer.close()
        for place in found:
            if place.error is not None:
                raise translate(place.error, "reading a group's offsets", self._memory, group=group, topic=place.topic)
        return {(place.topic, place.partition): (place.offset, place.metadata) for place in found if place.offset >= 0}


def _whole(settings: Mapping[str, str], name: str) -> int | None:
    return int(settings[name]) if name in settings else None


def _leader_moved(error: KafkaUnavailable) -> bool:
    """Whether an error says that the leader of a partition is another one, or under another epoch, than the client knew."""
    cause = error.__cause__
    return isinstance(cause, KafkaException) and cause.args[0].code() in _LEADER_MOVED


def read_to_end(clients: KafkaClients, topics: Topics, topic: str, partitions: list[int]) -> Iterator[Message]:
    """Every committed record of some partitions, from their beginning to the READ_UNCOMMITTED end at the time of the call.

    :raises KafkaUnavailable: see :func:`read_to`.
    """
    yield from read_to(clients, topic, topics.ends(topic, partitions))


def read_to(clients: KafkaClients, topic: str, ends: Mapping[int, int]) -> Iterator[Message]:
    """Every committed record of some partitions, from their beginning to the ends given.

    An end is reached only when the committed position has passed it, so a transaction that is still being settled is waited for.

    :raises KafkaUnavailable: for ``patience_s`` of the clients nothing came, and the position had not reached the end.
    """
    open_partitions = {partition for partition, end in ends.items() if end > 0}
    if not open_partitions:
        return
    consumer = clients.reader()
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in open_partitions])
        deadline = time.monotonic() + clients.patience_s
        while open_partitions:
            for message in consumer.consume(10_000, timeout=0.005):
                deadline = time.monotonic() + clients.patience_s
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    partition, position = message.partition(), message.offset()
                    if partition is not None and position is not None and position >= ends[partition]:
                        open_partitions.discard(partition)
                else:
                    raise translate(error, "reading a topic", topic=topic, partition=message.partition())
            _check_progress(deadline, topic, open_partitions)
    finally:
        consumer.close()


def read_part(clients: KafkaClients, topic: str, start: int, end: int) -> Iterator[Message]:
    """The records of a topic of one partition from one offset to another, which is not read.

    :raises KafkaUnavailable: see :func:`read_to`.
    """
    consumer = clients.reader()
    try:
        consumer.assign([TopicPartition(topic, 0, start)])
        deadline, position = time.monotonic() + clients.patience_s, start
        while position < end:
            for message in consumer.consume(1_000, timeout=0.005):
                deadline = time.monotonic() + clients.patience_s
                error, offset = message.error(), message.offset()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise translate(error, "reading a topic", topic=topic, partition=0)
                if error is None and offset is not None and offset < end:
                    yield message
                position = max(position, offset or 0) + (error is None)
            _check_progress(deadline, topic, {0})
    finally:
        consumer.close()


def _check_progress(deadline: float, topic: str, partitions: set[int]) -> None:
    if time.monotonic() > deadline:
        raise KafkaUnavailable(
            "the committed position of a topic does not reach its end",
            "A transaction is open on it, of another program or of one that died: see 'a transaction that hangs' in docs/operations.md.",
            topic=topic,
            partitions=sorted(partitions)[:20],
        )
