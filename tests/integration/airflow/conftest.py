"""Clusters with passwords, an Airflow with connections to them, and records of connectors' runs in Kafka."""

from __future__ import annotations

import os
import re
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs_writer import ConfigsWriter
from ignite_kafka.state.status import RUNNING, RunStatus, StatusWriter, now_ms
from tests.support import PARTITIONS, QUICK_JVM
from tests.support.airflow_home import ROOT, AirflowHome, use_private_home
from tests.support.airflow_web import AirflowWeb, airflow_web
from tests.support.browser import Browser, chromium
from tests.support.yarn_cluster import YarnCluster
from tools.servers import IgniteCluster, Jars, KafkaBroker

use_private_home()
ENTRIES = 3_000
CACHES = ["people", "places"]
PREFIX, SLOTS = SourceSettings.internal_topic_prefix, 2
WriteRun = Callable[..., str]
DAGS = Path(__file__).with_name("dags")
MANUAL = "ignite_to_kafka_manual"
NIGHTLY = 'schedule="0 4 * * *"'  # of the Dag that compares
WEB_DAGS = (MANUAL, "ignite_verify", "signals_and_checks")
# of an environment with other versions of Airflow and PySpark, for test_yarn.py: see docs/compatibility.md
YARN_PYTHON = os.path.abspath(os.environ.get("TEST_YARN_PYTHON", sys.executable))


@dataclass(frozen=True)
class Secured:
    """An Ignite cluster and a Kafka broker, each with a password that is nowhere else on this machine."""

    ignite: IgniteCluster
    kafka: KafkaBroker
    passwords: tuple[str, str]

    def connections(self, master: str = "local[2]") -> dict[str, dict[str, Any]]:
        ignite_password, _ = self.passwords
        host, port = self.ignite.address.split(":")
        return {
            "ignite_default": {"conn_type": "ignite", "host": host, "port": int(port), "login": "ignite", "password": ignite_password},
            "kafka_default": {"conn_type": "kafka", "extra": self.kafka.client_config},
            "spark_default": {"conn_type": "spark", "host": master},
        }

    @contextmanager
    def backlog_service(self) -> Iterator[BacklogService]:
        """The backlog service of the nodes, for their administrator."""
        credentials = IgniteCredentials("ignite", self.passwords[0])
        with ThinConnection(IgniteEndpoint((self.ignite.address,)), credentials, self.ignite.address) as connection:
            yield BacklogService(connection)


@pytest.fixture(scope="session")
def secured(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    passwords = f"ignite-{uuid.uuid4().hex}", f"kafka-{uuid.uuid4().hex}"
    with (
        IgniteCluster(
            tmp_path_factory.mktemp("secured-ignite"), jars=jars, authentication=True, partitions=PARTITIONS, java_options=QUICK_JVM
        ) as ignite,
        KafkaBroker(tmp_path_factory.mktemp("secured-kafka"), jars=jars, users={"app": passwords[1]}, java_options=QUICK_JVM) as kafka,
    ):
        with ignite.client() as client:
            client.sql(f"ALTER USER \"ignite\" WITH PASSWORD '{passwords[0]}'")
        ignite.password = passwords[0]
        with ignite.client() as client:
            for name in CACHES:
                cache = client.create_cache(name)
                cache.put_all({key: f"{name} {key}" for key in range(ENTRIES)})
        yield Secured(ignite, kafka, passwords)


@pytest.fixture(scope="session")
def yarn(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[YarnCluster]:
    """A YARN cluster with HDFS, shared by all tests of a run."""
    with YarnCluster(tmp_path_factory.mktemp("yarn"), jars, YARN_PYTHON) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def airflow(secured: Secured, tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    """An Airflow with the example Dags, the Dags of the tests and the Spark master ``local[2]``."""
    dags = tmp_path_factory.mktemp("dags")
    for folder in (ROOT / "dags", DAGS):
        shutil.copytree(folder, dags, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    manual = dags / f"{MANUAL}.py"
    listed = re.sub(r"^CACHES = .*$", f"CACHES = {CACHES}", manual.read_text(), count=1, flags=re.MULTILINE)
    assert str(CACHES) in listed
    manual.write_text(listed)  # as an author lists the caches that the form offers
    return AirflowHome(tmp_path_factory.mktemp("airflow"), dags, secured.connections()).migrate()


@pytest.fixture(scope="session")
def web(airflow: AirflowHome, secured: Secured, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowWeb]:
    """A running Airflow with its web UI, scheduler and triggerer, for all tests that need them."""
    dags = tmp_path_factory.mktemp("web-dags")
    for name in WEB_DAGS:
        text = (airflow.dags / f"{name}.py").read_text()
        (dags / f"{name}.py").write_text(text.replace(NIGHTLY, "schedule=None"))  # else it runs once when it is unpaused
    home = AirflowHome(tmp_path_factory.mktemp("web"), dags, secured.connections()).migrate()
    with airflow_web(home, {"BROKER_OF_THE_TEST": secured.kafka.bootstrap}) as running:
        yield running


@pytest.fixture
def run(secured: Secured) -> WriteRun:
    """``run(connector, state, error)``: write the records of a run in that state to Kafka; returns its id."""
    clients = KafkaClients(secured.kafka.client_config)
    topics = Topics(clients)

    def write(connector: str, state: str, error: IgniteKafkaError | None = None) -> str:
        StatusWriter.ensure_topic(topics, PREFIX, 1)
        control = ConfigsWriter(clients, topics, PREFIX, connector)
        control.take(SLOTS, "run of the test", {}, 1)
        control.begin()
        control.close()
        ended, reason = None if state == RUNNING else now_ms(), error.to_dict() if error else None
        generation = control.record.generation
        StatusWriter(clients, PREFIX).run(
            RunStatus(state, connector, control.record.run_id, "s", generation, "w", now_ms(), ended, {}, reason)
        )
        return control.record.run_id

    return write


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with chromium(tmp_path / "profile", Path(os.environ.get("SCREENSHOTS", tmp_path / "shots")).resolve()) as found:
        yield found
