"""`ignite-kafka serve` beside a worker of Kafka Connect, on one broker."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.support.connect_distributed import RestServer, connect_distributed, ignite_kafka_serve
from tools.servers import IgniteCluster, Jars, KafkaBroker

PREFIX = f"rest-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def cache(ignite: IgniteCluster) -> Iterator[str]:
    name = f"rest-{uuid.uuid4().hex[:8]}"
    with ignite.client() as client:
        client.create_cache(name).put_all({key: f"value {key}" for key in range(100)})
    yield name
    ignite.destroy_caches(name)


@pytest.fixture(scope="session")
def arguments(ignite: IgniteCluster, kafka: KafkaBroker) -> list[str]:
    return ["--kafka", kafka.bootstrap, "--ignite", ",".join(ignite.addresses), "--internal-topic-prefix", PREFIX, "--master", "local[2]"]


@pytest.fixture(scope="session")
def serve(arguments: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    """A server that runs what is declared."""
    place = tmp_path_factory.mktemp("serve")
    with ignite_kafka_serve(place, [*arguments, "--work", str(place / "work")]) as server:
        yield server


@pytest.fixture(scope="session")
def worker(jars: Jars, kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    """A worker of Kafka Connect."""
    with connect_distributed(jars, kafka, tmp_path_factory.mktemp("connect")) as server:
        yield server
