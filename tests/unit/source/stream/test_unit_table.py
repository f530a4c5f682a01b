"""The units of a task as columns."""

from __future__ import annotations

import numpy as np

from ignite_kafka.plan.slots import slot_of
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.unit_table import UnitTable

SLOTS = 4
CACHES = (CachePlan("a", 11, "a", 10, 1, "5"), CachePlan("b", -12, "b", 3, 1, "6"))
PLAN = TransferPlan("c", "s", 1, SLOTS, SourceSettings(name="c", ignite_addresses=("a:1",), bootstrap_servers="a:1"), CACHES)


def test_every_unit_of_the_slots_is_in_the_table_once() -> None:
    table = UnitTable.of(PLAN, [3, 1])
    found = [(table.cache_of(unit).name, table.partition(unit)) for unit in range(len(table))]
    expected = [(cache.name, part) for cache in CACHES for part in range(cache.partitions) if slot_of(cache.name, part, SLOTS) in (1, 3)]
    assert sorted(found) == sorted(expected)
    assert [slot_of(*unit, SLOTS) for unit in found] == table.slot.tolist()
    assert (np.diff(table.slot) >= 0).all()
    assert set(zip(table.units["cache_id"].tolist(), table.units["incarnation"].tolist(), strict=True)) == {(11, 5), (-12, 6)}


def test_units_in_groups_of_one_slot_and_one_cache() -> None:
    table = UnitTable.of(PLAN, range(SLOTS))
    groups = list(table.by_slot_and_cache(np.arange(len(table))))
    assert np.concatenate(groups).tolist() == list(range(len(table)))
    places = [{(int(table.slot[unit]), int(table.cache[unit])) for unit in group.tolist()} for group in groups]
    assert all(len(place) == 1 for place in places)
    assert len({one for place in places for one in place}) == len(places)
    assert list(table.by_slot_and_cache(np.zeros(0, np.int64))) == []


def test_positions_of_units() -> None:
    table, other = UnitTable.of(PLAN, [1, 3]), UnitTable.of(PLAN, [0])
    some = np.array([len(table) - 1, 0, 2])
    former = table.units[1:2].copy()
    former["incarnation"] += 1
    mixed = np.concatenate((other.units, table.units[some], former))
    assert table.positions(mixed).tolist() == some.tolist()
    assert table.positions(table.units).tolist() == list(range(len(table)))
    assert table.positions(table.units[:0]).tolist() == []


def test_no_units() -> None:
    table = UnitTable.of(PLAN, [])
    assert len(table) == 0
    assert table.positions(UnitTable.of(PLAN, [0]).units).tolist() == []
