"""Three brokers that the tests of a module share, as fixtures to import."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import QUICK_JVM
from tools.servers import Jars, KafkaCluster


@pytest.fixture(scope="module")
def shared_brokers(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with KafkaCluster(tmp_path_factory.mktemp("brokers"), jars=jars, java_options=QUICK_JVM) as started:
        yield started


@pytest.fixture
def brokers(shared_brokers: KafkaCluster) -> Iterator[KafkaCluster]:
    """The shared brokers; those that a test has left dead are started."""
    yield shared_brokers
    shared_brokers.start()
    shared_brokers.await_in_sync()
