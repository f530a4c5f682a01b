"""What the user wants of a connector: a record of the configs topic that anyone may write, and that the connector's driver follows.

Key ``["target","<name>"]``, value ``{"state": "RUNNING"|"PAUSED"|"STOPPED", "at_ms": …}``, with ``"generation"`` where it is meant for the
run of that generation alone: a newer run of the connector does not follow it. It is written without a transaction and never
under the control transactional id, so asking a run for something never fences it.
"""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from ..errors import KafkaUnavailable
from ..kafka.clients import REQUEST_TIMEOUT_S, KafkaClients, translate
from ..kafka.topics import Topics, read_to_end
from .configs import configs_topic
from .internal_records import FORMAT_HEADERS, InternalRecord, pass_over
from .status import now_ms

RUNNING, PAUSED, STOPPED = "RUNNING", "PAUSED", "STOPPED"
TARGETS = (RUNNING, PAUSED, STOPPED)


def write_target(clients: KafkaClients, topics: Topics, prefix: str, connector: str, state: str, generation: int = 0) -> None:
    """Ask a connector for a state; returns when the broker has the record.

    :param generation: of the one run that is asked; 0: whichever has the connector.
    :raises TopicError: there is no configs topic, so no connector was ever started under this prefix.
    :raises KafkaUnavailable: the broker did not confirm it; it may still be written.
    """
    if state not in TARGETS:
        raise ValueError(f"{state!r} is no target state: {', '.join(TARGETS)}")
    topic = configs_topic(prefix)
    topics.partitions(topic)  # a produce alone would have a broker that makes topics make this one, not compacted
    refused: list[KafkaError] = []

    def note(error: KafkaError | None, _: Any) -> None:
        if error is not None:
            refused.append(error)

    producer = clients.writer()
    meant_for = {"generation": generation} if generation else {}
    value = json.dumps({"state": state, "at_ms": now_ms(), **meant_for}, separators=(",", ":")).encode()
    try:
        producer.produce(topic, value, _key(connector), 0, on_delivery=note, headers=[*FORMAT_HEADERS])
    except KafkaException as cause:
        raise translate(cause.args[0], "asking for a target state", connector=connector) from cause
    if producer.flush(min(REQUEST_TIMEOUT_S, clients.patience_s)):
        raise KafkaUnavailable("the broker did not confirm the target state in time", "Ask once more.", topic=topic, connector=connector)
    if refused:
        raise translate(refused[0], "asking for a target state", topic=topic, connector=connector)


def read_target(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> str | None:
    """The state that was asked for last; None where nobody ever asked."""
    topic = configs_topic(prefix)
    if not topics.exists(topic):
        return None
    target = None
    for message in read_to_end(clients, topics, topic, [0]):
        if message.key() == _key(connector):
            record = InternalRecord.of(message)
            target = target_of(connector, record) if record and record.value is not None else None
    return target


def target_of(connector: str, record: InternalRecord, generation: int = 0) -> str | None:
    """The target state that a record of the configs topic asks of a connector; None where it is about something else, a tombstone, or,
    with an event, no state that this version knows.

    :param generation: of the run that follows it; what is meant for another run is not for it. 0: whatever was asked last.
    """
    if (record.kind, record.name, record.rest) != ("target", connector, ()):
        return None
    value = record.telling()
    if value is None or (generation and value.get("generation", generation) != generation):
        return None
    if value.get("state") not in TARGETS:
        pass_over("it asks for no state that this version knows", record.where)
        return None
    return str(value["state"])


def _key(connector: str) -> bytes:
    return json.dumps(["target", connector], separators=(",", ":")).encode()
