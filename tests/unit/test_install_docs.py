"""Packages that the docs install exist: dependencies of the project, and its own wheel, which is on no index."""

from __future__ import annotations

import configparser
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OTHERS = {"venv-pack"}  # tried by hand: it packs the environment for YARN
WHEEL = "airflow_provider_ignite_kafka-*.whl"


def installed(page: Path) -> list[str]:
    """What the page's `pip install` commands name."""
    commands = re.findall(r"pip install ([^\n#]*)", page.read_text())
    words = [word for command in commands for word in shlex.split(re.split(r"&&|`", command)[0])]
    return [word for word in words if not word.startswith("-")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_packages_are_dependencies_or_the_wheel_of_the_checkout(page: Path) -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = setup["options.extras_require"]
    required = [setup["options"]["install_requires"], *(extras[extra] for extra in extras)]
    known = {re.split(r"[<>=!\[]", line)[0] for text in required for line in text.split()} - {setup["metadata"]["name"]}
    for name in installed(page):
        wheel = re.fullmatch(rf"(?:\$\(ls )?(?:\S+/)?{re.escape(WHEEL)}\)?(?:\[({'|'.join(extras)})\])?", name)
        assert name in known | OTHERS or wheel, f"{page.name} installs {name}, which no index has"


def test_pages_that_tell_it_are_looked_at() -> None:
    found = {page.name: installed(page) for page in PAGES}
    assert {"confluent-kafka", "polars", "venv-pack"} <= set(found["deploy.md"])
    assert any(WHEEL in name for name in found["deploy.md"])


def test_the_pyspark_that_a_message_names_is_the_declared_one() -> None:
    message = (ROOT / "spark_apps" / "ignite_kafka" / "runtime" / "spark_conf.py").read_text()
    (versions,) = re.findall(r"pyspark([<>=][\d.,<>=]+)", message)
    assert f"pyspark{versions}\n" in (ROOT / "setup.cfg").read_text()


def test_the_wheel_s_name_is_that_of_the_project() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert setup["metadata"]["name"].replace("-", "_") == WHEEL.partition("-")[0]
