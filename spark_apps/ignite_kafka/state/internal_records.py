"""Records of the internal topics: their format, and what becomes of a record that cannot be read.

A record has the header ``ignite_kafka.format``: 1, as records of 0.1.0 count, which have none. A version that adds a field keeps the
format, and readers leave out fields that they do not know. A version whose records older ones must not act upon raises it.

A record that decides what is delivered is never passed over: what cannot be read ends the run (:meth:`InternalRecord.deciding`). Any
other one is passed over with an event (:meth:`InternalRecord.telling`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from confluent_kafka import Message

from .. import events
from ..errors import NewerFormat, OffsetsLost

FORMAT = 1
_HEADER = "ignite_kafka.format"
FORMAT_HEADERS: list[tuple[str, bytes | None]] = [(_HEADER, str(FORMAT).encode())]
"""Headers of every record that is written to an internal topic."""

_MOST_TOLD = 10_000
_told: set[tuple[object, ...]] = set()


@dataclass(frozen=True)
class InternalRecord:
    """A record of the configs topic or the status topic: its key is a JSON array of kind, connector's name, and more.

    :param where: topic, partition and offset, for messages.
    """

    kind: str
    name: str
    rest: tuple[Any, ...]
    value: bytes | None
    format: int
    where: Mapping[str, object]

    @staticmethod
    def of(message: Message) -> InternalRecord | None:
        """None, with an event, where the key is none of this program."""
        where = place_of(message)
        try:
            kind, name, *rest = json.loads(message.key() or b"")
            if isinstance(kind, str) and isinstance(name, str):
                return InternalRecord(kind, name, tuple(rest), message.value(), format_of(message), where)
        except (ValueError, TypeError):
            pass
        pass_over("its key is not a JSON array of kind and name", where)
        return None

    def deciding(self) -> dict[str, Any] | None:
        """The value of a record that delivery depends on; None: a tombstone.

        :raises NewerFormat: a newer version wrote it.
        :raises OffsetsLost: it is no JSON object.
        """
        refuse_newer(self.format, self.where)
        if self.value is None:
            return None
        value = _object(self.value)
        if value is None:
            raise unreadable(f"the {self.kind} record of connector {self.name!r}", self.where)
        return value

    def telling(self) -> dict[str, Any] | None:
        """The value of a record that only informs; None: a tombstone, or, with an event, one that cannot be read."""
        if self.value is None:
            return None
        if self.format > FORMAT:
            pass_over(f"it has format {self.format} of a newer version", self.where)
            return None
        value = _object(self.value)
        if value is None:
            pass_over("its value is not a JSON object", self.where)
        return value


def format_of(message: Message) -> int:
    """The format of an internal record; a header of another form is another program's, and its record judged by its content."""
    headers: Any = message.headers()
    value = dict(headers or ()).get(_HEADER, b"")
    return int(value) if isinstance(value, bytes) and value.isdigit() else FORMAT


def place_of(message: Message) -> dict[str, object]:
    return {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}


def refuse_newer(found: int, where: Mapping[str, object]) -> None:
    """
    :raises NewerFormat: the format is one that this version does not know.
    """
    if found > FORMAT:
        raise NewerFormat(
            f"a newer version has written a record of format {found} that decides what is sent; this version reads {FORMAT}",
            "Run the connector with the newer version; to go back to this one give it a new name: everything is sent again.",
            **where,
        )


def unreadable(what: str, where: Mapping[str, object]) -> OffsetsLost:
    """The error of a record that decides what is sent and cannot be read."""
    remedy = "Another program wrote to the topic: take its right to away (docs/operations.md#rights), and give the connector a new name."
    return OffsetsLost(f"{what} cannot be read", remedy, **where)


def pass_over(reason: str, where: Mapping[str, object]) -> None:
    """Tell of a record that is passed over; of one record once in a process."""
    place = tuple(where.values())
    if place not in _told and len(_told) < _MOST_TOLD:
        _told.add(place)
        events.emit(events.RECORD_PASSED_OVER, reason=reason, **where)


def known_fields(kind: type, value: Mapping[str, Any]) -> dict[str, Any]:
    """Of a JSON object the fields that a dataclass has."""
    names = {item.name for item in fields(kind)}
    return {name: item for name, item in value.items() if name in names}


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
