"""Runs one test again and again beside busy processes, until it fails: ``python -m tools.gate.hunt TEST --times 50 --load 10``.

For tests that docs/flaky.md lists: the first failure is shown whole, with its servers' logs kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tools.servers import left_behind

from . import steps
from .__main__ import prepare, stop_at_signals
from .progress import minutes
from .results import TestResult
from .runner import Runner

_BUSY = "while True: pass"


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep so many processes busy, each with one core if it can have it."""
    started = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def hunt(runner: Runner, tests: Sequence[str], times: int) -> list[TestResult]:
    """Run the tests up to ``times`` times, each run in a process of its own; the failures of the first run that has some."""
    for number in range(1, times + 1):
        failed = [result for result in runner.side_by_side([steps.pytest_step("hunt", tests, 0)]) if result.failed]
        print(
            f"run {number} of {times}: {'failed' if failed or runner.problems else 'passed'} after {minutes(runner.elapsed_s)}",
            flush=True,
        )
        if failed or runner.problems:
            (runner.scratch / left_behind.KEPT).touch()
            return failed
    return []


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 if a run failed, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tools.gate.hunt", description=__doc__)
    parser.add_argument("tests", nargs="+", metavar="TEST")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--load", type=int, default=10, help="busy processes beside it")
    given = parser.parse_args(arguments)
    stop_at_signals()
    runner = prepare([[steps.pytest_step("hunt", given.tests, 0)]])
    runner.limit_s = float("inf")
    try:
        with busy(given.load):
            failed = hunt(runner, given.tests, given.times)
    except KeyboardInterrupt:
        print("\ninterrupted: all processes of the run are ended", file=sys.stderr)
        return 130
    for result in failed:
        print(f"FAILED {result.test}\n{result.text}")
    print(*runner.problems, sep="\n")
    return 1 if failed or runner.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
