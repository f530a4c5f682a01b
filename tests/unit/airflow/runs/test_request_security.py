"""What settings may not do beside connections and secrets files: accept a connection without TLS, trust others, or redirect a login."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.settings.secrets import Secrets, dump
from tests.unit.airflow.bench import Bench, context, operator, rendered, sink


def test_settings_accept_a_connection_without_a_login(bench: Bench, connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS")
    connect("ignite_default", conn_type="ignite", host="node")
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092"})
    weak = {"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"}
    with pytest.raises(AirflowFailException, match="the certificate of Kafka at broker:9092 is not verified"):
        sink({"kafka_config": weak}).execute(context())
    sink({"kafka_config": weak, "allow_insecure_connections": True}).execute(context())
    assert bench.seen["request"]["allow_insecure_connections"] is False


@pytest.mark.parametrize(
    "own",
    [
        {"ssl.ca.location": "/shared/evil.pem"},
        {"enable.ssl.certificate.verification": "false"},
        {"security.protocol": "PLAINTEXT"},
        {"ssl.endpoint.identification.algorithm": "none"},
    ],
)
def test_settings_have_no_security_beside_that_of_a_secrets_file(bench: Bench, connect: Any, tmp_path: Path, own: dict[str, str]) -> None:
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092"})
    path = tmp_path / "secrets.json"
    dump(Secrets(kafka={"security.protocol": "SASL_SSL", "sasl.username": "app", "sasl.password": "open-sesame"}), path)
    refusal = f"{next(iter(own))} is in kafka_config, and the secrets file decides about security: it has sasl.password"
    for more in ({}, {"allow_insecure_connections": True}):
        with pytest.raises(AirflowFailException, match=refusal):
            sink({"kafka_config": own, **more}, secrets_file=str(path)).execute(context())
    with pytest.raises(AirflowFailException, match="this worker does not have the file"):
        sink({"kafka_config": own}, secrets_file="/mnt/only/on/executors.json").execute(context())
    sink({"kafka_config": {"client.id": "mine"}}, secrets_file=str(path)).execute(context())


def test_security_in_settings_is_accepted_beside_a_secrets_file_without_any(bench: Bench, connect: Any, tmp_path: Path) -> None:
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092"})
    dump(Secrets(IgniteCredentials("ann", "open-sesame")), path := tmp_path / "secrets.json")
    sink({"kafka_config": {"security.protocol": "SSL"}}, secrets_file=str(path)).execute(context())
    assert bench.seen["request"]["settings"]["kafka_config"] == {"security.protocol": "SSL"}


def test_the_address_of_a_registry_with_a_login_is_that_of_the_connection(bench: Bench, connect: Any) -> None:
    connect("registry", conn_type="http", host="registry", login="app", password="open-sesame")
    avro = {"value_converter": "avro", "value_converter_config": {"schema.registry.url": "https://attacker"}}
    with pytest.raises(AirflowFailException, match="the login of the schema registry is sent, and no setting may do that") as refused:
        sink(avro, registry_conn_id="registry").execute(context())
    assert "attacker" not in str(refused.value)
    sink({"value_converter": "avro"}, registry_conn_id="registry").execute(context())
    assert bench.seen["secrets"]["registry"]["schema.registry.url"] == "https://registry"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "driver.corp"])
def test_only_an_argument_of_the_operator_opens_the_metrics_to_other_hosts(bench: Bench, host: str) -> None:
    """Settings may come from whoever triggers the Dag; the argument is no template."""
    refusal = "other hosts would reach the driver's metrics.*argument metrics_host.*only the Dag's author"
    for task in (operator({"metrics_host": host}), rendered(sink(), metrics_host=host)):
        with pytest.raises(AirflowFailException, match=refusal):
            task.execute(context())
    operator({"metrics_port": 9464}, metrics_host=host).execute(context())
    assert bench.seen["request"]["settings"]["metrics_host"] == host
    sink({"metrics_port": 0, "metrics_host": "localhost"}).execute(context())
    assert bench.seen["request"]["settings"]["metrics_host"] == "localhost"


def test_the_argument_for_the_metrics_host_is_no_template(bench: Bench) -> None:
    task = operator(metrics_host="{{ params.prefix }}")
    task.render_template_fields(context())
    with pytest.raises(AirflowFailException, match=r"metrics_host, value '\{\{ params\.prefix \}\}'"):
        task.execute(context())
