"""What the code imports is what setup.cfg requires."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOP = Path(__file__).parents[2]
OWN = {"ignite_kafka", "airflow_provider_ignite_kafka"}
DISTRIBUTIONS: Mapping[str, list[str]] = packages_distributions()
METADATA = ConfigParser()
METADATA.read(TOP / "setup.cfg")
# where the code lives, and the extras with which it is installed
PARTS = {
    "spark_apps": ("spark", "registry", "keystores", "prometheus", "otlp", "serve"),
    "airflow_provider_ignite_kafka": ("airflow", "kubernetes", "openlineage"),
    "dags": ("airflow",),  # the examples are a part of the wheel
}
# Airflow is several distributions, of which each requires the next; times of Dags are pendulum's, and widgets of the
# connection form are those that the API server of 3.0 and 3.1 has or replaces
INCLUDED = {"apache-airflow": {"apache-airflow-core", "apache-airflow-task-sdk", "asgiref", "pendulum", "flask-appbuilder", "wtforms"}}


def required(*extras: str) -> dict[str, Requirement]:
    """Requirements by name, of the library and of extras."""
    texts = [METADATA["options"]["install_requires"], *(METADATA["options.extras_require"][extra] for extra in extras)]
    lines = [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(one.name): one for one in map(Requirement, lines)}


def imported(folder: str) -> Iterator[tuple[str, str]]:
    """File and dotted module of every import that is not relative."""
    for path in sorted((TOP / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            yield from ((str(path.relative_to(TOP)), name) for name in names)


def distributions_of(module: str) -> set[str]:
    """Distributions one of which must be required for a module; a provider of Airflow is one of its own."""
    provider = re.match(r"airflow\.providers\.((?:apache|cncf|common)\.)?(\w+)", module)
    if provider:
        return {canonicalize_name("apache-airflow-providers-" + (provider[1] or "").replace(".", "-") + provider[2])}
    return {canonicalize_name(name) for name in DISTRIBUTIONS.get(module.split(".")[0], [module.split(".")[0]])}


@pytest.mark.parametrize("folder", PARTS)
def test_every_import_is_required(folder: str) -> None:
    names = set(required(*PARTS[folder]))
    names |= {part for name in names for part in INCLUDED.get(name, ())}
    missing = {
        f"{file}: {module}"
        for file, module in imported(folder)
        if module.split(".")[0] not in {*OWN, *sys.stdlib_module_names} and not distributions_of(module) & names
    }
    assert not missing


def test_airflow_has_an_upper_bound_because_private_names_are_used() -> None:
    """The state stores of assets and the running task are reached by names that the next minor version may change."""
    assert not required("airflow")["apache-airflow"].specifier.contains("3.4.0")


@pytest.mark.parametrize(
    ("name", "next_version"),
    [
        ("apache-airflow-providers-apache-spark", "7.0.0"),  # SparkAppHook: the process and the id of the app of SparkSubmitHook
        ("apache-airflow-providers-common-sql", "3.0.0"),  # IgniteHook: frames and cells of DbApiHook
        ("pyignite", "0.7.0"),  # IgniteClient: connections and their handshake
    ],
)
def test_what_is_derived_from_by_private_names_has_an_upper_bound(name: str, next_version: str) -> None:
    assert not required("airflow")[name].specifier.contains(next_version)
