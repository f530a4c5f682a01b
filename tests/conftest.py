"""Fixtures of real servers and of a Spark session, started only for the tests that use them."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import PARTITIONS, QUICK_JVM, randomness
from tests.support.processes import spark_jvm_options
from tests.support.scheduling import SharedServers
from tools.servers import IgniteCluster, Jars, KafkaBroker, SchemaRegistry, left_behind

randomness.load_profile()

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell ignores it for what it starts in the background; children inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)
    left_behind.watch()
    # precedes the options of each driver that a test starts by spark-submit, by PySpark, or by the command line
    os.environ.setdefault("SPARK_SUBMIT_OPTS", spark_jvm_options())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the random comparisons, in random order, where the run explores."""
    if randomness.exploring():
        chosen = [item for item in items if item.get_closest_marker("hypothesis") or randomness.is_used_by(item)]
        randomness.generator(0).shuffle(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen


def pytest_runtest_setup() -> None:
    """Skip what is left when the time to explore is over."""
    if time.time() > float(os.environ.get("EXPLORE_UNTIL", "inf")):
        pytest.skip("the time to explore is over")


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
    with IgniteCluster(
        tmp_path_factory.mktemp("ignite"),
        jars=jars,
        backlog_mib=1_024,
        data_region_mib=6_144,
        heap_mib=1_024,
        partitions=PARTITIONS,
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
