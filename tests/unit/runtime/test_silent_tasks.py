"""Tasks that run and are not heard of, on a clock of the test."""

from __future__ import annotations

import pytest

from ignite_kafka.errors import TaskFailed
from ignite_kafka.runtime.silent_tasks import SilenceWatch

LONGEST_S = 300.0


class Run:
    """A run of two tasks, which is checked each second."""

    def __init__(self) -> None:
        self.now_s, self.heard = 1_000.0, {0: 1_000.0, 1: 1_000.0}
        self._watch = SilenceWatch(1_000, LONGEST_S, lambda: self.now_s)

    def goes_on(self, seconds: int, *reporting: int, running: int = 2) -> None:
        for _ in range(seconds):
            self.now_s += 1
            self.heard |= dict.fromkeys(reporting, self.now_s)
            self._watch.check(running, self.heard.values())


def test_tasks_that_report_are_never_silent() -> None:
    Run().goes_on(3_600, 0, 1)


def test_a_task_that_is_silent_too_long_ends_the_run_while_the_other_reports() -> None:
    run = Run()
    with pytest.raises(TaskFailed, match="1 of 2 Spark tasks have neither reported nor ended for 300 s"):
        run.goes_on(3_600, 0)
    assert run.now_s < 1_000 + LONGEST_S + 70


def test_a_task_that_reports_again_in_time_is_forgiven() -> None:
    run = Run()
    for _ in range(10):
        run.goes_on(350, 0)
        run.goes_on(1, 0, 1)


def test_tasks_that_have_ended_or_wait_for_a_core_are_not_silent() -> None:
    run = Run()
    run.goes_on(3_600, running=0)
    run.goes_on(3_600, 1, running=1)
