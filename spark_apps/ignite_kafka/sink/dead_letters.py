"""Dead letters: copies of the records that a sink could not store, for the dead-letter topic.

The records are read once more, for their key, value, headers and timestamp.
"""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError, Message, TopicPartition

from .. import events
from ..common.deadline import Deadline
from ..common.redaction import in_message
from ..convert.filter.entries import EntryFilter
from ..convert.rules.failure_stages import CONTRACT, Stage, failed_in_filter, setting_of
from ..convert.to_ignite import BadRecord, RecordConverter
from ..errors import KafkaUnavailable, RecordRefused, RecordsOvertaken
from ..kafka.bounded_calls import close_consumer
from ..kafka.clients import KafkaClients, translate
from ..kafka.dead_letters import DeadLetter, context_headers
from ..kafka.headers import Header
from ..kafka.records import Consumed

_AT_ONCE = 1_000
_STEP_S = 0.05
_SHOWN = 80  # bytes of a key
_OF_CONTRACT = (
    "Add the column by ALTER TABLE and start again, or set schema_contract to evolve, discard_field or dead_letter."
)


def error_of(consumed: Consumed, bad: BadRecord) -> RecordRefused:
    """Make the error of a bad record, with the record's topic, partition and offset.

    If the cache refuses the entry, the error also has the record's key.
    """
    key = consumed.keys[bad.row].as_py() if bad.stage == Stage.PUT else None
    setting = setting_of(bad.stage, bad.where)
    remedy = f"Correct what writes the topic; to skip such records set {setting} to DEAD_LETTER."
    return RecordRefused(
        bad.reason,
        _OF_CONTRACT if CONTRACT in bad.where else remedy,
        topic=consumed.topic,
        partition=consumed.partition,
        offset=int(consumed.offsets[bad.row]),
        key=None if key is None else in_message(key[:_SHOWN].decode(errors="backslashreplace")),
        stage=str(bad.stage),
        **bad.where,
    )


def report_bad_record(consumed: Consumed, bad: BadRecord) -> RecordRefused:
    """Emit the event of a bad record, and return its error."""
    error = error_of(consumed, bad)
    event = events.FILTER_FAILED if failed_in_filter(error.where["stage"], error.where) else events.OBJECT_NOT_BUILT
    events.emit(event, **{"reason": error.what, **error.where})
    return error


def record_headers(connector: str, task: int, error: RecordRefused) -> list[Header]:
    """Build the headers that a dead letter adds: the error, and the record's topic, partition and offset."""
    place = {name: error.where[name] for name in ("topic", "partition", "offset")}
    component = (
        EntryFilter
        if failed_in_filter(error.where["stage"], error.where)
        else error.where.get("transform_class", RecordConverter)
    )
    return context_headers(error, error.where["stage"], component, connector, task, place)


def dead_letters(
    clients: KafkaClients, topic: str, connector: str, task: int, consumed: Consumed, bad: Sequence[BadRecord]
) -> list[DeadLetter]:
    """Build dead letters of bad records; these are read from the topic again, because a batch lacks their headers.

    :param topic: the dead-letter topic.
    :param task: number of the task, for the headers.
    :raises RecordsOvertaken: retention or compaction has removed such a record. The next attempt reads from the
        committed offset on, and does not get this record.
    """
    record_of = {int(consumed.offsets[record.row]): record for record in bad}
    letters = []
    for offset, message in _messages(clients, consumed.topic, consumed.partition, sorted(record_of)):
        headers = [*(message.headers() or ()), *record_headers(connector, task, error_of(consumed, record_of[offset]))]
        kind, timestamp_ms = message.timestamp()
        letters.append(
            DeadLetter(
                topic, message.key(), message.value(), headers, 0 if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms
            )
        )
    return letters


def _messages(clients: KafkaClients, topic: str, partition: int, offsets: Sequence[int]) -> list[tuple[int, Message]]:
    """Read the records at some offsets of a partition again, in one pass."""
    missing = set(offsets)
    messages = {}
    position = offsets[0]
    deadline = Deadline.after(clients.patience_s)
    consumer = clients.reader()
    try:
        consumer.assign([TopicPartition(topic, partition, position)])
        while position <= offsets[-1]:
            for message in consumer.consume(_AT_ONCE, _STEP_S):
                deadline = Deadline.after(clients.patience_s)
                error = message.error()
                offset = message.offset()
                assert offset is not None, "a message without offset"
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise translate(error, "reading bad records again", topic=topic, partition=partition)
                position = max(position, offset + (error is None))
                if error is None and offset in missing:
                    messages[offset] = message
            if deadline.expired:
                raise KafkaUnavailable(
                    "bad records could not be read again", topic=topic, partition=partition, offset=position
                )
    finally:
        close_consumer(consumer)
    for offset in offsets:
        if offset not in messages:
            what = "a record that cannot be stored is not in the topic any more"
            remedy = "Raise the topic's retention, or the time until it is compacted"
            raise RecordsOvertaken(what, remedy, topic=topic, partition=partition, offset=offset)
    return sorted(messages.items())
