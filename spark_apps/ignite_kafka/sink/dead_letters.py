"""Records that could not be stored, for the dead-letter topic: read once more, for key, value, headers and timestamp as they were."""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError, Message, TopicPartition

from ..convert.to_ignite import BadRecord, Inbound
from ..errors import KafkaUnavailable, RecordRefused, RecordsOvertaken
from ..kafka.clients import KafkaClients, translate
from ..kafka.dead_letters import DeadLetter, context_headers
from ..kafka.producer import Header
from ..kafka.records import Consumed

_AT_ONCE, _STEP_S = 1_000, 0.05


def refused(consumed: Consumed, bad: BadRecord) -> RecordRefused:
    """The error that a bad record is."""
    return RecordRefused(
        bad.reason,
        "Correct what writes the topic; to go on without such records set error_handling_policy to DEAD_LETTER.",
        topic=consumed.topic,
        partition=consumed.partition,
        offset=int(consumed.offsets[bad.row]),
        stage=str(bad.stage),
    )


def record_headers(connector: str, task: int, error: RecordRefused) -> list[Header]:
    """The headers that tell what of a record failed, and where it is."""
    place = {name: error.where[name] for name in ("topic", "partition", "offset")}
    return context_headers(error, error.where["stage"], Inbound, connector, task, place)


def dead_letters(
    clients: KafkaClients, letter_topic: str, connector: str, task: int, consumed: Consumed, bad: Sequence[BadRecord]
) -> list[DeadLetter]:
    """The letters of a batch's bad records. Their headers and timestamps are read now, as only they need them.

    :raises RecordsOvertaken: such a record is not in the topic any more. Read from what is committed on, it is not met again: compaction
        leaves none in its place, and of retention the partition's start tells.
    """
    wanted = {int(consumed.offsets[record.row]): record for record in bad}
    letters = []
    for offset, message in _messages(clients, consumed.topic, consumed.partition, sorted(wanted)):
        headers = [*(message.headers() or ()), *record_headers(connector, task, refused(consumed, wanted[offset]))]
        kind, timestamp_ms = message.timestamp()
        letters.append(
            DeadLetter(letter_topic, message.key(), message.value(), headers, 0 if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms)
        )
    return letters


def _messages(clients: KafkaClients, topic: str, partition: int, offsets: Sequence[int]) -> list[tuple[int, Message]]:
    """Records of these offsets, by one pass over what lies between them."""
    wanted, found = set(offsets), {}
    position, deadline = offsets[0], time.monotonic() + clients.patience_s
    consumer = clients.reader()
    try:
        consumer.assign([TopicPartition(topic, partition, position)])
        while position <= offsets[-1]:
            for message in consumer.consume(_AT_ONCE, _STEP_S):
                deadline = time.monotonic() + clients.patience_s
                error, offset = message.error(), message.offset()
                assert offset is not None, "a message without offset"
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise translate(error, "reading bad records again", topic=topic, partition=partition)
                position = max(position, offset + (error is None))
                if error is None and offset in wanted:
                    found[offset] = message
            if time.monotonic() > deadline:
                raise KafkaUnavailable("bad records could not be read again", topic=topic, partition=partition, offset=position)
    finally:
        consumer.close()
    for offset in offsets:
        if offset not in found:
            what = "a record that cannot be stored is not in the topic any more"
            remedy = "Raise the topic's retention, or the time until it is compacted"
            raise RecordsOvertaken(what, remedy, topic=topic, partition=partition, offset=offset)
    return sorted(found.items())
