"""What is shown of a backlog, and which units a resend means; calls of the service are in tests/integration/admin/test_backlog.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ignite_kafka.admin.backlog import UnitBacklog, _list_units, _select_units
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.backlog_units import UNIT, UnitStates

KNOWN: dict[str, Any] = {"caches": ["trades", "gone"], "incarnation.trades": 7, "partitions.trades": 4, "captureId": 9}


def test_units_of_a_resend() -> None:
    units = _select_units("c", KNOWN, "trades", None)
    assert units.dtype == UNIT
    assert units.tolist() == [(protocol.cache_id("trades"), partition, 7) for partition in range(4)]
    assert _select_units("c", KNOWN, "trades", 3).tolist() == [(protocol.cache_id("trades"), 3, 7)]


@pytest.mark.parametrize(
    ("cache", "partition", "told"),
    [
        ("trade", None, "Did you mean trades? It captures trades."),
        ("flights", None, "It captures trades."),
        ("gone", 0, "It captures trades."),
        ("trades", 4, "It has 0 to 3."),
    ],
)
def test_what_cannot_be_sent_again(cache: str, partition: int | None, told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        _select_units("c", KNOWN, cache, partition)
    assert refused.value.remedy == told
    assert f"cache {cache}" in str(refused.value)


def test_units_are_named_and_sorted() -> None:
    rows = [(protocol.cache_id("trades"), 2, 7), (5, 0, 3), (protocol.cache_id("trades"), 1, 7)]
    number = np.array([10, -1, 3])
    marks = np.array([16, 8, 3], np.int32)
    states = UnitStates(np.array(rows, UNIT), number, number + 5, number * 2, number * 100, number, marks)
    assert _list_units(states, {protocol.cache_id("trades"): "trades"}) == (
        UnitBacklog("cache id 5", 0, 3, -2, -100, -1, 4, ("gone",)),
        UnitBacklog("trades", 1, 7, 6, 300, 3, 8, ("given up", "missed")),
        UnitBacklog("trades", 2, 7, 20, 1_000, 10, 15, ("asked",)),
    )
