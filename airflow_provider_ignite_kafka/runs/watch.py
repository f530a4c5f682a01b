"""Decisions when to stop following a run, from its status records, without input or output."""

from __future__ import annotations

import time
from typing import Protocol

from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from ignite_kafka.common.deadline import Clock, Deadline
from ignite_kafka.state.status import PAUSED, RunStatus

ENDED = "ended"
SILENT = "silent"
NOT_STARTED = "not started"
TIMED_OUT = "timed out"
"""Reasons to stop following a run: its record has an end; it no longer reports; it wrote no record in time; the task
has timed out."""


class Followed(Protocol):
    """Status record of a followed run or comparison, as far as :class:`RunWatch` reads it."""

    @property
    def state(self) -> str:
        """State of the run or comparison, one of :mod:`ignite_kafka.state.status`."""

    @property
    def ended_ms(self) -> int | None:
        """Time of the end, in milliseconds since 1970; None before the end."""


class RunWatch:
    """Decides after each poll whether to go on following a run; a late start or a long silence ends it."""

    def __init__(self, run: FollowedRun, now_ms: int, clock: Clock = time.monotonic) -> None:
        self._silence_s = run.silence_s
        self._clock = clock
        self._start = Deadline.after(max(0.0, run.start_s - (now_ms - run.submitted_ms) / 1000), clock)
        self._silence = Deadline.after(run.silence_s, clock)
        self._last: tuple[Followed, int] | None = None

    def observe(self, status: Followed | None, written_ms: int) -> str | None:
        """Return why to stop following the run, given its newly read status record; None: poll again.

        :param status: the run's record; None: no record yet.
        :param written_ms: time of the record, in milliseconds since 1970.
        """
        if status is None:
            self._silence = Deadline.after(self._silence_s, self._clock)
            return NOT_STARTED if self._start.expired else None
        if status.ended_ms is not None:
            return ENDED
        if (status, written_ms) != self._last or status.state == PAUSED:
            self._last = (status, written_ms)
            self._silence = Deadline.after(self._silence_s, self._clock)
        return self.unanswered()

    def unanswered(self) -> str | None:
        """Return SILENT if there was no news of the run for too long; None: poll again."""
        return SILENT if self._silence.expired else None


def active_try(
    own_runs: str,
    owner_run_id: str,
    status: RunStatus | None,
    written_ms: int,
    now_ms: int,
    silence_s: float,
    *,
    stop_requested: bool,
) -> bool:
    """Return whether a new try may follow the connector's newest run, submitted by an earlier try.

    A run that was asked to stop, or has reported nothing for `silence_s`, is replaced instead.

    :param own_runs: prefix of the run ids of all tries of this task.
    :param owner_run_id: id of the run that has the connector; `status` and `written_ms` are its record and the record's
        time.
    :param stop_requested: whether a task has asked that run to stop.
    """
    if status is None or status.ended_ms is not None or stop_requested or not owner_run_id.startswith(own_runs):
        return False
    return status.state == PAUSED or now_ms - written_ms <= silence_s * 1000
