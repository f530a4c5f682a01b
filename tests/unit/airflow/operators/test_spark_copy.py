"""The copy operators with a fake spark-submit: its arguments, the task's result by the app's end, and what remains."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException

from airflow_provider_ignite_kafka.hooks.kafka_config import kafka_config
from airflow_provider_ignite_kafka.hooks.spark_app import SparkAppHook
from airflow_provider_ignite_kafka.operators import spark_copy
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator
from airflow_provider_ignite_kafka.operators.spark_copy import RunNames, SparkCopyOperator
from airflow_provider_ignite_kafka.run_monitor import RunMonitor
from airflow_provider_ignite_kafka.spark import run_result
from airflow_provider_ignite_kafka.spark.packaging import app_path
from airflow_provider_ignite_kafka.spark.request import Request
from airflow_provider_ignite_kafka.spark.submission import SparkMaster, build_submission
from ignite_kafka.errors import Fenced, IgniteKafkaError, KafkaUnavailable, OutcomeUnknown, ScanFailed, SettingsError, TopicError
from ignite_kafka.kafka.producer import TransactionalProducer
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import COMPLETED, FAILED, FENCED, RUNNING, STOPPED, UNKNOWN, CacheStatus, RunStatus
from tests.support.waiting import wait_until

FAKE = Path(__file__).with_name("fake_spark_submit.py")
PASSWORDS = ("ignite-sesame", "kafka-sesame", "key-sesame")
CONFIG = {
    "bootstrap.servers": "broker:9092",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "app",
    "sasl.password": "kafka-sesame",
    "group.id": "g",
}

Orders = Callable[..., None]


@dataclass
class Bench:
    """Orders and notes of the fake spark-submit, and the answers of the run's monitor."""

    folder: Path
    status: Callable[[], RunStatus | None]
    awaited: Callable[[Request], RunStatus | None] | None = None
    has_ended: bool = False
    request_stop: Callable[[Request], bool] | None = None
    check_clusters: Callable[[bool], None] = lambda _ignite: None
    superseded_by: Callable[[str], RunStatus | None] = lambda _own_runs: None

    def order(self, **orders: Any) -> None:
        (self.folder / "orders.json").write_text(json.dumps(orders))

    @property
    def seen(self) -> dict[str, Any]:
        return json.loads((self.folder / "seen.json").read_text())


class FakeMonitor(RunMonitor):
    """A monitor with the answers of the bench; it never calls Kafka."""

    def __init__(self, bench: Bench, request: Request) -> None:
        super().__init__(request)
        self._bench = bench

    def check_clusters(self, *, ignite: bool, timeout_s: float = 0.0) -> None:
        self._bench.check_clusters(ignite)

    def status(self) -> RunStatus | None:
        return self._bench.status()

    def has_ended(self) -> bool:
        return self._bench.has_ended

    def await_end(self, *, stopped: Callable[[], bool], poll_s: float = 0.0) -> RunStatus | None:
        if self._bench.awaited is None:
            return self._bench.status()
        assert not stopped()
        return self._bench.awaited(self._request)

    def request_stop(self) -> bool:
        assert self._bench.request_stop is not None
        return self._bench.request_stop(self._request)

    def superseded_by(self, own_runs: str) -> RunStatus | None:
        return self._bench.superseded_by(own_runs)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connect: Any) -> Bench:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "java").symlink_to(sys.executable)  # spark-submit becomes a process of this name
    write_program(programs / "spark-submit", f'exec {programs}/java {FAKE} "$@"')
    write_program(programs / "yarn", f'echo "$@" > {tmp_path}/yarn')
    private = tmp_path / "tmp"
    private.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS", "True")  # the node has a password and no TLS
    monkeypatch.setenv("FAKE_ORDERS", str(tmp_path / "orders.json"))
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    connect(
        "ignite_default", conn_type="ignite", host="node", login="ignite", password="ignite-sesame", extra={"key_password": "key-sesame"}
    )
    connect("kafka_default", conn_type="kafka", extra=CONFIG)
    connect("spark_default", conn_type="spark", host="local[2]")
    made = Bench(tmp_path, lambda: run_status(COMPLETED))
    made.order()
    monkeypatch.setattr(SparkCopyOperator, "monitor_of", lambda _operator, request: FakeMonitor(made, request))
    return made


def write_program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def run_status(state: str, error: IgniteKafkaError | None = None) -> RunStatus:
    caches = {"flights": CacheStatus("t-flights", 10, 10, 1000, 4, 4, 0.5)}
    return RunStatus(state, "c", "r", "s", 3, started_ms=1000, ended_ms=3500, caches=caches, error=error.to_dict() if error else None)


def operator(settings: Mapping[str, Any] | str | None = None, **arguments: Any) -> IgniteToKafkaOperator:
    with DAG("nightly", schedule=None):
        return IgniteToKafkaOperator(task_id="copy", settings={} if settings is None else settings, **arguments)


def sink(settings: Mapping[str, Any] | None = None, **arguments: Any) -> KafkaToIgniteOperator:
    with DAG("nightly", schedule=None):
        return KafkaToIgniteOperator(task_id="copy", settings={"topics": ["t-flights"], **(settings or {})}, **arguments)


def context(try_number: int = 1, map_index: int = -1, run_id: str = "manual__2025-01-01") -> Any:
    task = SimpleNamespace(dag_id="nightly", task_id="copy", run_id=run_id, map_index=map_index, try_number=try_number)
    return {"ti": task, "params": {"prefix": "p-"}, "run_id": run_id}


def test_result_holds_counts_per_cache(bench: Bench) -> None:
    assert operator().execute(context()) == {
        "state": "COMPLETED",
        "connector": "c",
        "snapshot_id": "s",
        "run_id": "r",
        "generation": 3,
        "already_complete": False,
        "seconds": 2.5,
        "records": 10,
        "caches": {
            "flights": {
                "topic": "t-flights",
                "entries": 10,
                "records": 10,
                "bytes": 1000,
                "units": 4,
                "units_done": 4,
                "seconds": 0.5,
                "bad": 0,
            }
        },
    }


def test_app_is_submitted_with_its_library_and_its_python(bench: Bench) -> None:
    operator(num_executors=3, executor_memory="2g", conf={"spark.ui.enabled": "false"}).execute(context())
    argv = bench.seen["argv"]
    assert argv[argv.index("--master") + 1] == "local[2]"
    assert argv[argv.index("--num-executors") + 1] == "3"
    assert argv[argv.index("--executor-memory") + 1] == "2g"
    assert "spark.ui.enabled=false" in argv
    assert str(app_path("ignite_to_kafka.py")) in argv
    assert bench.seen["shipped"] == ["ignite_kafka.zip"]
    environment = bench.seen["environment"]
    assert environment.pop("SPARK_SUBMIT_OPTS").endswith("/ignite_kafka/runtime/log4j2.properties"), (
        "the task's log is not Spark's INFO lines"
    )
    assert environment == {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


def test_request_holds_settings_and_addresses_and_no_secret(bench: Bench) -> None:
    operator({"topic_prefix": "t-"}).execute(context())
    request = bench.seen["request"]
    assert request["connector"] == "nightly.copy"
    assert request["snapshot_id"] == "nightly/copy/manual__2025-01-01"
    assert request["settings"]["topic_prefix"] == "t-"
    text = json.dumps(bench.seen["request"]) + json.dumps(bench.seen["argv"])
    assert "node:10800" in text
    assert "broker:9092" in text
    assert "group.id" not in text
    assert not [password for password in PASSWORDS if password in text]


def test_secrets_are_shipped_in_a_file_of_their_own_that_is_gone_after(bench: Bench) -> None:
    operator().execute(context())
    text = json.dumps(bench.seen["secrets"])
    assert all(password in text for password in PASSWORDS)
    assert bench.seen["secrets_mode"] == 0o600
    assert list((bench.folder / "tmp").iterdir()) == []


def test_secrets_are_gone_even_where_the_app_cannot_be_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class StillAlive(Exception):
        pass

    def close(hook: SparkAppHook) -> None:
        close_really(hook)
        raise StillAlive

    close_really = SparkAppHook.close
    monkeypatch.setattr(SparkAppHook, "close", close)
    with pytest.raises(StillAlive):
        operator().execute(context())
    assert list((bench.folder / "tmp").iterdir()) == []


def test_no_secrets_no_file(bench: Bench, connect: Any) -> None:
    connect("ignite_default", conn_type="ignite", host="node")
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092"})
    operator().execute(context())
    assert "--secrets" not in bench.seen["argv"]


def test_mounted_secrets_are_named_and_not_copied(bench: Bench) -> None:
    operator(secrets_file="/mnt/secrets/ignite-kafka.json").execute(context())
    argv = bench.seen["argv"]
    assert argv[argv.index("--mounted-secrets") + 1] == "/mnt/secrets/ignite-kafka.json"
    assert "--secrets" not in argv


def test_settings_are_templated(bench: Bench) -> None:
    task = operator({"topic_prefix": "{{ params.prefix }}"}, snapshot_id="all-{{ run_id }}")
    task.render_template_fields(context())
    task.execute(context())
    assert bench.seen["request"]["settings"]["topic_prefix"] == "p-"
    assert bench.seen["request"]["snapshot_id"] == "all-manual__2025-01-01"


def test_settings_from_a_properties_file(bench: Bench) -> None:
    path = bench.folder / "source.properties"
    path.write_text("name=from-file\ntopicPrefix=file-\ncacheWhitelist=flights,air.*\n")
    operator(str(path)).execute(context())
    request = bench.seen["request"]
    assert request["connector"] == "from-file"
    assert request["settings"]["topic_prefix"] == "file-"
    assert request["settings"]["cache_whitelist"] == ["flights", "air.*"]


@pytest.fixture
def replaced(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Settings that event 15001 has reported."""
    caplog.set_level("INFO", "ignite_kafka.events")
    return lambda: [vars(record)["event_fields"]["setting"] for record in caplog.records if vars(record).get("event_id") == 15001]


def test_what_a_connection_does_not_name_is_left_to_the_settings(bench: Bench, replaced: Callable[[], list[str]]) -> None:
    settings = {"ignite_request_timeout_ms": 600_000, "ignite_connect_timeout_ms": "7000", "kafka_config": {}}
    settings["kafka_config"] = {"socket.timeout.ms": 90_000}
    sink(settings).execute(context())
    given = bench.seen["request"]["settings"]
    assert (given["ignite_request_timeout_ms"], given["ignite_connect_timeout_ms"]) == (600_000, 7_000)
    assert given["kafka_config"] == {"socket.timeout.ms": "90000", "sasl.mechanism": "PLAIN", "sasl.username": "app"}
    assert replaced() == []


def test_what_a_connection_names_wins_and_says_so(bench: Bench, connect: Any, replaced: Callable[[], list[str]]) -> None:
    connect("ignite_default", conn_type="ignite", host="node", extra={"request_timeout_ms": 20_000, "connect_timeout_ms": 3_000})
    plain = {"bootstrap.servers": "broker:9092", "sasl.mechanism": "SCRAM-SHA-512", "socket.send.buffer.bytes": "4096", "client.id": "same"}
    connect("kafka_default", conn_type="kafka", extra=plain)
    own = {"send.buffer.bytes": "1", "client.id": "same", "socket.timeout.ms": "90000"}
    settings = {
        "ignite_addresses": "other:10800",
        "ignite_request_timeout_ms": 600_000,
        "ignite_connect_timeout_ms": "3000",
        "ignite_tls_enabled": "false",
        "bootstrap_servers": "broker:9092",
        "kafka_config": own,
    }
    sink(settings).execute(context())
    given = bench.seen["request"]["settings"]
    assert (given["ignite_addresses"], given["ignite_request_timeout_ms"]) == (["node:10800"], 20_000)
    rest = {name: value for name, value in plain.items() if name != "bootstrap.servers"}
    assert given["kafka_config"] == {**rest, "socket.timeout.ms": "90000"}
    assert sorted(replaced()) == [
        "ignite_addresses",
        "ignite_request_timeout_ms",
        "kafka_config.socket.send.buffer.bytes",
    ]


SHARED = {
    **CONFIG,
    "session.timeout.ms": 30_000,
    "heartbeat.interval.ms": "3000",
    "group.instance.id": "w1",
    "isolation.level": "read_uncommitted",
    "acks": 1,
    "linger.ms": 20,
    "compression.type": "zstd",
    "enable.idempotence": True,
    "max.poll.interval.ms": 300_000,
    "socket.timeout.ms": 40_000,
}


@pytest.mark.parametrize("make", [operator, sink])
def test_a_connection_of_consumers_and_producers_has_each_client_given_its_own(
    bench: Bench, connect: Any, replaced: Callable[[], list[str]], make: Callable[[dict[str, Any]], Any]
) -> None:
    connect("kafka_default", conn_type="kafka", extra=SHARED)
    make({"producer_override": {"linger.ms": 5}}).execute(context())
    given = bench.seen["request"]["settings"]
    assert given["kafka_config"] == {"sasl.mechanism": "PLAIN", "sasl.username": "app", "socket.timeout.ms": "40000"}
    assert given["producer_override"] == {"linger.ms": "5", "compression.type": "zstd"}
    assert given["consumer_override"] == {
        "session.timeout.ms": "30000",
        "heartbeat.interval.ms": "3000",
        "max.poll.interval.ms": "300000",
    }
    assert sorted(replaced()) == ["acks", "isolation.level"]  # they would have had another value than the connector's


def test_a_name_that_no_kafka_client_has_is_refused_with_the_nearest(bench: Bench, connect: Any) -> None:
    connect("kafka_default", conn_type="kafka", extra={**CONFIG, "session.timeout": 1})
    with pytest.raises(AirflowFailException, match=r"no property of librdkafka has this name .*session\.timeout"):
        operator().execute(context())


def test_librdkafka_takes_what_a_shared_connection_becomes(bench: Bench, connect: Any) -> None:
    connect("kafka_default", conn_type="kafka", extra=SHARED)
    clients = kafka_config("kafka_default").clients()
    clients.admin()
    clients.reader().close()
    TransactionalProducer(clients, "t-0", 60_000).close()


def test_secrets_of_the_connections_that_a_mounted_file_replaces_are_named(
    bench: Bench, connect: Any, replaced: Callable[[], list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    operator(secrets_file="/mnt/not-here.json").execute(context())
    [event] = [record for record in caplog.records if vars(record).get("event_id") == 15001]
    for unused in ("password of the Ignite connection", "key_password of the Ignite connection", "sasl.password of the Kafka connection"):
        assert unused in event.getMessage()
    assert not [password for password in PASSWORDS if password in caplog.text]

    caplog.clear()
    mounted = bench.folder / "mounted.json"
    mounted.touch(0o600)
    ignite = {"username": "ignite", "password": "another", "key_password": "key-sesame"}
    mounted.write_text(json.dumps({"ignite": ignite, "kafka": {"sasl.password": "kafka-sesame"}}))
    task = operator(secrets_file=str(mounted))
    assert task._request(RunNames.of(context())).secrets.ignite.password == "another"
    [event] = [record for record in caplog.records if vars(record).get("event_id") == 15001]
    assert f"password of the Ignite connection: not used by the app, which reads its secrets only from {mounted}" in event.getMessage()
    assert "sasl.password" not in event.getMessage()


@pytest.mark.parametrize("name", ["security.protocol", "sasl.mechanisms", "ssl.ca.location", "enable.ssl.certificate.verification"])
@pytest.mark.parametrize("theirs", [{"security.protocol": "SASL_SSL"}, {"sasl.password": "kafka-sesame"}])
def test_settings_say_nothing_of_security_where_the_connection_does(bench: Bench, connect: Any, name: str, theirs: dict[str, str]) -> None:
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092", **theirs})
    with pytest.raises(AirflowFailException, match=f"{name} is in kafka_config, and the Kafka connection decides about security"):
        sink({"kafka_config": {name: "PLAIN"}}).execute(context())


def test_a_password_is_not_sent_in_the_clear(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS")
    with pytest.raises(AirflowFailException, match=r"password are sent to Ignite at node:10800 without TLS.*section \[ignite_kafka\]"):
        sink().execute(context())
    sink({"allow_insecure_connections": True}).execute(context())
    assert bench.seen["request"]["settings"]["allow_insecure_connections"] is True


def test_settings_may_say_it_where_the_connection_is_silent(bench: Bench, connect: Any) -> None:
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092"})
    sink({"kafka_config": {"security.protocol": "SSL"}}).execute(context())
    assert bench.seen["request"]["settings"]["kafka_config"] == {"security.protocol": "SSL"}


def test_a_connection_acts_on_the_host_only_with_leave_of_an_administrator(
    bench: Bench, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092", "ssl.engine.location": "/tmp/evil.so"})
    refusal = "ssl.engine.location loads native code, and this value is not allowed"
    with pytest.raises(AirflowFailException, match=refusal) as refused:
        sink().execute(context())
    assert "evil" not in str(refused.value)
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOWED_KAFKA_OPTIONS", '["ssl.engine.location=/opt/good.so"]')
    with pytest.raises(AirflowFailException, match=refusal):
        sink().execute(context())
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOWED_KAFKA_OPTIONS", '["ssl.engine.location=/tmp/evil.so"]')
    sink().execute(context())
    assert "ssl.engine.location" not in bench.seen["request"]["settings"]["kafka_config"]  # settings never hold it, even if it is allowed
    assert bench.seen["request"]["allowed_kafka_options"] == ["ssl.engine.location=/tmp/evil.so"]
    assert bench.seen["secrets"]["kafka"]["ssl.engine.location"] == "/tmp/evil.so"


@pytest.mark.parametrize("text", ["{}", "ssl.providers=default", "[1]", '["ssl.providers"]'])
def test_an_option_of_another_form_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOWED_KAFKA_OPTIONS", text)
    with pytest.raises(AirflowFailException, match="no JSON list of name=value"):
        sink().execute(context())


def test_what_no_setting_may_hold_must_be_in_a_mounted_file(bench: Bench, connect: Any, tmp_path: Path) -> None:
    name = "sasl.oauthbearer.token.endpoint.url"
    oidc = {"bootstrap.servers": "broker:9092", "sasl.oauthbearer.method": "oidc", name: "https://id.example/token"}
    connect("kafka_default", conn_type="kafka", extra={**oidc, "sasl.oauthbearer.client.secret": "kafka-sesame"})
    mounted = tmp_path / "secrets.json"
    mounted.touch(0o600)
    mounted.write_text('{"kafka": {"sasl.oauthbearer.client.secret": "kafka-sesame"}}')
    with pytest.raises(AirflowFailException, match=f"{name} is in the Kafka connection and not in the secrets file"):
        sink(secrets_file=str(mounted)).execute(context())
    mounted.write_text(f'{{"kafka": {{"sasl.oauthbearer.client.secret": "kafka-sesame", "{name}": "https://id.example/token"}}}}')
    sink(secrets_file=str(mounted)).execute(context())
    assert name not in bench.seen["request"]["settings"]["kafka_config"]


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.password"])
def test_a_secret_among_the_settings_of_kafka_clients_is_refused_unseen(bench: Bench, name: str) -> None:
    with pytest.raises(AirflowFailException, match=f"{name} is a secret") as refused:
        sink({"kafka_config": {name: "open-sesame"}}).execute(context())
    assert "open-sesame" not in str(refused.value)
    assert not (bench.folder / "seen.json").exists()


def test_a_wrong_value_is_refused_although_a_connection_replaces_it(bench: Bench) -> None:
    with pytest.raises(AirflowFailException, match=r"ignite_tls_enabled is wrong.*set in operator"):
        sink({"ignite_tls_enabled": "perhaps"}).execute(context())


def test_settings_with_an_argument_of_their_own(bench: Bench) -> None:
    task = operator({"failover_policy": "NONE"}, run_mode="{{ params.mode }}", failover_policy="FULL_SNAPSHOT")
    given = context()
    given["params"]["mode"] = "once"
    task.render_template_fields(given)
    task.execute(given)
    settings = bench.seen["request"]["settings"]
    assert (settings["run_mode"], settings["failover_policy"]) == ("once", "FULL_SNAPSHOT")


def test_the_other_direction_submits_its_own_app_and_no_snapshot(bench: Bench) -> None:
    sink({"topic_prefix": "t-"}).execute(context())
    assert str(app_path("kafka_to_ignite.py")) in bench.seen["argv"]
    request = bench.seen["request"]
    assert (request["connector"], request["snapshot_id"]) == ("nightly.copy", None)
    assert (request["settings"]["topics"], request["settings"]["topic_prefix"]) == (["t-flights"], "t-")
    assert request["settings"]["ignite_addresses"] == ["node:10800"]


def test_settings_of_the_wrong_direction_are_refused_before_anything_is_started(bench: Bench) -> None:
    with pytest.raises(AirflowFailException, match="cache_whitelist"):
        sink({"cache_whitelist": ["a"]}).execute(context())
    assert not (bench.folder / "seen.json").exists()


def test_a_sink_that_was_asked_to_stop_is_done(bench: Bench) -> None:
    bench.status = lambda: run_status(STOPPED)
    assert sink(run_mode="continuous").execute(context())["state"] == "STOPPED"


def test_a_stream_that_was_asked_to_stop_is_done(bench: Bench) -> None:
    bench.status = lambda: run_status(STOPPED)
    result = operator(run_mode="continuous", failover_policy="BACKLOG").execute(context())
    assert (result["state"], result["records"]) == ("STOPPED", 10)
    with pytest.raises(AirflowException, match="stopped before its end"):
        operator(failover_policy="BACKLOG").execute(context())


def test_snapshot_id_is_the_same_for_every_try_and_new_for_every_run() -> None:
    first, again = RunNames.of(context(1)), RunNames.of(context(2))
    assert first.snapshot_id == again.snapshot_id
    assert first.connector == again.connector
    assert first.run_id != again.run_id
    assert RunNames.of(context(run_id="manual__2025-01-02")).snapshot_id != first.snapshot_id


def test_mapped_tasks_have_snapshots_and_connectors_of_their_own() -> None:
    names = [RunNames.of(context(map_index=index)) for index in (-1, 0, 1)]
    assert len({name.snapshot_id for name in names}) == len({name.connector for name in names}) == 3


@pytest.mark.parametrize("empty", [[], (), "", " "])
def test_a_list_of_caches_that_was_given_and_is_empty_is_not_all_caches(bench: Bench, empty: object) -> None:
    with pytest.raises(AirflowFailException, match="cache_whitelist was given and is empty: nothing is chosen"):
        operator({"cache_whitelist": empty}).execute(context())
    assert not (bench.folder / "seen.json").exists()


def test_all_caches_are_copied_where_no_list_is_given(bench: Bench) -> None:
    operator({}).execute(context())
    assert bench.seen["request"]["settings"]["cache_whitelist"] == []
    assert SourceSettings.from_dict(bench.seen["request"]["settings"]).cache_whitelist == ()  # as the app reads it


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ({}, 1),
        ({"name": "nightly"}, 1),
        ("nightly.properties", 1),
        ({"name": "{{ params.name }}"}, None),
        ("{{ params.file }}", None),
    ],
)
def test_runs_of_one_connector_wait_for_each_other(settings: Any, limit: int | None) -> None:
    assert operator(settings).max_active_tis_per_dag == limit
    assert operator(settings, max_active_tis_per_dag=4).max_active_tis_per_dag == 4
    assert operator(settings, default_args={"max_active_tis_per_dag": 3}).max_active_tis_per_dag == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nightly.copy", "nightly.copy"),
        ("größe.kopie", r"gro_e\.kopie-[0-9a-f]{8}"),
        ("größe.kopié", r"gro_e\.kopie-[0-9a-f]{8}"),
        ("数据.复制", r"__\.__-[0-9a-f]{8}"),
        ("a" * 250 + ".copy", r"a{160}-[0-9a-f]{8}"),
    ],
)
def test_default_name_of_any_dag_and_task_is_one_that_a_connector_may_have(name: str, expected: str) -> None:
    found = spark_copy.connector_name(name)
    assert re.fullmatch(expected, found)
    assert SourceSettings.from_dict({"name": found}).name == found


def test_default_names_of_different_tasks_differ() -> None:
    names = ["größe.kopie", "große.kopie", "gro_e.kopie", "größe.kopie"]  # the last in other code points, another Dag to Airflow
    assert len({spark_copy.connector_name(name) for name in names}) == len(set(names))


def test_a_dag_with_letters_beyond_ascii_has_a_connector(bench: Bench) -> None:
    given = context()
    given["ti"].dag_id = "größe"
    operator().execute(given)
    assert re.fullmatch(r"gro_e\.copy-[0-9a-f]{8}", bench.seen["request"]["connector"])


@pytest.mark.parametrize(
    ("status", "exit_code", "kind", "message"),
    [
        (run_status(FAILED, TopicError("may not be written", topic="t-flights")), 1, AirflowFailException, r"TopicError: .*t-flights"),
        (run_status(FAILED, ScanFailed("node left", cache="flights")), 1, AirflowException, r"ScanFailed: node left \[cache flights\]"),
        (run_status(FENCED, Fenced("generation 4 has taken over")), 3, AirflowFailException, "generation 4"),
        (run_status(FAILED, IgniteKafkaError("Py4JJavaError: out of memory")), 1, AirflowException, "out of memory"),
        (run_status(UNKNOWN, OutcomeUnknown("no answer to a commit")), 4, AirflowException, "no answer to a commit"),
        (run_status(STOPPED), 143, AirflowException, "stopped"),
        (replace(run_status(FENCED, Fenced("by a run that is starting")), generation=0), 3, AirflowException, "before this one began"),
        (run_status(RUNNING), 137, AirflowException, "exit code 137"),
        (None, 0, AirflowException, "no end of this run"),
    ],
)
def test_failure_by_the_status_record(bench: Bench, status: RunStatus | None, exit_code: int, kind: type[Exception], message: str) -> None:
    bench.order(exit_code=exit_code)
    bench.status = lambda: status
    with pytest.raises(AirflowException, match=message) as failed:
        operator().execute(context())
    assert failed.type is kind


@pytest.mark.parametrize(
    ("state", "error", "continuous", "succeeded"),
    [
        (COMPLETED, None, False, True),
        (STOPPED, None, True, True),
        (STOPPED, None, False, False),
        (STOPPED, IgniteKafkaError("SystemExit: 143"), True, False),
        (RUNNING, None, True, False),
        (FAILED, ScanFailed("node left"), True, False),
    ],
)
def test_a_continuous_run_succeeds_where_it_was_stopped_in_good_order(
    state: str, error: IgniteKafkaError | None, continuous: bool, succeeded: bool
) -> None:
    assert run_result.succeeded(run_status(state, error), continuous=continuous) is succeeded
    assert not run_result.succeeded(None, continuous=continuous)


@pytest.mark.parametrize(
    ("line", "exit_code", "kind"),
    [
        ("ignite-kafka: SettingsError batch_size is 0", 2, AirflowFailException),
        ("ignite-kafka: AuthenticationFailed refused", 1, AirflowFailException),
        ("ignite-kafka: IgniteUnreachable nobody answers", 1, AirflowException),
        ("ignite-kafka: OutcomeUnknown no answer", 4, AirflowException),
        ("ignite-kafka: SomethingNew of a later version", 1, AirflowException),
    ],
)
def test_failure_without_a_status_record_is_the_app_s_last_line(bench: Bench, line: str, exit_code: int, kind: type[Exception]) -> None:
    bench.order(print=["starting", line, "INFO ShutdownHookManager: Shutdown hook called"], exit_code=exit_code)
    bench.status = lambda: None
    with pytest.raises(AirflowException, match=line.removeprefix("ignite-kafka: ")) as failed:
        operator().execute(context())
    assert failed.type is kind


def test_failure_without_a_word_shows_the_last_lines(bench: Bench) -> None:
    bench.order(print=["java.lang.OutOfMemoryError: Java heap space"], exit_code=1)
    bench.status = lambda: None
    with pytest.raises(AirflowException, match=r"exit code 1(.|\n)*OutOfMemoryError"):
        operator().execute(context())


def test_done_but_kafka_cannot_be_asked_is_tried_again(bench: Bench) -> None:
    bench.status = unavailable
    with pytest.raises(AirflowException, match="KafkaUnavailable") as failed:
        operator().execute(context())
    assert failed.type is AirflowException


def test_failed_and_kafka_cannot_be_asked_tells_the_first_reason(bench: Bench) -> None:
    bench.order(print=["ignite-kafka: CacheNotFound no such cache"], exit_code=1)
    bench.status = unavailable
    with pytest.raises(AirflowFailException, match="no such cache"):
        operator().execute(context())


def unavailable() -> RunStatus | None:
    raise KafkaUnavailable("no broker answers")


@pytest.mark.parametrize("settings", [{"topic_prefixx": "t"}, {"batch_size": 0}, "/missing.properties"])
def test_bad_settings_fail_before_anything_starts_and_without_a_retry(bench: Bench, settings: Any) -> None:
    with pytest.raises(AirflowFailException, match="SettingsError"):
        operator(settings).execute(context())
    assert not (bench.folder / "seen.json").exists()


@pytest.mark.parametrize(("master", "remedy"), [("spark://m:7077", "deploy-mode .* to client"), ("k8s://https://m", "cncf-kubernetes")])
def test_places_that_cannot_work_are_refused(bench: Bench, connect: Any, master: str, remedy: str) -> None:
    connect("spark_default", conn_type="spark", host=master, extra={"deploy-mode": "cluster"})
    with pytest.raises(AirflowFailException, match=remedy):
        operator().execute(context())


def test_kubernetes_gets_no_secrets_by_upload(bench: Bench) -> None:
    request = operator()._request(RunNames.of(context()))
    with pytest.raises(SettingsError, match="secrets_file"):
        build_submission(request, bench.folder, SparkMaster("k8s://https://m", cluster_mode=True), {})
    mounted = replace(request, secrets_file=Path("/mnt/secrets.json"))
    given = build_submission(mounted, bench.folder, SparkMaster("k8s://https://m", cluster_mode=True), {"env_vars": {"MY_ZONE": "a"}})
    assert given.application_args == ("--request", "request.json", "--mounted-secrets", "/mnt/secrets.json")
    assert [Path(path).name for path in given.files] == ["request.json"]
    assert given.conf == {"spark.kubernetes.driverEnv.MY_ZONE": "a"}


def test_a_missing_spark_connection_is_an_error(bench: Bench) -> None:
    with pytest.raises(AirflowNotFoundException):
        operator(conn_id="nowhere").execute(context())


@pytest.mark.parametrize("master", ["yarn", "k8s://https://m"])
def test_spark_submit_waits_for_the_end_of_the_app(bench: Bench, master: str) -> None:
    request = replace(operator()._request(RunNames.of(context())), secrets_file=Path("/mnt/secrets.json"))
    conf = {"spark.yarn.submit.waitAppCompletion": "false", "spark.kubernetes.submission.waitAppCompletion": False}
    with pytest.raises(SettingsError, match="wait for the end"):
        build_submission(request, bench.folder, SparkMaster(master, cluster_mode=True), {"conf": conf})


def test_killed_before_the_app_was_started(bench: Bench) -> None:
    task = operator()
    task.on_kill()
    with pytest.raises(AirflowException, match="killed"):
        task.execute(context())
    assert not (bench.folder / "seen.json").exists()
    assert list((bench.folder / "tmp").iterdir()) == []


@pytest.mark.parametrize("name", ["numexecutors", "application_args", "conf", "yarn_track_via_rm_api"])
def test_arguments_that_spark_submit_has_not_are_refused_when_the_dag_is_read(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        operator(spark_submit={name: "x"})


@pytest.mark.parametrize(
    ("rendered", "message"),
    [
        ({"application_args": ["--x"]}, "has 'application_args'"),
        ({"conn_id": "other"}, "has 'conn_id'"),
        ("--conf spark.jars=x", "must be a mapping"),
    ],
)
def test_they_are_checked_again_when_the_templates_are_rendered(bench: Bench, rendered: Any, message: str) -> None:
    task = operator(spark_submit="{{ params.spark_submit }}")
    rendering: Any = {**context(), "params": {"spark_submit": "x"}}
    task.render_template_fields(rendering)
    task.spark_submit = rendered  # as a Dag with render_template_as_native_obj has it
    with pytest.raises(AirflowFailException, match=f"spark_submit {message}"):
        task.execute(context())
    assert not (bench.folder / "seen.json").exists()


def test_shipping_unprotected_secrets_is_an_argument_of_the_dag(bench: Bench) -> None:
    operator().execute(context())
    assert "--ship-secrets-unprotected" not in bench.seen["argv"]
    operator(ship_secrets_unprotected=True).execute(context())
    assert "--ship-secrets-unprotected" in bench.seen["argv"]
    assert "ship_secrets_unprotected" not in IgniteToKafkaOperator.template_fields  # a parameter of a run cannot set it


def test_yarn_cluster_mode_ships_request_and_secrets(bench: Bench, connect: Any) -> None:
    connect("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": "cluster"})
    operator(spark_submit={"files": "/etc/krb5.conf", "archives": "env.tar.gz#env", "env_vars": {"MY_ZONE": "a"}}).execute(context())
    argv = bench.seen["argv"]
    assert argv[argv.index("--request") + 1] == "request.json"
    assert argv[argv.index("--secrets") + 1] == "secrets.json"
    assert bench.seen["shipped"] == ["ignite_kafka.zip", "krb5.conf", "request.json", "secrets.json"]
    assert bench.seen["environment"] == {"MY_ZONE": "a"}
    assert "spark.yarn.appMasterEnv.MY_ZONE=a" in argv


def test_variables_of_airflow_stay_with_airflow(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://user:sesame@db/airflow")
    operator(spark_submit={"env_vars": {"MY_ZONE": "a"}}).execute(context())
    assert sorted(bench.seen["environment"]) == ["MY_ZONE", "PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON", "SPARK_SUBMIT_OPTS"]


@pytest.mark.parametrize("stubborn", [False, True])
def test_on_kill_stops_the_app_and_leaves_nothing(bench: Bench, stubborn: bool) -> None:
    bench.order(print=["at work"], until_stopped=True, stubborn=stubborn)
    bench.status = lambda: run_status(FAILED, TopicError("what an app may say when its Java is stopped with it"))
    task = operator(stop_timeout_ms=500 if stubborn else 60_000)
    assert killed_at_work(task) == (143 if not stubborn else -signal.SIGKILL)
    assert list((bench.folder / "tmp").iterdir()) == []


def test_on_kill_asks_the_app_alone_and_leaves_it_its_spark(bench: Bench) -> None:
    bench.order(print=["at work"], until_stopped=True, graceful=True, app=True)
    bench.status = lambda: run_status(STOPPED)
    assert killed_at_work(operator(stop_timeout_ms=60_000)) == 0


def test_an_app_that_does_not_end_its_batch_is_killed_with_its_spark(bench: Bench) -> None:
    bench.order(print=["at work"], until_stopped=True, stubborn=True, app=True)
    bench.status = lambda: run_status(RUNNING)
    assert killed_at_work(operator(stop_timeout_ms=500)) == -signal.SIGKILL
    wait_until(lambda: not psutil.pid_exists(bench.seen["pid"]), "end of the app")


@pytest.fixture
def on_yarn(bench: Bench, connect: Any) -> Bench:
    connect("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": "cluster"})
    bench.order(print=["Submitted application application_17_0001", "at work"], until_stopped=True, graceful=True)
    bench.status = lambda: run_status(RUNNING)
    return bench


def test_on_kill_in_the_cluster_asks_through_kafka(on_yarn: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask(request: Request) -> bool:
        asked.append(request.run_id)
        os.kill(on_yarn.seen["pid"], signal.SIGTERM)  # what spark-submit does once the app has ended
        return True

    on_yarn.request_stop = ask
    assert killed_at_work(operator(stop_timeout_ms=60_000)) == 0
    assert asked == [on_yarn.seen["request"]["run_id"]]
    assert not (on_yarn.folder / "yarn").exists()


@pytest.mark.parametrize(("answer", "timeout_ms"), [("does not end", 500), ("has not begun", 60_000), ("no broker answers", 60_000)])
def test_on_kill_in_the_cluster_kills_what_does_not_end(
    on_yarn: Bench, monkeypatch: pytest.MonkeyPatch, answer: str, timeout_ms: int
) -> None:
    def ask(_request: Request) -> bool:
        if answer == "no broker answers":
            raise KafkaUnavailable(answer)
        return answer == "does not end"

    on_yarn.request_stop = ask
    assert killed_at_work(operator(stop_timeout_ms=timeout_ms)) == -signal.SIGKILL
    assert (on_yarn.folder / "yarn").read_text() == "application -kill application_17_0001\n"


def killed_at_work(task: IgniteToKafkaOperator) -> int:
    """Run a task that is killed once its app runs and must fail with a retriable error; return spark-submit's exit code."""
    previous = signal.signal(signal.SIGTERM, lambda *_: task.on_kill())
    killer = threading.Thread(target=signal_when_at_work, args=(task, signal.SIGTERM))
    killer.start()
    try:
        with pytest.raises(AirflowException, match="killed and its app stopped") as failed:
            task.execute(context())
    finally:
        killer.join()
        signal.signal(signal.SIGTERM, previous)
    assert failed.type is AirflowException
    assert task._hook is not None
    assert task._hook._submit_sp is not None
    return int(task._hook._submit_sp.returncode)


def signal_when_at_work(task: IgniteToKafkaOperator, number: signal.Signals) -> None:
    """Send this process a signal once the app has started, as Airflow's supervisor does; a handler runs in the main thread."""
    wait_until(lambda: task._hook is not None and "at work" in task._hook._tail, "the app at work")
    os.kill(os.getpid(), number)


@pytest.fixture
def left_on_yarn(on_yarn: Bench) -> Bench:
    """A spark-submit that ends without reporting its app's end."""
    on_yarn.order(print=["Submitted application application_17_0001", "Exception: the resource manager is gone"], exit_code=1)
    return on_yarn


def test_the_end_of_spark_submit_is_not_the_app_s_in_the_cluster(left_on_yarn: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [run_status(RUNNING), run_status(RUNNING), run_status(COMPLETED)]
    left_on_yarn.status = lambda: replace(run_status(RUNNING), ended_ms=None)
    followed: list[str] = []

    def follow(request: Request) -> RunStatus | None:
        followed.append(request.run_id)
        return records[-1]

    left_on_yarn.awaited = follow
    assert operator().execute(context())["state"] == COMPLETED
    assert followed == [left_on_yarn.seen["request"]["run_id"]]
    assert not (left_on_yarn.folder / "yarn").exists()


@pytest.mark.parametrize(("asked", "ends"), [(True, True), (True, False), (False, False)])
def test_who_gives_up_following_asks_the_app_to_stop(left_on_yarn: Bench, monkeypatch: pytest.MonkeyPatch, asked: bool, ends: bool) -> None:
    left_on_yarn.status = lambda: replace(run_status(RUNNING), ended_ms=None)
    told: list[str] = []

    def ask(request: Request) -> bool:
        told.append(request.run_id)
        return asked

    left_on_yarn.request_stop, left_on_yarn.has_ended = ask, ends
    with pytest.raises(AirflowException, match="spark-submit ended without reporting the app's end") as failed:
        operator(stop_timeout_ms=500).execute(context())
    assert failed.type is AirflowException
    assert told == [left_on_yarn.seen["request"]["run_id"]]
    killed = (left_on_yarn.folder / "yarn").read_text() if (left_on_yarn.folder / "yarn").exists() else ""
    assert killed == ("" if asked and ends else "application -kill application_17_0001\n")


def test_an_app_whose_end_the_cluster_has_told_is_not_followed(left_on_yarn: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    left_on_yarn.order(print=["Submitted application application_17_0001", "\t final status: FAILED", "java.lang.Error"], exit_code=1)
    left_on_yarn.status = lambda: replace(run_status(RUNNING), ended_ms=None)
    left_on_yarn.awaited = lambda _request: pytest.fail("awaited")
    with pytest.raises(AirflowException, match="exit code 1"):
        operator().execute(context())
    assert not (left_on_yarn.folder / "yarn").exists()


def test_a_submission_that_the_cluster_refused_is_not_followed_for_long(left_on_yarn: Bench) -> None:
    left_on_yarn.order(print=["Exception: unknown queue"], exit_code=1)
    left_on_yarn.status = lambda: None
    with pytest.raises(AirflowException, match=r"exit code 1(.|\n)*unknown queue"):
        operator().execute(context())
    assert not (left_on_yarn.folder / "yarn").exists()


@pytest.mark.parametrize(
    ("error", "kind"), [(KafkaUnavailable("nobody answers"), AirflowException), (SettingsError("no"), AirflowFailException)]
)
def test_clusters_are_asked_before_spark_starts(
    bench: Bench, connect: Any, monkeypatch: pytest.MonkeyPatch, error: IgniteKafkaError, kind: type[Exception]
) -> None:
    asked: list[bool] = []

    def check(ignite: bool) -> None:
        asked.append(ignite)
        raise error

    bench.check_clusters = check
    for extra in ({}, {"deploy-mode": "cluster"}):
        connect("spark_default", conn_type="spark", host="yarn", extra=extra)
        with pytest.raises(AirflowException, match=type(error).__name__) as failed:
            operator().execute(context())
        assert failed.type is kind
    assert asked == [True, False]  # in cluster mode the driver, not this worker, connects to Ignite
    assert not (bench.folder / "seen.json").exists()
    assert list((bench.folder / "tmp").iterdir()) == []


def test_a_retry_does_not_end_a_newer_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def superseding(own: str) -> RunStatus:
        asked.append(own)
        return run_status(RUNNING)

    bench.superseded_by = superseding
    operator().execute(context())
    assert asked == []  # a first try takes the connector over
    with pytest.raises(AirflowException, match="has taken the connector c since this task's last try") as failed:
        operator().execute(context(try_number=2))
    assert failed.type is AirflowException
    assert asked == ["nightly/copy/manual__2025-01-01/"]


class LockedLog:
    """A log that is written under a lock, as Airflow's is, and that SIGTERM interrupts."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._lock = threading.Lock()

    def info(self, message: object, *arguments: object) -> None:
        text = str(message) % arguments if arguments else str(message)
        assert self._lock.acquire(blocking=False), f"logged by the handler of a signal that interrupted the log: {text}"
        try:
            if text == "at work":
                signal.raise_signal(signal.SIGTERM)
            self.lines.append(text)
        finally:
            self._lock.release()

    debug = warning = error = info


@pytest.mark.parametrize("deploy_mode", ["client", "cluster"])
def test_on_kill_amid_a_line_of_the_log(bench: Bench, connect: Any, monkeypatch: pytest.MonkeyPatch, deploy_mode: str) -> None:
    connect("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": deploy_mode})
    bench.order(print=["Submitted application application_17_0001", "at work"], until_stopped=True)
    bench.status = lambda: run_status(FAILED, TopicError("what an app may say when its Java is stopped with it"))
    bench.request_stop = lambda _request: False
    log = LockedLog()
    monkeypatch.setattr(SparkAppHook, "_log", log)
    task = operator(stop_timeout_ms=60_000)
    previous = signal.signal(signal.SIGTERM, lambda *_: task.on_kill())
    try:
        with pytest.raises(AirflowException, match="killed and its app stopped"):
            task.execute(context())
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert any(line.startswith("Stopping the Spark app") for line in log.lines)
    assert (bench.folder / "yarn").exists() is (deploy_mode == "cluster")


def test_time_out_of_the_task_stops_the_app(bench: Bench) -> None:
    bench.order(print=["at work"], until_stopped=True)
    task = operator()

    class OutOfTime(Exception):
        pass

    def raise_out_of_time(*_: Any) -> None:
        raise OutOfTime

    previous = signal.signal(signal.SIGUSR1, raise_out_of_time)
    killer = threading.Thread(target=signal_when_at_work, args=(task, signal.SIGUSR1))
    killer.start()
    try:
        with pytest.raises(OutOfTime):
            task.execute(context())
    finally:
        killer.join()
        signal.signal(signal.SIGUSR1, previous)
    assert task._hook is not None
    assert task._hook._submit_sp is not None
    assert task._hook._submit_sp.returncode == 143


@pytest.mark.parametrize(
    ("master", "conf", "expected"),
    [
        ("local[2]", {}, (sys.executable, sys.executable)),
        ("spark://m:7077", {}, (sys.executable, None)),
        ("spark://m:7077", {"spark.pyspark.python": "/opt/bin/python"}, (sys.executable, "/opt/bin/python")),
        (
            "yarn",
            {"spark.pyspark.python": "./env/bin/python", "spark.pyspark.driver.python": "/usr/bin/p"},
            ("/usr/bin/p", "./env/bin/python"),
        ),
    ],
)
def test_driver_beside_the_task_has_the_task_s_python(
    bench: Bench, connect: Any, master: str, conf: dict[str, str], expected: tuple[str, str | None]
) -> None:
    connect("spark_default", conn_type="spark", host=master)
    operator(conf=conf).execute(context())
    driver, workers = expected
    environment, argv = bench.seen["environment"], bench.seen["argv"]
    assert (environment["PYSPARK_DRIVER_PYTHON"], environment.get("PYSPARK_PYTHON")) == (driver, workers)
    assert f"spark.pyspark.driver.python={driver}" in argv
