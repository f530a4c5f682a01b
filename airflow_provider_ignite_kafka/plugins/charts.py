"""Charts of a connector's last hours, as SVG elements in the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from airflow_provider_ignite_kafka.plugins.html import number
from ignite_kafka.state.history_records import HOURS, HistoryPoint

_WIDTH = 720
_HEIGHT = 120
_TOP = 14  # room for the text of the highest value
_SPAN = HOURS * 60
_MOST_GAP = 3  # minutes without a point after which a line ends


@dataclass(frozen=True)
class Chart:
    """A chart of one value over the last hours.

    :param title: name of the value, with its unit.
    :param summary: newest and highest value as a sentence, for readers who do not see the drawing.
    :param drawing: the SVG element.
    """

    title: str
    summary: str
    drawing: Markup


@dataclass(frozen=True)
class HourRow:
    """Values of one hour, for the table under the charts.

    :param begin_ms: begin of the hour, in milliseconds since 1970.
    :param highest_lag: highest lag; None: unknown.
    :param highest_latency_ms: highest mean latency of a minute, in milliseconds; None: unknown.
    """

    begin_ms: int
    records: int
    skipped: int
    highest_lag: int | None
    highest_latency_ms: int | None


def charts(points: Sequence[HistoryPoint], now_minute: int) -> list[Chart]:
    """Return a chart of the records in each minute, and of the lag and the latency if they are known of any minute.

    :param points: points of the last hours, oldest first.
    :param now_minute: present minute since 1970.
    """
    values: Mapping[str, Callable[[HistoryPoint], int | None]] = {
        "Records in each minute": lambda point: point.records,
        "Lag, in records or changes": lambda point: point.lag,
        "Mean latency, in ms": lambda point: point.latency_ms,
    }
    return [
        _chart(title, points, now_minute, value_of)
        for title, value_of in values.items()
        if any(value_of(point) is not None for point in points)
    ]


def hours(points: Sequence[HistoryPoint]) -> list[HourRow]:
    """Return the sums of each hour with a point, newest first."""
    by_hour: dict[int, list[HistoryPoint]] = {}
    for point in points:
        by_hour.setdefault(point.minute // 60, []).append(point)
    return [_hour_row(hour, by_hour[hour]) for hour in sorted(by_hour, reverse=True)]


def _hour_row(hour: int, points: Sequence[HistoryPoint]) -> HourRow:
    lags = [point.lag for point in points if point.lag is not None]
    latencies = [point.latency_ms for point in points if point.latency_ms is not None]
    return HourRow(
        hour * 3_600_000,
        sum(point.records for point in points),
        sum(point.skipped for point in points),
        max(lags, default=None),
        max(latencies, default=None),
    )


def _chart(
    title: str, points: Sequence[HistoryPoint], now_minute: int, value_of: Callable[[HistoryPoint], int | None]
) -> Chart:
    values = [(point.minute, value) for point in points if (value := value_of(point)) is not None]
    highest_at, highest = max(values, key=lambda each: each[1], default=(now_minute, 0))
    newest = values[-1][1] if values else None
    ago = now_minute - highest_at
    summary = f"{title}: now {number(newest)}, highest of the last {HOURS} hours {number(highest)}, {ago} minutes ago."
    parts = [
        Markup('<svg class="chart" viewBox="0 0 {w} {h}" role="img" aria-label="{s}"><title>{s}</title>').format(
            w=_WIDTH, h=_HEIGHT + 16, s=summary
        ),
        *_grid(highest),
        *(
            Markup('<polyline class="line" points="{}"/>').format(
                " ".join(_place(*each, now_minute, highest) for each in line)
            )
            for line in _lines(values)
        ),
        Markup("</svg>"),
    ]
    return Chart(title, summary, Markup("").join(parts))


def _grid(highest: int) -> Iterator[Markup]:
    for hour in range(HOURS + 1):
        x = _WIDTH * hour / HOURS
        left = HOURS - hour
        anchor = "start" if hour == 0 else "end" if left == 0 else "middle"
        text = f"−{left} h" if left else "now"
        yield Markup('<line class="grid" x1="{x}" x2="{x}" y1="{top}" y2="{h}"/>').format(
            x=f"{x:g}", top=_TOP, h=_HEIGHT
        )
        yield Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(f"{x:g}", _HEIGHT + 13, anchor, text)
    yield Markup('<line class="grid" x1="0" x2="{}" y1="{y}" y2="{y}"/>').format(_WIDTH, y=_HEIGHT)
    yield Markup('<text x="2" y="10">{}</text>').format(number(highest))


def _lines(values: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the values in lines without gaps; a single value becomes a line of one minute."""
    line: list[tuple[int, int]] = []
    for minute, value in values:
        if line and minute - line[-1][0] > _MOST_GAP:
            yield _drawable(line)
            line = []
        line.append((minute, value))
    if line:
        yield _drawable(line)


def _drawable(line: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return line if len(line) > 1 else [(line[0][0] - 1, line[0][1]), line[0]]


def _place(minute: int, value: int, now_minute: int, highest: int) -> str:
    x = _WIDTH * (1 - (now_minute - minute) / _SPAN)
    y = _HEIGHT - (_HEIGHT - _TOP) * (value / highest if highest else 0)
    return f"{x:.1f},{y:.1f}"
