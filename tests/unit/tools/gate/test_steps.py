"""The steps of a run, and how long they are expected to take."""

from __future__ import annotations

import re

from tools.gate.steps import ALL, MATRIX, QUICK, all_steps, by_file, expected_by_file, expected_seconds, pytest_step
from tools.servers.jars import CHECKOUT


def test_paths_of_steps_exist() -> None:
    assert [path for path in (*ALL, *QUICK) if not (CHECKOUT / path).exists()] == []


def test_a_step_is_expected_to_take_what_its_files_took() -> None:
    seconds = {"tests/unit/test_a.py": 2.0, "tests/unit/test_b.py": 4.0, "tests/faults/test_c.py": 30.0, MATRIX: 100.0}
    assert expected_seconds(pytest_step("tests", ("tests/unit",), 3), 3, seconds) == 6.0 + 2.0
    assert expected_seconds(pytest_step("tests", ("tests/unit/test_b.py::test_x",), 0), 0, seconds) == 6.0 + 4.0
    (tests, oldest), _ = all_steps(2)
    assert (expected_seconds(tests, 2, seconds), expected_seconds(oldest, 2, seconds)) == (6.0 + 18.0, 100.0)


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
