"""What is shown of a backlog, and which units a resend means; calls of the service are in tests/integration/admin/test_target_state.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ignite_kafka.admin.backlog import BacklogView, CacheCapture, Cleaned, Resend, UnitBacklog, _asked, _units
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.backlog_service import UNIT, UnitStates

KNOWN: dict[str, Any] = {"caches": ["trades", "gone"], "incarnation.trades": 7, "partitions.trades": 4, "captureId": 9}


def test_units_of_a_resend() -> None:
    units = _asked("c", KNOWN, "trades", None)
    assert units.dtype == UNIT
    assert units.tolist() == [(protocol.cache_id("trades"), partition, 7) for partition in range(4)]
    assert _asked("c", KNOWN, "trades", 3).tolist() == [(protocol.cache_id("trades"), 3, 7)]


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
        _asked("c", KNOWN, cache, partition)
    assert refused.value.remedy == told
    assert f"cache {cache}" in str(refused.value)


def test_units_are_named_and_sorted() -> None:
    rows = [(protocol.cache_id("trades"), 2, 7), (5, 0, 3), (protocol.cache_id("trades"), 1, 7)]
    number = np.array([10, -1, 3])
    marks = np.array([16, 8, 3], np.int32)
    states = UnitStates(np.array(rows, UNIT), number, number + 5, number * 2, number * 100, number, marks)
    assert _units(states, {protocol.cache_id("trades"): "trades"}) == (
        UnitBacklog("cache id 5", 0, 3, -2, -100, -1, 4, ("gone",)),
        UnitBacklog("trades", 1, 7, 6, 300, 3, 8, ("given up", "missed")),
        UnitBacklog("trades", 2, 7, 20, 1_000, 10, 15, ("asked",)),
    )


def test_a_backlog_as_text() -> None:
    units = tuple(UnitBacklog("trades", partition, 7, 2, 100, 1, 5, ("lost",) if partition == 3 else ()) for partition in range(60))
    text = BacklogView("c", 9, 2, (CacheCapture("trades", 7, 60), CacheCapture("gone", None, 0)), ("n entries=1",), units).text()
    assert "connector c, capture 9, registered by 2 nodes\nnode n entries=1\n" in text
    assert "120 changes of 6,000 bytes in 60 units, 1 marked" in text
    assert text.endswith("... and 10 units more: --json shows all")
    assert BacklogView("c", 9, 2, (), (), ()).text().endswith("0 changes of 0 bytes in 0 units, 0 marked")


def test_what_was_done_as_text() -> None:
    assert Cleaned("c", "s-c", "b-c").text() == "connector c: removed service s-c and cache b-c"
    assert Cleaned("c", "s-c", None).text() == "connector c: removed service s-c"
    assert Cleaned("c", None, None).text() == "connector c: there was no backlog"
    assert Resend("c", "trades", (3,)).text().startswith("cache trades: partition 3 will be sent again by connector c")
    assert Resend("c", "trades", tuple(range(4))).text().startswith("cache trades: 4 partitions will be sent again")
