"""A sink's task in a process of its own, which stops itself (SIGSTOP) between the read and the put of its first records.

Run as a program, it reads its plan from stdin, works on all slots, and prints the type of the error that ended it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from ignite_kafka.plan.sink_plan import SinkPlan
from ignite_kafka.runtime.epoch import Epoch
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.sink.entry_router import EntryRouter
from ignite_kafka.sink.ownership import MIN_CONFIRMED_S
from ignite_kafka.sink.task import sink_slots
from tests.support.waiting import REQUEST_S, wait_until

_LATE_EPOCH = 1_000  # after those of the run whose generation the task has


class StoppedTask:
    """The task while it stands still."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._since_s = time.monotonic()

    def wake(self) -> str:
        """Let the task continue, once Kafka's last answer to it is too old; return the type of its error."""
        wait_until(lambda: time.monotonic() - self._since_s > MIN_CONFIRMED_S, "a long sleep")
        self._process.send_signal(signal.SIGCONT)
        told, _ = self._process.communicate(timeout=10 * REQUEST_S)
        return told.strip()


@contextmanager
def stopped_task(plan: SinkPlan) -> Iterator[StoppedTask]:
    """Start a task of a plan, and wait until it stands between a read and a put."""
    command = [sys.executable, "-m", "tests.support.stopped_task"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(plan.to_json())
            process.stdin.close()
            process.stdin = None
            started = psutil.Process(process.pid)

            def stopped() -> bool:
                assert process.poll() is None, f"the task ended with {process.returncode}"
                return started.status() == psutil.STATUS_STOPPED

            wait_until(stopped, "a task between read and put")
            yield StoppedTask(process)
        finally:
            process.kill()


def main() -> None:
    """Run the task of the plan on stdin."""
    plan = SinkPlan.from_json(sys.stdin.read())
    route = EntryRouter.route

    def route_late(router: EntryRouter, consumed: object) -> object:
        EntryRouter.route = route  # type: ignore[method-assign]
        os.kill(os.getpid(), signal.SIGSTOP)
        return route(router, consumed)  # type: ignore[arg-type]

    EntryRouter.route = route_late  # type: ignore[assignment, method-assign]
    results = list(sink_slots(plan, Secrets(), range(plan.slots), 0, Epoch(_LATE_EPOCH, 0, seconds=600.0)))
    print(type(results[0].error).__name__)


if __name__ == "__main__":
    main()
