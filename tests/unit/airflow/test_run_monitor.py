"""RunMonitor on records that the tests make up; real clusters are used by the integration tests."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from airflow_provider_ignite_kafka.run_monitor import RunMonitor
from airflow_provider_ignite_kafka.spark.request import Request
from ignite_kafka.errors import IgniteUnreachable, KafkaUnavailable, SettingsError
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import ConnectorRecord
from ignite_kafka.state.status import COMPLETED, PAUSED, RUNNING, STOPPED, RunStatus

OWN = "dag/task/run/"


def request(**settings: Any) -> Request:
    given = {"name": "c", "retry_timeout_ms": 1, "progress_interval_ms": 100, **settings}
    return Request(SourceSettings.from_dict(given), f"{OWN}1", "s", Secrets())


def record(state: str, run_id: str = f"{OWN}1", started_ms: int = 1_000, generation: int = 1) -> RunStatus:
    return RunStatus(state, "c", run_id, "s", generation, "w", started_ms, None if state in (RUNNING, PAUSED) else 2_000)


@dataclass
class Records:
    """Records in memory: status records by run id, the run that has the connector, and the generations that were requested to stop."""

    by_run: Mapping[str, RunStatus] = field(default_factory=dict)
    owner_id: str = ""
    stopped: list[int] = field(default_factory=list)

    def run(self, run_id: str) -> RunStatus | None:
        return self.by_run.get(run_id)

    def runs(self) -> Mapping[str, RunStatus]:
        return self.by_run

    def written_ms(self, run_id: str) -> int:
        return self.by_run[run_id].started_ms

    def owner(self) -> ConnectorRecord | None:
        return ConnectorRecord(7, run_id=self.owner_id) if self.owner_id else None

    def request_stop(self, generation: int) -> None:
        self.stopped.append(generation)


class Polled(Records):
    """Records of one run that change with each poll; the last one stays.

    :param polls: for each poll the record and the time it was written, None for no record, or an error.
    """

    def __init__(self, *polls: tuple[RunStatus, int] | Exception | None) -> None:
        super().__init__()
        self._left: Iterator[Any] = iter(polls)
        self._now: Any = None

    def run(self, run_id: str) -> RunStatus | None:
        self._now = next(self._left, self._now)
        if isinstance(self._now, Exception):
            raise self._now
        return self._now[0] if self._now else None

    def written_ms(self, run_id: str) -> int:
        return int(self._now[1])


def test_a_run_that_has_the_connector_is_stopped_by_its_generation() -> None:
    records = Records({f"{OWN}1": record(RUNNING)}, f"{OWN}1")
    assert RunMonitor(request(run_mode="continuous"), records).request_stop()
    assert records.stopped == [7]


def test_an_older_try_does_not_stop_the_newer_run() -> None:
    """Its own record has no end, because it was killed before it could write one."""
    records = Records({f"{OWN}1": record(RUNNING), f"{OWN}2": record(RUNNING, f"{OWN}2")}, f"{OWN}2")
    assert not RunMonitor(request(run_mode="continuous"), records).request_stop()
    assert records.stopped == []


@pytest.mark.parametrize(
    ("other", "own_started", "supersedes"),
    [
        (record(RUNNING, "dag/task/later/1", 5_000), 1_000, True),
        (record(COMPLETED, "dag/task/later/1", 5_000), 1_000, False),  # it has ended: this one's turn
        (record(RUNNING, "dag/task/earlier/1", 500), 1_000, False),  # it died without a word before this one's first try
        (record(RUNNING, f"{OWN}0", 5_000), 1_000, False),  # an earlier try of this task
        (record(RUNNING, "dag/task/later/1", 5_000), None, False),  # no try of this task has come so far as to have a record
    ],
)
def test_a_retry_finds_an_active_newer_run(other: RunStatus, own_started: int | None, supersedes: bool) -> None:
    own = {} if own_started is None else {f"{OWN}1": record(STOPPED, started_ms=own_started)}
    monitor = RunMonitor(request(), Records({**own, other.run_id: other}, other.run_id))
    assert monitor.superseded_by(OWN) == (other if supersedes else None)


def test_a_run_is_followed_to_its_end_over_a_broker_that_is_away() -> None:
    records = Polled((record(RUNNING), 1), KafkaUnavailable("away"), (record(RUNNING), 2), (record(COMPLETED), 3))
    monitor = RunMonitor(request(retry_timeout_ms=600_000), records)
    assert monitor.await_end(stopped=lambda: False, poll_s=0) == record(COMPLETED)


def test_a_run_that_falls_silent_is_given_up() -> None:
    monitor = RunMonitor(request(), Polled((record(RUNNING), 1)))
    assert monitor.await_end(stopped=lambda: False, poll_s=0.01) == record(RUNNING)


def test_a_paused_run_is_silent_and_followed() -> None:
    monitor = RunMonitor(request(), Polled(*[(record(PAUSED), 1)] * 100, (record(STOPPED), 2)))
    assert monitor.await_end(stopped=lambda: False, poll_s=0.01) == record(STOPPED)


def test_following_ends_if_the_task_is_killed_or_there_is_no_run() -> None:
    monitor = RunMonitor(request(retry_timeout_ms=600_000), Polled((record(RUNNING), 1)))
    assert monitor.await_end(stopped=lambda: True, poll_s=0) == record(RUNNING)
    assert RunMonitor(request(), Polled(None)).await_end(stopped=lambda: False, poll_s=0) is None


@pytest.fixture
def closed_port() -> Iterator[str]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{unused.getsockname()[1]}"


def test_a_cluster_that_does_not_answer_is_found_before_anything_starts(closed_port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = RunMonitor(request(bootstrap_servers=closed_port, ignite_addresses=[closed_port]))
    with pytest.raises(KafkaUnavailable, match=closed_port):
        monitor.check_clusters(ignite=False, timeout_s=1.0)
    monkeypatch.setattr(KafkaClients, "check", lambda *_: None)
    monitor.check_clusters(ignite=False, timeout_s=1.0)
    with pytest.raises(IgniteUnreachable, match=closed_port):
        monitor.check_clusters(ignite=True, timeout_s=1.0)


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
        RunMonitor(request(kafka_config=config)).check_clusters(ignite=False)


def test_many_addresses_that_do_not_answer_take_no_longer() -> None:
    endpoint = IgniteEndpoint(("127.0.0.1:1",) * 5)
    assert endpoint.bounded(10.0) == IgniteEndpoint(endpoint.addresses, connect_timeout_ms=2_000, request_timeout_ms=10_000)
    quick = IgniteEndpoint(endpoint.addresses, connect_timeout_ms=500, request_timeout_ms=1_000)
    assert quick.bounded(10.0) == quick
