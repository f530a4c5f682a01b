"""The types topic: Ignite binary type metadata, for records whose values travel as Ignite binary.

Compacted, one partition: key = :func:`type_key`, value = JSON of :class:`~ignite_kafka.ignite.types.model.BinaryType`.
A type's record precedes, in the same transaction, the first data record of a slot that needs the type or a newer schema of it.

Each form of a type has its own key: tasks write concurrently, and with one key per type compaction would keep the form written last,
which may be the older one. Version 0.1.0 wrote one record per type, under the type id as text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Set
from dataclasses import asdict, fields
from typing import Any

from confluent_kafka import Message

from .. import events
from ..ignite.types.model import BinaryField, BinaryType, TypeSource
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics, read_to
from .slot_writer import SlotWriter

_FIELDS = frozenset(one.name for one in fields(BinaryType))
_FIELD_FIELDS = frozenset(one.name for one in fields(BinaryField))


def write_types(writer: SlotWriter, topic: str, type_ids: Set[int], types: TypeSource) -> None:
    """Queue the metadata of the types whose current form this writer has not sent yet."""
    for type_id in sorted(type_ids):
        kind = types.binary_type(type_id)
        if writer.types_sent.get(type_id) != kind:
            writer.send_control(topic, type_key(kind), type_to_json(kind))
            writer.types_sent[type_id] = kind


def type_key(kind: BinaryType) -> bytes:
    """Key of a form's record: ``["type",<type id>,"<digest of the form>"]``; the digest ignores the order of fields, which nodes choose."""
    form = asdict(kind)
    form["fields"] = sorted(form["fields"], key=lambda one: int(one["field_id"]))
    digest = hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()[:16]
    return json.dumps(["type", kind.type_id, digest], separators=(",", ":")).encode()


def type_to_json(kind: BinaryType) -> bytes:
    """Value of a form's record."""
    return json.dumps(asdict(kind), separators=(",", ":")).encode()


def type_from_json(data: bytes) -> BinaryType:
    """The type in a record; fields of newer versions are ignored.

    :raises ValueError: the record describes no type.
    """
    try:
        value: dict[str, Any] = {name: item for name, item in json.loads(data).items() if name in _FIELDS}
        value["fields"] = tuple(
            BinaryField(**{name: item for name, item in one.items() if name in _FIELD_FIELDS}) for one in value["fields"]
        )
        value["schemas"] = {int(schema): tuple(ids) for schema, ids in value["schemas"].items()}
        value["enum_values"] = {int(ordinal): name for ordinal, name in value["enum_values"].items()}
        return BinaryType(**value)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


class TypesTopic:
    """The types in the topic, which each :meth:`read` reads to its end. Not thread-safe.

    :param topics: creates the topic administration.
    :param read: reads records of a topic up to given ends.
    """

    def __init__(
        self,
        clients: KafkaClients,
        name: str,
        topics: Callable[[KafkaClients], Topics] = Topics,
        read: Callable[..., Iterator[Message]] = read_to,
    ) -> None:
        self.name, self._clients, self._topics, self._read_to = name, clients, topics, read
        self._position = 0
        self._forms: dict[int, list[BinaryType]] = {}

    def forms(self, type_id: int) -> tuple[BinaryType, ...]:
        """Every form read of a type."""
        return tuple(self._forms.get(type_id, ()))

    def read(self) -> None:
        """Read the records appended since the last call; a topic that does not exist is empty.

        Reads uncommitted records: a type exists in the source's cluster even if the transaction aborts, and its record, though written
        before the data records, may lie behind another open transaction.

        :raises KafkaUnavailable: no broker answers.
        """
        topics = self._topics(self._clients)
        end = topics.ends(self.name, [0])[0] if topics.exists(self.name) else 0
        if end < self._position:  # deleted and created again
            self._position = 0
        if end > self._position:
            for message in self._read_to(self._clients, self.name, {0: end}, {0: self._position}, committed=False):
                self._take(message.offset(), message.value())
            self._position = end

    def _take(self, offset: int | None, data: bytes | None) -> None:
        if data is None:
            return
        try:
            kind = type_from_json(data)
        except ValueError as error:
            events.emit(events.TYPE_NOT_READ, topic=self.name, offset=offset, reason=str(error))
            return
        forms = self._forms.setdefault(kind.type_id, [])
        if kind not in forms:
            forms.append(kind)
