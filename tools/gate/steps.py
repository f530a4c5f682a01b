"""The commands of a run, in order, and how long they are expected to take."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tools.servers.jars import CHECKOUT, WORK

DURATIONS = Path(__file__).with_name("durations.json")
UNITS = ("tests/unit",)
SERVERS = ("tests/integration", "tests/backlog", "tests/faults", "tests/stream")
# the main ways on real servers, in about ten minutes
QUICK = (
    "tests/unit", "tests/integration/source/test_snapshot.py", "tests/integration/source/test_stream.py",
    "tests/integration/sink/test_sink.py", "tests/integration/datasources/test_sources.py",
    "tests/integration/convert/test_connect_json.py", "tests/integration/admin/test_target_state.py",
    "tests/integration/cli/test_cli.py", "tests/integration/airflow/test_airflow_run.py", "tests/faults/test_worker_killed.py",
    "tests/faults/test_sink.py",
)  # fmt: skip
# the floor is judged by a step of its own: a flaky test would hide it in pytest's exit code
_COVERAGE = ("--cov", "--cov-report=", "--cov-fail-under=0")
_COVERAGE_FILES = WORK / "coverage"
MATRIX = "oldest versions"
# further cases of what other tests see, which `make test-long` runs
_LONG = "long"
# of the steps without servers, which compute where tests of servers wait: at 5 they get a third of the share of another
# process, so that they never stand still beside busy servers
_NICENESS = 5
_START_S = 6.0  # until the processes of pytest have collected their tests


@dataclass(frozen=True)
class Step:
    """One command of a run.

    :param name: shown, and the stem of its log.
    :param tests: paths or names of tests; empty for the set of oldest versions, which has its own.
    :param environment: variables beside those of the run.
    :param workers: processes that run the tests side by side.
    """

    name: str
    command: tuple[str, ...]
    tests: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    workers: int = 1


def pytest_step(name: str, tests: Sequence[str], workers: int, *options: str) -> Step:
    """Return a step that runs tests in worker processes; 0: in one process."""
    # -q: the run shows the progress; what fails is in the log whole
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tools.gate.recorder",
        "--numprocesses",
        str(workers),
        *options,
        *tests,
    )
    return Step(name, command, tuple(tests), workers=max(workers, 1))


def all_steps(workers: int) -> list[list[Step]]:
    """Return the steps of all tests with coverage and of the oldest set of versions; those of one list run side by side.

    The tests of servers have the worker processes. The unit tests and the oldest set have one process each, with lower
    priority: they fill the time in which all servers wait.
    """
    servers = _covered(pytest_step("servers", SERVERS, workers, "-m", f"not {_LONG}", *_COVERAGE))
    units = _covered(pytest_step("units", UNITS, min(workers, 1), *_COVERAGE))
    oldest = Step(MATRIX, (sys.executable, "-m", "tools.matrix", "oldest"))
    coverage = (sys.executable, "-m", "coverage")
    files = [step.environment["COVERAGE_FILE"] for step in (servers, units)]
    combine = Step("combined coverage", (*coverage, "combine", "--quiet", *files))
    report = Step("coverage", (*coverage, "report", "--skip-covered"))
    return [[servers, _with_lower_priority(units), _with_lower_priority(oldest)], [combine], [report]]


def long_step(workers: int) -> Step:
    """Return the step of the tests that :func:`all_steps` leaves out; its duration is known as a whole, not by file."""
    return replace(pytest_step("long tests", SERVERS, workers, "-m", _LONG), tests=())


def _covered(step: Step) -> Step:
    """Return a step with a file of coverage of its own: pytest-cov erases that of a run beside it."""
    return replace(step, environment={**step.environment, "COVERAGE_FILE": str(_COVERAGE_FILES / step.name)})


def _with_lower_priority(step: Step) -> Step:
    return replace(step, command=("nice", "-n", str(_NICENESS), *step.command))


def expected_by_file() -> dict[str, float]:
    """Return the seconds that each file of tests took when they were last measured, on two quiet cores."""
    found: dict[str, float] = json.loads(DURATIONS.read_text())
    return found


def expected_seconds(step: Step, by_file: Mapping[str, float]) -> float:
    """Return the expected duration of a step, from its files and the number of its worker processes."""
    if not step.tests:
        return by_file.get(step.name, 0.0)
    paths = tuple(_path(test) for test in step.tests)
    return _START_S + sum(seconds for file, seconds in by_file.items() if file.startswith(paths)) / step.workers


def _path(test: str) -> str:
    return Path(test.partition("::")[0]).as_posix()


def write_durations(seconds: Mapping[str, float]) -> None:
    """Write the measured seconds of each file of tests and of each step without files."""
    DURATIONS.write_text(
        json.dumps({name: round(value, 1) for name, value in sorted(seconds.items())}, indent=0) + "\n"
    )


def by_file(tests: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Add the seconds of tests up by file."""
    sums: dict[str, float] = {}
    for test, seconds in tests:
        file = test.partition("::")[0]
        sums[file] = sums.get(file, 0.0) + seconds
    return sums


def relative(path: Path) -> str:
    """Return a path as it is typed in the checkout."""
    return path.relative_to(CHECKOUT).as_posix() if path.is_relative_to(CHECKOUT) else str(path)
