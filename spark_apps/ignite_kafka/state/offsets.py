"""Reading of a connector's offsets topic, which has a partition for each slot."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import Message

from ..errors import OffsetsLost
from ..ignite.types.key_kind import KeyKind
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics, read_to_end
from ..plan.sink_offsets import PartitionKey
from ..plan.slots import SlotKey, SlotState, UnitKey, UnitOffset, kinds_of_keys, parse_key
from .internal_names import offsets_topic
from .internal_records import format_of, location_of, refuse_newer, report_skipped
from .slot_claim import SlotClaim

_SLOTS_AT_ONCE = 16  # bounds the memory for an offsets topic


def read_slot(clients: KafkaClients, topics: Topics, claim: SlotClaim) -> SlotState:
    """Read the offset records of one slot, before a task continues the slot.

    Only the last record of a unit is parsed, because the topic may hold many before compaction.
    """
    state = SlotState(claim.slot)
    owner_key = SlotKey(claim.connector, claim.slot).to_json()
    last: dict[bytes, Message] = {}
    for message in read_to_end(clients, topics, claim.offsets_topic, [claim.slot]):
        key = message.key() or b""
        if key == owner_key:
            apply_offset_record(state, message)
        else:
            last[key] = message
    for message in last.values():
        apply_offset_record(state, message)
    return state


def apply_offset_record(state: SlotState, message: Message) -> None:
    """Fold a record into the state; a record of another program is skipped with an event.

    :raises NewerFormat: a newer version wrote the record.
    """
    refuse_newer(format_of(message), location_of(message))
    try:
        state.apply(message.key() or b"", message.value())
    except OffsetsLost as error:
        report_skipped(error.what, location_of(message))


def key_of(message: Message) -> UnitKey | SlotKey | PartitionKey | None:
    """Parse the key of a record of the offsets topic; None if another program wrote it."""
    try:
        return parse_key(message.key() or b"")
    except OffsetsLost:
        return None


def unit_of(message: Message) -> tuple[UnitKey, UnitOffset] | None:
    """Parse a cache partition's offset record; None for any other record of the offsets topic."""
    key = key_of(message)
    value = message.value()
    try:
        return (key, UnitOffset.from_json(value)) if isinstance(key, UnitKey) and value is not None else None
    except ValueError:
        return None


def read_slots(clients: KafkaClients, topics: Topics, prefix: str, connector: str, slots: int) -> Iterator[SlotState]:
    """Read all offset records of a connector, slot by slot, with few slots in memory at a time.

    :raises OffsetsLost: the topic does not exist, or the offset of a unit cannot be read.
    :raises NewerFormat: a newer version wrote to it.
    """
    name = offsets_topic(prefix, connector)
    for first in range(0, slots, _SLOTS_AT_ONCE):
        states = {slot: SlotState(slot) for slot in range(first, min(first + _SLOTS_AT_ONCE, slots))}
        for message in read_to_end(clients, topics, name, list(states)):
            partition = message.partition()
            if partition is not None:
                apply_offset_record(states[partition], message)
        for state in states.values():
            state.check(connector)
            yield state


def read_key_kinds(
    clients: KafkaClients, topics: Topics, prefix: str, connector: str, slots: int, cache: str
) -> set[KeyKind]:
    """Read which kinds of keys the connector has sent for a cache, from the offset records of all slots.

    Raises as :func:`read_slots`.
    """
    kinds: set[KeyKind] = set()
    for state in read_slots(clients, topics, prefix, connector, slots):
        kinds |= kinds_of_keys(state.by_cache.get(cache, {}).values())
    return kinds
