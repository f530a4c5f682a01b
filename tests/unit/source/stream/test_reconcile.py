"""Tombstone reconciliation: a unit that is sent again brings tombstones of keys that the cache no longer has."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.ignite.backlog_units import ASKED
from ignite_kafka.ignite.binary.row_values import EnumValue, Timestamp
from ignite_kafka.java.hash_code import java_hash
from tests.support.backlog_changes import PARTITIONS, key_bytes, partition_of
from tests.support.backlog_simulator import Simulator
from tests.support.ignite_bytes import binary, decimal, enum, string, timestamp
from tests.support.ignite_keys import hashed, key_types
from tests.support.stream_task import Task

JSON: dict[str, Any] = {"key_converter": "json", "value_converter": "json"}


def filled(keys: int, key_of: Callable[[int], bytes] = key_bytes, **settings: Any) -> tuple[Simulator, Task]:
    simulator = Simulator()
    simulator.key_of, simulator.types = key_of, key_types()
    for key in range(keys):
        simulator.put(key)
    task = Task(simulator, **settings)
    task.settle()
    assert len(simulator.fold) == keys
    return simulator, task


def tombstones(simulator: Simulator) -> list[bytes]:
    return [key for key, value in simulator.topic if value is None]


def pending(simulator: Simulator) -> list[tuple[int, int] | None]:
    """The reconcile positions in the offset records."""
    return [offset.reconcile for slot in simulator.offsets.values() for offset in slot.units.values()]


@pytest.mark.parametrize("settings", [{}, JSON], ids=["ignite-binary", "json"])
def test_cleared_keys_get_tombstones_once(settings: dict[str, Any]) -> None:
    simulator, task = filled(100, **settings)
    simulator.clear_cache()
    simulator.put(7)
    simulator.mark_all(ASKED)
    task.settle()
    task.stop()
    assert list(simulator.fold) == [b"7"] if settings else list(simulator.fold) == [key_bytes(7)]
    assert len(tombstones(simulator)) == len(set(tombstones(simulator))) == 99
    assert set(pending(simulator)) == {None}


def test_only_units_that_are_sent_again_are_reconciled() -> None:
    simulator, task = filled(40)
    simulator.clear_cache()
    simulator._mark(simulator.units[1], ASKED)
    task.settle()
    task.stop()
    assert sorted(tombstones(simulator)) == sorted(key_bytes(key) for key in range(40) if key % PARTITIONS == 1)


def test_a_first_load_needs_no_reconciliation() -> None:
    simulator, task = filled(10)
    task.stop()
    assert set(pending(simulator)) == {None}


def test_without_removals_nothing_is_reconciled() -> None:
    simulator, task = filled(10, process_removals=False)
    simulator.clear_cache()
    simulator.mark_all(ASKED)
    task.settle()
    task.stop()
    assert set(pending(simulator)) == {None}
    assert tombstones(simulator) == []


def test_reconciliation_continues_where_the_task_before_ended() -> None:
    simulator, task = filled(200)
    simulator.clear_cache()
    simulator.mark_all(ASKED)
    positions: list[tuple[int, int]] = []
    while set(pending(simulator)) != {None} or not positions:
        task.batch()
        task.batch()
        task.end()
        positions += [min(found)] if (found := [position for position in pending(simulator) if position]) else []
    task.stop()
    assert positions == sorted(set(positions))
    assert len(positions) > 5, "the topic is read in many steps"
    assert simulator.fold == {}
    assert len(tombstones(simulator)) == 200


def test_a_new_snapshot_reconciles_the_records_of_the_one_before() -> None:
    simulator, task = filled(60)
    task.stop()
    for key in range(30):
        simulator.remove(key)
    for unit in simulator.units:  # a new capture: its backlog is empty
        unit.primary.clear()
        unit.backup.clear()
    again = Task(simulator, snapshot_id="later")
    again.settle()
    again.stop()
    assert simulator.fold == simulator.entries
    assert sorted(tombstones(simulator)) == sorted(key_bytes(key) for key in range(30))


def test_tombstones_beyond_the_limit_of_held_keys_are_sent_in_parts() -> None:
    simulator, task = filled(100, most_held=5)
    simulator.clear_cache()
    simulator.mark_all(ASKED)
    task.settle()
    task.stop()
    assert len(tombstones(simulator)) == 100


def test_keys_that_cannot_be_read_back_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    simulator, task = filled(5, **JSON)
    simulator.topic.append((b'{"id":1}', b"1"))
    simulator.topic.append((b"05", b"1"))
    simulator.mark_all(ASKED)
    with caplog.at_level(logging.WARNING, "ignite_kafka.events"):
        task.settle()
        task.stop()
    found = [record.__dict__ for record in caplog.records if record.__dict__.get("event_id") == events.KEYS_NOT_READ_BACK.id]
    assert sum(record["event_fields"]["count"] for record in found) == 2
    assert {record["event_fields"]["cache"] for record in found} == {"cache"}
    assert tombstones(simulator) == []


def test_a_key_that_the_cache_has_under_another_type_is_not_gone() -> None:
    simulator, task = filled(5, **JSON)
    integer = struct.pack("<Bi", 3, 77)  # an int among longs
    simulator.topic.append((b"77", b"1"))
    simulator.units[partition_of(integer)].entries[integer] = struct.pack("<Bi", 3, 1)
    simulator.key_kinds = {(4,)}
    simulator.mark_all(ASKED)
    task.settle()
    task.stop()
    assert b"77" not in tombstones(simulator)


def order_of(number: int) -> bytes:
    """An object with a decimal, a timestamp and an enum, or with an object within."""
    types = key_types().known
    if number % 2:
        fields = {"price": decimal(Decimal(number)), "at": timestamp(Timestamp(number, 0)), "color": color_of(number % 3)}
    else:
        inner = {"x": struct.pack("<Bi", 3, number), "label": string("l")}
        fields = {"place": hashed(binary(types[java_hash("place")], inner)), "id": key_bytes(number)}
    return hashed(binary(types[java_hash("order")], fields))


def color_of(number: int) -> bytes:
    return enum(EnumValue(java_hash("color"), number, ""))


KEYS: dict[str, Callable[[int], bytes]] = {
    "decimal": lambda number: decimal(Decimal(number) / 4),
    "float": lambda number: struct.pack("<Bf", 5, number / 3),
    "timestamp": lambda number: timestamp(Timestamp(number, 7_000_000)),
    "time": lambda number: struct.pack("<Bq", 36, number),
    "enum": lambda number: color_of(number % 3),
    "object": order_of,
}


@pytest.mark.parametrize("kind", KEYS)
def test_cleared_keys_of_every_kind_get_tombstones(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    keys = 3 if kind == "enum" else 40
    simulator, task = filled(keys, KEYS[kind], **JSON, decimal_format="NUMERIC")
    sent = set(simulator.fold)
    simulator.clear_cache()
    simulator.put(1)
    simulator.mark_all(ASKED)
    task.settle()
    task.stop()
    assert set(tombstones(simulator)) == sent - simulator.fold.keys()
    assert len(simulator.fold) == 1
    assert not [record for record in caplog.records if record.__dict__.get("event_id") == events.KEYS_NOT_READ_BACK.id]


def test_keys_that_lose_something_in_their_records_get_no_tombstone(caplog: pytest.LogCaptureFixture) -> None:
    """Another task has sent timestamps with nanoseconds: a record of one may be that of a key that the cache still has."""
    simulator, task = filled(40, lambda number: timestamp(Timestamp(number, 0)), **JSON)
    simulator.clear_cache()
    simulator.key_kinds = {(33, 0), (33, 1)}
    simulator.mark_all(ASKED)
    with caplog.at_level(logging.WARNING, "ignite_kafka.events"):
        task.settle()
        task.stop()
    assert tombstones(simulator) == []
    found = [record.__dict__ for record in caplog.records if record.__dict__.get("event_id") == events.KEYS_NOT_READ_BACK.id]
    assert sum(record["event_fields"]["count"] for record in found) >= 40
