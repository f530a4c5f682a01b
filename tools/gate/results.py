"""What the events of :mod:`.recorder` say: tests that ended, tests that run, and the judgement of first and second tries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# folders of tests that start real servers; a failed one of these is tried once more
REAL_SERVERS = ("tests/integration/", "tests/faults/", "tests/stream/", "tests/backlog/")
MOST_FLAKY = 3
# a Python process that died by a signal, whether pytest's own or one of Spark's, and the crash reporter of the JVM
_CRASHES = ("Fatal Python error:", "A fatal error has been detected by the Java Runtime Environment")


@dataclass(frozen=True)
class TestResult:
    """How one test ended.

    :param outcome: ``passed``, ``skipped`` or ``failed``.
    :param text: error and captured output of a failed test.
    :param crash: a process ended by a signal while the test ran.
    """

    __test__ = False

    test: str
    outcome: str
    seconds: float = 0.0
    text: str = ""
    crash: bool = False

    @property
    def failed(self) -> bool:
        """Whether the test or its set-up or tear-down failed."""
        return self.outcome == "failed"

    @property
    def may_be_tried_again(self) -> bool:
        """Whether a second try decides: a test of real servers, not a unit test and never a crash."""
        return self.failed and not self.crash and self.test.startswith(REAL_SERVERS) and "::" in self.test


@dataclass
class Events:
    """Reads a file of events as it grows.

    :param path: the file, which may not exist yet.
    :param left_out: collected tests that an option of the command leaves out.
    """

    path: Path
    collected: int = 0
    left_out: int = 0
    running: dict[str, tuple[str, float]] = field(default_factory=dict)
    results: dict[str, TestResult] = field(default_factory=dict)
    _offset: int = 0

    def read(self, now: float) -> list[TestResult]:
        """Read what is new; the tests that ended since the last call.

        :param now: seconds of a clock, for the time that tests have been running.
        """
        ended = []
        for event in self._new():
            if event["event"] == "collected":
                self.collected = max(self.collected, event["tests"])
                self.left_out = max(self.left_out, event["left_out"])
            elif event["event"] == "started":
                self.running[event["worker"]] = (event["test"], now)
            else:
                ended.append(self._end(event))
        return ended

    def _new(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return  # its writer is not done
                self._offset += len(line)
                yield json.loads(line)

    def _end(self, event: dict[str, Any]) -> TestResult:
        test = event["test"]
        crash = event["crash"] or any(sign in event["text"] for sign in _CRASHES)
        result = TestResult(test, event["outcome"], event["seconds"], event["text"], crash)
        self.running = {worker: (other, since) for worker, (other, since) in self.running.items() if other != test}
        # pytest-xdist runs the test of a crashed process again in another one: the failure stays
        before = self.results.get(test)
        self.results[test] = before if before is not None and before.failed else result
        return self.results[test]


@dataclass(frozen=True)
class Verdict:
    """The judgement of a whole run.

    :param failed: tests that decide that the run failed.
    :param flaky: first results of the tests that passed in the second try.
    :param problems: reasons to fail that are not a test's, one sentence each.
    """

    failed: tuple[TestResult, ...]
    flaky: tuple[TestResult, ...]
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the run passes."""
        return not (self.failed or self.problems)


def to_try_again(results: Iterable[TestResult]) -> list[str]:
    """Names of the tests whose second try can change the verdict; none where another failure or their number decides already."""
    failed = [result for result in results if result.failed]
    if len(failed) > MOST_FLAKY or not all(result.may_be_tried_again for result in failed):
        return []
    return [result.test for result in failed]


def judge(first: Iterable[TestResult], second: Iterable[TestResult], problems: Iterable[str] = ()) -> Verdict:
    """Judge a run by the results of its first and second tries.

    A test that passed in its second try is flaky: the run passes, unless there are more than :data:`MOST_FLAKY`.
    """
    again = {result.test: result for result in second}
    failed, flaky = [], []
    for result in first:
        if not result.failed:
            continue
        retried = again.get(result.test)
        if retried is not None and retried.outcome == "passed" and result.may_be_tried_again:
            flaky.append(result)
        else:
            failed.append(result)
    found = list(problems)
    if len(flaky) > MOST_FLAKY:
        found.append(f"{len(flaky)} tests are flaky; at most {MOST_FLAKY} may be")
    return Verdict(tuple(failed), tuple(flaky), tuple(found))
