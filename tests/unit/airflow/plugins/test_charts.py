"""Charts of the last hours: valid SVG, gaps where no run reported, and the same as a sentence and a table."""

from __future__ import annotations

from xml.etree import ElementTree

from airflow_provider_ignite_kafka.plugins.charts import HourRow, charts, hours
from ignite_kafka.state.history_records import HistoryPoint

NOW = 30_000_000


def points(*values: tuple[int, int, int | None]) -> list[HistoryPoint]:
    return [HistoryPoint(NOW + minute, records, 0, lag, None if lag is None else lag * 100) for minute, records, lag in values]


def lines(drawing: str) -> list[list[tuple[float, float]]]:
    found = [each.get("points", "") for each in ElementTree.fromstring(drawing).iter("polyline")]
    return [[(float(x), float(y)) for x, y in (pair.split(",") for pair in line.split())] for line in found]


def test_nothing_is_drawn_without_points() -> None:
    assert charts([], NOW) == []


def test_the_newest_value_is_at_the_right_and_the_highest_at_the_top() -> None:
    [records, lag, latency] = charts(points((-360, 0, 9), (-1, 100, 3), (0, 50, 0)), NOW)
    assert lines(records.drawing) == [[(-2.0, 120.0), (0.0, 120.0)], [(718.0, 14.0), (720.0, 67.0)]]
    assert records.summary == "Records in each minute: now 50, highest of the last 6 hours 100, 1 minutes ago."
    assert ElementTree.fromstring(lag.drawing).get("aria-label") == lag.summary
    assert latency.summary == "Mean latency, in ms: now 0, highest of the last 6 hours 900, 360 minutes ago."


def test_a_lag_that_is_unknown_has_no_chart() -> None:
    assert [chart.title for chart in charts(points((0, 5, None)), NOW)] == ["Records in each minute"]


def test_a_line_ends_where_no_run_reported() -> None:
    [records] = charts(points((-30, 5, None), (-29, 5, None), (-20, 5, None), (-17, 5, None)), NOW)
    assert [len(line) for line in lines(records.drawing)] == [2, 2]


def test_values_of_zero_are_drawn_at_the_bottom() -> None:
    [records] = charts(points((-1, 0, None), (0, 0, None)), NOW)
    assert lines(records.drawing) == [[(718.0, 120.0), (720.0, 120.0)]]


def test_an_hour_has_its_sums_and_its_highest_lag() -> None:
    begin = NOW // 60 * 60 - NOW
    assert hours(points((begin - 1, 4, None), (begin, 5, 2), (begin + 1, 6, 7))) == [
        HourRow((NOW + begin) * 60_000, 11, 0, 7, 700),
        HourRow((NOW + begin - 60) * 60_000, 4, 0, None, None),
    ]
