"""constraints.txt pins what setup.cfg and pyproject.toml ask for; requirements/*.txt has the same versions with hashes."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.servers.jars import CHECKOUT

LOCK = dict(line.split("==") for line in (CHECKOUT / "constraints.txt").read_text().split())
PINNED: dict[str, str] = {canonicalize_name(name): version for name, version in LOCK.items()}
LOCKED = sorted((CHECKOUT / "requirements").glob("*.txt"))
# extras whose packages tests replace; botocore, of msk, requires another python-dateutil than the pinned one
_NOT_LOCKED = ("msk", "gcp", "kubernetes")
_PACKAGE = re.compile(r"([A-Za-z0-9._-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def locked(file: Path) -> dict[str, str]:
    """Name to version; every package of the file has hashes, and the file has nothing else."""
    text = file.read_text()
    packages = list(_PACKAGE.finditer(text))
    assert "".join(package[0] for package in packages) == text
    return {canonicalize_name(package[1]): package[2] for package in packages}


def test_every_constraint_pins_one_version() -> None:
    for line in (CHECKOUT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)


def test_dependencies_are_pinned_in_an_allowed_version() -> None:
    build = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["build-system"]["requires"]
    metadata = ConfigParser()
    metadata.read(CHECKOUT / "setup.cfg")
    texts = [text for extra, text in metadata["options.extras_require"].items() if extra not in _NOT_LOCKED]
    extras = [line for text in texts for line in text.splitlines() if not line.startswith("#")]
    for text in filter(None, [*metadata["options"]["install_requires"].split(), *extras, *build]):
        requirement = Requirement(text)
        if requirement.name == metadata["metadata"]["name"]:  # an extra that names others
            continue
        assert requirement.specifier.contains(PINNED[canonicalize_name(requirement.name)]), text


def test_both_pyspark_packages_have_one_version() -> None:
    assert PINNED["pyspark"] == PINNED["pyspark-client"]


def test_the_development_lock_equals_the_constraints() -> None:
    assert locked(CHECKOUT / "requirements" / "development.txt") == PINNED


@pytest.mark.parametrize("file", LOCKED, ids=lambda file: file.name)
def test_a_lock_has_the_packages_of_its_input(file: Path) -> None:
    packages = locked(file)
    assert packages
    wanted = file.with_suffix(".in")
    if not wanted.exists():
        return
    lines = [Requirement(line) for line in wanted.read_text().splitlines() if not line.startswith("#")]
    for requirement in lines:
        assert requirement.specifier.contains(packages[canonicalize_name(requirement.name)]), requirement
    if file.name != "tools.txt":  # a tool of its own environment has versions of its own
        own = {canonicalize_name(requirement.name) for requirement in lines if requirement.specifier}
        others = {name: version for name, version in packages.items() if name not in own}
        assert others == {name: PINNED[name] for name in others}
