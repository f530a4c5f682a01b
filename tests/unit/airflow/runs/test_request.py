"""Request of an app: settings merged with arguments and connections, and secrets apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ignite_kafka.hooks.kafka_config import kafka_config
from airflow_provider_ignite_kafka.runs.names import RunNames
from airflow_provider_ignite_kafka.spark.app_paths import app_path
from ignite_kafka.kafka.producer import TransactionalProducer
from ignite_kafka.settings.source import SourceSettings
from tests.unit.airflow.bench import CONFIG, PASSWORDS, Bench, context, looked_up, operator, rendered, sink


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


def test_secrets_are_shipped_in_a_separate_file_that_is_removed_afterwards(bench: Bench) -> None:
    operator().execute(context())
    text = json.dumps(bench.seen["secrets"])
    assert all(password in text for password in PASSWORDS)
    assert bench.seen["secrets_mode"] == 0o600
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


def test_rules_of_names_and_overrides_keep_their_order_and_are_templated(bench: Bench) -> None:
    rules = {"z-(.*)": "{{ params.prefix }}$1", "a-(?<what>.*)": "${what}"}
    overrides = {"z.*": {"topic_partitions": 3}, "a.*": {"decimal_format": "NUMERIC"}}
    groups = {"z": {"include": ["{{ params.prefix }}.*"], "partitions": 2}, "a": {"include": "a"}}
    task = operator({"topic_names": rules, "overrides": overrides, "topic_creation_groups": json.dumps(groups)})
    task.render_template_fields(context())
    task.execute(context())
    settings = bench.seen["request"]["settings"]
    assert list(settings["topic_names"].items()) == [("z-(.*)", "p-$1"), ("a-(?<what>.*)", "${what}")]
    assert list(settings["overrides"].items()) == list(overrides.items())
    expected = [("z", {"include": ["p-.*"], "partitions": 2}), ("a", {"include": ["a"]})]
    assert list(settings["topic_creation_groups"].items()) == expected


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


def test_settings_fill_in_what_a_connection_lacks(bench: Bench, replaced: Callable[[], list[str]]) -> None:
    settings = {"ignite_request_timeout_ms": 600_000, "ignite_connect_timeout_ms": "7000", "kafka_config": {}}
    settings["kafka_config"] = {"socket.timeout.ms": 90_000}
    sink(settings).execute(context())
    given = bench.seen["request"]["settings"]
    assert (given["ignite_request_timeout_ms"], given["ignite_connect_timeout_ms"]) == (600_000, 7_000)
    assert given["kafka_config"] == {"socket.timeout.ms": "90000", "sasl.mechanism": "PLAIN", "sasl.username": "app"}
    assert replaced() == []


def test_a_connection_overrides_settings_and_reports_it(bench: Bench, connect: Any, replaced: Callable[[], list[str]]) -> None:
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
    "fetch.min.bytes": 1000,
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
    assert given["consumer_override"] == {"fetch.min.bytes": "1000"}, "no client joins a consumer group"
    assert sorted(replaced()) == ["acks", "isolation.level"]  # they would have had another value than the connector's


def test_a_name_that_no_kafka_client_has_is_refused_with_the_nearest(bench: Bench, connect: Any) -> None:
    connect("kafka_default", conn_type="kafka", extra={**CONFIG, "session.timeout": 1})
    with pytest.raises(AirflowFailException, match=r"no property of librdkafka has this name .*session\.timeout"):
        operator().execute(context())


def test_each_connection_is_looked_up_once(bench: Bench, connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("registry", conn_type="http", host="registry")
    asked = looked_up(monkeypatch)
    operator(registry_conn_id="registry").execute(context())
    assert sorted(asked) == ["ignite_default", "kafka_default", "registry", "spark_default"]


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
def test_security_in_settings_is_refused_if_the_connection_has_any(bench: Bench, connect: Any, name: str, theirs: dict[str, str]) -> None:
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092", **theirs})
    with pytest.raises(AirflowFailException, match=f"{name} is in kafka_config, and the Kafka connection decides about security"):
        sink({"kafka_config": {name: "PLAIN"}}).execute(context())


def test_a_password_is_not_sent_in_the_clear(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS")
    with pytest.raises(AirflowFailException, match=r"password are sent to Ignite at node:10800 without TLS.*section \[ignite_kafka\]"):
        sink().execute(context())
    with pytest.raises(AirflowFailException, match="the setting of that name does not cover credentials"):
        sink({"allow_insecure_connections": True}).execute(context())
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS", "True")
    sink().execute(context())
    assert bench.seen["request"]["allow_insecure_connections"] is True


def test_security_in_settings_is_accepted_if_the_connection_has_none(bench: Bench, connect: Any) -> None:
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092"})
    sink({"kafka_config": {"security.protocol": "SSL"}}).execute(context())
    assert bench.seen["request"]["settings"]["kafka_config"] == {"security.protocol": "SSL"}


def test_a_connection_acts_on_the_host_only_with_permission_of_an_administrator(
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
        rendered(sink(), kafka_config={name: "open-sesame"}).execute(context())
    assert "open-sesame" not in str(refused.value)
    assert not (bench.folder / "seen.json").exists()


def test_a_wrong_value_is_refused_although_a_connection_replaces_it(bench: Bench) -> None:
    with pytest.raises(AirflowFailException, match=r"ignite_tls_enabled is wrong.*set in operator"):
        rendered(sink(), ignite_tls_enabled="perhaps").execute(context())


def test_arguments_override_settings(bench: Bench) -> None:
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
        rendered(sink(), cache_whitelist=["a"]).execute(context())
    assert not (bench.folder / "seen.json").exists()


@pytest.mark.parametrize("empty", [[], (), "", " "])
def test_a_list_of_caches_that_was_given_and_is_empty_is_not_all_caches(bench: Bench, empty: object) -> None:
    with pytest.raises(AirflowFailException, match="cache_whitelist was given and is empty: nothing is chosen"):
        rendered(operator(), cache_whitelist=empty).execute(context())
    assert not (bench.folder / "seen.json").exists()


def test_all_caches_are_copied_where_no_list_is_given(bench: Bench) -> None:
    operator({}).execute(context())
    assert bench.seen["request"]["settings"]["cache_whitelist"] == []
    assert SourceSettings.from_dict(bench.seen["request"]["settings"]).cache_whitelist == ()  # as the app reads it


@pytest.mark.parametrize("settings", [{"topic_prefixx": "t"}, {"batch_size": 0}, "/missing.properties"])
def test_bad_settings_fail_before_anything_starts_and_without_a_retry(bench: Bench, settings: Any) -> None:
    task = operator(settings) if isinstance(settings, str) else rendered(operator(), **settings)
    with pytest.raises(AirflowFailException, match="SettingsError"):
        task.execute(context())
    assert not (bench.folder / "seen.json").exists()
