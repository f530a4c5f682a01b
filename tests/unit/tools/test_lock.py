"""constraints.txt holds what setup.cfg and pyproject.toml ask for, in versions that fit."""

from __future__ import annotations

import re
import tomllib
from configparser import ConfigParser

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.servers.jars import CHECKOUT

LOCK = dict(line.split("==") for line in (CHECKOUT / "constraints.txt").read_text().split())
PINNED: dict[str, str] = {canonicalize_name(name): version for name, version in LOCK.items()}


def test_every_line_pins_one_version() -> None:
    for line in (CHECKOUT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)


def test_what_the_project_depends_on_is_pinned_in_a_version_that_fits() -> None:
    build = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["build-system"]["requires"]
    metadata = ConfigParser()
    metadata.read(CHECKOUT / "setup.cfg")
    for text in [*metadata["options"]["install_requires"].split(), *build]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(PINNED[canonicalize_name(requirement.name)]), text


def test_both_pyspark_packages_have_one_version() -> None:
    assert PINNED["pyspark"] == PINNED["pyspark-client"]
