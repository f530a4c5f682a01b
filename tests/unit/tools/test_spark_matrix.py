"""The sets of versions that the library is tested with."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools.servers.jars import CHECKOUT
from tools.spark_matrix import BEGIN, END, HEAD, SERVERS, SETS, SOURCES, UNIT, main, write_rows

METADATA = ConfigParser()
METADATA.read(CHECKOUT / "setup.cfg")


def test_sets_have_the_pyspark_and_the_python_of_setup_cfg() -> None:
    [declared] = [line for line in METADATA["options.extras_require"]["spark"].split() if line.startswith("pyspark")]
    assert all(Requirement(declared).specifier.contains(one.pyspark) for one in SETS)
    assert min(one.python for one in SETS) == METADATA["options"]["python_requires"].removeprefix(">=")


def test_the_lowest_versions_are_tested_with_the_oldest_pyspark() -> None:
    assert SETS[0].lowest
    assert set(METADATA["options"]["install_requires"].split()) <= set(SETS[0].requirements)


def test_the_tests_of_a_set_exist() -> None:
    for test in (*UNIT, *SERVERS, *SOURCES):
        file, _, name = test.partition("::")
        assert (CHECKOUT / file).exists(), file
        assert f"def {name}" in (CHECKOUT / file).read_text() if name else True


def test_a_set_that_was_not_run_keeps_its_row(tmp_path: Path) -> None:
    page = tmp_path / "compatibility.md"
    page.write_text(f"# Before\n{BEGIN}{HEAD}| spark-4.0 | old |\n| spark-4.2 | old |\n\n{END}After\n")
    write_rows({"spark-4.0": "| spark-4.0 | new |", "spark-3.5": "| spark-3.5 | new |"}, page)
    assert page.read_text() == f"# Before\n{BEGIN}{HEAD}| spark-3.5 | new |\n| spark-4.0 | new |\n| spark-4.2 | old |\n\n{END}After\n"


def test_the_page_has_a_place_for_the_table() -> None:
    assert f"\n{BEGIN}{HEAD}" in (CHECKOUT / "docs" / "compatibility.md").read_text()


def test_an_unknown_set_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["spark-9"])
    assert "unknown: spark-9; known are spark-3.5, " in capsys.readouterr().err
