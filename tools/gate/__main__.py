"""Run the tests: ``python -m tools.gate [--quick | --long | PATH ...]``.

Without arguments all tests but the long ones run, with coverage and the oldest set of versions. A failed test of real servers is run once
more at the end, alone; what passes then is named FLAKY. Unit tests, crashes, and more than three failures are not tried
again.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from tools.servers import left_behind
from tools.servers.jars import CHECKOUT

from . import steps
from .memory import PeakMemory
from .progress import minutes
from .report import last_screen
from .results import TestResult, judge, to_try_again
from .runner import FOLDER, MARK, Runner, TimeIsOver

Plan: TypeAlias = Sequence[Sequence[steps.Step]]
_LIMIT_S = 85 * 60.0  # CI ends a run after 90 minutes, without a word of what was running


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 if the run fails, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.gate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tests", nargs="*", metavar="PATH", help="files, folders or names of tests; default: all")
    parser.add_argument("--quick", action="store_true", help="the unit tests and the main ways on real servers")
    parser.add_argument("--long", action="store_true", help="the long tests: further cases of what others see")
    parser.add_argument(
        "--workers", type=int, default=2, help="processes that run tests side by side; 0: none beside one"
    )
    parser.add_argument(
        "--write-durations", action="store_true", help="write how long each file of tests took, for the next runs"
    )
    given = parser.parse_args(arguments)
    chosen = steps.QUICK if given.quick else tuple(given.tests)
    if given.long:
        plan = [[steps.long_step(given.workers)]]
    elif chosen:
        plan = [[steps.pytest_step("tests", chosen, given.workers)]]
    else:
        plan = steps.all_steps(given.workers)
    stop_at_signals()
    try:
        return run(plan, prepare(plan, FOLDER, CHECKOUT), given.write_durations)
    except KeyboardInterrupt:
        print("\ninterrupted: all processes of the run are ended", file=sys.stderr)
        return 130


def run(plan: Plan, runner: Runner, write_durations: bool = False) -> int:
    """Run the steps and the second tries, and print the last screen; 1 if the run fails."""
    print(
        f"about {minutes(runner.expected_s)} minutes on two quiet cores; logs: {steps.relative(runner.folder)}",
        flush=True,
    )
    memory = PeakMemory(MARK, runner.run).start()
    try:
        first, second = _all_tries(runner, plan)
    finally:
        peak = memory.stop()
    runner.end_left_over()
    verdict = judge(first, second, runner.problems)
    if not verdict.passed:
        (runner.scratch / left_behind.KEPT).touch()  # the servers' logs, which errors name
    elif write_durations:
        steps.write_durations(runner.seconds)
    print(last_screen(verdict, first, runner.logs, runner.elapsed_s, peak), flush=True)
    return 0 if verdict.passed else 1


def prepare(plan: Plan, folder: Path = FOLDER, checkout: Path = CHECKOUT) -> Runner:
    """Return a runner with an empty folder for temporary files, which is removed when this process ends, however it ends."""
    durations = steps.expected_by_file()
    expected_s = sum(max(steps.expected_seconds(step, durations) for step in group) for group in plan)
    shutil.rmtree(folder / "tmp", ignore_errors=True)
    (folder / "tmp").mkdir(parents=True)
    return Runner(left_behind.watch(MARK, folder / "tmp"), expected_s, _LIMIT_S, folder, checkout)


def _all_tries(runner: Runner, plan: Plan) -> tuple[list[TestResult], list[TestResult]]:
    first: list[TestResult] = []
    second: list[TestResult] = []
    try:
        for group in plan:
            first += runner.side_by_side(group)
        for number, test in enumerate(to_try_again(first), 1):
            second += runner.side_by_side([steps.pytest_step(f"second try {number}", (test,), 0)])
    except TimeIsOver as over:
        runner.problems.append(str(over))
    return first, second


def stop_at_signals() -> None:
    """Make SIGTERM and SIGHUP end a run in order, as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)


def _interrupted(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
