"""A pytest plugin: writes what is collected, what is running and how each test ended to the file that ``GATE_EVENTS`` names.

Loaded by ``-p tools.gate.recorder``. One line of JSON for each event, in one write, so that the processes of
pytest-xdist share the file. Imports the standard library and pytest only: the sets of :mod:`tools.matrix` load it with
other versions of all packages.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

EVENTS = "GATE_EVENTS"
_RANK = {"passed": 0, "skipped": 1, "failed": 2}
_MOST_CHARACTERS = 200_000  # of a failure's text


class Recorder:
    """Writes events; in a worker process of pytest-xdist only the starts of tests, the rest is known to the main process.

    :param path: file that is appended to.
    :param worker: name of this process, ``main`` without pytest-xdist.
    """

    def __init__(self, path: str, worker: str, is_worker: bool) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._path, self._worker, self._is_worker = path, worker, is_worker
        self._left_out = 0
        self._phases: dict[str, list[tuple[str, str, float, str]]] = defaultdict(list)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Name the file to a worker process of pytest-xdist."""
        node.workerinput[EVENTS] = self._path

    def _write(self, event: str, **fields: Any) -> None:
        os.write(self._file, (json.dumps({"event": event, **fields}) + "\n").encode())

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count the tests that an option leaves out."""
        self._left_out += len(items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write the number of tests and of those left out; each process of pytest-xdist collects the same ones."""
        if session.items:
            self._write("collected", tests=len(session.items), left_out=self._left_out)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Write that a test begins, in the process that runs it."""
        if self._is_worker or self._worker == "main":
            self._write("started", test=nodeid, worker=self._worker)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write that a file could not be collected."""
        if report.failed and not self._is_worker:
            self._write(
                "ended",
                test=report.nodeid,
                worker="main",
                outcome="failed",
                seconds=0.0,
                text=_text(report),
                crash=False,
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a test's end, after its last phase or the crash of its process."""
        if self._is_worker:
            return
        crash = report.when not in ("setup", "call", "teardown")  # pytest-xdist writes "???"
        phases = self._phases[report.nodeid]
        phases.append((report.when, report.outcome, report.duration, _text(report) if report.failed else ""))
        if not crash and report.when != "teardown":
            return
        del self._phases[report.nodeid]
        self._write(
            "ended",
            test=report.nodeid,
            worker=getattr(report, "worker_id", "main"),
            outcome=max((outcome for _, outcome, _, _ in phases), key=_RANK.__getitem__),
            seconds=round(sum(duration for _, _, duration, _ in phases), 3),
            text="\n".join(text for *_, text in phases if text)[-_MOST_CHARACTERS:],
            crash=crash,
        )


def _text(report: pytest.TestReport | pytest.CollectReport) -> str:
    sections = [f"--- {title} ---\n{content}" for title, content in report.sections if content.strip()]
    return "\n".join([str(report.longreprtext), *sections])


def pytest_configure(config: pytest.Config) -> None:
    """Begin to write, where the environment names a file; programs that tests start do not inherit the name."""
    worker_input = getattr(config, "workerinput", None)
    if worker_input is not None:
        path, worker = worker_input.get(EVENTS), worker_input["workerid"]
    else:
        path, worker = (
            os.environ.pop(EVENTS, None),
            "controller" if getattr(config.option, "numprocesses", None) else "main",
        )
    if path:
        config.pluginmanager.register(Recorder(path, worker, worker_input is not None), "gate-events")
