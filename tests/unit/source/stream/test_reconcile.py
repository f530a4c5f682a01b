"""A unit that is sent again brings its removals too."""

from __future__ import annotations

import logging
import struct
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.ignite.backlog_units import ASKED
from ignite_kafka.source.stream import topic_scan
from tests.unit.source.stream.backlog_simulator import PARTITIONS, Simulator, Task, key_bytes

JSON: dict[str, Any] = {"key_converter": "json", "value_converter": "json"}


def filled(keys: int, **settings: Any) -> tuple[Simulator, Task]:
    simulator = Simulator()
    for key in range(keys):
        simulator.put(key)
    task = Task(simulator, **settings)
    task.settle()
    assert len(simulator.fold) == keys
    return simulator, task


def tombstones(simulator: Simulator) -> list[bytes]:
    return [key for key, value in simulator.topic if value is None]


def debts(simulator: Simulator) -> list[tuple[int, int] | None]:
    return [offset.sweep for slot in simulator.offsets.values() for offset in slot.units.values()]


@pytest.mark.parametrize("settings", [{}, JSON], ids=["ignite-binary", "json"])
def test_what_was_cleared_gets_tombstones_once(settings: dict[str, Any]) -> None:
    simulator, task = filled(100, **settings)
    simulator.clear_cache()
    simulator.put(7)
    simulator.mark_all(ASKED)
    task.settle()
    task.stop()
    assert list(simulator.fold) == [b"7"] if settings else list(simulator.fold) == [key_bytes(7)]
    assert len(tombstones(simulator)) == len(set(tombstones(simulator))) == 99
    assert set(debts(simulator)) == {None}


def test_only_units_that_are_sent_again_are_swept() -> None:
    simulator, task = filled(40)
    simulator.clear_cache()
    simulator._mark(simulator.units[1], ASKED)
    task.settle()
    task.stop()
    assert sorted(tombstones(simulator)) == sorted(key_bytes(key) for key in range(40) if key % PARTITIONS == 1)


def test_a_first_load_owes_nothing() -> None:
    simulator, task = filled(10)
    task.stop()
    assert set(debts(simulator)) == {None}


def test_without_removals_nothing_is_owed() -> None:
    simulator, task = filled(10, process_removals=False)
    simulator.clear_cache()
    simulator.mark_all(ASKED)
    task.settle()
    task.stop()
    assert set(debts(simulator)) == {None}
    assert tombstones(simulator) == []


def test_a_sweep_goes_on_where_the_task_before_ended() -> None:
    simulator, task = filled(200)
    simulator.clear_cache()
    simulator.mark_all(ASKED)
    places: list[tuple[int, int]] = []
    while set(debts(simulator)) != {None} or not places:
        task.batch()
        task.batch()
        task.end()
        places += [min(owed)] if (owed := [place for place in debts(simulator) if place]) else []
    task.stop()
    assert places == sorted(set(places))
    assert len(places) > 5, "the topic is read in many steps"
    assert simulator.fold == {}
    assert len(tombstones(simulator)) == 200


def test_a_new_snapshot_sweeps_what_the_one_before_sent() -> None:
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


def test_more_keys_than_may_be_held_are_sent_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_scan, "_MOST_HELD", 5)
    simulator, task = filled(100)
    simulator.clear_cache()
    simulator.mark_all(ASKED)
    task.settle()
    task.stop()
    assert len(tombstones(simulator)) == 100


def test_keys_that_cannot_be_turned_back_are_told(caplog: pytest.LogCaptureFixture) -> None:
    simulator, task = filled(5, **JSON)
    simulator.topic.append((b'{"id":1}', b"1"))
    simulator.topic.append((b"05", b"1"))
    simulator.mark_all(ASKED)
    with caplog.at_level(logging.WARNING, "ignite_kafka.events"):
        task.settle()
        task.stop()
    told = [record.__dict__["event_fields"] for record in caplog.records if record.__dict__.get("event_id") == events.KEYS_NOT_READ_BACK.id]
    assert sum(fields["count"] for fields in told) == 2
    assert {fields["cache"] for fields in told} == {"cache"}
    assert tombstones(simulator) == []


def test_a_key_that_the_cache_has_under_another_type_is_not_gone() -> None:
    simulator, task = filled(5, **JSON)
    integer = struct.pack("<Bi", 3, 77)  # an int among longs
    simulator.topic.append((b"77", b"1"))
    simulator.units[0].entries[integer] = struct.pack("<Bi", 3, 1)
    task.reader.states.key_kinds["cache"] = {(4,)}
    simulator.mark_all(ASKED)
    task.settle()
    task.stop()
    assert b"77" not in tombstones(simulator)
