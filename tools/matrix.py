"""Unit tests of the Airflow part with other versions of what it requires, each set in an environment of its own in ``.work/matrix``.

    python -m tools.matrix [--write] [SET ...]

Without names, all sets. The ranges of setup.cfg are what these sets have shown to work: ``oldest`` takes the lowest version of each direct
requirement, ``3.1`` and ``3.2`` the packages of the day on which that Airflow was released, the others the newest ones that the package
index has today. Airflow ends or fails with packages that are newer than its constraints, so the sets of an older Airflow have a date.
``--lock`` writes ``requirements/matrix-oldest.txt``, which ``oldest`` is installed from; the gate runs that set. ``--write`` writes the
results into docs/compatibility.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.servers.jars import CHECKOUT

UV = CHECKOUT / ".work" / "tools" / "bin" / "uv"
FOLDER = CHECKOUT / ".work" / "matrix"
TESTS = ("tests/unit/airflow", "tests/unit/test_imports.py")
EXTRAS = ("airflow", "openlineage", "registry")
# at the versions of constraints.txt: the tests are not what is tested
TEST_TOOLS = (
    "cryptography", "fastavro", "httpx2", "hypothesis", "jsonschema", "packaging", "pytest", "pytest-cov", "pytest-timeout", "pytest-xdist",
    "setuptools", "statsd",
)  # fmt: skip
# those that another one of an older Airflow requires, too, and which are of its time then; its Starlette tests with httpx
_OF_THE_TIME = {"cryptography": ">=45", "fastavro": ">=1.9", "jsonschema": ">=4.23", "packaging": ">=25", "httpx2": None}
_OF_TODAY = ("coverage", "hypothesis", "pytest", "pytest-cov", "pytest-timeout", "pytest-xdist")
DOCUMENT = CHECKOUT / "docs" / "compatibility.md"
_BEGIN, _END = "<!-- make matrix: Airflow -->\n", "<!-- end -->\n"
_COLUMNS = ("set", "Python", "Airflow", "Spark provider", "Kafka provider", "PySpark", "unit tests", "date")
_SHOWN = ("apache-airflow", "apache-airflow-providers-apache-spark", "apache-airflow-providers-apache-kafka", "pyspark")


@dataclass(frozen=True)
class VersionSet:
    """Versions to test with.

    :param python: minor version of Python, which pyenv or the path must have.
    :param lowest: whether direct requirements have their lowest versions; else each package has its newest.
    :param airflow: minor version of Airflow; empty: as the rest.
    :param until: day after the release of that Airflow; no package is newer. Empty: today.
    :param newer: packages that may be newer than that.
    """

    name: str
    python: str
    lowest: bool = False
    airflow: str = ""
    until: str = ""
    newer: tuple[str, ...] = ()

    @property
    def lock(self) -> Path:
        """File of the packages; the one of the lowest versions is in the repository."""
        return CHECKOUT / "requirements" / f"matrix-{self.name}.txt" if self.lowest else FOLDER / f"{self.name}.txt"

    def resolve(self) -> None:
        """Write the lock.

        :raises subprocess.CalledProcessError: there are no such versions.
        """
        resolution = "lowest-direct" if self.lowest else "highest"
        self.lock.parent.mkdir(parents=True, exist_ok=True)
        options = [
            "--upgrade",
            "--generate-hashes",
            "--no-annotate",
            "--no-header",
            "--resolution",
            resolution,
            "--python-version",
            self.python,
        ]
        if self.until:
            options += ["--exclude-newer", f"{self.until}T00:00:00Z"]
            for name in (*self.newer, *_OF_TODAY):
                options += ["--exclude-newer-package", f"{name}={date.today().isoformat()}"]
        _uv("pip", "compile", *options, "-", "--output-file", str(self.lock), given=self.wanted())

    def wanted(self) -> str:
        """Requirements of the Airflow part by setup.cfg, and the test tools as constraints.txt pins them; one a line."""
        own = declared()
        pins = dict(line.split("==") for line in (CHECKOUT / "constraints.txt").read_text().split())
        versions: dict[str, str | None] = {canonicalize_name(name): f"=={version}" for name, version in pins.items()}
        if self.until:
            versions |= _OF_THE_TIME
        known = {canonicalize_name(Requirement(line).name) for line in own}
        tools = [f"{tool}{versions[tool]}" for tool in TEST_TOOLS if tool not in known and versions[tool]]
        return "\n".join([*own, *tools, *([f"apache-airflow=={self.airflow}.*"] if self.airflow else []), ""])

    def test(self) -> bool:
        """Install the packages and run the tests; False if one fails.

        :raises subprocess.CalledProcessError: the packages cannot be installed.
        """
        if not self.lowest:
            self.resolve()
        home = FOLDER / self.name
        python = str(home / "bin" / "python")
        _uv("venv", "--allow-existing", "--no-python-downloads", "--python", interpreter(self.python), str(home))
        _uv("pip", "sync", "--require-hashes", "--python", python, str(self.lock))
        # by pip: uv leaves metadata in spark_apps, where Airflow would find each plugin a second time
        install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable"]
        subprocess.run([*install, str(CHECKOUT)], check=True)
        print(f"== {self.name}: Python {self.python}, {', '.join(shown(self.lock))}", flush=True)
        command = [python, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-p", "tools.gate.recorder", *TESTS]
        if self.until:  # packages of that time warn of Pythons and of each other; its AnyIO brings a plugin for an older pytest
            command += ["-W", "default", "-p", "no:anyio"]
        return subprocess.run(command, cwd=CHECKOUT, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}).returncode == 0


SETS = (
    # common-compat of that day has no module sdk yet
    VersionSet("oldest", "3.11", lowest=True, until="2025-08-30", newer=("apache-airflow-providers-common-compat",)),
    VersionSet("3.1", "3.11", airflow="3.1", until="2026-03-12"),
    VersionSet("3.2", "3.12", airflow="3.2", until="2026-05-30"),
    VersionSet("newest-3.12", "3.12"),
    VersionSet("newest-3.13", "3.13"),
)


def interpreter(version: str) -> str:
    """A Python of a minor version: that of pyenv, whose shims run one version only, else what uv finds by its version."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted((root / "versions").glob(f"{version}.*/bin/python"))
    return str(found[-1]) if found else version


def _uv(*arguments: str, given: str | None = None) -> None:
    subprocess.run([str(UV), "--quiet", *arguments], input=given, text=True, check=True)


def declared() -> list[str]:
    """Requirements of the Airflow part by setup.cfg."""
    metadata = ConfigParser()
    metadata.read(CHECKOUT / "setup.cfg")
    texts = [metadata["options"]["install_requires"], *(metadata["options.extras_require"][extra] for extra in EXTRAS)]
    return [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]


def shown(lock: Path) -> list[str]:
    """Packages of a lock that matter most, each ``name==version``."""
    lines = [line.split()[0] for line in lock.read_text().splitlines() if "==" in line]
    return [line for name in _SHOWN for line in lines if line.startswith(f"{name}==")]


def write_results(results: Mapping[str, bool], document: Path = DOCUMENT) -> None:
    """Write the sets that were tested into the section Airflow of a document; the rows of the other sets and the rest stay."""
    text = document.read_text()
    before, begin, rest = text.partition(_BEGIN)
    table, end, after = rest.partition(_END)
    if not end:
        raise ValueError(f"{document} has no section between the lines {_BEGIN.strip()} and {_END.strip()}")
    rows = {line.split("|")[1].strip(): line for line in table.splitlines()[3:]}
    for one in SETS:
        if one.name in results:
            versions = [line.partition("==")[2] for line in shown(one.lock)]
            result = "passed" if results[one.name] else "**failed**"
            rows[one.name] = f"| {' | '.join([one.name, one.python, *versions, result, date.today().isoformat()])} |"
    head = ["", f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
    kept = [rows[one.name] for one in SETS if one.name in rows]
    document.write_text(before + begin + "\n".join([*head, *kept, ""]) + end + after)


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description=__doc__)
    by_name = {one.name: one for one in SETS}
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"one or more of {', '.join(by_name)}; default: all")
    parser.add_argument("--lock", action="store_true", help="write the locks of the repository instead")
    parser.add_argument("--write", action="store_true", help="write the results into docs/compatibility.md")
    given = parser.parse_args(arguments)
    unknown = set(given.sets) - by_name.keys()
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known are {', '.join(by_name)}")
    chosen = [by_name[name] for name in given.sets] or list(SETS)
    if given.lock:
        for one in chosen:
            if one.lowest:
                one.resolve()
        return 0
    results = {one.name: one.test() for one in chosen}
    if given.write:
        write_results(results)
    print(*(f"{name}: {'passed' if passed else 'FAILED'}" for name, passed in results.items()), sep="\n")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
