"""Records of the last hours of a connector in the status topic: what it copied in each minute, lag and latency.

====================================================== ================================================================
key (JSON)                                             value (JSON)
====================================================== ================================================================
``["history","<connector>",<part>,<generation % 4>]``  ``{"points": [[minute, records, skipped, lag, latency], …]}``
====================================================== ================================================================

A part has ten minutes. After six hours its key is used again, so that compaction bounds the history to some kilobytes
for each connector. The generation in the key keeps a run's points when a later run begins within the same ten minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Annotated, Any, TypeAlias

from ..common.typed_json import Range, dumps, read_as
from .internal_records import InternalRecord
from .status import StatusWriter, parsed_record

KIND = "history"
HOURS = 6
"""Length of the history."""
_PART_MINUTES = 10
_PARTS = HOURS * 60 // _PART_MINUTES
_GENERATIONS = 4
_Count: TypeAlias = Annotated[int, Range(0, (1 << 63) - 1)]
_Point: TypeAlias = tuple[_Count, _Count, _Count, _Count | None, _Count | None]


@dataclass(frozen=True)
class HistoryPoint:
    """A minute of a connector.

    :param minute: begin of the minute, in minutes since 1970.
    :param records: records copied since the point before.
    :param skipped: entries or records that could not be copied, since the point before.
    :param lag: records or changes to copy at the end; None: unknown.
    :param latency_ms: mean latency of the changes or records since the point before, in milliseconds; None: of none.
    """

    minute: int
    records: int
    skipped: int
    lag: int | None
    latency_ms: int | None = None


@dataclass(frozen=True)
class _Part:
    """Value of a record: points of at most ten minutes."""

    points: tuple[_Point, ...]


def queue_history(writer: StatusWriter, connector: str, generation: int, points: Sequence[HistoryPoint]) -> None:
    """Write the points of one part; the writer's next record waits for the broker's confirmation of them, too.

    :param points: all points of the part, oldest first; at least one.
    """
    key = [KIND, connector, part_of(points[-1].minute) % _PARTS, generation % _GENERATIONS]
    value = _Part(tuple(map(astuple, points)))
    writer.queue(key, dumps(asdict(value)))


def part_of(minute: int) -> int:
    """Return the number of the part that has a minute since 1970."""
    return minute // _PART_MINUTES


def key_of_history(record: InternalRecord) -> tuple[int, int] | None:
    """Return part and generation in the key of a history record; None for any other record."""
    match record.kind, record.rest:
        case "history", (int(part), int(generation)):
            return part, generation
    return None


def history_of(records: Iterable[InternalRecord], now_minute: int) -> list[HistoryPoint]:
    """Return the points of the last hours in a connector's records, oldest first; one for each minute."""
    points: dict[int, HistoryPoint] = {}
    for record in records:
        part = parsed_record(record, _part_from_dict, "it is no history of a connector")
        for point in () if part is None else part.points[:_PART_MINUTES]:
            if now_minute - HOURS * 60 < point[0] <= now_minute:
                before = points.get(point[0], HistoryPoint(point[0], 0, 0, None))
                points[point[0]] = _added(before, HistoryPoint(*point))
    return [points[minute] for minute in sorted(points)]


def _part_from_dict(value: Mapping[str, Any]) -> _Part:
    return read_as(_Part, value)


def _added(first: HistoryPoint, second: HistoryPoint) -> HistoryPoint:
    """Return the point of a minute in which one run ended and another began."""
    lag = first.lag if second.lag is None else second.lag
    latency_ms = first.latency_ms if second.latency_ms is None else second.latency_ms
    return HistoryPoint(first.minute, first.records + second.records, first.skipped + second.skipped, lag, latency_ms)
