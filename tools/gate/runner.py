"""Runs steps, each with its output in a log, watches their events, and ends what they leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tools.servers.jars import CHECKOUT, WORK
from tools.servers.marks import end, marked
from tools.servers.process import ServerFailed, await_condition

from .progress import Display, minutes, status
from .recorder import EVENTS
from .results import Events, TestResult
from .steps import Step, by_file, relative

FOLDER = WORK / "gate"
MARK = "IGNITE_KAFKA_GATE_RUN"
_POLL_S = 0.2
_TESTS_FAILED = 1  # exit code of pytest; all above, and signals, are faults of the run itself
_LEFT_OVER_S = 30.0  # that processes have to end after their tests
_INTERRUPTED_S = 30.0  # that an interrupted pytest has to stop the servers of its tests
_TAIL_LINES = 15


class TimeIsOver(Exception):
    """The run has taken longer than it may."""


class RunningStep:
    """One step that runs, with its log and its events.

    :param folder: of both files.
    :param checkout: where the command runs.
    """

    def __init__(self, step: Step, folder: Path, checkout: Path) -> None:
        name = step.name.replace(" ", "-")
        self.step, self.log, self.events = step, folder / f"{name}.log", Events(folder / f"{name}.events")
        self.events.path.unlink(missing_ok=True)
        self.began = time.monotonic()
        # sets of texts have the same order in every run
        ours = {EVENTS: str(self.events.path), "TMPDIR": str(folder / "tmp"), "PYTHONHASHSEED": "0"}
        with self.log.open("wb") as output:
            # a session of its own: Ctrl-C reaches this process alone, which then ends the step in order
            self._process = subprocess.Popen(
                step.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=checkout,
                env={**os.environ, **ours, **step.environment},
                start_new_session=True,
            )

    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def crashed(self) -> list[TestResult]:
        """Return the tests that were running when pytest itself ended by a signal; they are results of the step."""
        if self._process.returncode >= 0:
            return []
        text = f"pytest ended by {signal.Signals(-self._process.returncode).name} while it ran this test"
        results = [TestResult(test, "failed", text=text, crash=True) for test, _ in self.events.running.values()]
        self.events.results |= {result.test: result for result in results}
        return results

    def problem(self) -> str | None:
        """Return what is wrong with the exit code that no failed test explains, such as coverage below its floor."""
        code = self._process.returncode
        failed = any(result.failed for result in self.events.results.values())
        if code == 0 or (code == _TESTS_FAILED and failed):
            return None
        tail = "\n".join(f"    {line}" for line in self.log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])
        return f"{self.step.name} ended with exit code {code}:\n{tail}"

    def interrupt(self) -> None:
        """Ask pytest to stop its tests and servers in order; kill it if it does not."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_INTERRUPTED_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@dataclass
class Runner:
    """Runs steps and keeps what they say.

    :param run: value of the mark that all processes of the run have.
    :param limit_s: how long all steps together may take.
    :param folder: of logs, and of the tests' temporary files.
    :param checkout: where the commands run.
    """

    run: str
    expected_s: float
    limit_s: float
    folder: Path = FOLDER
    checkout: Path = CHECKOUT
    display: Display = field(default_factory=Display)
    logs: dict[str, Path] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _failed: int = 0

    @property
    def scratch(self) -> Path:
        """Folder of the tests' temporary files."""
        return self.folder / "tmp"

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def side_by_side(self, steps: Iterable[Step]) -> list[TestResult]:
        """Run steps at the same time and return the results of their tests.

        :raises TimeIsOver: the limit of the run has passed; the steps are ended.
        """
        running = [self._start(step) for step in steps]
        started = list(running)
        try:
            while running:
                self._look(started)
                for step in [step for step in running if step.ended()]:
                    running.remove(step)
                    self._end(step)
                if running and self.elapsed_s > self.limit_s:
                    tests = ", ".join(test for step in running for test, _ in step.events.running.values())
                    names = " and ".join(step.step.name for step in running)
                    raise TimeIsOver(
                        f"{names} ended by the limit of {minutes(self.limit_s)} minutes; running: {tests or 'no test'}"
                    )
                time.sleep(_POLL_S)
        finally:
            for step in running:
                step.interrupt()
            if running:
                end(marked(MARK, self.run))
                self._look(running)
        return [result for step in started for result in step.events.results.values()]

    def _start(self, step: Step) -> RunningStep:
        running = RunningStep(step, self.folder, self.checkout)
        self.logs[step.name] = running.log
        self.display.say(f"{minutes(self.elapsed_s)} {step.name} begins; its log is {relative(running.log)}")
        return running

    def _end(self, running: RunningStep) -> None:
        self._look([running])
        for result in running.crashed():
            self.display.failed(result)
        problem = running.problem()
        if problem is not None:
            self.problems.append(problem)
        seconds, results = time.monotonic() - running.began, running.events.results.values()
        self.seconds[running.step.name] = seconds
        if running.step.tests:
            self.seconds |= by_file((result.test, result.seconds) for result in results)
        left_out = running.events.left_out
        self.display.say(
            f"{minutes(self.elapsed_s)} {running.step.name} ended: {len(results):,} tests in {minutes(seconds)}"
            + (f"; {left_out:,} further ones are not part of it" if left_out else "")
        )

    def _look(self, running: Iterable[RunningStep]) -> None:
        now = time.monotonic()
        for step in running:
            for result in step.events.read(now):
                if result.failed:
                    self._failed += 1
                    self.display.failed(result)
        done, collected = (
            sum(counts) for counts in zip(*((len(s.events.results), s.events.collected) for s in running), strict=True)
        )
        tests = {f"{step.step.name} {worker}": test for step in running for worker, test in step.events.running.items()}
        self.display.show(status(self.elapsed_s, self.expected_s, done, collected, self._failed, tests, now), now)

    def end_left_over(self) -> None:
        """End processes of the run that its tests left running; those are a problem of the run."""
        left: list[psutil.Process] = []

        def none_left() -> bool:
            left[:] = marked(MARK, self.run)
            return not left

        try:
            await_condition(none_left, "end of all processes", _LEFT_OVER_S)
        except ServerFailed:
            self.problems.append(
                "processes were left running: " + ", ".join(f"{process.pid} {process.name()}" for process in left)
            )
            end(left)
