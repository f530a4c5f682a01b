"""The sets of versions that the Airflow part is tested with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.matrix import SETS, main, write_results
from tools.servers.jars import CHECKOUT

[OLDEST] = [one for one in SETS if one.lowest]


def test_the_oldest_set_has_the_lower_bounds_of_setup_cfg() -> None:
    locked: dict[str, str] = {
        canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", OLDEST.lock.read_text(), re.MULTILINE)
    }
    requirements = [Requirement(line) for line in OLDEST.wanted().splitlines()]
    assert all(requirement.specifier.contains(locked[canonicalize_name(requirement.name)]) for requirement in requirements)
    lowest = {one.name: bound.version for one in requirements for bound in one.specifier if bound.operator == ">="}
    for name in ("apache-airflow", "apache-airflow-providers-apache-kafka", "apache-airflow-providers-apache-spark"):
        assert locked[name].startswith(lowest[name]), name
        assert locked[name].removeprefix(lowest[name]) in ("", ".0", ".0.0"), name


def test_every_supported_python_is_in_a_set() -> None:
    assert {one.python for one in SETS} == {"3.11", "3.12", "3.13"}
    assert "python_requires = >=3.10" in (CHECKOUT / "setup.cfg").read_text()  # the library's; tools/spark_matrix.py tests it


def test_an_unknown_set_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["latest"])
    assert "unknown: latest; known are oldest, " in capsys.readouterr().err


def test_results_replace_the_rows_of_their_sets_only(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    mine = "<!-- make matrix: Airflow -->\n\n| set |\n|---|\n| oldest | a day before |\n| 3.1 | kept |\n<!-- end -->\n"
    page.write_text(f"# Of others\n\n{mine}\n## Of others, too\n")
    write_results({"oldest": False}, page)
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("# Of others", "## Of others, too")
    [oldest] = [line for line in lines if line.startswith("| oldest |")]
    assert oldest.startswith("| oldest | 3.11 | 3.0.6 | 5.3.0 | 1.10.0 | 3.5.2 | **failed** | 20")
    assert "| 3.1 | kept |" in lines


def test_a_page_without_the_section_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Of others\n")
    with pytest.raises(ValueError, match="has no section"):
        write_results({"oldest": True}, page)
