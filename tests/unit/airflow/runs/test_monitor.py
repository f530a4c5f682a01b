"""RunMonitor on records that the tests make up; real clusters are used by the integration tests."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.monitor import RunMonitor, check_clusters
from airflow_provider_ignite_kafka.runs.records import RunRecords
from airflow_provider_ignite_kafka.runs.request import Request
from ignite_kafka.errors import IgniteUnreachable, KafkaUnavailable, SettingsError
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import ConnectorRecord
from ignite_kafka.state.status import COMPLETED, PAUSED, RUNNING, STOPPED, CacheStatus, RunStatus, now_ms
from tools.servers import Certificates

OWN = "dag/task/run/"


def request(**settings: Any) -> Request:
    return Request(SourceSettings.from_dict({"name": "c", **settings}), f"{OWN}1", "s", Secrets())


def monitor(records: RunRecords, **run: Any) -> RunMonitor:
    return RunMonitor(FollowedRun("c", f"{OWN}1", **run), records)


def record(state: str, run_id: str = f"{OWN}1", started_ms: int = 1_000, generation: int = 1) -> RunStatus:
    return RunStatus(state, "c", run_id, "s", generation, "w", started_ms, None if state in (RUNNING, PAUSED) else 2_000)


@dataclass
class Records(RunRecords):
    """Records in memory: status records by run id, the run that has the connector, and the generations that were requested to stop."""

    by_run: Mapping[str, RunStatus] = field(default_factory=dict)
    owner_id: str = ""
    stopped: list[int] = field(default_factory=list)
    written: int = field(default_factory=now_ms)

    def run(self, run_id: str) -> tuple[RunStatus | None, int]:
        return self.by_run.get(run_id), self.written

    def runs(self) -> Mapping[str, RunStatus]:
        return self.by_run

    def owner(self) -> ConnectorRecord | None:
        return ConnectorRecord(7, run_id=self.owner_id) if self.owner_id else None

    def request_stop(self, generation: int) -> None:
        self.stopped.append(generation)

    def stopped_generation(self) -> int:
        return self.stopped[-1] if self.stopped else 0

    def sink_lag(self, topics: Iterable[str]) -> Mapping[str, int]:
        return dict.fromkeys(topics, 5)


def test_a_run_that_has_the_connector_is_stopped_by_its_generation() -> None:
    records = Records({f"{OWN}1": record(RUNNING)}, f"{OWN}1")
    assert monitor(records, streams=True).request_stop()
    assert records.stopped == [7]


def test_an_older_try_does_not_stop_the_newer_run() -> None:
    """Its own record has no end, because it was killed before it could write one."""
    records = Records({f"{OWN}1": record(RUNNING), f"{OWN}2": record(RUNNING, f"{OWN}2")}, f"{OWN}2")
    assert not monitor(records, streams=True).request_stop()
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
    assert monitor(Records({**own, other.run_id: other}, other.run_id)).superseded_by(OWN) == (other if supersedes else None)


def test_the_active_run_of_an_earlier_try_is_found_unless_it_was_asked_to_stop() -> None:
    earlier = record(RUNNING, f"{OWN}0", generation=7)
    records = Records({earlier.run_id: earlier}, earlier.run_id)
    assert monitor(records).active_try(OWN) == earlier.run_id
    assert monitor(records).active_try("dag/task/other/") is None
    records.stopped.append(6)  # a run before it
    assert monitor(records).active_try(OWN) == earlier.run_id
    records.stopped.append(7)
    assert monitor(records).active_try(OWN) is None
    assert monitor(Records()).active_try(OWN) is None


def test_tries_of_a_task_are_its_own_runs_in_order() -> None:
    runs = [record(STOPPED, f"{OWN}b", 2), record(STOPPED, f"{OWN}a", 1), record(STOPPED, "dag/task/later/c", 0)]
    assert monitor(Records({run.run_id: run for run in runs})).tries(OWN) == [runs[1], runs[0]]


def test_the_run_before_is_the_last_one_of_the_same_snapshot() -> None:
    def run(run_id: str, snapshot_id: str, started_ms: int) -> RunStatus:
        return replace(record(STOPPED, run_id, started_ms), snapshot_id=snapshot_id)

    runs = [run("r0", "s", 0), run("r1", "s", 1), run("x", "other", 9), run("r2", "s", 2), run("", "", 3)]
    records = Records({run.run_id: run for run in runs})
    assert monitor(records).earlier_run(runs[3]) == runs[1]
    assert monitor(records).earlier_run(runs[2]) is None
    assert monitor(records).earlier_run(runs[4]) is None, "a stream of changes has no snapshot"


def test_only_the_lag_of_a_sink_is_in_kafka() -> None:
    status = RunStatus(RUNNING, "c", "r", caches={"one": CacheStatus("t"), "two": CacheStatus("t")})
    assert monitor(Records(), sink=True).sink_lag(status) == {"t": 5}
    assert monitor(Records()).sink_lag(status) == {}


@pytest.fixture
def closed_port() -> Iterator[str]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{unused.getsockname()[1]}"


def test_a_cluster_that_does_not_answer_is_found_before_anything_starts(closed_port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = request(bootstrap_servers=closed_port, ignite_addresses=[closed_port])
    with pytest.raises(KafkaUnavailable, match=closed_port):
        check_clusters(refused, ignite=False, timeout_s=1.0)
    monkeypatch.setattr(KafkaClients, "check", lambda *_: None)
    with pytest.raises(IgniteUnreachable, match=closed_port):
        check_clusters(refused, ignite=True, timeout_s=1.0)


def test_in_cluster_mode_a_worker_without_a_way_to_ignite_only_says_so(
    closed_port: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(KafkaClients, "check", lambda *_: None)
    check_clusters(request(ignite_addresses=[closed_port]), ignite=False, timeout_s=1.0)
    assert "This worker cannot check the connection to Ignite, the driver will" in caplog.text


@pytest.mark.parametrize("ignite", [True, False])
def test_a_wrong_ca_file_fails_before_anything_starts_in_client_and_in_cluster_mode(
    ignite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing file; a file of another authority, to whose certificate a real TLS server on loopback is compared."""
    monkeypatch.setattr(KafkaClients, "check", lambda *_: None)
    tls = {"ignite_tls_enabled": True, "ignite_tls_ca_file": str(tmp_path / "missing.pem")}
    with pytest.raises(SettingsError, match="ca_file must be a PEM file"):
        check_clusters(request(ignite_addresses=["127.0.0.1:1"], **tls), ignite=ignite, timeout_s=1.0)
    of_server, other = (Certificates(tmp_path / name).make(["127.0.0.1"]) for name in ("server", "other"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(of_server.client_certificate, of_server.client_key)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_refused_handshakes, args=(listening, context), daemon=True).start()
        tls["ignite_tls_ca_file"] = str(other.ca)
        with pytest.raises(IgniteUnreachable, match="its TLS certificate is not accepted"):
            check_clusters(request(ignite_addresses=[f"127.0.0.1:{listening.getsockname()[1]}"], **tls), ignite=ignite, timeout_s=5.0)


def _refused_handshakes(listening: socket.socket, context: ssl.SSLContext) -> None:
    """Accept until the listening socket is closed."""
    with suppress(OSError):
        while True:
            connected, _ = listening.accept()
            with connected, suppress(OSError):
                context.wrap_socket(connected, server_side=True)


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
        check_clusters(request(kafka_config=config), ignite=False)


def test_many_addresses_that_do_not_answer_take_no_longer() -> None:
    endpoint = IgniteEndpoint(("127.0.0.1:1",) * 5)
    assert endpoint.bounded(10.0) == IgniteEndpoint(endpoint.addresses, connect_timeout_ms=2_000, request_timeout_ms=10_000)
    quick = IgniteEndpoint(endpoint.addresses, connect_timeout_ms=500, request_timeout_ms=1_000)
    assert quick.bounded(10.0) == quick
