"""The sets of versions that the Airflow part is tested with."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.matrix import SETS, main, wanted
from tools.servers.jars import CHECKOUT

[OLDEST] = [one for one in SETS if one.lowest]


def test_the_oldest_set_has_the_lower_bounds_of_setup_cfg() -> None:
    locked: dict[str, str] = {
        canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", OLDEST.lock.read_text(), re.MULTILINE)
    }
    requirements = [Requirement(line) for line in wanted().splitlines()]
    assert all(requirement.specifier.contains(locked[canonicalize_name(requirement.name)]) for requirement in requirements)
    lowest = {one.name: bound.version for one in requirements for bound in one.specifier if bound.operator == ">="}
    for name in ("apache-airflow", "apache-airflow-providers-apache-kafka", "apache-airflow-providers-apache-spark"):
        assert locked[name].startswith(lowest[name]), name
        assert locked[name].removeprefix(lowest[name]) in ("", ".0"), name


def test_every_supported_python_is_in_a_set() -> None:
    assert {one.python for one in SETS} == {"3.11", "3.12", "3.13"}
    assert "python_requires = >=3.11" in (CHECKOUT / "setup.cfg").read_text()


def test_an_unknown_set_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["latest"])
    assert "unknown: latest; known are oldest, " in capsys.readouterr().err
