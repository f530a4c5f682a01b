"""Notifications about an initial snapshot, made of the counts that its run publishes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...runtime.notifications import INITIAL, Turn
from ...state.status import COMPLETED, STOPPED, CacheStatus, RunStatus

Send = Callable[[str, str, Turn, Mapping[str, object]], None]


class SnapshotNotices:
    """Turns of one initial snapshot; each is sent once, progress each time that the run publishes it.

    :param send: sends a notification: id, aggregate type, turn, additional data.
    """

    def __init__(self, send: Send, snapshot_id: str) -> None:
        self._send = send
        self._id = snapshot_id
        self._done: set[str] = set()
        self._over = False
        self._turn(Turn.STARTED, {})

    def progress(self, caches: Mapping[str, CacheStatus]) -> None:
        """Send the caches that are done since the last call, and the progress of all; nothing after the end."""
        if self._over:
            return
        for name, count in caches.items():
            if name not in self._done and count.units_done >= count.units:
                self._done.add(name)
                details = {"current_collection_in_progress": name, "total_rows_scanned": count.entries}
                self._turn(Turn.CACHE_DONE, details)
        self._turn(Turn.IN_PROGRESS, _counts(caches))

    def complete(self, caches: Mapping[str, CacheStatus]) -> None:
        """Send that every entry is sent; only the first call does."""
        if not self._over:
            self.progress(caches)
            self._over = True
            self._turn(Turn.COMPLETED, _counts(caches))

    def end(self, run: RunStatus) -> None:
        """Send how the run's end leaves a snapshot that is not complete: aborted by a stop, or failed.

        Nothing is sent of a run that a later attempt continues: it has no end.
        """
        if self._over or run.ended_ms is None:
            return
        if run.state == COMPLETED:
            self.complete(run.caches)
            return
        self._over = True
        stopped = run.state == STOPPED
        reason = {} if run.error is None else {"reason": run.error.get("what", "")}
        self._turn(Turn.ABORTED if stopped else Turn.FAILED, {**_counts(run.caches), **reason})

    def _turn(self, turn: Turn, details: Mapping[str, object]) -> None:
        self._send(self._id, INITIAL, turn, details)


def _counts(caches: Mapping[str, CacheStatus]) -> dict[str, object]:
    return {
        "data_collections": ",".join(caches),
        "records": sum(count.records for count in caches.values()),
        "partitions": sum(count.units for count in caches.values()),
        "partitions_done": sum(min(count.units, count.units_done) for count in caches.values()),
    }
