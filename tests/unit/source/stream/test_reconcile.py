"""A unit that is sent again brings its removals too."""

from __future__ import annotations

import logging
import struct
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.ignite.backlog_service import ASKED
from ignite_kafka.source.stream import reconcile as sweep
from tests.unit.source.stream.backlog_simulator import PARTITIONS, Task, World, key_bytes

JSON: dict[str, Any] = {"key_converter": "json", "value_converter": "json"}


def filled(keys: int, **settings: Any) -> tuple[World, Task]:
    world = World()
    for key in range(keys):
        world.put(key)
    task = Task(world, **settings)
    task.settle()
    assert len(world.fold) == keys
    return world, task


def tombstones(world: World) -> list[bytes]:
    return [key for key, value in world.topic if value is None]


def debts(world: World) -> list[tuple[int, int] | None]:
    return [offset.sweep for slot in world.offsets.values() for offset in slot.units.values()]


@pytest.mark.parametrize("settings", [{}, JSON], ids=["ignite-binary", "json"])
def test_what_was_cleared_gets_tombstones_once(settings: dict[str, Any]) -> None:
    world, task = filled(100, **settings)
    world.clear_cache()
    world.put(7)
    world.mark_all(ASKED)
    task.settle()
    task.stop()
    assert list(world.fold) == [b"7"] if settings else list(world.fold) == [key_bytes(7)]
    assert len(tombstones(world)) == len(set(tombstones(world))) == 99
    assert set(debts(world)) == {None}


def test_only_units_that_are_sent_again_are_swept() -> None:
    world, task = filled(40)
    world.clear_cache()
    world._mark(world.units[1], ASKED)
    task.settle()
    task.stop()
    assert sorted(tombstones(world)) == sorted(key_bytes(key) for key in range(40) if key % PARTITIONS == 1)


def test_a_first_load_owes_nothing() -> None:
    world, task = filled(10)
    task.stop()
    assert set(debts(world)) == {None}


def test_without_removals_nothing_is_owed() -> None:
    world, task = filled(10, process_removals=False)
    world.clear_cache()
    world.mark_all(ASKED)
    task.settle()
    task.stop()
    assert set(debts(world)) == {None}
    assert tombstones(world) == []


def test_a_sweep_goes_on_where_the_task_before_ended() -> None:
    world, task = filled(200)
    world.clear_cache()
    world.mark_all(ASKED)
    places: list[tuple[int, int]] = []
    while set(debts(world)) != {None} or not places:
        task.batch()
        task.batch()
        task.end()
        places += [min(owed)] if (owed := [place for place in debts(world) if place]) else []
    task.stop()
    assert places == sorted(set(places))
    assert len(places) > 5, "the topic is read in many steps"
    assert world.fold == {}
    assert len(tombstones(world)) == 200


def test_a_new_snapshot_sweeps_what_the_one_before_sent() -> None:
    world, task = filled(60)
    task.stop()
    for key in range(30):
        world.remove(key)
    for unit in world.units:  # a new capture: its backlog is empty
        unit.primary.clear()
        unit.backup.clear()
    again = Task(world, snapshot_id="later")
    again.settle()
    again.stop()
    assert world.fold == world.entries
    assert sorted(tombstones(world)) == sorted(key_bytes(key) for key in range(30))


def test_more_keys_than_may_be_held_are_sent_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_MOST_HELD", 5)
    world, task = filled(100)
    world.clear_cache()
    world.mark_all(ASKED)
    task.settle()
    task.stop()
    assert len(tombstones(world)) == 100


def test_keys_that_cannot_be_turned_back_are_told(caplog: pytest.LogCaptureFixture) -> None:
    world, task = filled(5, **JSON)
    world.topic.append((b'{"id":1}', b"1"))
    world.topic.append((b"05", b"1"))
    world.mark_all(ASKED)
    with caplog.at_level(logging.WARNING, "ignite_kafka.events"):
        task.settle()
        task.stop()
    told = [record.__dict__["event_fields"] for record in caplog.records if record.__dict__.get("event_id") == events.KEYS_NOT_READ_BACK.id]
    assert sum(fields["count"] for fields in told) == 2
    assert {fields["cache"] for fields in told} == {"cache"}
    assert tombstones(world) == []


def test_a_key_that_the_cache_has_under_another_type_is_not_gone() -> None:
    world, task = filled(5, **JSON)
    integer = struct.pack("<Bi", 3, 77)  # an int among longs
    world.topic.append((b"77", b"1"))
    world.units[0].entries[integer] = struct.pack("<Bi", 3, 1)
    task.reader.key_kinds["cache"] = {(4,)}
    world.mark_all(ASKED)
    task.settle()
    task.stop()
    assert b"77" not in tombstones(world)
