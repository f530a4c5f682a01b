"""Notifications about an initial snapshot: its beginning, progress, caches and end, each once."""

from __future__ import annotations

import pytest

from ignite_kafka.runtime.notifications import Turn
from ignite_kafka.source.snapshot.notices import SnapshotNotices
from ignite_kafka.state.status import CacheStatus, RunStatus

HALF = {"a": CacheStatus("a", 5, 5, units=4, units_done=4), "b": CacheStatus("b", 2, 2, units=4, units_done=1)}
WHOLE = {"a": HALF["a"], "b": CacheStatus("b", 9, 9, units=4, units_done=4)}


def sent() -> tuple[SnapshotNotices, list[str]]:
    turns: list[str] = []

    def send(id: str, aggregate: str, turn: Turn, details: object) -> None:
        assert (id, aggregate) == ("s", "Initial Snapshot")
        assert isinstance(details, dict)
        turns.append(" ".join(map(str, [turn.value, *details.values()])))

    return SnapshotNotices(send, "s"), turns


def test_a_snapshot_begins_goes_on_and_ends() -> None:
    notices, turns = sent()
    notices.progress(HALF)
    notices.progress(HALF)
    notices.complete(WHOLE)
    notices.complete(WHOLE)
    notices.progress(WHOLE)
    notices.end(RunStatus("STOPPED", "c", "r", caches=WHOLE, ended_ms=5))
    assert turns == [
        "STARTED", "CACHE_DONE a 5", "IN_PROGRESS a,b 7 8 5", "IN_PROGRESS a,b 7 8 5",
        "CACHE_DONE b 9", "IN_PROGRESS a,b 14 8 8", "COMPLETED a,b 14 8 8",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "ended_ms", "last"),
    [
        ("COMPLETED", 5, "COMPLETED a,b 7 8 5"),
        ("STOPPED", 5, "ABORTED a,b 7 8 5"),
        ("FAILED", 5, "FAILED a,b 7 8 5 no broker"),
        ("FENCED", 5, "FAILED a,b 7 8 5 no broker"),
        ("RUNNING", None, "IN_PROGRESS a,b 7 8 5"),
    ],
)
def test_how_a_run_leaves_its_snapshot(state: str, ended_ms: int | None, last: str) -> None:
    notices, turns = sent()
    notices.progress(HALF)
    error = {"what": "no broker"} if "no broker" in last else None
    notices.end(RunStatus(state, "c", "r", caches=HALF, ended_ms=ended_ms, error=error))
    assert turns[-1] == last
