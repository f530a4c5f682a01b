"""Administration of topics: creation, description, offsets, and reading up to the end offsets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as TopicPartitionOffset
from confluent_kafka.admin import AclOperation, ListOffsetsResultInfo, NewTopic, OffsetSpec, TopicDescription

from ..errors import IgniteKafkaError, KafkaUnavailable, OffsetsLost, TopicError
from ..events import TOPICS_MADE, emit
from .bounded_calls import CallStuck, answer_of, bounded, close_consumer, stuck
from .clients import NO_TOPIC, KafkaClients, translate
from .topic_errors import NOT_REFUSED, UNKNOWN_TOPIC, not_known_yet
from .topic_lookup import TopicLookup

# kept small: the active segment is not compacted, and every start and every epoch of a stream reads it
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": "16777216",
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
}
_POLICY = "cleanup.policy"
_FIRST_TRY_S = 3.0  # the time-out doubles with each further try

TopicPartition = tuple[str, int]
"""Topic name and partition number."""


@dataclass(frozen=True)
class TopicSpec:
    """Specification of a topic to create if it is missing.

    Names are those of KIP-158.

    :param create: False: the topic must exist.
    """

    name: str
    partitions: int
    replication_factor: int = -1
    config: Mapping[str, str] = field(default_factory=dict)
    create: bool = True


@dataclass(frozen=True)
class TopicState:
    """Description of a topic: its id (hex), its partition count, and settings that matter for copying to it.

    ``max_message_bytes`` and ``cleanup_policy`` are None if the user of the Kafka connection lacks the permission
    DESCRIBE_CONFIGS. They are never guessed, because they decide which records are refused and whether offsets are
    trusted. ``may_write`` is False if the user lacks the permission WRITE; it is True if the broker does not report
    permissions.
    """

    name: str
    topic_id: str
    partitions: int
    max_message_bytes: int | None
    cleanup_policy: str | None
    may_write: bool = True

    def check_writable(self) -> None:
        """Raise :class:`.TopicError` if the user may not write to the topic, before a transaction would fail."""
        if not self.may_write:
            remedy = "Grant the user of the Kafka connection the permission WRITE on the topic."
            raise TopicError("the user of the Kafka connection may not write to the topic", remedy, topic=self.name)


class Topics(TopicLookup):
    """Administration client for topics, with the errors of this package."""

    def existing(self) -> dict[str, int]:
        """Return the partition count of each topic in a broker's metadata, which may lack new topics.

        For a correct count see :meth:`counts`.
        """
        try:
            topics = self._admin.list_topics(timeout=self._timeout_s).topics
        except KafkaException as cause:
            raise translate(cause.args[0], "listing topics", self._memory) from cause
        return {
            name: len(topic.partitions) for name, topic in topics.items() if topic.error is None and topic.partitions
        }

    def counts(self, names: Iterable[str]) -> dict[str, int]:
        """Return the partition counts of the given topics, without topics that do not exist.

        :raises KafkaUnavailable: a topic exists, but the brokers do not know it yet.
        :raises TopicError: the user may not describe a topic.
        """
        return {name: len(topic.partitions) for name, topic in self._descriptions(list(names)).items()}

    def exists(self, name: str) -> bool:
        """Return whether a topic exists; raises the errors of :meth:`counts`."""
        return bool(self.counts([name]))

    def cluster_id(self) -> str:
        """Return the id of the Kafka cluster, which never changes."""
        try:
            return str(self._admin.list_topics(timeout=self._timeout_s).cluster_id)
        except KafkaException as cause:
            raise translate(cause.args[0], "reading the cluster's id", self._memory) from cause

    def ensure(self, specs: list[TopicSpec], have: Mapping[str, int] | None = None) -> dict[str, int]:
        """Create the missing topics, and return the partition count of every given topic.

        Nothing is created if a topic must exist and does not. Event 15121 names the topics that were created.

        :param have: an earlier result of :meth:`existing`; a topic created meanwhile is used as it is.
        :raises TopicError: the user may not create a topic, its settings are refused, or a topic that must exist does
            not.
        """
        have = self.existing() if have is None else have
        missing = [spec for spec in specs if spec.name not in have]
        if absent := [spec.name for spec in missing if not spec.create and not self.exists(spec.name)]:
            raise TopicError(
                "the topic does not exist, and create_topics is false", "Create it, or set create_topics.", topic=absent
            )
        new_topics = [
            NewTopic(spec.name, spec.partitions, spec.replication_factor, config=dict(spec.config))
            for spec in missing
            if spec.create
        ]
        admin = self._admin  # the client must live until its answers have arrived
        created: list[str] = []
        answers = admin.create_topics(new_topics, request_timeout=self._timeout_s) if new_topics else {}
        for name, future in answers.items():
            try:
                answer_of(future, admin, self._timeout_s, "creating a topic", topic=name)
            except KafkaException as cause:
                if cause.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    continue
                error = translate(cause.args[0], "creating a topic", self._memory, topic=name)
                refused = isinstance(error, KafkaUnavailable) and cause.args[0].code() not in NOT_REFUSED
                raise TopicError(error.what, **error.where) if refused else error from cause
            created.append(name)
        if created:
            emit(TOPICS_MADE, topics=", ".join(created))
        counts = {**have, **self.counts(spec.name for spec in missing)}
        gone = [spec.name for spec in specs if spec.name not in counts]
        if gone:
            raise TopicError("topics were deleted right after they were created", "Who deletes them?", topics=gone)
        return {spec.name: counts[spec.name] for spec in specs}

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic.

        :raises TopicError: the topic does not exist.
        """
        counts = self.counts([topic])
        if topic not in counts:
            raise TopicError("the topic does not exist", "Run the snapshot first.", topic=topic)
        return counts[topic]

    def describe(self, names: list[str]) -> dict[str, TopicState]:
        """Return the states of the given topics by name, without topics that do not exist.

        Raises the errors of :meth:`counts`.
        """
        descriptions = self._descriptions(names, permissions=True)
        configs = self._known_by_all(lambda: self._configs(list(descriptions)))
        states = {}
        for name, topic in descriptions.items():
            settings = configs.get(name)
            if settings is not None:
                largest = _to_int(settings, "max.message.bytes")
                policy = settings.get(_POLICY)
                states[name] = TopicState(
                    name, str(topic.topic_id), len(topic.partitions), largest, policy, _may_write(topic)
                )
        return states

    def identities(self, names: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return topic id and partition count of each given topic that exists.

        Raises the errors of :meth:`counts`.
        """
        return {
            name: (str(topic.topic_id), len(topic.partitions))
            for name, topic in self._descriptions(list(names)).items()
        }

    def unknown_topic(self, error: TopicError, names: Iterable[str]) -> IgniteKafkaError:
        """Return the error to raise for a call refused for an unknown topic: final only if a topic does not exist.

        :param error: the call's error, from :func:`~ignite_kafka.kafka.clients.translate`.
        :param names: the topics of the call; the broker does not name the unknown one.
        """
        cause = error.__cause__
        if not isinstance(cause, KafkaException) or cause.args[0].code() not in NO_TOPIC:
            return error
        gone = sorted(set(names) - self.counts(names).keys())
        if not gone:
            return not_known_yet(", ".join(names), error.what, cause)
        return TopicError(
            error.what, "The topic was deleted during the run.", **{**error.where, "topic": ", ".join(gone)}
        )

    def ends(self, topic: str, partitions: list[int]) -> dict[int, int]:
        """Return the end offset of each partition, open transactions included.

        Waits while a partition's leader changes.

        :raises OffsetsLost: the topic does not exist.
        """
        places = [(topic, number) for number in partitions]
        try:
            return {place[1]: offset for place, offset in self.offsets(places, OffsetSpec.latest()).items()}
        except TopicError as error:
            raise OffsetsLost(error.what, error.remedy, **error.where) from error

    def offsets(
        self, places: Iterable[TopicPartition], spec: OffsetSpec, *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        """Return the first or end offset of each partition, as `spec` requests.

        Waits while a partition's leader changes.

        :param committed: whether an end is the last stable offset, which lies before every open transaction.
        :raises TopicError: a topic does not exist.
        """
        specs = {TopicPartitionOffset(*place): spec for place in places}
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        # a request keeps its first leader, dead or not, until its time-out; the next request, by a new client, finds
        # another leader
        times = (min(_FIRST_TRY_S * 2**tried, self._timeout_s) for tried in count())
        return self._known_by_all(lambda: self._offsets(specs, isolation, next(times))) if specs else {}

    def _offsets(
        self, specs: dict[TopicPartitionOffset, OffsetSpec], isolation: IsolationLevel, timeout_s: float
    ) -> dict[TopicPartition, int]:
        offsets = {}
        doing = "reading offsets"
        admin = self._admin
        for place, future in admin.list_offsets(specs, isolation_level=isolation, request_timeout=timeout_s).items():
            try:
                offsets[place.topic, place.partition] = _offset_of(
                    answer_of(future, admin, timeout_s, doing, topic=place.topic)
                )
                self._unknown_since.pop(place.topic, None)
            except KafkaException as cause:
                code = cause.args[0].code()
                if code in UNKNOWN_TOPIC and self._exists_at_controller(place.topic):
                    raise not_known_yet(place.topic, doing, cause) from cause
                if code == KafkaError._TIMED_OUT and timeout_s < self._timeout_s:
                    cause = _no_offset_error()
                raise translate(
                    cause.args[0], doing, self._memory, topic=place.topic, partition=place.partition
                ) from cause
        return offsets

    def group_offsets(
        self, group: str, places: Iterable[TopicPartition], *, stable: bool = True
    ) -> dict[TopicPartition, tuple[int, str | None]]:
        """Return a consumer group's committed offset and metadata for each partition that has one.

        :param stable: whether to wait until no open transaction has offsets of these partitions; a killed producer's
            transaction ends when another producer takes its transactional id, or when it times out.
        """
        requested = [TopicPartitionOffset(*place) for place in places]
        if not requested:
            return {}
        # the admin client's list_consumer_group_offsets does not wait while the group's coordinator loads
        isolation = {} if stable else {"isolation.level": "read_uncommitted"}
        consumer = self._clients.reader(**{"group.id": group, **isolation})
        try:
            committed = bounded(lambda: consumer.committed(requested, self._timeout_s), self._timeout_s)
        except CallStuck as cause:
            raise stuck("reading a group's offsets", cause, group=group) from cause
        except KafkaException as cause:
            raise translate(cause.args[0], "reading a group's offsets", self._memory, group=group) from cause
        finally:
            close_consumer(consumer)
        for place in committed:
            if place.error is not None:
                raise translate(place.error, "reading a group's offsets", self._memory, group=group, topic=place.topic)
        return {
            (place.topic, place.partition): (place.offset, place.metadata) for place in committed if place.offset >= 0
        }


def _offset_of(answer: ListOffsetsResultInfo) -> int:
    """Return the offset in a broker's answer; -1 if no record is as late as the requested time.

    :raises KafkaException: the answer has neither an offset nor an error, because the partition's leader was away for
        the request's time (librdkafka 2.16). Such an offset, taken for an end, would make a topic look empty.
    """
    if answer.offset == OFFSET_INVALID:
        raise _no_offset_error()
    return int(answer.offset)


def _no_offset_error() -> KafkaException:
    return KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE, "the partition's leader has not answered"))


def _may_write(topic: TopicDescription) -> bool:
    """Return whether the user may write to a topic, or the broker reports no permissions at all."""
    return not topic.authorized_operations or AclOperation.WRITE in topic.authorized_operations


def _to_int(settings: Mapping[str, str], name: str) -> int | None:
    return int(settings[name]) if name in settings else None


def read_to_end(clients: KafkaClients, topics: Topics, topic: str, partitions: list[int]) -> Iterator[Message]:
    """Yield the committed records of partitions, up to their end offsets at the time of the call.

    The end offsets include open transactions.

    :raises KafkaUnavailable: see :func:`read_to`.
    """
    yield from read_to(clients, topic, topics.ends(topic, partitions))


def read_to(
    clients: KafkaClients,
    topic: str,
    ends: Mapping[int, int],
    starts: Mapping[int, int] | None = None,
    *,
    committed: bool = True,
) -> Iterator[Message]:
    """Yield the committed records of partitions, from `starts` (default: offset 0) up to the offsets in `ends`.

    An end is reached once the committed position passes it, so the reader waits for a transaction that is being
    committed.

    :param committed: False: read records of open and aborted transactions too, without waiting.
    :raises KafkaUnavailable: nothing arrived for the clients' ``patience_s`` before the end.
    """
    first = {partition: (starts or {}).get(partition, 0) for partition in ends}
    open_partitions = {partition for partition, end in ends.items() if end > first[partition]}
    if not open_partitions:
        return
    consumer = clients.reader(**({} if committed else {"isolation.level": "read_uncommitted"}))
    try:
        consumer.assign([TopicPartitionOffset(topic, partition, first[partition]) for partition in open_partitions])
        deadline = time.monotonic() + clients.patience_s
        while open_partitions:
            for message in consumer.consume(10_000, timeout=0.005):
                error = message.error()
                partition = message.partition()
                offset = message.offset()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise translate(error, "reading a topic", topic=topic, partition=partition)
                if partition not in open_partitions or offset is None:
                    continue  # a record behind the partition's end
                deadline = time.monotonic() + clients.patience_s
                if error is None and offset < ends[partition]:
                    yield message
                if offset + (error is None) >= ends[partition]:
                    open_partitions.discard(partition)
            _check_progress(deadline, topic, open_partitions)
    finally:
        close_consumer(consumer)


def _check_progress(deadline: float, topic: str, partitions: set[int]) -> None:
    if time.monotonic() > deadline:
        raise KafkaUnavailable(
            "the committed position of a topic does not reach its end",
            "A transaction of another or a dead program is open on it: see 'a transaction that hangs' in "
            "docs/operations.md.",
            topic=topic,
            partitions=sorted(partitions)[:20],
        )
