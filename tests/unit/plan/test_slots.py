"""Units, slots and offset records."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.errors import OffsetsLost
from ignite_kafka.plan.slots import (
    Owner,
    SlotKey,
    SlotState,
    UnitKey,
    UnitOffset,
    parse_key,
    partitions_of_slot,
    slot_of,
    slots_of_tasks,
)


@given(st.text(max_size=20), st.integers(1, 300), st.integers(1, 40))
def test_each_partition_has_exactly_one_slot(cache: str, partitions: int, slots: int) -> None:
    owned = {slot: list(partitions_of_slot(cache, partitions, slot, slots)) for slot in range(slots)}
    assert sorted(partition for mine in owned.values() for partition in mine) == list(range(partitions))
    assert all(slot_of(cache, partition, slots) == slot for slot, mine in owned.items() for partition in mine)


@given(st.integers(1, 100), st.integers(1, 100))
def test_tasks_own_whole_slots_evenly(slots: int, tasks: int) -> None:
    dealt = slots_of_tasks(slots, tasks)
    assert sorted(slot for task in dealt for slot in task) == list(range(slots))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert len(dealt) == min(slots, tasks)


def test_the_slot_of_a_unit_is_fixed_for_ever() -> None:
    # a change of the formula would let a new version skip nothing that an old one has sent
    assert [slot_of("flights", partition, 16) for partition in (0, 1, 1023)] == [10, 11, 9]


def test_keys_have_the_layout_of_kafka_connect() -> None:
    assert UnitKey("c", "flights", 12).to_json() == b'["c",{"cache":"flights","partition":12}]'
    assert SlotKey("c", 3).to_json() == b'["c",{"slot":3}]'
    for key in (UnitKey("c", 'quote " and ü', 12), SlotKey("c", 3)):
        assert parse_key(key.to_json()) == key


@pytest.mark.parametrize("key", [b"", b"no json", b"{}", b'["c"]', b'["c",{"table":"x"}]', b'["c",5]'])
def test_a_foreign_key_is_refused(key: bytes) -> None:
    with pytest.raises(OffsetsLost, match="cannot be read"):
        parse_key(key)


@pytest.mark.parametrize(
    "unit",
    [UnitOffset(3, "i"), UnitOffset(7, "abc", "s-1", True, 42), UnitOffset(7, "a", "s", False, 0, 9), UnitOffset(1, "i", high=0)],
)
def test_a_unit_offset_travels_as_json(unit: UnitOffset) -> None:
    assert UnitOffset.from_json(unit.to_json()) == unit


def test_the_layout_of_a_unit_offset() -> None:
    assert UnitOffset(7, "inc", "s", True, 9, 2).to_json() == (
        b'{"generation":7,"incarnation":"inc","snapshot":{"id":"s","done":true,"records":9},"ranges":[[0,2]]}'
    )
    letters = UnitOffset(7, "inc", "s", True, 9, bad=2, dead_letters=1)
    assert UnitOffset.from_json(letters.to_json()) == letters
    assert json.loads(UnitOffset(7, "inc", "s", True, 9, bad=2).to_json())["snapshot"] == {"id": "s", "done": True, "records": 9, "bad": 2}


def test_a_slot_folds_its_records() -> None:
    state = SlotState(3)
    state.apply(SlotKey("c", 3).to_json(), Owner(5).to_json())
    state.apply(SlotKey("c", 3).to_json(), Owner(4, attempt=9).to_json())  # an older run that claimed late does not step back
    state.apply(UnitKey("c", "a", 1).to_json(), UnitOffset(4, "i", "old", True, 1).to_json())
    state.apply(UnitKey("c", "a", 1).to_json(), UnitOffset(5, "i", "new", True, 2).to_json())
    state.apply(UnitKey("c", "a", 2).to_json(), UnitOffset(5, "other incarnation", "new", True, 3).to_json())
    state.apply(UnitKey("c", "a", 3).to_json(), UnitOffset(5, "i", "new", True, 4).to_json())
    state.apply(UnitKey("c", "a", 3).to_json(), None)
    assert state.owner == Owner(5)
    assert {partition: unit.records for partition, unit in state.done("new", "a", "i").items()} == {1: 2}
    assert state.done("old", "a", "i") == {}


def test_owners_are_ordered_by_generation_then_attempt() -> None:
    assert Owner(2) > Owner(1, epoch=3) > Owner(1, epoch=2, attempt=5) > Owner(1, epoch=2, attempt=4) > Owner(1, attempt=9)
