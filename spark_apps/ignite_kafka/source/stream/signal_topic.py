"""Signals that users write to a topic (setting ``signal_topic``), in the form of Debezium's Kafka channel.

A record's key is the connector's name, its value ``{"id", "type", "data"}``. The driver reads the topic from a position
of its own, which the configs topic keeps: it is written in the transaction that turns the records into signals, so that
each record counts once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Message, TopicPartition

from ...common.redaction import in_message
from ...common.typed_json import array, json_object, loads, text
from ...kafka.clients import KafkaClients, translate
from ...kafka.topics import Topics, TopicSpec
from ...settings.source import SourceSettings
from ...state.internal_records import written_ms
from ...state.signal_records import (
    FAILED,
    MOST_BYTES,
    MOST_ERROR,
    MOST_WAITING,
    PAUSED,
    RUNNING,
    STOPPED,
    CacheSelection,
    Signal,
    SignalPosition,
    SignalStatus,
    fault_of,
)
from ...state.signals import SignalFold

_AT_ONCE = 1_000  # records of one poll
_CHANGES = {"pause-snapshot": PAUSED, "resume-snapshot": RUNNING, "stop-snapshot": STOPPED}
_EXECUTE = "execute-snapshot"


@dataclass(frozen=True)
class Change:
    """What a record wants of signals that have not ended.

    :param state: RUNNING, PAUSED or STOPPED.
    :param caches: only signals whose caches are all among these; None: every signal.
    """

    state: str
    caches: frozenset[str] | None


@dataclass
class Accepted:
    """What the records of one poll become.

    :param targets: what is wanted of a signal, by its id.
    :param refused: ends of signals that cannot be requested so.
    """

    position: SignalPosition
    requests: list[Signal] = field(default_factory=list)
    targets: dict[str, str] = field(default_factory=dict)
    refused: list[SignalStatus] = field(default_factory=list)


class SignalTopic:
    """Reader of a connector's signal topic; not thread-safe."""

    def __init__(self, clients: KafkaClients, topics: Topics, settings: SourceSettings, fold: SignalFold) -> None:
        """Create the topic if it is missing, and begin where the fold says, or else at the topic's end.

        :param fold: the connector's signals, which its owner keeps current.
        :raises TopicError: the topic cannot be created or described.
        """
        self._connector = settings.name
        self._topic = settings.signal_topic
        self._fold = fold
        topics.ensure([TopicSpec(self._topic, 1, settings.replication_factor)])
        topic_id = topics.describe([self._topic])[self._topic].topic_id
        ends = topics.ends(self._topic, list(range(topics.partitions(self._topic))))
        before = fold.position
        recorded = before.offsets if before is not None and before.topic_id == topic_id else {}
        self.begins = not recorded
        """Whether no position in this topic is recorded yet, so that the present one must be."""
        self.position = SignalPosition(
            topic_id, {number: recorded.get(number, 0 if recorded else end) for number, end in ends.items()}
        )
        self._consumer = clients.reader(**{"enable.partition.eof": False, "auto.offset.reset": "earliest"})
        self._consumer.assign([TopicPartition(self._topic, *place) for place in self.position.offsets.items()])

    def poll(self) -> Accepted | None:
        """Read new records without waiting; None if none of them is for the connector.

        The result must be recorded before the next call; :attr:`position` is behind it.

        :raises IgniteKafkaError: the topic cannot be read.
        """
        offsets = dict(self.position.offsets)
        accepted = Accepted(self.position)
        any_own = False
        for message in self._consumer.consume(_AT_ONCE, timeout=0):
            error = message.error()
            if error is not None:
                failure = translate(error, "reading signals", topic=self._topic, partition=message.partition())
                if failure.final:
                    raise failure
                continue
            offsets[message.partition() or 0] = (message.offset() or 0) + 1
            if message.key() == self._connector.encode():
                any_own = True
                self._accept(message, accepted)
        self.position = SignalPosition(self.position.topic_id, offsets)
        accepted.position = self.position
        return accepted if any_own else None

    def _accept(self, message: Message, accepted: Accepted) -> None:
        place = f"topic-{self.position.topic_id[:8]}-{message.partition()}-{message.offset()}"
        at_ms = written_ms(message)
        try:
            parsed = parse_signal(message.value() or b"", place, at_ms)
        except ValueError as error:
            where = f"record {message.offset()} of partition {message.partition()} of topic {self._topic}"
            text_of_error = f"{where}: {in_message(str(error))}"[:MOST_ERROR]
            accepted.refused.append(SignalStatus(place, FAILED, at_ms=at_ms, error=text_of_error))
            return
        waiting = [*self._fold.waiting, *accepted.requests]
        if isinstance(parsed, Change):
            chosen = [signal for signal in waiting if parsed.caches is None or parsed.caches.issuperset(signal.names)]
            accepted.targets.update({signal.id: parsed.state for signal in chosen})
        elif self._fold.has_ended(parsed.id) or any(signal.id == parsed.id for signal in waiting):
            return  # a repeated id is done once
        elif len(waiting) >= MOST_WAITING:
            error_text = f"{len(waiting)} signals of the connector have not ended, and at most {MOST_WAITING} may wait"
            accepted.refused.append(SignalStatus(parsed.id, FAILED, at_ms=at_ms, error=error_text))
        else:
            accepted.requests.append(parsed)

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()


def parse_signal(value: bytes, default_id: str, at_ms: int) -> Signal | Change:
    """Parse the value of a record of the signal topic.

    :param default_id: id of a signal whose record has none, and the nonce of each; no other record has it.
    :param at_ms: time of the record in milliseconds since 1970.
    :raises ValueError: it is no signal, or has a part that this program does not know.
    """
    if len(value) > MOST_BYTES:
        raise ValueError(f"a signal has at most {MOST_BYTES:,} bytes, and this one has {len(value):,}")
    record = json_object(loads(value))
    kind = text(record.get("type"))
    data = json_object(record.get("data") or {})
    snapshot_type = text(data.get("type", "incremental"))
    if snapshot_type.lower() != "incremental":
        raise ValueError(f"only snapshots of type incremental are sent beside a stream, not {snapshot_type!r}")
    if kind in _CHANGES:
        _refuse_others(data, "type", "data-collections")
        caches = [text(cache) for cache in array(data.get("data-collections") or [])]
        return Change(_CHANGES[kind], frozenset(caches) if caches else None)
    if kind != _EXECUTE:
        raise ValueError(f"the type is none of {', '.join((_EXECUTE, *_CHANGES))}: {kind!r}")
    _refuse_others(data, "type", "data-collections", "additional-conditions")
    conditions = _conditions(array(data.get("additional-conditions") or []))
    caches = [text(cache) for cache in array(data.get("data-collections"))]
    others = sorted(conditions.keys() - caches)
    if others:
        raise ValueError(f"a condition is for {others[0]!r}, which is none of the data-collections")
    selections = tuple(CacheSelection(cache, conditions.get(cache, "")) for cache in caches)
    signal = Signal(text(record.get("id") or default_id), selections, at_ms, "topic", default_id)
    if fault := fault_of(signal):
        raise ValueError(fault)
    return signal


def _conditions(items: list[Any]) -> Mapping[str, str]:
    conditions: dict[str, str] = {}
    for item in items:
        condition = json_object(item)
        _refuse_others(condition, "data-collection", "filter")
        cache = text(condition.get("data-collection"))
        if cache in conditions:
            raise ValueError(f"there are two conditions for {cache!r}")
        conditions[cache] = text(condition.get("filter"))
    return conditions


def _refuse_others(value: Mapping[str, Any], *names: str) -> None:
    others = sorted(value.keys() - set(names))
    if others:
        raise ValueError(f"it has {others[0]!r}, and only {', '.join(names)} are supported here")
