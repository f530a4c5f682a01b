"""Which process of pytest-xdist runs which tests, and in which order, by how long their files took last time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tools.gate.steps import expected_by_file

# the longest ones, which begin first
FIRST = ("tests/faults/test_three_brokers.py", "integration/airflow")
_UNKNOWN_S = 1.0  # of a test whose file was not measured


def scope_of(test: str) -> str:
    """Return the group of a test; one process runs the tests of a group, one after the other, with servers that they share."""
    file = test.partition("::")[0]
    folder = file.rpartition("/")[0].partition("tests/")[2]
    if folder.startswith("integration/airflow"):
        return "integration/airflow"  # its folders share servers with passwords
    if folder == "stream" or folder.startswith("unit"):
        return file if folder.startswith("unit") else folder
    if file.endswith(("/test_executor_killed.py", "/test_started_twice.py")):
        return "Spark's standalone cluster"
    if file.endswith("/test_three_brokers.py"):
        return file
    if folder.startswith("integration/") and not file.endswith(("/test_stack.py", "/test_local_run.py")):
        return "/".join(folder.split("/")[:2])
    return test


def in_order(scopes: Mapping[str, Iterable[str]], seconds_by_file: Mapping[str, float]) -> list[str]:
    """Return the groups in the order in which they begin.

    After :data:`FIRST` the unit tests, then groups of real servers, quick tests before slow ones, and at last tests that are a group of
    their own, the longest first, so that all processes end at about the same time.
    """
    tests_of_file = Counter(test.partition("::")[0] for tests in scopes.values() for test in tests)

    def seconds(scope: str) -> float:
        files = (test.partition("::")[0] for test in scopes[scope])
        return sum(seconds_by_file[file] / tests_of_file[file] if file in seconds_by_file else _UNKNOWN_S for file in files)

    def place(scope: str) -> tuple[int, float]:
        if scope in FIRST:
            return FIRST.index(scope) - len(FIRST), 0.0
        if scope.startswith("tests/unit/"):
            return 0, 0.0
        tests = len(list(scopes[scope]))
        return (1, seconds(scope) / tests) if tests > 1 else (2, -seconds(scope))

    return sorted(scopes, key=place)


class SharedServers(LoadScopeScheduling):
    """Assigns groups of tests to worker processes.

    Not ``--dist loadgroup``: it has no effect in pytest-xdist 3.8 with pytest 9.2, which has no ``_nodeid``.
    """

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if not getattr(self, "_ordered", False):
            self._ordered = True
            for scope in in_order(self.workqueue, expected_by_file()):
                self.workqueue.move_to_end(scope)
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        # a worker needs the next test before it runs one; more would wait for a slow one while other workers are idle
        pending: Any = self.assigned_work[node]
        if node.shutting_down or not self.workqueue or self._pending_of(pending) <= 1:
            super()._reschedule(node)
