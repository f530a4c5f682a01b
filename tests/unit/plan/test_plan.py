"""Plans: JSON both ways, units by arithmetic, fingerprints."""

from __future__ import annotations

import dataclasses
import json
import tracemalloc
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.errors import SettingsError
from ignite_kafka.plan.source_plan import (
    CachePlan,
    TransferPlan,
    differences,
    fingerprint,
    slot_of,
    slots_per_task,
    unit_count,
    units_of_slot,
)
from ignite_kafka.settings.source import SourceSettings


def make(*caches: CachePlan, slots: int = 16, **settings: object) -> TransferPlan:
    return TransferPlan("c", "s", 3, slots, SourceSettings.from_dict({"name": "c", **settings}), caches)


FLIGHTS = CachePlan("flights", 17, "p-flights", 1024, 4, "i1")
PLANES = CachePlan("planes", -5, "p-planes", 3, 1, "i2")


def test_json_both_ways() -> None:
    plan = make(FLIGHTS, PLANES, cache_whitelist=["a", "b"], producer_override={"linger.ms": "5"})
    assert TransferPlan.from_json(plan.to_json()) == plan
    assert TransferPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_fields_of_a_newer_version_are_left_out() -> None:
    newer = make(FLIGHTS).to_dict()
    newer["caches"][0]["newer"] = 1
    assert TransferPlan.from_dict({**newer, "newer": 1}) == make(FLIGHTS)


@pytest.mark.parametrize("change", [{"caches": [{"name": "x"}]}, {"settings": {"name": "c", "unknown": 1}}, {"caches": 1}])
def test_a_plan_of_another_version_is_an_error(change: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        TransferPlan.from_dict({**make(FLIGHTS).to_dict(), **change})


def test_a_plan_has_no_place_for_a_secret() -> None:
    names = set(make(FLIGHTS).to_dict()) | set(make(FLIGHTS).settings.to_dict()) | {field.name for field in dataclasses.fields(CachePlan)}
    assert not [name for name in names if "password" in name or "secret" in name]


def test_the_slot_of_a_unit() -> None:
    assert slot_of("flights", 5, 16) == (crc32(b"flights") + 5) % 16
    assert {slot_of("flights", partition, 16) for partition in range(16)} == set(range(16))


@given(st.lists(st.integers(0, 300), min_size=1, max_size=4), st.integers(1, 40))
def test_each_unit_is_in_exactly_one_slot(partitions: list[int], slots: int) -> None:
    plan = make(*(CachePlan(f"cache{index}", index, "t", count, 1) for index, count in enumerate(partitions)), slots=slots)
    found = [
        (units.cache.name, partition, slot)
        for slot in range(slots)
        for units in units_of_slot(plan, slot)
        for partition in units.partitions
    ]
    expected = [(cache.name, partition) for cache in plan.caches for partition in range(cache.partitions)]
    assert sorted(found) == sorted((name, partition, slot_of(name, partition, slots)) for name, partition in expected)
    assert unit_count(plan) == len(expected) == sum(unit_count(plan, slot) for slot in range(slots))


def test_a_million_units_take_no_memory() -> None:
    plan = make(*(CachePlan(f"cache-{index}", index, f"t-{index}", 1024, 4, "i") for index in range(1000)))
    tracemalloc.start()
    counts = [unit_count(plan, slot) for slot in range(plan.slots)]
    ranges = [units.partitions for units in units_of_slot(plan, 3)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert unit_count(plan) == sum(counts) == 1_024_000
    assert all(isinstance(partitions, range) for partitions in ranges)
    assert peak < 1_000_000


@pytest.mark.parametrize(("slots", "tasks", "sizes"), [(16, 4, [4] * 4), (16, 3, [6, 5, 5]), (4, 9, [1] * 4), (1, 1, [1]), (5, 0, [5])])
def test_tasks_own_whole_slots_in_balance(slots: int, tasks: int, sizes: list[int]) -> None:
    dealt = slots_per_task(slots, tasks)
    assert [len(task) for task in dealt] == sizes
    assert sorted(slot for task in dealt for slot in task) == list(range(slots))


def test_what_may_change_within_a_snapshot_leaves_the_fingerprint() -> None:
    plan = make(FLIGHTS)
    same = dataclasses.replace(plan, generation=9, max_batch_bytes=5, settings=make(FLIGHTS, ignite_addresses="x", tasks_max=2).settings)
    assert fingerprint(same) == fingerprint(plan) == fingerprint(TransferPlan.from_json(plan.to_json()))
    assert differences(plan, same) == []


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (make(FLIGHTS, decimal_format="NUMERIC"), "setting decimal_format: 'BASE64' before, 'NUMERIC' now"),
        (make(FLIGHTS, slots=8), "slots: 16 before, 8 now"),
        (make(dataclasses.replace(FLIGHTS, incarnation="i9")), "cache flights incarnation: 'i1' before, 'i9' now"),
        (make(dataclasses.replace(FLIGHTS, topic_partitions=5)), "cache flights topic_partitions: 4 before, 5 now"),
        (make(FLIGHTS, PLANES), "cache planes cache_id: 'not there' before, -5 now"),
        (make(), "cache flights cache_id: 17 before, 'not there' now"),
    ],
)
def test_what_is_fixed_under_a_snapshot_is_named_where_it_differs(other: TransferPlan, difference: str) -> None:
    assert difference in differences(make(FLIGHTS), other)
    assert fingerprint(other) != fingerprint(make(FLIGHTS))


@given(st.permutations([FLIGHTS, PLANES, CachePlan("x", 1, "x", 2, 2)]))
def test_the_order_of_caches_is_nothing(caches: list[CachePlan]) -> None:
    assert fingerprint(make(*caches)) == fingerprint(make(*sorted(caches, key=lambda cache: cache.name)))
