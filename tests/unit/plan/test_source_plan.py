"""Plans of a source: JSON both ways, fields of other versions."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
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


@pytest.mark.parametrize(
    "change",
    [
        {"caches": [{"name": "x"}]},
        {"settings": {"name": "c", "unknown": 1}},
        {"caches": 1},
        {"slots": "4"},
        {"slots": [4]},
        {"slots": 0},
        {"slots": 10**9},
        {"generation": 1.5},
        {"snapshot_id": 7},
        {"connector": None},
        {"capture_id": "x"},
        {"max_batch_bytes": True},
    ],
)
def test_a_plan_of_another_version_is_an_error(change: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        TransferPlan.from_dict({**make(FLIGHTS).to_dict(), **change})


def test_a_plan_has_no_place_for_a_secret() -> None:
    names = set(make(FLIGHTS).to_dict()) | set(make(FLIGHTS).settings.to_dict()) | {field.name for field in dataclasses.fields(CachePlan)}
    assert not [name for name in names if "password" in name or "secret" in name]
