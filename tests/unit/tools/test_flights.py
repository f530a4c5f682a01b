"""The tables as they come from the package: counts, nulls and moments."""

from __future__ import annotations

from datetime import datetime

import pytest

from tools.flights import TABLES

BY_NAME = {table.name: table for table in TABLES}


@pytest.mark.parametrize(
    ("name", "rows", "nulls"),
    [("airlines", 16, {}), ("airports", 1458, {"tzone": 3}), ("planes", 3322, {"year": 70}), ("weather", 26115, {"pressure": 2729})],
)
def test_rows_and_nulls_of_the_small_tables(name: str, rows: int, nulls: dict[str, int]) -> None:
    columns = next(BY_NAME[name].batches(50_000))
    assert len(columns["row"]) == rows
    assert {column: columns[column].null_count for column in nulls} == nulls


def test_all_flights_are_there() -> None:
    batches = list(BY_NAME["flights"].batches(100_000))
    assert [len(batch["row"]) for batch in batches] == [100_000, 100_000, 100_000, 36_776]
    assert sum(batch["dep_time"].null_count for batch in batches) == 8255
    assert sum(batch["tailnum"].null_count for batch in batches) == 2512
    first = batches[0].slice(0, 1).to_pylist()[0]
    assert first["time_hour"] == datetime(2013, 1, 1, 10)
    assert (first["carrier"], first["flight"], first["dep_delay"]) == ("UA", 1545, 2)
