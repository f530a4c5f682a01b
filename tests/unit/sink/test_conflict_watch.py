"""Refused writes: events and the metric count what is new since the run began, also when a node restarts."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ignite_kafka import events
from ignite_kafka.errors import IgniteUnreachable
from ignite_kafka.ignite.active_active import VersionCounts
from ignite_kafka.sink.conflict_watch import ConflictWatch
from tests.support import emitted_events

LOST = IgniteUnreachable("no node answers")


def watched(monkeypatch: pytest.MonkeyPatch, *answers: VersionCounts | Exception, shows_keys: bool = True) -> list[Any]:
    """Results of looks at nodes that give these answers."""
    given = iter(answers)

    def read(_: object, cache: str) -> VersionCounts:
        assert cache == "staff"
        answer = next(given)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("ignite_kafka.sink.conflict_watch.read_counts", read)
    watch = ConflictWatch(cast(Any, None), shows_keys=shows_keys)
    return [watch.look(["staff"]) for _ in answers]


def test_only_what_is_counted_after_the_first_look_is_reported(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    emitted_events.reset()
    looks = watched(
        monkeypatch,
        VersionCounts(100, 10),
        VersionCounts(103, 11, ("7", "8")),
        VersionCounts(103, 11, ("7", "8")),
        LOST,
        VersionCounts(2, 0),  # a node that had counted the others left
        VersionCounts(3, 0),
        VersionCounts(3, 0, dropped=6),
    )
    counts = ((0, 0), (4, 0), (4, 0), (4, 0), (4, 0), (5, 0), (5, 6))
    assert looks == [({"staff": refused}, {"staff": forgotten}) for refused, forgotten in counts]
    assert emitted_events.counts() == {events.CONFLICT_DECIDED.id: 2, events.REMOVALS_FORGOTTEN.id: 1}
    assert "versions of 6 removed keys of cache staff" in caplog.text
    assert "4 writes of cache staff" in caplog.text
    assert "3 of other clusters, 1 of this one; keys of the last ones: 7, 8" in caplog.text


def test_keys_are_hidden_where_values_are(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    watched(monkeypatch, VersionCounts(), VersionCounts(1, 0, ("secret-key",)), shows_keys=False)
    assert "1 writes of cache staff" in caplog.text
    assert "secret-key" not in caplog.text
