"""Signals as data: what may be requested, and how progress is summed and estimated."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka.state.signal_records import (
    MOST_CACHES,
    MOST_KEYS,
    MOST_WHERE,
    CacheSelection,
    Signal,
    SignalCount,
    SignalReport,
    SignalStatus,
    fault_of,
    sum_reports,
)


def signal(*selections: CacheSelection, id: str = "one") -> Signal:
    return Signal(id, selections or (CacheSelection("a"),), 5, "test")


def test_a_signal_travels_as_json() -> None:
    sent = signal(CacheSelection("a", "x > 1", ("1", '"ü"'), (0, 3)), CacheSelection("b"))
    assert fault_of(sent) == ""
    assert Signal.from_dict(json.loads(sent.to_json())) == sent


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (signal(id=""), "the id of a signal"),
        (signal(id="a/b"), "the id of a signal"),
        (signal(id="x" * 101), "the id of a signal"),
        (Signal("one", ()), "about 1 to 1,000 caches"),
        (signal(*(CacheSelection(f"c{number}") for number in range(MOST_CACHES + 1))), "about 1 to 1,000 caches"),
        (signal(CacheSelection("a"), CacheSelection("a", "x > 1")), "names each cache once"),
        (signal(CacheSelection("a", "x" * (MOST_WHERE + 1))), "more than 10,000 characters"),
        (signal(CacheSelection("a", keys=("1",) * (MOST_KEYS + 1))), "at most 10,000 keys"),
        (signal(CacheSelection("a", keys=("x" * 600_000,))), "at most 500,000 bytes"),
    ],
)
def test_what_a_signal_may_not_be(wrong: Signal, why: str) -> None:
    assert why in fault_of(wrong)
    with pytest.raises(ValueError, match=why):
        Signal.from_dict(json.loads(wrong.to_json()))


@pytest.mark.parametrize(
    "value", [{}, {"id": "a"}, {"id": "a", "caches": "b"}, {"id": "a", "caches": [{"cache": "b", "partitions": [-1]}]}]
)
def test_other_forms_are_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"missing|array|integer"):
        Signal.from_dict(value)


def test_reports_are_summed_by_cache() -> None:
    one = SignalReport("s", {"a": SignalCount(2, 2, 10), "b": SignalCount(1, 0, 0)})
    two = SignalReport("s", {"a": SignalCount(2, 1, 5)})
    assert sum_reports([one, two]) == {"a": SignalCount(4, 3, 15), "b": SignalCount(1, 0, 0)}
    assert (one.done, two.done, SignalReport("s").done) == (False, False, True)
    assert not SignalReport("s", error="wrong").done


def test_the_time_left_follows_from_the_partitions_that_are_done() -> None:
    status = SignalStatus("s", "RUNNING", 1_000, 11_000, {"a": SignalCount(40, 10, 7)})
    assert status.left_s() == 30.0
    assert status.changed(state="PAUSED").left_s() is None
    assert status.changed(caches={}).left_s() is None
    assert SignalStatus.from_dict(json.loads(status.to_json())) == status
    assert [status.changed(state=state).ended for state in ("RUNNING", "PAUSED", "COMPLETED", "ABORTED", "FAILED")] == [False] * 2 + [
        True
    ] * 3
