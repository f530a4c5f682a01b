"""Key stores and the address map of Airflow connections, as the app of a copy gets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ignite_kafka.hooks.ignite_connection import IgniteConnection
from ignite_kafka.errors import SettingsError
from tests.unit.airflow.bench import Bench, context, operator
from tools.servers.certificates import Certificates


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"), password="store-sesame").make()


def connections(connect: Any, files: Certificates, ignite_password: str = "store-sesame", kafka_password: str = "store-sesame") -> None:
    stores = {"tls": True, "ca_file": str(files.trust_store), "cert_file": str(files.server_store)}
    passwords = {"ca_password": "store-sesame", "cert_password": ignite_password}
    extra = {**stores, **passwords, "address_map": {"10.0.0.5:10800": "node:31080"}}
    connect("ignite_default", conn_type="ignite", host="node", login="ann", password="p", extra=extra)
    kafka = {"bootstrap.servers": "broker:9093", "security.protocol": "SSL", "ssl.truststore.location": str(files.trust_store)}
    kafka |= {"ssl.truststore.password": kafka_password, "ssl.keystore.location": str(files.server_store)}
    connect("kafka_default", conn_type="kafka", extra={**kafka, "ssl.keystore.password": "store-sesame", "ssl.keystore.type": "PKCS12"})


def test_the_app_gets_the_content_of_stores_and_the_address_map(bench: Bench, connect: Any, files: Certificates) -> None:
    connections(connect, files)
    operator().execute(context())
    settings, secrets = bench.seen["request"]["settings"], bench.seen["secrets"]
    assert settings["ignite_address_map"] == ["10.0.0.5:10800=node:31080"]
    assert (settings["ignite_tls_enabled"], settings["ignite_tls_ca_file"], settings["ignite_tls_cert_file"]) == (True, "", "")
    assert settings["kafka_config"]["ssl.ca.pem"] == secrets["ignite"]["ca_pem"] == files.ca.read_text()
    assert "PRIVATE KEY" in secrets["kafka"]["ssl.key.pem"]
    assert "PRIVATE KEY" in secrets["ignite"]["cert_pem"]
    request = json.dumps(bench.seen["request"]) + json.dumps(bench.seen["argv"])
    assert "PRIVATE KEY" not in request
    for gone in ("store-sesame", str(files.folder)):
        assert gone not in request + json.dumps(secrets)


def test_with_a_mounted_secrets_file_the_paths_stay(bench: Bench, connect: Any, files: Certificates, tmp_path: Path) -> None:
    connections(connect, files)
    operator(secrets_file="/mnt/not-here.json").execute(context())
    settings = bench.seen["request"]["settings"]
    assert settings["ignite_tls_ca_file"] == str(files.trust_store)
    assert settings["kafka_config"]["ssl.truststore.location"] == str(files.trust_store)


@pytest.mark.parametrize("of", ["ignite_password", "kafka_password"])
def test_a_wrong_password_fails_the_task_before_spark_starts(bench: Bench, connect: Any, files: Certificates, of: str) -> None:
    connections(connect, files, **{of: "hunter2"})
    with pytest.raises(AirflowFailException, match="the password is wrong") as raised:
        operator().execute(context())
    assert str(files.folder) in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("value", ["10.0.0.5", "a=b=c", {"a": "b:x"}, 5])
def test_a_map_that_cannot_be_read_is_a_setting_error(connect: Any, value: Any) -> None:
    connect("ignite_default", conn_type="ignite", extra={"address_map": value})
    with pytest.raises(SettingsError, match=r"extra field address_map .*announced=reachable|extra field address_map is 5"):
        IgniteConnection.read("ignite_default")
