"""Runs the tests of a set and counts how they ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools import packed_python
from tools.gate.recorder import EVENTS
from tools.gate.results import Events
from tools.servers import versions
from tools.servers.jars import CHECKOUT

from .environments import FOLDER
from .sets import Suite, VersionSet


@dataclass(frozen=True)
class Counts:
    """How many tests ended in which way.

    :param ended: pytest itself ended as its tests say, not by a crash or without tests.
    """

    passed: int
    skipped: int
    failed: int
    ended: bool = True

    @property
    def good(self) -> bool:
        """Whether all tests passed."""
        return self.ended and not self.failed

    def __str__(self) -> str:
        parts = [f"{self.passed:,}", *([f"{self.skipped:,} skipped"] if self.skipped else [])]
        return ", ".join(
            [
                *parts,
                *([f"**{self.failed:,} failed**"] if self.failed else []),
                *([] if self.ended else ["**ended early**"]),
            ]
        )


def run(chosen: VersionSet) -> dict[str, Counts]:
    """Make what a set needs and run its tests; return the counts by the names of the tests.

    :raises subprocess.CalledProcessError: packages or jars cannot be had.
    """
    python, variables = Path(sys.executable), dict[str, str]()
    if chosen.environment is not None:
        if chosen.name != "oldest":
            chosen.environment.resolve(chosen.lock)
        home = FOLDER / chosen.name
        installed = chosen.environment.install(chosen.lock, home)
        if chosen.on_yarn:
            packed = home / "env.tar.gz"
            packed_python.pack(chosen.lock, packed)
            variables |= {"TEST_YARN_PYTHON": str(installed), "TEST_YARN_PACKED": str(packed)}
        else:
            python = installed
        if chosen.environment.java_11:
            variables["JAVA_HOME"] = str(versions.java_11())
    for server, version in chosen.servers.items():
        versions.get(server, version)
        variables[f"TEST_{server.upper()}_VERSION"] = version
    return {tests.name: _counts(chosen, tests, python, variables) for tests in chosen.tests}


def _counts(chosen: VersionSet, tests: Suite, python: Path, variables: Mapping[str, str]) -> Counts:
    FOLDER.mkdir(parents=True, exist_ok=True)
    events = FOLDER / f"{chosen.name}-{tests.name.replace(' ', '-')}.events"
    events.unlink(missing_ok=True)
    command = [
        str(python),
        "-m",
        "pytest",
        "--quiet",
        "-p",
        "no:cacheprovider",
        "-p",
        "tools.gate.recorder",
        *chosen.options,
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT, CHECKOUT / "spark_apps"))),
        "PYTHONDONTWRITEBYTECODE": "1",
        **variables,
    }
    # in the gate its own run reads the events, and counts these tests with all others
    environment.setdefault(EVENTS, str(events))
    print(f"== {chosen.name}: {tests.name}", flush=True)
    code = subprocess.run(
        [*command, "--numprocesses", str(tests.workers), *tests.paths], cwd=CHECKOUT, env=environment
    ).returncode
    results = Events(Path(environment[EVENTS]))
    results.read(0.0)
    outcomes = Counter(result.outcome for result in results.results.values())
    return Counts(
        outcomes["passed"], outcomes["skipped"], outcomes["failed"], ended=code == (1 if outcomes["failed"] else 0)
    )
