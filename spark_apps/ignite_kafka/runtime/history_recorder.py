"""Recorder of what a run copies in each minute, of its lag and latency, for the charts of the last hours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..common.measurements import Histogram
from ..state.history_records import HistoryPoint, part_of, queue_history
from ..state.status import RunStatus, StatusWriter, now_ms

_MINUTE_MS = 60_000


class HistoryRecorder:
    """Recorder of the history of one run, with a point for each minute in which the run reports.

    :param writer: writer of the run's status, whose next record waits for the points in the status topic, too.
    :param clock: returns the milliseconds since 1970.
    """

    def __init__(self, writer: StatusWriter, clock: Callable[[], int] = now_ms) -> None:
        self._writer = writer
        self._clock = clock
        self._minute = 0
        self._before: tuple[int, int] | None = None
        self._latency = Histogram()
        self._points: tuple[HistoryPoint, ...] = ()

    def record(self, status: RunStatus, lag: int | None, latency: Histogram) -> None:
        """Record the point of a minute with the first status in that minute, and with the last status of the run.

        :param lag: records or changes to copy; None: unknown.
        :param latency: latencies of all changes or records of the run so far.
        """
        minute = self._clock() // _MINUTE_MS
        if minute == self._minute and status.ended_ms is None:
            return
        records = sum(cache.records for cache in status.caches.values())
        skipped = sum(cache.bad for cache in status.caches.values())
        # the first status of a continued snapshot has the counts of earlier runs
        records_before, skipped_before = self._before or (records, skipped)
        # counts fall if a task is repeated, or a cache leaves
        point = HistoryPoint(
            minute,
            max(0, records - records_before),
            max(0, skipped - skipped_before),
            lag,
            _mean_ms(self._latency, latency),
        )
        kept = [kept for kept in self._points if part_of(kept.minute) == part_of(minute)]
        if kept and kept[-1].minute == minute:
            last = kept.pop()
            point = replace(point, records=last.records + point.records, skipped=last.skipped + point.skipped)
        self._points = (*kept, point)
        self._minute = minute
        self._before = (records, skipped)
        self._latency = latency
        queue_history(self._writer, status.connector, status.generation, self._points)


def _mean_ms(before: Histogram, now: Histogram) -> int | None:
    """Return the mean in milliseconds of the durations since an earlier state; None if there is none."""
    count = now.count - before.count
    return None if count <= 0 else max(0, round((now.seconds - before.seconds) * 1000 / count))
