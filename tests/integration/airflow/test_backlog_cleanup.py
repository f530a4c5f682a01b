"""BacklogCleanupOperator on nodes that capture changes, with records of connectors' runs in Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ignite_kafka.operators.backlog_cleanup import BacklogCleanupOperator
from ignite_kafka.errors import IgniteKafkaError, ScanFailed
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.source.stream.capture import owner_of
from ignite_kafka.state.status import FAILED, RUNNING, STOPPED
from tests.integration.airflow.conftest import PREFIX, Secured, WriteRun
from tests.support.servers import destroy, fill


@pytest.fixture
def connected(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> Secured:
    for conn_id, connection in secured.connections().items():
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(connection))
    return secured


@pytest.fixture
def service(secured: Secured) -> Iterator[BacklogService]:
    address, credentials = secured.ignite.address, IgniteCredentials("ignite", secured.passwords[0])
    with ThinConnection(IgniteEndpoint((address,)), credentials, address) as connection:
        yield BacklogService(connection)


@pytest.fixture
def cache(secured: Secured, unique: Callable[[str], str]) -> Iterator[str]:
    name = unique("captured")
    fill(secured.ignite, name, {})
    yield name
    destroy(secured.ignite, name)


@pytest.fixture
def captured(secured: Secured, service: BacklogService, cache: str, unique: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Two connectors that capture one cache."""
    names = unique("mine"), unique("other")
    owner = owner_of(Topics(KafkaClients(secured.kafka.client_config)), PREFIX)
    for name in names:
        service.start(name, {"backlogFlushFreq": "50", "backlogOwner": owner}, [cache])
    yield names
    for name in names:
        service.stop(name, destroy=True)


def clean_up(connector: str, **arguments: Any) -> dict[str, Any]:
    return BacklogCleanupOperator(task_id="clean_up", connector=connector, **arguments).execute({})


def removed(connector: str) -> Mapping[str, str]:
    service, cache = "kafka-connect-backlog-service", "kafka-connect-backlog"
    return {"connector": connector, "service": f"{service}-{connector}", "cache": f"{cache}-{connector}"}


def test_after_a_graceful_stop_its_capture_alone_is_removed(
    connected: Secured, service: BacklogService, captured: tuple[str, str], cache: str, run: WriteRun
) -> None:
    mine, other = captured
    run(mine, STOPPED)
    run(other, RUNNING)
    assert clean_up(mine) == removed(mine)
    assert service.connectors() == [other]
    with connected.ignite.client() as client:
        assert removed(mine)["cache"] not in client.get_cache_names()
    assert clean_up(mine) == {"connector": mine, "service": None, "cache": None}

    fill(connected.ignite, cache, dict.fromkeys(range(10), "change"))
    service.barrier(other)
    assert service.units(other).count.sum() == 10


@pytest.mark.parametrize(("state", "error"), [(RUNNING, None), (FAILED, ScanFailed("node left")), (STOPPED, IgniteKafkaError("SIGTERM"))])
def test_without_a_graceful_stop_it_is_refused_but_for_force(
    connected: Secured, service: BacklogService, captured: tuple[str, str], run: WriteRun, state: str, error: IgniteKafkaError | None
) -> None:
    mine, other = captured
    run(mine, state, error)
    with pytest.raises(AirflowFailException, match=rf"newest run .*{mine}"):
        clean_up(mine)
    assert service.connectors() == sorted(captured)
    assert clean_up(mine, force="True") == removed(mine)
    assert service.connectors() == [other]


def test_a_cluster_that_is_away_is_tried_again(connected: Secured, captured: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps({"conn_type": "kafka", "extra": {"bootstrap.servers": "127.0.0.1:1"}}))
    with pytest.raises(AirflowException, match="KafkaUnavailable") as failed:
        clean_up(captured[0])
    assert failed.type is AirflowException
