"""Runs the random comparisons with fresh seeds and more examples, round after round: ``python -m tools.gate.explore --minutes 20``.

A failure is shown with the command that repeats it. What is found becomes a fixed example beside its cure.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from . import steps
from .__main__ import prepare, stop_at_signals
from .progress import minutes
from .report import command
from .results import TestResult
from .runner import FOLDER, Runner, TimeIsOver

PATHS = ("tests/unit", "tests/integration")
UNTIL = "EXPLORE_UNTIL"  # environment variable: the time, in seconds since 1970, from when tests are skipped
_SHOWN_LINES = 60
_LAST_TEST_S = 900.0  # that the tests of the last round may take after the time is over


def variables(seed: int, more: int) -> dict[str, str]:
    """Return the environment of a round; tests/support/randomness.py reads it."""
    return {"EXPLORE_SEED": str(seed), "EXPLORE_MORE": str(more), "PYTHONHASHSEED": str(seed)}


def rounds(
    tests: Sequence[str], workers: int, more: int, until: float, first_seed: int | None
) -> Iterator[tuple[int, steps.Step]]:
    """Steps, each with a seed, until the time is over."""
    seeds = random.Random(first_seed) if first_seed is not None else random.SystemRandom()
    number = 0
    while time.time() < until:
        number += 1
        seed = first_seed if first_seed is not None and number == 1 else seeds.randrange(1 << 31)
        step = steps.pytest_step(f"round {number}", tests, workers, f"--hypothesis-seed={seed}")
        yield seed, replace(step, environment={**variables(seed, more), UNTIL: str(until)})


def repeat(result: TestResult, seed: int, more: int) -> str:
    """Return the command that repeats a failure."""
    environment = " ".join(f"{name}={value}" for name, value in variables(seed, more).items())
    return f"{environment} {command(result.test)} --hypothesis-seed={seed}"


def explore(runner: Runner, tests: Sequence[str], workers: int, more: int, until: float, first_seed: int | None) -> int:
    """Run rounds; the number of failures."""
    failures: dict[str, str] = {}
    examined = 0
    for seed, step in rounds(tests, workers, more, until, first_seed):
        runner.display.say(f"{step.name}: seed {seed}, {more} times the examples")
        try:
            results = runner.side_by_side([step])
        except TimeIsOver as over:
            runner.problems.append(str(over))
            break
        examined += sum(result.outcome != "skipped" for result in results)
        for result in results:
            if result.failed:
                text = "\n".join(f"    {line}" for line in result.text.splitlines()[-_SHOWN_LINES:])
                failures.setdefault(
                    result.test, f"FAILED {result.test}\n{text}\n    again: {repeat(result, seed, more)}\n"
                )
    runner.end_left_over()
    print(*failures.values(), *(f"FAILED: {problem}" for problem in runner.problems), sep="\n")
    print(f"explored for {minutes(runner.elapsed_s)} min: {examined:,} tests ran, {len(failures)} failed", flush=True)
    return len(failures) + len(runner.problems)


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 if a test failed, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tools.gate.explore", description=__doc__)
    parser.add_argument("tests", nargs="*", default=PATHS, metavar="PATH", help=f"default: {' '.join(PATHS)}")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--more", type=int, default=5, help="times the examples that a test has in the gate")
    parser.add_argument("--seed", type=int, help="of the first round; default: by chance")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    stop_at_signals()
    until = time.time() + given.minutes * 60
    runner = prepare((), FOLDER)
    runner.expected_s = given.minutes * 60
    runner.limit_s = runner.expected_s + _LAST_TEST_S
    try:
        return 1 if explore(runner, given.tests, given.workers, given.more, until, given.seed) else 0
    except KeyboardInterrupt:
        print("\ninterrupted: all processes of the run are ended", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
