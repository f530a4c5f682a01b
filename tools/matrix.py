"""Unit tests of the Airflow part with other versions of what it requires, each set in an environment of its own in ``.work/matrix``.

    python -m tools.matrix [SET ...]

Without names, all sets. The ranges of setup.cfg are what these sets have shown to work: ``oldest`` takes the lowest version of each direct
requirement, the others the newest ones that the package index has today. ``python -m tools.matrix --lock`` writes
``requirements/matrix-oldest.txt``, which ``oldest`` is installed from; the gate runs that set.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from configparser import ConfigParser
from dataclasses import dataclass
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


@dataclass(frozen=True)
class VersionSet:
    """Versions to test with.

    :param python: minor version of Python, which pyenv or the path must have.
    :param lowest: whether direct requirements have their lowest versions; else each package has its newest.
    """

    name: str
    python: str
    lowest: bool = False

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
        options = ["--generate-hashes", "--no-annotate", "--no-header", "--resolution", resolution, "--python-version", self.python]
        _uv("pip", "compile", *options, "-", "--output-file", str(self.lock), given=wanted())

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
        return subprocess.run(command, cwd=CHECKOUT, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}).returncode == 0


SETS = (VersionSet("oldest", "3.11", lowest=True), VersionSet("newest-3.12", "3.12"), VersionSet("newest-3.13", "3.13"))


def interpreter(version: str) -> str:
    """A Python of a minor version: that of pyenv, whose shims run one version only, else what uv finds by its version."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted((root / "versions").glob(f"{version}.*/bin/python"))
    return str(found[-1]) if found else version


def _uv(*arguments: str, given: str | None = None) -> None:
    subprocess.run([str(UV), "--quiet", *arguments], input=given, text=True, check=True)


def wanted() -> str:
    """Requirements of the Airflow part by setup.cfg, and the test tools as constraints.txt pins them; one a line."""
    metadata = ConfigParser()
    metadata.read(CHECKOUT / "setup.cfg")
    texts = [metadata["options"]["install_requires"], *(metadata["options.extras_require"][extra] for extra in EXTRAS)]
    own = [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]
    pins = dict(line.split("==") for line in (CHECKOUT / "constraints.txt").read_text().split())
    versions: dict[str, str] = {canonicalize_name(name): version for name, version in pins.items()}
    known = {canonicalize_name(Requirement(line).name) for line in own}
    tools = [f"{tool}=={versions[tool]}" for tool in TEST_TOOLS if tool not in known]
    return "\n".join([*own, *tools, ""])


def shown(lock: Path) -> list[str]:
    """Packages of a lock that matter most."""
    lines = (line.split()[0] for line in lock.read_text().splitlines() if "==" in line)
    return [line for line in lines if line.startswith(("apache-airflow==", "apache-airflow-providers-apache-", "pyspark=="))]


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description=__doc__)
    by_name = {one.name: one for one in SETS}
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"one or more of {', '.join(by_name)}; default: all")
    parser.add_argument("--lock", action="store_true", help="write the locks of the repository instead")
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
    print(*(f"{name}: {'passed' if passed else 'FAILED'}" for name, passed in results.items()), sep="\n")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
