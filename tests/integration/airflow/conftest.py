"""Clusters that ask for a password, and an Airflow that knows it."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import QUICK_JVM
from tests.support.airflow_home import ROOT, AirflowHome, use_private_home
from tools.servers import IgniteCluster, Jars, KafkaBroker

use_private_home()
ENTRIES = 3_000
DAGS = Path(__file__).with_name("dags")


@dataclass(frozen=True)
class Secured:
    """An Ignite cluster and a Kafka broker, each with a password that stands nowhere else on this machine."""

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


@pytest.fixture(scope="session")
def secured(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    passwords = f"ignite-{uuid.uuid4().hex}", f"kafka-{uuid.uuid4().hex}"
    with (
        IgniteCluster(tmp_path_factory.mktemp("secured-ignite"), jars=jars, authentication=True, java_options=QUICK_JVM) as ignite,
        KafkaBroker(tmp_path_factory.mktemp("secured-kafka"), jars=jars, users={"app": passwords[1]}, java_options=QUICK_JVM) as kafka,
    ):
        with ignite.client() as client:
            client.sql(f"ALTER USER \"ignite\" WITH PASSWORD '{passwords[0]}'")
        ignite.password = passwords[0]
        with ignite.client() as client:
            for name in ("people", "places"):
                cache = client.create_cache(name)
                cache.put_all({key: f"{name} {key}" for key in range(ENTRIES)})
        yield Secured(ignite, kafka, passwords)


@pytest.fixture(scope="session")
def airflow(secured: Secured, tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    """An Airflow with the example Dags and those of the tests, and Spark's ``local[2]``."""
    dags = tmp_path_factory.mktemp("dags")
    for folder in (ROOT / "dags", DAGS):
        shutil.copytree(folder, dags, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return AirflowHome(tmp_path_factory.mktemp("airflow"), dags, secured.connections()).migrate()
