"""Fixtures of real servers and of a Spark session, started only for the tests that use them."""

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
from tools.servers import IgniteCluster, Jars, KafkaBroker, SchemaRegistry

# a test that is slow on a busy machine is not wrong
hypothesis.settings.register_profile("project", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("project")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure() -> None:
    left_behind.watch()


class SharedServers(LoadScopeScheduling):
    """Assigns tests that share servers to one worker process, and any other test or file to a free one.

    Not ``--dist loadgroup``: it has no effect in pytest-xdist 3.8 with pytest 9.2, which has no ``_nodeid``.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        folder = file.rpartition("/")[0].partition("tests/")[2]
        if folder.startswith("integration/airflow"):
            return "integration/airflow"  # its folders share servers with passwords
        if folder in ("integration/ignite", "stream") or folder.startswith("unit"):
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
    """Return a maker of unique names for caches, topics and connectors."""
    return lambda stem: f"{stem}-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def jars() -> Jars:
    """Folders of the jars of Ignite, Kafka (with Connect) and the backlog service."""
    return Jars.of_checkout()


@pytest.fixture(scope="session")
def ignite(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """A shared node without persistence, not to be killed: ``.address``, ``.addresses``, ``.client()``."""
    # an empty cache of 1,024 partitions takes 20 MiB; tests make some hundred
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
    """A shared broker, not to be killed: ``.bootstrap``, ``.client_config``."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), jars=jars, java_options=QUICK_JVM) as broker:
        yield broker


@pytest.fixture(scope="session")
def schema_registry(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistry]:
    """A shared schema registry in memory, not to be killed: ``.url``."""
    with SchemaRegistry(tmp_path_factory.mktemp("registry"), jars=jars, java_options=QUICK_JVM) as registry:
        yield registry


@pytest.fixture
def ignite_cluster(jars: Jars, tmp_path: Path) -> Iterator[Callable[..., IgniteCluster]]:
    """``ignite_cluster(nodes, **options)``: a cluster for this test alone, which it may kill; options as in IgniteOptions."""
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
    """``kafka_broker(**options)``: a broker for this test alone, which it may kill and restart; options as in KafkaOptions."""
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
    """A shared session of ``local[2,4]`` without web UI; a failed task is retried as on a cluster, workers run this interpreter."""
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
        "spark.python.worker.faulthandler.enabled": "true",  # prints the stack of a worker that crashes
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={place}",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it logs its end after pytest has closed the log's stream
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
    environment.undo()
