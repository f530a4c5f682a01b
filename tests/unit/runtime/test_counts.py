"""Counts of slots: added up for their task, and to the status of their caches."""

from __future__ import annotations

from ignite_kafka.runtime.counts import add_counts, cap_units, sum_counts
from ignite_kafka.state.status import CacheCount, CacheStatus

FIRST = CacheCount(entries=5, records=4, bytes=40, units=1, started=10.0, ended=12.0, bad=1)
SECOND = CacheCount(entries=2, records=2, bytes=20, units=2, started=9.0, ended=11.0)
IDLE = CacheCount()


def test_counts_of_slots_add_up_by_cache() -> None:
    total = sum_counts([{"a": FIRST, "b": SECOND}, {"a": SECOND}, {"a": IDLE}])
    assert total == {"a": CacheCount(7, 6, 60, 3, 9.0, 12.0, 1), "b": SECOND}


def test_a_status_grows_by_counts_and_takes_the_seconds_from_first_read_to_last_commit() -> None:
    before = {"a": CacheStatus("t", entries=1, records=1, units=8, units_done=1, seconds=0.5), "b": CacheStatus("u")}
    after = add_counts(before, [{"a": FIRST}, {"a": SECOND}])
    assert after["a"] == CacheStatus("t", 8, 7, 60, 8, 4, 3.5, 1)
    assert after["b"] == before["b"]


def test_units_that_are_sent_twice_count_once() -> None:
    found = add_counts({"a": CacheStatus("t", units=2)}, [{"a": CacheCount(units=3)}])
    assert found["a"].units_done == 3  # the end of a snapshot reports it
    assert cap_units(found)["a"].units_done == 2
