"""Declared dependencies are those that the packages import; the library needs no Airflow."""

from __future__ import annotations

import configparser
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.unit.test_imports import AIRFLOW_SIDE, SPARK_SIDE, imported

ROOT = Path(__file__).parents[2]
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")
# packages by the top-level modules that they are imported by, where these have another name
MODULES = {
    "confluent-kafka": {"confluent_kafka"},
    "PyYAML": {"yaml"},
    "prometheus-client": {"prometheus_client"},
    "opentelemetry-exporter-otlp-proto-http": {"opentelemetry"},
    "opentelemetry-sdk": {"opentelemetry"},
    "pyspark": {"pyspark", "py4j"},  # it requires the one version of py4j that it works with
    # threads of its triggerer; widgets of the connection form, which the API server of 3.0 and 3.1 has or replaces
    "apache-airflow": {"airflow", "asgiref", "flask_appbuilder", "wtforms"},
    "apache-airflow-providers-apache-kafka": {"airflow"},
    "apache-airflow-providers-apache-spark": {"airflow"},
    "apache-airflow-providers-cncf-kubernetes": {"airflow"},
    "apache-airflow-providers-common-compat": {"airflow"},
    "apache-airflow-providers-common-sql": {"airflow"},
    "apache-airflow-providers-standard": {"airflow"},
}
# declared for their versions alone: the Spark provider requires them, see setup.cfg
PINNED_ONLY = {"pandas", "pyspark"}
# what confluent_kafka.schema_registry imports beside the standard library
REGISTRY_CLIENT = {"attrs", "authlib", "cachetools", "certifi", "httpx", "httpx2"}
OWN = {"airflow_provider_ignite_kafka", "ignite_kafka"}


def declared(extra: str | None = None) -> set[str]:
    text = SETUP["options"]["install_requires"] if extra is None else SETUP["options.extras_require"][extra]
    return {Requirement(line).name for line in text.split("\n") if line and not line.startswith("#")}


def modules_of(packages: Iterable[str]) -> set[str]:
    return {module for package in packages for module in MODULES.get(package, {package})}


def third_parties(files: Iterable[Path]) -> set[str]:
    return {name for file in files for name in imported(file)} - set(sys.stdlib_module_names) - OWN


def test_the_library_declares_what_it_imports() -> None:
    extras = ("spark", "keystores", "prometheus", "otlp", "serve")
    assert third_parties(SPARK_SIDE) == modules_of(declared().union(*map(declared, extras)))


def test_the_provider_declares_what_it_imports() -> None:
    assert third_parties(AIRFLOW_SIDE) == modules_of((declared("airflow") - PINNED_ONLY) | declared("kubernetes"))


def test_a_plain_install_has_no_airflow_and_none_of_the_developers_tools() -> None:
    assert declared() & (declared("airflow") | declared("test") | declared("dev")) == set()
    assert not declared("airflow") & {"pytest", "mypy", "ruff"}


def test_extras_agree_on_the_versions_of_pyspark() -> None:
    """Airflow's extra may end at the newest version that pyspark-client has, too."""
    extras = SETUP["options.extras_require"]
    ranges = {
        extra: Requirement(line).specifier
        for extra in ("spark", "airflow")
        for line in extras[extra].split("\n")
        if line.startswith("pyspark>")
    }
    bounds = {extra: sorted((bound.operator, bound.version) for bound in given) for extra, given in ranges.items()}
    assert bounds["airflow"][-1] == bounds["spark"][-1]
    assert bounds["airflow"][-1][0] == ">="
    (newest,) = (version for operator, version in bounds["airflow"] if operator == "<=")
    assert newest in ranges["spark"]


@pytest.mark.parametrize("left_out", ["airflow", "dev", "otlp", "prometheus", "registry", "serve", "test"])
def test_every_module_of_the_library_is_imported_without_an_extra(left_out: str) -> None:
    imports = REGISTRY_CLIENT if left_out == "registry" else modules_of(declared(left_out))
    absent = sorted(imports - modules_of(declared() | declared("spark") | declared("keystores")) | {"airflow"})
    code = f"""
import importlib, pkgutil, sys
from importlib.machinery import PathFinder
find_spec = PathFinder.find_spec

class Without:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in {absent!r} else find_spec(name, path, target)

sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
import ignite_kafka
for module in pkgutil.walk_packages(ignite_kafka.__path__, "ignite_kafka."):
    importlib.import_module(module.name)
assert not set({absent!r}) & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
