"""Who makes tokens for Kafka, by name. Clouds' packages are replaced by functions of the test that make tokens without a network."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib.metadata import version
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from packaging.version import Version

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.errors import AuthenticationFailed, SettingsError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.oauth_tokens import token_function, with_token_function
from ignite_kafka.settings.client_properties import check_trusted
from ignite_kafka.settings.secrets import split_kafka
from ignite_kafka.settings.source import SourceSettings

MSK = "b-1.demo.abcde1.c2.kafka.eu-west-1.amazonaws.com:9098"


def install(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    parts = name.split(".")
    for size in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:size]), ModuleType(".".join(parts[:size])))
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def regions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Regions that tokens of AWS were made for."""
    asked: list[str] = []

    def generate_auth_token(region: str) -> tuple[str, int]:
        asked.append(region)
        return "signed", 1_700_000_000_000

    install(monkeypatch, "aws_msk_iam_sasl_signer.MSKAuthTokenProvider", generate_auth_token=generate_auth_token)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    return asked


@pytest.mark.parametrize(
    ("name", "servers", "region"),
    [
        ("aws_msk_iam", MSK, "eu-west-1"),
        ("aws_msk_iam", "boot-abcde1.c2.kafka-serverless.us-east-1.amazonaws.com:9098", "us-east-1"),
        ("aws_msk_iam:cn-north-1", "kafka.internal:9098", "cn-north-1"),
    ],
)
def test_tokens_of_aws_are_of_the_cluster_s_region(regions: list[str], name: str, servers: str, region: str) -> None:
    assert token_function(name, servers)("") == ("signed", 1_700_000_000.0)
    assert regions == [region]


def test_a_region_that_is_not_known(regions: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"AWS region .* is not known.*aws_msk_iam:eu-west-1"):
        token_function("aws_msk_iam", "kafka.internal:9098")
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    token_function("aws_msk_iam", "kafka.internal:9098")("")
    assert regions == ["eu-north-1"]


def test_tokens_of_google(monkeypatch: pytest.MonkeyPatch) -> None:
    expiry = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)  # google-auth has it without time zone, in UTC
    credentials = SimpleNamespace(valid=False, token=None, expiry=None, service_account_email="app@example.com")

    def refresh(_: object) -> None:
        vars(credentials).update(valid=True, token="secret", expiry=expiry)

    credentials.refresh = refresh
    google(monkeypatch, lambda scopes: (credentials, "project"))
    made, until = token_function("gcp", "bootstrap.demo.eu.managedkafka.p.cloud.goog:9092")("")
    assert until == (expiry - datetime(1970, 1, 1)) / timedelta(seconds=1)
    header, claims, token = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)).decode() for part in made.split("."))
    assert (json.loads(header)["alg"], token) == ("GOOG_OAUTH2_TOKEN", "secret")
    assert (json.loads(claims)["sub"], json.loads(claims)["exp"]) == ("app@example.com", until)


class NoCredentials(Exception):
    """google.auth.exceptions.DefaultCredentialsError."""


def google(monkeypatch: pytest.MonkeyPatch, default: Callable[..., Any]) -> None:
    install(monkeypatch, "google.auth.transport.requests", Request=object)
    exceptions = SimpleNamespace(DefaultCredentialsError=NoCredentials)
    install(monkeypatch, "google.auth", default=default, exceptions=exceptions)


def test_a_host_without_credentials_of_google(monkeypatch: pytest.MonkeyPatch) -> None:
    def default(scopes: list[str]) -> Any:
        raise NoCredentials

    google(monkeypatch, default)
    with pytest.raises(SettingsError, match="gcp finds no credentials on this host"):
        token_function("gcp", "")


@pytest.mark.parametrize(
    ("name", "module", "extra"), [("aws_msk_iam", "aws_msk_iam_sasl_signer.MSKAuthTokenProvider", "msk"), ("gcp", "google.auth", "gcp")]
)
def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, name: str, module: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingsError, match=rf"{module}, which is not installed.*airflow-provider-ignite-kafka\[{extra}\]"):
        token_function(name, MSK)


@pytest.mark.parametrize("name", ["no.such.module", "json.nothing", "nothing", "json.decoder"])
def test_a_function_that_there_is_not(name: str) -> None:
    with pytest.raises(SettingsError, match=r"cannot be imported here|is no function"):
        token_function(name, MSK)


def test_only_a_name_is_replaced() -> None:
    assert with_token_function({"bootstrap.servers": "h:1"}) == {"bootstrap.servers": "h:1"}
    assert with_token_function({"oauth_cb": len})["oauth_cb"] is len
    made = with_token_function({"oauth_cb": "json.dumps"})["oauth_cb"]
    assert (made.name, made("x")) == ("json.dumps", '"x"')


def without_identity(_: str) -> tuple[str, float]:
    raise RuntimeError("no identity on this host")


def test_why_there_is_no_token_is_told() -> None:
    """librdkafka waits for the first token for ten seconds, and says nothing of the function.

    Clients before confluent-kafka 2.11 do not wait; then the first request fails.
    """
    config = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    clients = KafkaClients({**config, "oauth_cb": f"{__name__}.without_identity", "log_level": 0})
    waits = Version(version("confluent-kafka")) >= Version("2.11")
    reason = "without_identity made no token for Kafka: RuntimeError: no identity on this host" if waits else "OAuth callback raised"
    with pytest.raises(AuthenticationFailed, match=reason):
        clients.check(5)


def test_a_function_needs_permission_and_a_cloud_does_not() -> None:
    for name in ("aws_msk_iam", "aws_msk_iam:eu-west-1", "gcp"):
        check_trusted({"oauth_cb": name}, ())
    with pytest.raises(SettingsError, match="oauth_cb runs a Python function, and this value is not allowed"):
        check_trusted({"oauth_cb": "os.system"}, ["oauth_cb=my.function"])
    check_trusted({"oauth_cb": "my.function"}, ["oauth_cb=my.function"])


@pytest.mark.parametrize("name", ["aws_msk_iam", "gcp", "my.function"])
def test_no_setting_names_who_makes_tokens(name: str) -> None:
    assert split_kafka({"oauth_cb": name}) == ({}, {"oauth_cb": name})
    for mapping in ("kafka_config", "producer_override", "consumer_override"):
        with pytest.raises(SettingsError, match="no setting may do that"):
            SourceSettings.from_dict({"name": "c", mapping: {"oauth_cb": name}})
