"""The sets of versions that the project is tested with."""

from __future__ import annotations

from configparser import ConfigParser

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.matrix.environments import declared, locked_versions
from tools.matrix.sets import SETS
from tools.servers.jars import CHECKOUT

METADATA = ConfigParser()
METADATA.read(CHECKOUT / "setup.cfg")
OLDEST = SETS["oldest"]
ENVIRONMENTS = {name: chosen.environment for name, chosen in SETS.items() if chosen.environment is not None}
SPARK = {name: environment for name, environment in ENVIRONMENTS.items() if name.startswith("spark-")}


def test_the_lock_of_the_oldest_set_has_the_lower_bounds_of_setup_cfg() -> None:
    assert OLDEST.environment is not None
    locked = locked_versions(OLDEST.lock)
    requirements = [Requirement(line) for line in OLDEST.environment.requirements()]
    assert all(requirement.specifier.contains(locked[canonicalize_name(requirement.name)]) for requirement in requirements)
    lowest = {one.name: bound.version for one in requirements for bound in one.specifier if bound.operator == ">="}
    for name in ("apache-airflow", "apache-airflow-providers-apache-kafka", "apache-airflow-providers-apache-spark"):
        assert locked[name].startswith(lowest[name]), name
        assert locked[name].removeprefix(lowest[name]) in ("", ".0", ".0.0"), name


def test_every_supported_python_is_in_a_set() -> None:
    assert {environment.python for environment in SPARK.values()} == {"3.10", "3.11", "3.12", "3.13"}
    airflow = {environment.python for environment in ENVIRONMENTS.values() if "airflow" in environment.extras}
    assert airflow == {"3.11", "3.12", "3.13"}
    assert METADATA["options"]["python_requires"] == ">=3.10"


def test_sets_have_versions_of_pyspark_that_setup_cfg_allows() -> None:
    [pyspark] = [Requirement(line) for line in declared(["spark"]) if line.startswith("pyspark")]
    pins = [Requirement(environment.pins[0]) for environment in SPARK.values()]
    assert [pin.name for pin in pins] == ["pyspark"] * len(SPARK)
    assert all(pyspark.specifier.contains(str(pin.specifier).removeprefix("==")) for pin in pins)


def test_the_lowest_packages_are_tested_with_the_oldest_pyspark() -> None:
    assert SPARK["spark-3.5"].lowest
    assert set(METADATA["options"]["install_requires"].split()) <= set(SPARK["spark-3.5"].requirements())


def test_a_requirement_that_a_tool_shares_is_named_once() -> None:
    for name, environment in ENVIRONMENTS.items():
        names = [canonicalize_name(Requirement(line).name) for line in environment.requirements() if "[" not in line and "==" not in line]
        assert len(names) == len(set(names)), name


def test_the_tests_of_a_set_exist() -> None:
    for tests in {tests for chosen in SETS.values() for tests in chosen.tests}:
        for test in tests.paths:
            file, _, name = test.partition("::")
            assert (CHECKOUT / file).exists(), file
            assert f"def {name}" in (CHECKOUT / file).read_text() if name else True


def test_the_typical_set_has_the_spark_and_the_servers_of_clusters() -> None:
    typical = SETS["typical"]
    assert typical.environment is not None
    assert {"apache-airflow==3.1.*", "pyspark==3.5.*"} <= set(typical.environment.requirements())
    assert typical.servers == {"ignite": "2.14.0", "kafka": "3.6.2"}
