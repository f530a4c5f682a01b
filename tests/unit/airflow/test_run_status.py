"""Asking and following runs, on records that the tests make up; the clusters' own answers are asked for in the integration tests."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ignite_kafka import run_status
from airflow_provider_ignite_kafka.spark.request import Request
from ignite_kafka.errors import IgniteUnreachable, KafkaUnavailable, SettingsError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.status import COMPLETED, PAUSED, RUNNING, STOPPED, RunStatus

OWN = "dag/task/run/"


def request(**settings: Any) -> Request:
    given = {"name": "c", "retry_timeout_ms": 1, "progress_interval_ms": 100, **settings}
    return Request(SourceSettings.from_dict(given), f"{OWN}1", "s", Secrets())


def record(state: str, run_id: str = f"{OWN}1", started_ms: int = 1_000, generation: int = 1) -> RunStatus:
    return RunStatus(state, "c", run_id, "s", generation, "w", started_ms, None if state in (RUNNING, PAUSED) else 2_000)


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What Kafka tells: ``runs`` by id, ``owner`` of the connector, and the ``asked`` target states."""
    told: dict[str, Any] = {"runs": {}, "owner": "", "asked": []}
    monkeypatch.setattr(run_status, "read_runs", lambda *_: told["runs"])
    monkeypatch.setattr(run_status, "read_run", lambda *args: told["runs"].get(args[3]))
    monkeypatch.setattr(
        "ignite_kafka.state.configs.read_connector", lambda *_: ConnectorState(told["owner"] and ConnectorRecord(7, run_id=told["owner"]))
    )
    monkeypatch.setattr("ignite_kafka.state.target_state.write_target", lambda *args, **more: told["asked"].append((args[4], more)))
    return told


def test_a_run_that_still_has_the_connector_is_asked_by_its_generation(kafka: dict[str, Any]) -> None:
    kafka |= {"runs": {f"{OWN}1": record(RUNNING)}, "owner": f"{OWN}1"}
    assert run_status.ask_run(request(run_mode="continuous"))
    assert kafka["asked"] == [(STOPPED, {"generation": 7})]


def test_an_older_try_does_not_stop_the_newer_run(kafka: dict[str, Any]) -> None:
    """Its own record has no end, because it was killed before it could write one."""
    kafka |= {"runs": {f"{OWN}1": record(RUNNING), f"{OWN}2": record(RUNNING, f"{OWN}2")}, "owner": f"{OWN}2"}
    assert not run_status.ask_run(request(run_mode="continuous"))
    assert kafka["asked"] == []


@pytest.mark.parametrize(
    ("other", "own_started", "overtakes"),
    [
        (record(RUNNING, "dag/task/later/1", 5_000), 1_000, True),
        (record(COMPLETED, "dag/task/later/1", 5_000), 1_000, False),  # it has ended: this one's turn
        (record(RUNNING, "dag/task/earlier/1", 500), 1_000, False),  # it died without a word before this one's first try
        (record(RUNNING, f"{OWN}0", 5_000), 1_000, False),  # an earlier try of this task
        (record(RUNNING, "dag/task/later/1", 5_000), None, False),  # no try of this task has come so far as to have a record
    ],
)
def test_a_retry_finds_a_newer_run_at_work(kafka: dict[str, Any], other: RunStatus, own_started: int | None, overtakes: bool) -> None:
    own = {} if own_started is None else {f"{OWN}1": record(STOPPED, started_ms=own_started)}
    kafka |= {"runs": {**own, other.run_id: other}, "owner": other.run_id}
    assert run_status.overtaken_by(request(), OWN) == (other if overtakes else None)


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``records(*looks)``: what each look at the status topic finds: a record, the time it was written, or an error."""

    def show(*looks: Any) -> None:
        left: Iterator[Any] = iter(looks)
        state: dict[str, Any] = {}

        def read(_request: Request) -> RunStatus | None:
            state["now"] = next(left, state.get("now"))
            if isinstance(state["now"], Exception):
                raise state["now"]
            return state["now"][0] if state["now"] else None

        monkeypatch.setattr(run_status, "read_status", read)
        monkeypatch.setattr(run_status, "written_ms", lambda *_: state["now"][1])

    return show


def test_a_run_is_followed_to_its_end_over_a_broker_that_is_away(records: Any) -> None:
    records((record(RUNNING), 1), KafkaUnavailable("away"), (record(RUNNING), 2), (record(COMPLETED), 3))
    found = run_status.await_end(request(retry_timeout_ms=600_000), stopped=lambda: False, poll_s=0)
    assert found == record(COMPLETED)


def test_a_run_that_falls_silent_is_given_up(records: Any) -> None:
    records((record(RUNNING), 1))
    assert run_status.await_end(request(), stopped=lambda: False, poll_s=0.01) == record(RUNNING)


def test_a_paused_run_says_nothing_and_is_followed(records: Any) -> None:
    records(*[(record(PAUSED), 1)] * 100, (record(STOPPED), 2))
    assert run_status.await_end(request(), stopped=lambda: False, poll_s=0.01) == record(STOPPED)


def test_following_ends_where_the_task_is_killed_or_there_is_no_run(records: Any) -> None:
    records((record(RUNNING), 1))
    assert run_status.await_end(request(retry_timeout_ms=600_000), stopped=lambda: True, poll_s=0) == record(RUNNING)
    records(None)
    assert run_status.await_end(request(), stopped=lambda: False, poll_s=0) is None


@pytest.fixture
def closed_port() -> Iterator[str]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{unused.getsockname()[1]}"


def test_a_cluster_that_does_not_answer_is_found_before_anything_starts(closed_port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_status, "_CHECK_S", 1.0)
    wanted = request(bootstrap_servers=closed_port, ignite_addresses=[closed_port])
    with pytest.raises(KafkaUnavailable, match=closed_port):
        run_status.check_clusters(wanted, ignite=False)
    monkeypatch.setattr(KafkaClients, "check", lambda *_: None)
    run_status.check_clusters(wanted, ignite=False)
    with pytest.raises(IgniteUnreachable, match=closed_port):
        run_status.check_clusters(wanted, ignite=True)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"security.protocol": "SSL", "ssl.ca.location": "/missing.pem"}, "ssl.ca.location failed"),
        ({"security.protocol": "SSLX"}, "security.protocol"),
        ({"sasl.mechanism": "SCRAM-SHA-256", "security.protocol": "SASL_SSL"}, "sasl.username and sasl.password must be set"),
    ],
)
def test_what_librdkafka_refuses_is_an_error_of_the_settings(config: dict[str, str], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        run_status.check_clusters(request(kafka_config=config), ignite=False)


def test_many_addresses_that_do_not_answer_take_no_longer(closed_port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Cluster:
        def __init__(self, endpoint: Any, _credentials: Any) -> None:
            seen.append(endpoint)
            raise IgniteUnreachable("nobody")

    monkeypatch.setattr("ignite_kafka.ignite.cluster.Cluster", Cluster)
    monkeypatch.setattr(KafkaClients, "check", lambda *_: None)
    wanted = request(ignite_addresses=[closed_port] * 5)
    with pytest.raises(IgniteUnreachable):
        run_status.check_clusters(wanted, ignite=True)
    assert (seen[0].connect_timeout_ms, seen[0].request_timeout_ms) == (2_000, 10_000)
    assert replace(seen[0], connect_timeout_ms=5_000, request_timeout_ms=60_000) == wanted.settings.ignite_endpoint
