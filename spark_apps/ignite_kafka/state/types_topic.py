"""Types topic: binary types and cache configurations that a sink's cluster needs for the data topics.

Compacted, one partition. Records of types: key = :func:`type_key`, value = JSON of
:class:`~ignite_kafka.ignite.types.model.BinaryType`. A type's record precedes, in the same transaction, the first data
record of a slot that needs the type or a newer schema of it. Records of caches: :mod:`.cache_records`.

Each form of a type has its own key: tasks write concurrently, and with one key per type compaction would keep the form
written last, which may be the older one. Version 0.1.0 wrote one record per type, under the type id as text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import asdict
from typing import Any, Protocol

from confluent_kafka import Message

from .. import events
from ..common.typed_json import dumps, loads, read_as
from ..errors import UnknownBinaryType
from ..ignite.cache_configuration import CacheConfiguration
from ..ignite.types.model import BinaryType, TypeSource, TypeUse
from ..kafka.clients import KafkaClients
from ..kafka.records import Records
from ..kafka.topics import Topics, read_to
from .cache_records import cache_from_json, use_from_record, use_key, use_to_json


class ControlWriter(Protocol):
    """Interface of a writer of the types topic, with a memory of the types it has queued."""

    types_sent: dict[int, BinaryType]
    uses_sent: dict[str, set[TypeUse]]

    def send_type_record(self, topic: str, key: bytes, value: bytes) -> None:
        """Queue a record of the types topic."""


def write_types(writer: ControlWriter, topic: str, type_ids: Set[int], types: TypeSource) -> None:
    """Queue the metadata of binary types, unless this writer has sent the same before."""
    for type_id in sorted(type_ids):
        kind = types.binary_type(type_id)
        if writer.types_sent.get(type_id) != kind:
            writer.send_type_record(topic, type_key(kind), type_to_json(kind))
            writer.types_sent[type_id] = kind


def write_uses(writer: ControlWriter, types_topic: str, topic: str, records: Records, types: TypeSource) -> None:
    """Queue the binary types in a topic's records, and notes of where they are used, unless sent before."""
    named = {use.type_id for use in records.uses} - {0}
    held = {type_id for type_id in named if _is_held(types, type_id)}
    write_types(writer, types_topic, records.type_ids | held, types)
    within = {TypeUse("any", "", types.binary_type(type_id).name, type_id) for type_id in records.type_ids}
    uses = {use for use in records.uses if not use.type_id or use.type_id in held} | within
    for use in sorted(
        uses - writer.uses_sent.setdefault(topic, set()),
        key=lambda type_use: (type_use.side, type_use.path, type_use.name),
    ):
        writer.send_type_record(types_topic, use_key(topic, use), use_to_json(use))
        writer.uses_sent[topic].add(use)


def _is_held(types: TypeSource, type_id: int) -> bool:
    """Return whether the cluster knows a type by this id; false if it computes type ids differently."""
    try:
        types.binary_type(type_id)
    except UnknownBinaryType:
        return False
    return True


def type_key(kind: BinaryType) -> bytes:
    """Make the key of a binary type's record: ``["type",<type id>,"<digest of name, fields and schemas>"]``.

    The digest ignores the order of fields, which nodes choose.
    """
    form = asdict(kind)
    form["fields"] = sorted(form["fields"], key=lambda field: int(field["field_id"]))
    digest = hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()[:16]
    return dumps(["type", kind.type_id, digest])


def type_to_json(kind: BinaryType) -> bytes:
    """Serialize a binary type as the value of its record."""
    return dumps(asdict(kind))


def type_from_json(data: bytes) -> BinaryType:
    """Parse a binary type from the value of its record; fields of newer versions are ignored.

    :raises ValueError: the record describes no type.
    """
    return read_as(BinaryType, loads(data))


class TypesTopic:
    """Content of the types topic in memory; each :meth:`read` adds new records. Not thread-safe.

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
        self.name = name
        self._clients = clients
        self._topics = topics
        self._read_to = read
        self._position = 0
        self._forms: dict[int, list[BinaryType]] = {}
        self._caches: dict[str, CacheConfiguration] = {}
        self._uses: dict[str, set[TypeUse]] = {}

    def forms(self, type_id: int) -> tuple[BinaryType, ...]:
        """Return all forms (sets of fields and schemas) of a binary type read so far."""
        return tuple(self._forms.get(type_id, ()))

    def cache(self, topic: str) -> CacheConfiguration | None:
        """Return the configuration of the source's cache for a data topic; None if the types topic has none."""
        return self._caches.get(topic)

    def uses(self, topic: str) -> frozenset[TypeUse]:
        """Return the classes and binary types that a data topic's records use."""
        return frozenset(self._uses.get(topic, ()))

    def read(self) -> None:
        """Read the records appended to the topic since the last call; a missing topic counts as empty.

        Reads uncommitted records: a type exists in the source's cluster even if the transaction aborts, and its record,
        though written before the data records, may lie behind another open transaction.

        :raises KafkaUnavailable: no broker answers.
        """
        topics = self._topics(self._clients)
        end = topics.ends(self.name, [0])[0] if topics.exists(self.name) else 0
        if end < self._position:  # deleted and created again
            self._position = 0
        if end > self._position:
            for message in self._read_to(self._clients, self.name, {0: end}, {0: self._position}, committed=False):
                self._take(message)
            self._position = end

    def _take(self, message: Message) -> None:
        data = message.value()
        if data is None:
            return
        try:
            self._add(_kind_of(message.key()), data)
        except ValueError as error:
            events.emit(events.TYPE_NOT_READ, topic=self.name, offset=message.offset(), reason=str(error))

    def _add(self, key: Sequence[Any], data: bytes) -> None:
        match key:
            case ["cache", str(topic)]:
                self._caches[topic] = cache_from_json(data)
            case ["use", str(topic), str(side), str(path), str(name)]:
                self._uses.setdefault(topic, set()).add(use_from_record(side, path, name, data))
            case ["type", *_]:
                kind = type_from_json(data)
                forms = self._forms.setdefault(kind.type_id, [])
                if kind not in forms:
                    forms.append(kind)


def _kind_of(key: bytes | None) -> Sequence[Any]:
    """Parse a record's key; a number, as early versions wrote it, counts as the key of a type."""
    try:
        parts = loads(key or b"")
    except ValueError:
        parts = None
    return parts if isinstance(parts, list) else ["type"]
