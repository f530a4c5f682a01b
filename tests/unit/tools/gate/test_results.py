"""Events of tests become results; results of first and second tries become a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools.gate.results import Events, TestResult, judge, to_try_again

SERVER, OTHER, UNIT = (f"tests/{folder}/test_x.py::test_x" for folder in ("faults", "stream", "unit"))


def failed(test: str, **fields: Any) -> TestResult:
    return TestResult(test, "failed", text=f"first failure of {test}", **fields)


def test_a_failed_test_of_real_servers_is_tried_again() -> None:
    assert to_try_again([TestResult(UNIT, "passed"), failed(SERVER), failed(OTHER)]) == [SERVER, OTHER]


@pytest.mark.parametrize(
    "others",
    [
        [failed(UNIT)],
        [failed(OTHER, crash=True)],
        [failed("tests/integration/sink/test_x.py")],  # not collected
        [failed(f"{SERVER}{number}") for number in range(3)],
    ],
)
def test_nothing_is_tried_again_where_the_verdict_is_known(others: list[TestResult]) -> None:
    assert to_try_again([failed(SERVER), *others]) == []


def test_a_second_try_decides() -> None:
    verdict = judge([failed(SERVER), failed(OTHER)], [TestResult(SERVER, "passed"), failed(OTHER)])
    assert ([one.test for one in verdict.flaky], [one.test for one in verdict.failed]) == ([SERVER], [OTHER])
    assert verdict.flaky[0].text == f"first failure of {SERVER}"
    assert not verdict.passed


@pytest.mark.parametrize("result", [failed(UNIT), failed(SERVER, crash=True)])
def test_a_unit_test_or_a_crash_is_failed_whatever_a_second_try_says(result: TestResult) -> None:
    assert judge([result], [TestResult(result.test, "passed")]).failed == (result,)


@pytest.mark.parametrize("outcome", ["skipped", "failed"])
def test_a_second_try_that_does_not_pass_leaves_the_failure(outcome: str) -> None:
    assert not judge([failed(SERVER)], [TestResult(SERVER, outcome)]).passed


@pytest.mark.parametrize(("count", "passes"), [(3, True), (4, False)])
def test_three_flaky_tests_pass(count: int, passes: bool) -> None:
    names = [f"{SERVER}{number}" for number in range(count)]
    assert judge(map(failed, names), [TestResult(name, "passed") for name in names]).passed is passes


def test_a_problem_fails_a_run_without_failed_tests() -> None:
    assert not judge([TestResult(UNIT, "passed")], [], ["coverage ended with exit code 2"]).passed


def written(path: Path, *events: dict[str, Any], end: str = "\n") -> None:
    with path.open("a") as file:
        file.write("\n".join(map(json.dumps, events)) + end)


def ended(test: str, outcome: str, text: str = "", crash: bool = False) -> dict[str, Any]:
    return {"event": "ended", "test": test, "worker": "gw0", "outcome": outcome, "seconds": 1.0, "text": text, "crash": crash}


def test_events_are_read_as_they_are_written(tmp_path: Path) -> None:
    events = Events(tmp_path / "events")
    assert events.read(0.0) == []
    written(events.path, {"event": "collected", "tests": 2, "left_out": 1}, {"event": "started", "test": SERVER, "worker": "gw0"})
    written(events.path, ended(SERVER, "passed"), end="")
    assert events.read(5.0) == []
    assert (events.collected, events.left_out, events.running) == (2, 1, {"gw0": (SERVER, 5.0)})
    written(events.path, end="\n")
    assert [(one.test, one.outcome) for one in events.read(6.0)] == [(SERVER, "passed")]
    assert events.running == {}


def test_a_crash_stays_though_another_process_runs_the_test_again(tmp_path: Path) -> None:
    events = Events(tmp_path / "events")
    written(events.path, ended(SERVER, "failed", "worker 'gw0' crashed", crash=True), ended(SERVER, "passed"))
    events.read(0.0)
    assert events.results[SERVER].crash


def test_a_crash_of_a_worker_of_spark_is_a_crash(tmp_path: Path) -> None:
    events = Events(tmp_path / "events")
    written(events.path, ended(SERVER, "failed", "the app ended:\nFatal Python error: Segmentation fault\n"))
    [result] = events.read(0.0)
    assert result.crash
    assert to_try_again([result]) == []
