"""Pack a Python with the packages that executors need, as docs/deploy.md describes it for YARN: venv, pip, venv-pack.

    python -m tools.packed_python [REQUIREMENTS FILE]

Writes ``.work/packed/env.tar.gz``, about 150 MB, in half a minute, with the versions and hashes of
requirements/development.txt; or a file ``env.tar.gz`` with those of another lock. The packed ``bin/python`` is a link
to this Python, which is at the same path on all hosts of a test. TEST_YARN_PACKED names the file that the tests use.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.servers.jars import CHECKOUT, WORK

REQUIREMENTS = CHECKOUT / "requirements" / "development.txt"
PACKED = WORK / "packed" / "env.tar.gz"
PACKAGES = ("confluent-kafka", "numpy", "polars", "polars-runtime-32", "pyarrow")
_TOOLS = WORK / "tools" / "bin"


def locked(requirements: str, packages: Iterable[str]) -> str:
    """Return the entries of some packages of a requirements file, with their hashes.

    :raises LookupError: the file has no entry of one of them.
    """
    entries = {
        match[1]: match[0]
        for match in re.finditer(r"^([A-Za-z0-9._-]+)==[^\n]*(?:\n[ \t][^\n]*)*", requirements, re.MULTILINE)
    }
    if missing := [name for name in packages if name not in entries]:
        raise LookupError(f"the requirements have no {missing[0]}")
    return "\n".join(entries[name] for name in packages) + "\n"


def packed() -> Path:
    """The packed Python of the tests.

    :raises FileNotFoundError: it has not been made.
    """
    found = Path(os.environ.get("TEST_YARN_PACKED", PACKED)).absolute()
    if not found.exists():
        raise FileNotFoundError(
            f"there is no packed Python {found}: run `make setup`, or python -m tools.packed_python"
        )
    return found


def pack(lock: Path, target: Path) -> None:
    """Write the packed Python.

    :param lock: requirements with hashes, which have :data:`PACKAGES`.
    :raises subprocess.CalledProcessError: a package could not be installed, or the environment not be packed; the
        output says why.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent) as folder:
        environment, requirements, new = (
            Path(folder) / "env",
            Path(folder) / "requirements.txt",
            Path(folder) / target.name,
        )
        requirements.write_text(locked(lock.read_text(), PACKAGES))
        _run(sys.executable, "-m", "venv", "--without-pip", environment)
        install = (
            _TOOLS / "uv",
            "pip",
            "install",
            "--quiet",
            "--no-progress",
            "--no-deps",
            "--require-hashes",
            "--compile-bytecode",
        )
        _run(*install, "--python", environment / "bin" / "python", "--requirement", requirements)
        _run(_TOOLS / "venv-pack", "--quiet", "--compress-level", "1", "-p", environment, "-o", new)
        new.rename(target)  # at once: a file that exists is complete


def _run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True)


if __name__ == "__main__":
    pack(*map(Path, sys.argv[1:3])) if len(sys.argv) > 1 else pack(REQUIREMENTS, PACKED)
