"""Signals of a stream in its driver: ad-hoc snapshots one after the other, in the order of their requests.

An epoch has at most one signal, and its tasks report their progress. A signal that is paused keeps its place: a unit's
offset names the last signal alone, so another one in between would have it sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...runtime.notifications import Turn
from ...state.signal_records import (
    ABORTED,
    COMPLETED,
    FAILED,
    MOST_ERROR,
    PAUSED,
    RUNNING,
    STOPPED,
    Signal,
    SignalReport,
    SignalStatus,
    sum_reports,
)
from ...state.signals import ForgottenEnds, SignalFold
from ...state.status import now_ms
from .signal_notices import Notify

End = Callable[[SignalStatus, ForgottenEnds], None]
"""Function that records a signal's end, and removes the ends in its second argument."""


class SignalQueue:
    """Signals of one connector: which of them the tasks send now, its progress and its end.

    :param fold: the connector's signals, which its owner keeps current.
    :param before: progress by id that earlier runs have recorded.
    :param check: returns why a signal cannot be done; empty: it can.
    :param notify: called at each turn in a signal's life.
    """

    def __init__(
        self,
        fold: SignalFold,
        run_id: str,
        before: Mapping[str, SignalStatus],
        check: Callable[[Signal], str],
        end: End,
        notify: Notify,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._fold = fold
        self._run_id = run_id
        self._before = before
        self._check = check
        self._end = end
        self._notify = notify
        self._clock_ms = clock_ms
        self._faults: dict[str, str] = {}
        self.current: SignalStatus | None = None
        """Progress of the signal that was taken up last, or its end; None before the first."""

    def forget_checks(self) -> None:
        """Check the signals once more before they are taken up, because the plan has changed."""
        self._faults.clear()

    def first(self) -> Signal | None:
        """Return the signal that the tasks shall send; None if there is none, or if the first one is paused.

        Signals that shall not or cannot be done are ended.
        """
        for signal in self._fold.waiting:
            target = self._fold.targets.get(signal.id, RUNNING)
            if target == STOPPED:
                self._finish(self._status(signal), ABORTED)
            elif fault := self._fault(signal):
                self._finish(self._status(signal), FAILED, fault)
            elif target == PAUSED:
                self._pause(signal)
                return None
            else:
                return signal
        return None

    def take(self) -> Signal | None:
        """Return the signal for the next epoch, and note its beginning; None as in :meth:`first`."""
        signal = self.first()
        if signal is None:
            return None
        status = self._status(signal)
        if self.current is None or self.current.id != signal.id or status.state == PAUSED:
            turn = Turn.RESUMED if status.started_ms else Turn.STARTED
            started_ms = status.started_ms or self._clock_ms()
            self.current = self._now(status, state=RUNNING, started_ms=started_ms, run_id=self._run_id)
            self._notify(turn, signal, self.current, "")
        return signal

    def differs(self, running: Signal | None) -> bool:
        """Return whether the tasks shall stop what they send for a signal, or begin another one.

        :param running: the signal of the running epoch. Tasks that have completed it send nothing more of it.
        """
        first = self.first()
        end = None if running is None else self._fold.ends.get(running.id)
        busy = running is not None and (end is None or end.state != COMPLETED)
        return (running.id if running is not None and busy else None) != (None if first is None else first.id)

    def add(self, reports: Sequence[SignalReport], of: int) -> None:
        """Add the newest reports of an epoch's tasks; they may complete the signal, or end it as failed.

        :param of: number of tasks.
        """
        current = self.current
        if current is None or current.ended or current.id not in self._fold.requests:
            return
        own = [report for report in reports if report.id == current.id]
        error = next((report.error for report in own if report.error), "")
        if error:
            self._finish(current, FAILED, error)
        elif own and len(own) == of:
            caches = sum_reports(own)
            before = current.caches
            self.current = current = self._now(current, caches=caches)
            for name, count in caches.items():
                done_before = name in before and before[name].units <= before[name].units_done
                if count.units <= count.units_done and not done_before:
                    self._notify(Turn.CACHE_DONE, self._fold.requests[current.id], current, name)
            if all(report.done for report in own):
                self._finish(current, COMPLETED)

    def report_progress(self) -> None:
        """Notify of the progress of the running signal, if there is one."""
        if self.current is not None and self.current.state == RUNNING and self.current.id in self._fold.requests:
            self._notify(Turn.IN_PROGRESS, self._fold.requests[self.current.id], self.current, "")

    def _status(self, signal: Signal) -> SignalStatus:
        if self.current is not None and self.current.id == signal.id:
            return self.current
        return self._before.get(signal.id, SignalStatus(signal.id, RUNNING))

    def _now(self, status: SignalStatus, **fields: object) -> SignalStatus:
        return status.changed(at_ms=self._clock_ms(), **fields)

    def _fault(self, signal: Signal) -> str:
        if signal.id not in self._faults:
            self._faults[signal.id] = self._check(signal)
        return self._faults[signal.id]

    def _pause(self, signal: Signal) -> None:
        status = self._status(signal)
        if status.state == RUNNING and status.started_ms:
            self.current = self._now(status, state=PAUSED)
            self._notify(Turn.PAUSED, signal, self.current, "")

    def _finish(self, status: SignalStatus, state: str, error: str = "") -> None:
        signal = self._fold.requests[status.id]
        ended = self._now(status, state=state, error=error[:MOST_ERROR], run_id=self._run_id)
        self._end(ended, self._fold.forget_ends(1))
        self._fold.ends[status.id] = ended
        if self.current is None or self.current.id == status.id:
            self.current = ended
        self._notify(Turn(state), signal, ended, "")
