"""Python environments with other versions, each made in ``.work/matrix`` from a lock that has the hashes of all packages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from configparser import ConfigParser
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.servers.jars import CHECKOUT

UV = CHECKOUT / ".work" / "tools" / "bin" / "uv"
FOLDER = CHECKOUT / ".work" / "matrix"
# at the versions of constraints.txt, which are not what is tested
TEST_TOOLS = (
    "cryptography", "fastavro", "httpx2", "hypothesis", "jsonschema", "packaging", "psutil", "pyignite", "pytest", "pytest-cov",
    "pytest-timeout", "pytest-xdist", "setuptools", "statsd",
)  # fmt: skip
# those that an older Airflow requires, too, and which are of its time then; its Starlette tests with httpx
_OF_THE_TIME = {
    "cryptography": ">=45",
    "fastavro": ">=1.9",
    "jsonschema": ">=4.23",
    "packaging": ">=25",
    "httpx2": None,
}
# those whose newest versions need Python 3.11; httpx2 serves the tests of Airflow, which are not run there
_OF_PYTHON_3_10 = {"fastavro": ">=1.9", "hypothesis": ">=6.140", "httpx2": None}
_OF_TODAY = ("coverage", "hypothesis", "pytest", "pytest-cov", "pytest-timeout", "pytest-xdist")


@dataclass(frozen=True)
class Environment:
    """Python and the packages of an environment.

    :param python: minor version of Python, which pyenv or the path must have.
    :param extras: extras of setup.cfg that are installed.
    :param pins: requirements beside those of setup.cfg, such as ``apache-airflow==3.1.*``.
    :param lowest: whether direct requirements have the lowest versions that setup.cfg allows; else each package has its
        newest.
    :param until: day after the release of an older Airflow: no package is newer, as Airflow ends or fails with packages
        that are newer than its constraints. Empty: today.
    :param newer: packages that may be newer than that.
    :param java_11: whether Spark runs on Java 11; else on the Java of the path.
    """

    python: str
    extras: tuple[str, ...]
    pins: tuple[str, ...] = ()
    lowest: bool = False
    until: str = ""
    newer: tuple[str, ...] = ()
    java_11: bool = False

    def requirements(self) -> list[str]:
        """Return the requirements of setup.cfg, the pins, and the test tools with their versions."""
        own = [*declared(self.extras), *self.pins]
        known = {canonicalize_name(Requirement(line).name) for line in own}
        return [*own, *(tool for tool in self._tools() if canonicalize_name(Requirement(tool).name) not in known)]

    def _tools(self) -> list[str]:
        pins = dict(line.split("==") for line in (CHECKOUT / "constraints.txt").read_text().split())
        versions: dict[str, str | None] = {canonicalize_name(name): f"=={version}" for name, version in pins.items()}
        if self.until:
            versions |= _OF_THE_TIME
        if self.python == "3.10":
            versions |= _OF_PYTHON_3_10
        return [f"{tool}{versions[tool]}" for tool in TEST_TOOLS if versions[tool]]

    def resolve(self, lock: Path) -> None:
        """Write the lock: every package with its version and the hashes of its files.

        :raises subprocess.CalledProcessError: there are no such versions.
        """
        lock.parent.mkdir(parents=True, exist_ok=True)
        resolution = "lowest-direct" if self.lowest else "highest"
        options = ["--upgrade", "--generate-hashes", "--no-annotate", "--no-header", "--resolution", resolution]
        options += ["--python-version", self.python]
        if self.until:
            options += ["--exclude-newer", f"{self.until}T00:00:00Z"]
            for name in (*self.newer, *_OF_TODAY):
                options += ["--exclude-newer-package", f"{name}={date.today().isoformat()}"]
        _uv("pip", "compile", *options, "-", "--output-file", str(lock), stdin="\n".join([*self.requirements(), ""]))

    def install(self, lock: Path, home: Path) -> Path:
        """Make the environment and return its interpreter.

        :raises subprocess.CalledProcessError: the packages cannot be installed.
        """
        python = home / "bin" / "python"
        _uv("venv", "--allow-existing", "--no-python-downloads", "--python", interpreter(self.python), str(home))
        _uv("pip", "sync", "--require-hashes", "--python", str(python), str(lock))
        # by pip: uv leaves metadata in spark_apps, where Airflow would find each plugin a second time
        install = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(python),
            "install",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
        ]
        subprocess.run([*install, "--editable", str(CHECKOUT)], check=True)
        return python


def interpreter(version: str) -> str:
    """Return the Python of a minor version: that of pyenv, whose shims run one version only, else what uv finds by its version."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = sorted((root / "versions").glob(f"{version}.*/bin/python"))
    return str(installed[-1]) if installed else version


def declared(extras: Iterable[str]) -> list[str]:
    """Return the requirements of setup.cfg with those of extras."""
    metadata = ConfigParser()
    metadata.read(CHECKOUT / "setup.cfg")
    texts = [metadata["options"]["install_requires"], *(metadata["options.extras_require"][extra] for extra in extras)]
    return [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]


def locked_versions(lock: Path) -> dict[str, str]:
    """Return the version of each package of a lock."""
    pairs = (
        line.split()[0].split("==")
        for line in lock.read_text().splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    )
    return {canonicalize_name(name): version.rstrip(";") for name, version in pairs}


def _uv(*arguments: str, stdin: str | None = None) -> None:
    # the compiled lock is in its file; stdout would repeat it
    subprocess.run([str(UV), "--quiet", *arguments], input=stdin, text=True, check=True, stdout=subprocess.DEVNULL)
