"""The sets of versions, and the tests that each of them runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.servers.jars import CHECKOUT

from .environments import FOLDER, Environment


@dataclass(frozen=True)
class Suite:
    """Tests that are run together.

    :param name: as the table of results shows it.
    :param paths: files, folders or names of tests.
    :param workers: processes that run them side by side; 0: the one of pytest.
    """

    name: str
    paths: tuple[str, ...]
    workers: int = 0


@dataclass(frozen=True)
class VersionSet:
    """Versions of everything, and tests that are run with them.

    :param environment: Python and its packages; None: the environment of the checkout.
    :param servers: ``ignite`` or ``kafka`` to its version; without one that of pom.xml.
    :param options: of pytest.
    :param on_yarn: Airflow and YARN's containers have the environment, and pytest that of the checkout.
    """

    name: str
    tests: tuple[Suite, ...]
    environment: Environment | None = None
    servers: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    on_yarn: bool = False

    @property
    def lock(self) -> Path:
        """File of the environment's packages; that of the set ``oldest``, which the gate runs, is in the repository."""
        return CHECKOUT / "requirements" / "matrix-oldest.txt" if self.name == "oldest" else FOLDER / f"{self.name}.txt"


_AIRFLOW = ("airflow", "openlineage", "registry")
_LIBRARY = ("otlp", "prometheus", "registry")
# packages of that time warn of Pythons and of each other; its AnyIO brings a plugin for an older pytest
_DATED = ("-W", "default", "-p", "no:anyio")
# what Spark Connect needs, whose sessions a test asks for
_CONNECT = (
    "googleapis-common-protos>=1.65",
    "grpcio>=1.67",
    "grpcio-status>=1.67",
    "pandas>=2.2,<3",
    "zstandard>=0.25",
)
# PySpark 3.5 leaves the sockets of its results to the garbage collector
_SPARK = ("-W", "ignore::ResourceWarning")
# tests of settings that ask data sources, too, which PySpark 3.5 lacks
_WITH_DATA_SOURCES = ("client_properties", "registry_login", "topic_names", "trust")
# httpx of that time warns of the paths of certificates that confluent-kafka gives it
_SPARK_3_5 = (
    # its Spark Connect does not start with NumPy 2, which the library needs
    *("--deselect", "tests/integration/test_spark_versions.py::test_a_session_of_spark_connect_is_refused"),
    *(*_SPARK, "-W", "ignore:`verify=<str>:DeprecationWarning"),
    *(f"--ignore=tests/unit/settings/test_{name}.py" for name in _WITH_DATA_SOURCES),
)
# tests that also ask the source ignite-backlog, which is left out before PySpark 4.2, or the classes of pushed conditions
_WITHOUT_BACKLOG = ("ignite", "ignite_backlog", "option_tables")
_SPARK_4_0 = (*_SPARK, *(f"--ignore=tests/unit/datasources/test_{name}.py" for name in _WITHOUT_BACKLOG))
_FOLDERS = (
    "admin", "cli", "common", "convert", "ignite", "kafka", "metrics", "migration", "plan", "registry", "runtime", "settings", "sink", "source",
    "sql", "state", "verification",
)  # fmt: skip

AIRFLOW_UNIT = Suite("Airflow part", ("tests/unit/airflow", "tests/unit/test_imports.py"))
AIRFLOW_RUNS = Suite(
    "Dags on servers",
    tuple(f"tests/integration/airflow/test_{name}.py" for name in ("airflow_run", "verify", "stream", "cache_watch")),
)
LIBRARY_UNIT = Suite("library", tuple(f"tests/unit/{folder}" for folder in _FOLDERS), workers=2)
CONNECTORS = Suite(
    "connectors on servers",
    (
        "tests/integration/source/test_snapshot.py::test_every_entry_of_every_cache_arrives_once",
        "tests/integration/source/test_stream.py::test_entries_then_changes_each_once_and_in_order",
        "tests/integration/source/test_stream.py::test_a_later_start_continues_where_the_first_stopped",
        "tests/integration/sink/test_sink.py::test_records_arrive_with_their_types_and_the_group_has_no_lag",
        "tests/integration/cli/test_replicate.py",
        "tests/integration/verification/test_connector.py",
        "tests/integration/test_spark_versions.py",
        "tests/faults/test_driver_killed.py",
    ),
)
DATA_SOURCES = Suite(
    "data sources",
    (
        "tests/unit/datasources",
        "tests/integration/datasources/test_sources.py",
        "tests/integration/datasources/test_ignite_write.py",
    ),
)
IGNITE = Suite(
    "nodes",
    (
        "tests/integration/ignite/test_backlog_service.py",
        "tests/integration/admin/test_backlog.py",
        "tests/integration/source/test_snapshot.py",
        "tests/integration/sink/test_sink.py",
    ),
)
KAFKA = Suite(
    "brokers",
    (
        "tests/integration/kafka/test_producer.py",
        "tests/integration/kafka/test_consumer.py",
        "tests/integration/kafka/test_dead_letters.py",
        "tests/integration/state/test_slot_writer.py",
        "tests/integration/state/test_rights.py",
        "tests/integration/source/test_snapshot.py",
        "tests/integration/sink/test_sink.py",
    ),
)
YARN = Suite("copies on YARN", ("tests/integration/airflow/test_yarn.py",))
THREE_BROKERS = Suite("three brokers", ("tests/faults/test_three_brokers.py",))

_OLDEST_OF_AIRFLOW = Environment(
    "3.11",
    _AIRFLOW,
    lowest=True,
    until="2025-08-30",
    newer=("apache-airflow-providers-common-compat",),  # that of the day has no module sdk yet
)


def _airflow() -> Iterator[VersionSet]:
    yield VersionSet("oldest", (AIRFLOW_UNIT,), _OLDEST_OF_AIRFLOW, options=_DATED)
    yield VersionSet("airflow-3.0", (AIRFLOW_RUNS,), _OLDEST_OF_AIRFLOW, options=_DATED)
    for minor, python, until in (("3.1", "3.11", "2026-03-12"), ("3.2", "3.12", "2026-05-30")):
        environment = Environment(python, _AIRFLOW, (f"apache-airflow=={minor}.*",), until=until)
        yield VersionSet(f"airflow-{minor}", (AIRFLOW_UNIT,), environment, options=_DATED)
    yield from (
        VersionSet(f"airflow-python-{python}", (AIRFLOW_UNIT,), Environment(python, _AIRFLOW))
        for python in ("3.12", "3.13")
    )


def _spark() -> Iterator[VersionSet]:
    lowest = Environment("3.10", _LIBRARY, ("pyspark==3.5.9",), lowest=True, java_11=True)
    yield VersionSet("spark-3.5", (LIBRARY_UNIT, CONNECTORS), lowest, options=_SPARK_3_5)
    for version, python in (("4.0.5", "3.11"), ("4.1.4", "3.12"), ("4.2.0", "3.13")):
        environment = Environment(python, _LIBRARY, (f"pyspark=={version}", *_CONNECT))
        options = _SPARK if version.startswith("4.2") else _SPARK_4_0
        yield VersionSet(f"spark-{version[:3]}", (LIBRARY_UNIT, CONNECTORS, DATA_SOURCES), environment, options=options)


def _typical() -> VersionSet:
    """What many users have: an Airflow of last year, Spark 3.5 on YARN, and servers that are not the newest."""
    environment = Environment("3.11", _AIRFLOW, ("apache-airflow==3.1.*", "pyspark==3.5.*"), until="2026-03-12")
    servers = {"ignite": "2.14.0", "kafka": "3.6.2"}
    return VersionSet("typical", (YARN,), environment, servers, options=("-k", "_mode"), on_yarn=True)


def _servers() -> Iterator[VersionSet]:
    for version in ("2.9.1", "2.10.0", "2.11.1", "2.12.0", "2.13.0", "2.14.0", "2.15.0", "2.16.0"):
        yield VersionSet(f"ignite-{version}", (IGNITE,), servers={"ignite": version})
    for version in ("2.8.2", "3.3.2", "3.9.1", "4.0.0", "4.4.0"):
        tests = (KAFKA, THREE_BROKERS) if version in ("2.8.2", "4.4.0") else (KAFKA,)
        yield VersionSet(f"kafka-{version}", tests, servers={"kafka": version})


SETS = {chosen.name: chosen for chosen in (*_airflow(), *_spark(), _typical(), *_servers())}
"""All sets by their names, in the order of the table."""
