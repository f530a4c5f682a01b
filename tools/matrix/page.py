"""The table of results in docs/compatibility.md: one row for each set, with the date of its last run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

from tools.servers.jars import CHECKOUT

from .environments import locked_versions
from .runs import Counts
from .sets import SETS, VersionSet

PAGE = CHECKOUT / "docs" / "compatibility.md"
BEGIN, END = "<!-- make matrix -->\n", "<!-- end of make matrix -->\n"
_COLUMNS = (
    "set",
    "Airflow",
    "PySpark",
    "Python",
    "Java of Spark",
    "Ignite",
    "Kafka",
    "packages",
    "tests that passed",
    "date",
)
HEAD = f"\n| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}\n"
_PROVIDERS = {
    "Spark provider": "apache-airflow-providers-apache-spark",
    "Kafka provider": "apache-airflow-providers-apache-kafka",
}


def row(chosen: VersionSet, results: Mapping[str, Counts]) -> str:
    """Return the row of a set."""
    environment = chosen.environment
    locked = locked_versions(chosen.lock if environment is not None else CHECKOUT / "constraints.txt")
    cells = [
        chosen.name,
        locked.get("apache-airflow", "–"),
        locked.get("pyspark", "–"),
        environment.python if environment is not None else "3.11",
        "11" if environment is not None and environment.java_11 else "17",
        *(chosen.servers.get(server, "as `make test`") for server in ("ignite", "kafka")),
        _packages(chosen, locked),
        "; ".join(f"{name}: {counts}" for name, counts in results.items()),
        date.today().isoformat(),
    ]
    return f"| {' | '.join(cells)} |"


def _packages(chosen: VersionSet, locked: Mapping[str, str]) -> str:
    if chosen.environment is None:
        return "as `make test`"
    age = (
        "lowest"
        if chosen.environment.lowest
        else f"of {chosen.environment.until}"
        if chosen.environment.until
        else "newest"
    )
    return ", ".join([age, *(f"{name} {locked[package]}" for name, package in _PROVIDERS.items() if package in locked)])


def write(name: str, new: str, page: Path = PAGE) -> None:
    """Write the row of a set; the rows of the other sets and the rest of the page stay.

    :raises ValueError: the page has no table of this command.
    """
    before, begin, rest = page.read_text().partition(BEGIN)
    table, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{page} has no table between the lines {BEGIN.strip()} and {END.strip()}")
    rows = {line.split("|")[1].strip(): line for line in table.removeprefix(HEAD).splitlines() if line}
    rows[name] = new
    kept = "".join(f"{rows[known]}\n" for known in SETS if known in rows)
    page.write_text(f"{before}{begin}{HEAD}{kept}\n{end}{after}")
