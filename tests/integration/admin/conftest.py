"""A run that is held in the test's process, a sink, and the command line on their servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from tests.support.connector_run import CommandLine, Run
from tests.support.sink_connector import Sink
from tools.servers import IgniteCluster, KafkaBroker


@pytest.fixture
def run(kafka: KafkaBroker, unique: Callable[[str], str]) -> Run:
    clients = KafkaClients(kafka.client_config)
    return Run(clients, Topics(clients), unique("life"), "conn")


@pytest.fixture
def sink(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[Sink]:
    made = Sink(spark, ignite, kafka)
    yield made
    ignite.destroy_caches(made.cache)


@pytest.fixture
def command(kafka: KafkaBroker, run: Run, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> CommandLine:
    ignite = request.getfixturevalue("nodes").addresses if "nodes" in request.fixturenames else ()
    common = ("--kafka", kafka.bootstrap, "--internal-topic-prefix", run.prefix)
    return CommandLine(capsys, common, ("--ignite", ",".join(ignite)))
