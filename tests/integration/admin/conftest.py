"""A run that is held in the test's process, and the command line on its servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from tests.support.connector_run import CommandLine, Run
from tools.servers import KafkaBroker


@pytest.fixture
def run(kafka: KafkaBroker, unique: Callable[[str], str]) -> Run:
    clients = KafkaClients(kafka.client_config)
    return Run(clients, Topics(clients), unique("life"), "conn")


@pytest.fixture
def command(kafka: KafkaBroker, run: Run, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> CommandLine:
    ignite = request.getfixturevalue("nodes").addresses if "nodes" in request.fixturenames else ()
    common = ("--kafka", kafka.bootstrap, "--internal-topic-prefix", run.prefix)
    return CommandLine(capsys, common, ("--ignite", ",".join(ignite)))
