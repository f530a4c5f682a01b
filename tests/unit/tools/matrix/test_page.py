"""The table of results in a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.matrix.page import BEGIN, END, HEAD, PAGE, row, write
from tools.matrix.runs import Counts
from tools.matrix.sets import SETS


def test_a_row_names_versions_and_counts() -> None:
    cells = row(SETS["oldest"], {"Airflow part": Counts(1700, 71, 0)}).split(" | ")
    assert cells[:5] == ["| oldest", "3.0.6", "3.5.2", "3.11", "17"]
    assert cells[5:9] == [
        "as `make test`", "as `make test`", "lowest, Spark provider 5.3.0, Kafka provider 1.10.0", "Airflow part: 1,700, 71 skipped",
    ]  # fmt: skip
    servers = row(SETS["ignite-2.14.0"], {"nodes": Counts(54, 0, 1)}).split(" | ")
    assert servers[5:9] == ["2.14.0", "as `make test`", "as `make test`", "nodes: 54, **1 failed**"]


def test_a_set_that_was_not_run_keeps_its_row(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n{BEGIN}{HEAD}| spark-4.0 | old |\n| spark-4.2 | old |\n| gone | old |\n\n{END}After\n")
    write("spark-4.0", "| spark-4.0 | new |", page)
    write("oldest", "| oldest | new |", page)
    rows = "| oldest | new |\n| spark-4.0 | new |\n| spark-4.2 | old |\n"
    assert page.read_text() == f"# Before\n{BEGIN}{HEAD}{rows}\n{END}After\n"


def test_a_page_without_the_table_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Of others\n")
    with pytest.raises(ValueError, match="has no table"):
        write("oldest", "| oldest |", page)


def test_the_page_has_a_place_for_the_table() -> None:
    assert f"\n{BEGIN}{HEAD}" in PAGE.read_text()
