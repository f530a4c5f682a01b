"""The steps of a run, and how long they are expected to take."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools.gate.steps import (
    MATRIX,
    QUICK,
    SERVERS,
    UNITS,
    all_steps,
    by_file,
    expected_by_file,
    expected_seconds,
    long_step,
    pytest_step,
)
from tools.servers.jars import CHECKOUT


def test_paths_of_steps_exist() -> None:
    assert [path for path in (*SERVERS, *UNITS, *QUICK) if not (CHECKOUT / path).exists()] == []


def test_a_step_is_expected_to_take_what_its_files_took() -> None:
    seconds = {"tests/unit/test_a.py": 2.0, "tests/unit/test_b.py": 4.0, "tests/faults/test_c.py": 30.0, MATRIX: 100.0}
    assert expected_seconds(pytest_step("tests", ("tests/unit",), 3), seconds) == 6.0 + 2.0
    assert expected_seconds(pytest_step("tests", ("tests/unit/test_b.py::test_x",), 0), seconds) == 6.0 + 4.0
    (servers, units, oldest), *_ = all_steps(2)
    expected = [expected_seconds(step, seconds) for step in (servers, units, oldest)]
    assert expected == [6.0 + 15.0, 6.0 + 6.0, 100.0]


def test_every_folder_of_tests_but_the_soak_belongs_to_a_step() -> None:
    """Those of ``java``, ``migration`` and ``support`` are helpers and files of other tests."""
    with_tests = {path.relative_to(CHECKOUT).parts[1] for path in (CHECKOUT / "tests").glob("*/**/test_*.py")}
    assert {Path(path).name for path in (*SERVERS, *UNITS)} == with_tests - {"soak"}


def test_each_long_test_names_the_case_that_the_gate_has_instead() -> None:
    """A test of its own file, or a case of the parameters above it."""
    named = re.compile(r"pytest\.mark\.long\((.*?)\)")
    files = {path: path.read_text() for folder in SERVERS for path in (CHECKOUT / folder).rglob("test_*.py")}
    marks = [(path.name, text, instead) for path, text in files.items() for instead in named.findall(text)]
    assert len(marks) > 20
    assert [
        (name, instead) for name, text, instead in marks if len(re.findall(rf"\b{re.escape(instead.strip(chr(34)))}\b", text)) < 2
    ] == []


def test_the_gate_and_the_long_tests_leave_nothing_out() -> None:
    (servers, *_), *_ = all_steps(2)
    chosen = {step.command[step.command.index("-m", 4) + 1] for step in (servers, long_step(2))}
    assert chosen == {"long", "not long"}


def test_steps_beside_each_other_have_files_of_coverage_of_their_own() -> None:
    (servers, units, _), [combine], _ = all_steps(2)
    files = [step.environment["COVERAGE_FILE"] for step in (servers, units)]
    assert len(set(files)) == 2
    assert combine.command[-2:] == tuple(files)


def test_what_starts_no_servers_gives_way_to_what_does() -> None:
    (servers, *others), *_ = all_steps(2)
    assert servers.command[0] == sys.executable
    assert [step.command[0] for step in others] == ["nice", "nice"]


def test_seconds_are_added_up_by_file() -> None:
    assert by_file([("a.py::x", 1.0), ("a.py::y[b::c]", 2.0), ("b.py", 4.0)]) == {"a.py": 3.0, "b.py": 4.0}


def test_the_slowest_tenth_is_justified() -> None:
    """A line of CONTRIBUTING.md says why each of the slowest files of real servers takes so long."""
    servers = {
        file: seconds for file, seconds in expected_by_file().items() if re.match(r"tests/(integration|faults|stream|backlog)/", file)
    }
    assert len(servers) > 90
    slowest = sorted(servers, key=lambda file: -servers[file])[: len(servers) // 10]
    justified = re.findall(r"^\| `([^`]+\.py)` \|", (CHECKOUT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert [file for file in slowest if file.removeprefix("tests/") not in justified] == []
