"""Real servers and a Spark session for the tests that ask for them; a test that asks for none starts none."""

from __future__ import annotations

import logging
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support import QUICK_JVM, left_behind
from tools.servers import IgniteCluster, Jars, KafkaBroker

# a test that is slow on a busy machine is not wrong
hypothesis.settings.register_profile("project", deadline=None)
hypothesis.settings.load_profile("project")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure() -> None:
    left_behind.watch()


class SharedServers(LoadScopeScheduling):
    """Where tests run side by side, those that share servers stay in one process; any other goes where there is room.

    Not ``--dist loadgroup``: of pytest-xdist 3.8 with pytest 9.2, which has no ``_nodeid``, it does nothing.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        folder = file.rpartition("/")[0].partition("tests/")[2]
        if folder in ("integration/airflow", "integration/ignite", "stream") or folder.startswith("unit"):
            return folder if folder.startswith("integration") else file
        if file.endswith(("/test_executor_killed.py", "/test_started_twice.py")):
            return "Spark's standalone cluster"
        if file.endswith("/test_three_brokers.py"):
            return file
        if folder.startswith("integration") and not file.endswith(("/test_bench.py", "/test_stack.py", "/test_local_run.py")):
            return "servers"
        return nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedServers:
    return SharedServers(config, log)


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Makes a name that no other test has, for caches, topics and connectors."""
    return lambda stem: f"{stem}-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def jars() -> Jars:
    """Folders of the jars of Ignite and of Kafka (with Connect): ``.ignite``, ``.kafka``."""
    return Jars.of_checkout()


@pytest.fixture(scope="session")
def ignite(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """One node in memory, shared: ``.address``, ``.addresses``, ``.client()``. Do not kill it."""
    # each cache of 1,024 partitions takes 20 MiB before its first entry; tests make some hundred
    with IgniteCluster(
        tmp_path_factory.mktemp("ignite"),
        jars=jars,
        backlog_mib=1_024,
        data_region_mib=6_144,
        heap_mib=1_024,
        java_options=QUICK_JVM,
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One broker, shared: ``.bootstrap``, ``.client_config``. Do not kill it."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), jars=jars, java_options=QUICK_JVM) as broker:
        yield broker


@pytest.fixture
def ignite_cluster(jars: Jars, tmp_path: Path) -> Iterator[Callable[..., IgniteCluster]]:
    """``ignite_cluster(nodes, **options)``: a cluster of the test's own, which it may kill; options as in IgniteOptions."""
    started: list[IgniteCluster] = []

    def start(nodes: int = 1, **options: Any) -> IgniteCluster:
        cluster = IgniteCluster(tmp_path / f"ignite-{len(started)}", jars=jars, nodes=nodes, **{"java_options": QUICK_JVM, **options})
        started.append(cluster)
        return cluster.start()

    yield start
    for cluster in started:
        cluster.stop()


@pytest.fixture
def kafka_broker(jars: Jars, tmp_path: Path) -> Iterator[Callable[..., KafkaBroker]]:
    """``kafka_broker(**options)``: a broker of the test's own, which it may kill and start again; options as in KafkaOptions."""
    started: list[KafkaBroker] = []

    def start(**options: Any) -> KafkaBroker:
        broker = KafkaBroker(tmp_path / f"kafka-{len(started)}", jars=jars, **{"java_options": QUICK_JVM, **options})
        started.append(broker)
        return broker.start()

    yield start
    for broker in started:
        broker.stop()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """``local[2,4]`` without a web UI: a task whose Python worker dies is tried again, as on a cluster; workers run this interpreter."""
    from pyspark.sql import SparkSession

    place = tmp_path_factory.mktemp("spark")
    environment = pytest.MonkeyPatch()
    environment.setenv("PYSPARK_PYTHON", sys.executable)
    environment.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
    environment.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2,4]").appName("tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(place / "local"),
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.python.worker.faulthandler.enabled": "true",  # a worker that crashes tells where
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={place}",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it tells of its end when pytest has closed what it would write to
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
    environment.undo()
