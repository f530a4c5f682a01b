"""The last screen of a run: what failed, where its log is, and the command that runs it alone."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from .progress import minutes
from .results import TestResult, Verdict
from .steps import relative

_SHOWN_LINES = 40
_STACK_LINES = 80
_STACK_BEGINS = ("Fatal Python error:", "# A fatal error has been detected by the Java Runtime Environment")


def last_screen(
    verdict: Verdict, results: Iterable[TestResult], logs: Mapping[str, Path], seconds: float, peak_bytes: int
) -> str:
    """Return the text.

    :param results: of the first tries.
    :param logs: log of each step, by its name.
    :param peak_bytes: most memory that all processes took together.
    """
    lines: list[str] = []
    for result in verdict.failed:
        lines += _failure("CRASHED, never tried again" if result.crash else "FAILED", result)
    stacks = list(_stacks(logs.values())) if any(result.crash for result in verdict.failed) else []
    lines += [*stacks, ""] if stacks else []
    for result in verdict.flaky:
        lines += _failure("FLAKY: passed in a second try, alone. The first failure of", result)
    lines += [f"FAILED: {problem}" for problem in verdict.problems]
    lines += [f"log of {name}: {relative(path)}" for name, path in logs.items()]
    lines.append(f"{minutes(seconds)} min; at most {peak_bytes / 2**30:.1f} GiB of memory in all processes")
    lines += [f"FLAKY {result.test}" for result in verdict.flaky]
    lines += [f"{'CRASHED' if result.crash else 'FAILED'} {result.test}" for result in verdict.failed]
    lines.append(_counts(verdict, list(results)))
    return "\n".join(lines)


def _counts(verdict: Verdict, results: list[TestResult]) -> str:
    skipped = sum(result.outcome == "skipped" for result in results)
    return f"{len(results) - skipped - len(verdict.failed)} passed, {len(verdict.failed)} failed, {skipped} skipped"


def _failure(title: str, result: TestResult) -> list[str]:
    text = result.text.rstrip().splitlines()
    cut = [f"    … the first {len(text) - _SHOWN_LINES} lines are in the log"] if len(text) > _SHOWN_LINES else []
    shown = [f"    {line}" for line in text[-_SHOWN_LINES:]]
    return [f"{title} {result.test}", *cut, *shown, f"    alone: {command(result.test)}", ""]


def command(test: str) -> str:
    """Return the command that runs one test alone."""
    return f".venv/bin/python -m pytest {shlex.quote(test)}"


def _stacks(logs: Iterable[Path]) -> Iterator[str]:
    """Stacks of processes that a signal ended, from the logs of the steps."""
    for log in logs:
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        for at, line in enumerate(lines):
            if line.lstrip().startswith(_STACK_BEGINS):
                yield f"stack of a crashed process, from line {at + 1} of {relative(log)}:"
                yield from (f"    {stack}" for stack in lines[at : at + _STACK_LINES])
                break
