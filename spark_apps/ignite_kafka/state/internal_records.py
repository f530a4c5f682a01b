"""Parsing of records of the internal topics: format version, and handling of unreadable records.

A record has the header ``ignite_kafka.format``; records of 0.1.0 have none and count as format 1. A version that adds a
field keeps the format, and readers ignore unknown fields. A version whose records must not be used by older versions
raises it.

A record that delivery depends on is never skipped: if it cannot be read, the run ends
(:meth:`InternalRecord.required_value`). Any other unreadable record is skipped with an event
(:meth:`InternalRecord.optional_value`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from confluent_kafka import Message

from .. import events
from ..common.typed_json import MOST_MILLISECONDS, array, integer, json_object, loads, text
from ..errors import NewerFormat, OffsetsLost
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics, read_to_end

FORMAT = 1
_HEADER = "ignite_kafka.format"
FORMAT_HEADERS: list[tuple[str, bytes | None]] = [(_HEADER, str(FORMAT).encode())]
"""Headers of every record that is written to an internal topic."""

_MOST_REPORTED = 10_000
_MOST_DIGITS = 9  # of a format
_reported: set[tuple[object, ...]] = set()


@dataclass(frozen=True)
class InternalRecord:
    """Parsed key and raw value of a record in the configs or status topic.

    Its key is a JSON array of kind, connector's name, and texts or integers.

    :param where: topic, partition and offset, for messages.
    """

    kind: str
    name: str
    rest: tuple[str | int, ...]
    value: bytes | None
    format: int
    where: Mapping[str, object]

    @staticmethod
    def of(message: Message) -> InternalRecord | None:
        """Parse a message's key; None, with an event, if another program wrote the key."""
        where = location_of(message)
        try:
            kind, name, *rest = array(loads(message.key() or b""))
            parts = tuple(part if isinstance(part, str) else integer(part) for part in rest)
            return InternalRecord(text(kind), text(name), parts, message.value(), format_of(message), where)
        except ValueError:
            report_skipped("its key is not a JSON array of kind, name and further texts or integers", where)
        return None

    def required_value(self) -> dict[str, Any] | None:
        """Parse the value of a record that delivery depends on; an unreadable one is an error. None for a tombstone.

        :raises NewerFormat: a newer version wrote the record.
        :raises OffsetsLost: the value is no JSON object.
        """
        refuse_newer(self.format, self.where)
        if self.value is None:
            return None
        value = _object(self.value)
        if value is None:
            raise unreadable(f"the {self.kind} record of connector {self.name!r}", self.where)
        return value

    def optional_value(self) -> dict[str, Any] | None:
        """Parse the value of a less important record; an unreadable one is skipped with an event.

        Delivery does not depend on such a record. Return None for a tombstone and for an unreadable value.
        """
        if self.value is None:
            return None
        if self.format > FORMAT:
            report_skipped(f"it has format {self.format} of a newer version", self.where)
            return None
        value = _object(self.value)
        if value is None:
            report_skipped("its value is not a JSON object", self.where)
        return value


def read_internal_topic(clients: KafkaClients, topics: Topics, topic: str) -> Iterator[tuple[InternalRecord, Message]]:
    """Yield the records of the configs topic or the status topic, oldest first; none without the topic."""
    if not topics.exists(topic):
        return
    for message in read_to_end(clients, topics, topic, [0]):
        record = InternalRecord.of(message)
        if record is not None:
            yield record, message


def format_of(message: Message) -> int:
    """Read the format version in a record's header; 1 without a valid header, so that the content decides."""
    headers: Any = message.headers()
    value = dict(headers or ()).get(_HEADER, b"")
    return int(value) if isinstance(value, bytes) and value.isdigit() and len(value) <= _MOST_DIGITS else FORMAT


def written_ms(message: Message) -> int:
    """Return a record's timestamp in milliseconds since 1970; 0 if it has none, or one out of range.

    The writer of a record chooses its timestamp.
    """
    try:
        return integer(message.timestamp()[1], 0, MOST_MILLISECONDS)
    except ValueError:
        return 0


def location_of(message: Message) -> dict[str, object]:
    """Return topic, partition and offset of a message as fields of an error or event."""
    return {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}


def refuse_newer(record_format: int, where: Mapping[str, object]) -> None:
    """Raise an error for a record of a newer format, which this version might misread.

    :raises NewerFormat: this version does not know the format.
    """
    if record_format > FORMAT:
        raise NewerFormat(
            f"a newer version has written a record of format {record_format} that decides what is sent; this "
            f"version reads {FORMAT}",
            "Run the connector with the newer version; to go back to this one give it a new name: everything is "
            "sent again.",
            **where,
        )


def unreadable(what: str, where: Mapping[str, object]) -> OffsetsLost:
    """Make the error for an unreadable record that delivery depends on."""
    remedy = (
        "Another program wrote to the topic: revoke its permission to write (docs/operations.md#rights), "
        "and give the connector a new name."
    )
    return OffsetsLost(f"{what} cannot be read", remedy, **where)


def report_skipped(reason: str, where: Mapping[str, object]) -> None:
    """Emit an event for a skipped unreadable record, once in a process."""
    place = tuple(where.values())
    if place not in _reported and len(_reported) < _MOST_REPORTED:
        _reported.add(place)
        events.emit(events.RECORD_SKIPPED, reason=reason, **where)


def reset_reported() -> None:
    """Clear the memory of reported records, so that they are reported again."""
    _reported.clear()


def known_fields(kind: type, value: Mapping[str, Any]) -> dict[str, Any]:
    """Keep only the fields of a JSON object that a dataclass has, to ignore fields of newer versions."""
    names = {item.name for item in fields(kind)}
    return {name: item for name, item in value.items() if name in names}


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        return json_object(loads(data))
    except ValueError:
        return None
