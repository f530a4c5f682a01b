"""The table of a run's counts."""

from __future__ import annotations

from ignite_kafka.cli.views import run_table
from ignite_kafka.state.status import COMPLETED, CacheStatus, RunStatus


def shown(cache: CacheStatus) -> list[list[str]]:
    table = run_table(RunStatus(COMPLETED, "c", "r", caches={"trades": cache}))
    return [line.split() for line in table.splitlines()]


def test_counts_of_bad_and_filtered_entries_are_shown_where_there_are_some() -> None:
    plain, *_ = shown(CacheStatus("t", 5, 5, 100, 1, 1))
    assert plain == ["cache", "topic", "entries", "records", "bytes", "units"]
    head, *rows = shown(CacheStatus("t", 5, 5, 100, 1, 1, filtered=7))
    assert head == [*plain, "filtered"]
    assert ["trades", "t", "5", "5", "100", "1", "7"] in rows
    assert shown(CacheStatus("t", 5, 5, 100, 1, 1, bad=2, filtered=7))[0] == [*plain, "bad", "filtered"]
