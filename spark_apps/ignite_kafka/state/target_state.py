"""Target state of a connector: a record of the configs topic; users write it, the connector's driver obeys it.

Key ``["target","<name>"]``, value ``{"state": "RUNNING"|"PAUSED"|"STOPPED", "at_ms": …}``; with ``"generation"`` only
the run of that generation follows it. The record is written without a transaction and never under the control
transactional id, so that it fences no run.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..common.typed_json import dumps, integer
from ..kafka.clients import KafkaClients
from ..kafka.single_record import write_record
from ..kafka.topics import Topics, read_to_end
from .internal_names import configs_topic
from .internal_records import FORMAT_HEADERS, InternalRecord, report_skipped
from .status import now_ms

RUNNING = "RUNNING"
PAUSED = "PAUSED"
STOPPED = "STOPPED"
TARGETS = (RUNNING, PAUSED, STOPPED)


def write_target(
    clients: KafkaClients, topics: Topics, prefix: str, connector: str, state: str, generation: int = 0
) -> None:
    """Request that a connector runs, pauses or stops; return once the broker has confirmed the record.

    :param generation: generation of the run that is to follow it; 0: any run.
    :raises ValueError: there is no such state.
    :raises TopicError: the configs topic does not exist, so no connector was ever started under this prefix.
    :raises KafkaUnavailable: the broker did not confirm it; it may still be written.
    """
    if state not in TARGETS:
        raise ValueError(f"{state!r} is no target state: {', '.join(TARGETS)}")
    topic = configs_topic(prefix)
    topics.partitions(topic)  # else a broker with auto.create.topics.enable would create it without compaction
    only_for = {"generation": generation} if generation else {}
    value = dumps({"state": state, "at_ms": now_ms(), **only_for})
    write_record(
        clients,
        topic,
        _key(connector),
        value,
        "the target state",
        partition=0,
        headers=FORMAT_HEADERS,
        connector=connector,
    )


def read_target(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> str | None:
    """Read the last requested target state; None if there was no request."""
    target = None
    for record in _requests(clients, topics, prefix, connector):
        target = target_of(connector, record) if record.value is not None else None
    return target


def read_lasting_stop(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> bool:
    """Return whether the last request stops the connector until it is resumed, and not one run alone."""
    stopped = False
    for record in _requests(clients, topics, prefix, connector):
        stopped = target_of(connector, record) == STOPPED and generation_in(record) == 0
    return stopped


def read_stopped_generation(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> int:
    """Read which generation the last request asks to stop; 0 if it asks any run or no run."""
    generation = 0
    for record in _requests(clients, topics, prefix, connector):
        value = record.optional_value() or {}
        generation = generation_in(record) if value.get("state") == STOPPED else 0
    return generation


def generation_in(record: InternalRecord) -> int:
    """Return the generation of the only run that follows a target record; 0 for any run."""
    try:
        return integer((record.optional_value() or {}).get("generation"))
    except ValueError:
        return 0


def _requests(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> Iterator[InternalRecord]:
    """Yield the connector's target records, oldest first; none without the configs topic."""
    topic = configs_topic(prefix)
    if not topics.exists(topic):
        return
    for message in read_to_end(clients, topics, topic, [0]):
        if message.key() == _key(connector) and (record := InternalRecord.of(message)) is not None:
            yield record


def target_of(connector: str, record: InternalRecord, generation: int = 0) -> str | None:
    """Parse the requested state if a record is the connector's target record.

    Return None for any other record, for a tombstone and, with an event, for an unknown state.

    :param generation: generation of the run that follows it; requests for other runs are ignored. 0: no request is
        ignored.
    """
    if (record.kind, record.name, record.rest) != ("target", connector, ()):
        return None
    value = record.optional_value()
    if value is None or (generation and value.get("generation", generation) != generation):
        return None
    if value.get("state") not in TARGETS:
        report_skipped("it requests a state that this version does not know", record.where)
        return None
    return str(value["state"])


def _key(connector: str) -> bytes:
    return dumps(["target", connector])
