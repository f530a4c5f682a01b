"""Fields of an Airflow connection as endpoint and credentials; the Test button without a cluster."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import BaseHook
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from airflow_provider_ignite_kafka.hooks.ignite_connection import IgniteConnection
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint, TlsSettings
from ignite_kafka.settings.secrets import Secrets, dump
from tests.support.randomness import examples
from tests.unit.airflow.bench import looked_up


@pytest.mark.parametrize(
    ("fields", "addresses"),
    [
        ({}, ("127.0.0.1:10800",)),
        ({"host": "node-1"}, ("node-1:10800",)),
        ({"host": "node-1", "port": 10900}, ("node-1:10900",)),
        ({"host": "node-1, node-2:10801", "port": 10900}, ("node-1:10900", "node-2:10801")),
        ({"host": "::1"}, ("[::1]:10800",)),
        ({"host": "[::1]:10801"}, ("[::1]:10801",)),
        ({"host": "unused", "extra": {"addresses": "a:1, b"}}, ("a:1", "b:10800")),
        ({"extra": {"addresses": ["a:1", "b:2"]}}, ("a:1", "b:2")),
    ],
)
def test_addresses(connect: Any, fields: dict[str, Any], addresses: tuple[str, ...]) -> None:
    connect("ignite_default", conn_type="ignite", **fields)
    assert IgniteHook().get_endpoint().addresses == addresses


def test_defaults_are_the_endpoint_s_own(connect: Any) -> None:
    connect("ignite_default", conn_type="ignite")
    assert IgniteHook().get_endpoint() == IgniteEndpoint()


def test_tls_and_timeouts(connect: Any) -> None:
    tls = {
        "tls": True,
        "ca_file": "/tls/ca.pem",
        "cert_file": "/tls/c.pem",
        "key_file": "/tls/k.pem",
        "verify": False,
        "check_hostname": False,
    }
    connect("safe", conn_type="ignite", host="n", extra={**tls, "connect_timeout_ms": 10, "request_timeout_ms": 20})
    assert IgniteHook("safe").get_endpoint() == IgniteEndpoint(
        ("n:10800",), TlsSettings(True, "/tls/ca.pem", "/tls/c.pem", "/tls/k.pem", False, False), 10, 20
    )


def test_connection_as_a_uri_gives_text_that_is_read_by_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_URI", "ignite://user:pa%2Fss@node:10801/?tls=true&check_hostname=false&request_timeout_ms=30")
    endpoint, credentials = IgniteHook("uri").get_endpoint(), IgniteHook("uri").get_credentials()
    assert endpoint == IgniteEndpoint(("node:10801",), TlsSettings(True, check_hostname=False), request_timeout_ms=30)
    assert (credentials.username, credentials.password) == ("user", "pa/ss")


def test_credentials_are_masked_when_shown(connect: Any) -> None:
    connect("ignite_default", conn_type="ignite", login="user", password="sesame", extra={"key_password": "mellon"})
    credentials = IgniteHook().get_credentials()
    assert (credentials.username, credentials.password, credentials.key_password) == ("user", "sesame", "mellon")
    assert "sesame" not in repr(credentials)
    assert "mellon" not in repr(credentials)


def test_timeouts_of_a_connection_are_distinct_from_defaults(connect: Any) -> None:
    connect("some", conn_type="ignite", host="n", extra={"request_timeout_ms": "20", "connect_timeout_ms": ""})
    found = IgniteConnection.read("some")
    assert found.timeouts == {"request_timeout_ms": 20}
    assert found.endpoint == IgniteEndpoint(("n:10800",), request_timeout_ms=20)


@pytest.mark.parametrize(("name", "value"), [("tls", "perhaps"), ("connect_timeout_ms", "soon"), ("request_timeout_ms", -1)])
def test_a_field_that_cannot_be_read_is_named(connect: Any, name: str, value: Any) -> None:
    connect("ignite_default", conn_type="ignite", extra={name: value})
    with pytest.raises(SettingsError, match=rf"extra field {name} is .*\[connection ignite_default\]"):
        IgniteHook().get_endpoint()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses connections."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield unused.getsockname()[1]


def test_test_button_reports_why_no_node_answers_and_what_to_do(connect: Any, closed_port: int) -> None:
    connect("ignite_default", conn_type="ignite", host="127.0.0.1", port=closed_port)
    works, message = IgniteHook().test_connection()
    assert not works
    assert f"127.0.0.1:{closed_port}: " in message
    assert "Check the addresses, the TLS settings" in message


@pytest.mark.parametrize(("conn_id", "extra"), [("nowhere", {}), ("ignite_default", {"addresses": ["node:1\0"]})])
def test_test_button_reports_any_other_error_with_a_remedy(connect: Any, conn_id: str, extra: dict[str, Any]) -> None:
    connect("ignite_default", conn_type="ignite", extra=extra)
    works, message = IgniteHook(conn_id).test_connection()
    assert not works
    assert "Check " in message


_ODD = [1, -1, 1.5, True, False, [], [1], ["a:1"], {}, {"a": 1}, "::::", "a:99999999", "\0", "²", "٣", [None], "9" * 30, "[::1", [{}]]
_FIELDS = (
    "addresses",
    "tls",
    "ca_file",
    "cert_file",
    "key_file",
    "key_password",
    "verify",
    "check_hostname",
    "connect_timeout_ms",
    "time_zone",
)


@pytest.mark.parametrize("field", [*_FIELDS, "request_timeout_ms"])
def test_test_button_answers_whatever_the_extra_holds(connect: Any, monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    monkeypatch.setattr("ignite_kafka.ignite.connection._open_tcp", refuse)
    for value in _ODD:
        for tls in ({}, {"tls": True}):
            connect("ignite_default", conn_type="ignite", host="127.0.0.1", port=1, extra={**tls, field: value})
            works, message = IgniteHook().test_connection()
            assert not works
            assert message


_TEXT = st.text(max_size=20)
_VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXT | st.lists(_TEXT, max_size=3)


# the fixtures stay the same: each example sets the connection anew
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fields=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("host", "login", "password", "schema"), _TEXT) | {"port": st.integers() | _TEXT}
    ),
    extra=st.fixed_dictionaries({}, optional=dict.fromkeys((*_FIELDS, "request_timeout_ms"), _VALUES)) | _VALUES,
)
def test_test_button_answers_whatever_the_form_holds(
    connect: Any, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], extra: Any
) -> None:
    monkeypatch.setattr("ignite_kafka.ignite.connection._open_tcp", refuse)
    connect("ignite_default", conn_type="ignite", **fields, extra=extra)
    works, message = IgniteHook().test_connection()
    assert not works
    assert isinstance(message, str)
    assert message


def refuse(*_: Any) -> None:
    raise ConnectionRefusedError(111, "Connection refused")


@pytest.mark.parametrize(
    ("name", "value"), [("addresses", 5), ("addresses", [1]), ("connect_timeout_ms", "²"), ("request_timeout_ms", "9" * 30), ("tls", [])]
)
def test_an_extra_that_cannot_be_read_is_a_setting_error(connect: Any, name: str, value: Any) -> None:
    connect("ignite_default", conn_type="ignite", extra={name: value})
    with pytest.raises(SettingsError, match=rf"extra field {name} .*connection ignite_default"):
        IgniteHook().get_endpoint()


def test_a_password_that_cannot_be_read_is_not_shown(connect: Any) -> None:
    connect("ignite_default", conn_type="ignite", extra={"key_password": ["mellon"]})
    with pytest.raises(SettingsError, match="key_password cannot be read") as refused:
        IgniteHook().get_credentials()
    assert "mellon" not in str(refused.value)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[IgniteEndpoint, IgniteCredentials]]:
    """Clusters that were connected to."""
    calls: list[tuple[IgniteEndpoint, IgniteCredentials]] = []
    monkeypatch.setattr("ignite_kafka.ignite.cluster.Cluster", lambda *given: calls.append(given))
    return calls


def test_a_secrets_file_takes_the_place_of_the_connection_s_login(connect: Any, opened: list[Any], tmp_path: Path) -> None:
    connect("ignite_default", conn_type="ignite", login="user", password="sesame")
    path = tmp_path / "secrets.json"
    dump(Secrets(IgniteCredentials("ann", "mellon")), path)
    IgniteHook().connect()
    IgniteHook().connect(str(path))
    assert [credentials for _, credentials in opened] == [IgniteCredentials("user", "sesame"), IgniteCredentials("ann", "mellon")]
    path.chmod(0o644)
    with pytest.raises(SettingsError, match="others can read the secrets file"):
        IgniteHook().connect(str(path))


def test_a_login_needs_tls_or_permission_of_an_administrator_to_leave_the_host(
    connect: Any, opened: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    connect("ignite_default", conn_type="ignite", host="node", login="user", password="sesame")
    with pytest.raises(SettingsError, match=r"sent to Ignite at node:10800 without TLS.*option allow_insecure_connections"):
        IgniteHook().connect()
    assert IgniteHook().test_connection()[0] is False
    assert opened == []
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS", "true")
    IgniteHook().connect()
    assert len(opened) == 1


def test_schema_and_time_zone_of_the_nodes(connect: Any) -> None:
    connect("ignite_default", conn_type="ignite", schema="SALES", extra={"time_zone": "Europe/Berlin"})
    found = IgniteConnection.read("ignite_default")
    assert (found.schema, found.time_zone) == ("SALES", "Europe/Berlin")
    connect("ignite_default", conn_type="ignite", extra={"time_zone": "Europe/Nowhere"})
    with pytest.raises(SettingsError, match=r"time_zone is 'Europe/Nowhere'.*Allowed: a name of the IANA database"):
        IgniteConnection.read("ignite_default")


def test_a_hook_looks_its_connection_up_once(connect: Any, opened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    connect("ignite_default", conn_type="ignite")
    asked = looked_up(monkeypatch)
    hook = IgniteHook()
    hook.get_endpoint()
    hook.get_credentials()
    hook.connect()
    assert hook.placeholder == "?"
    assert asked == ["ignite_default"]


def test_a_connection_does_not_choose_a_secrets_file(connect: Any) -> None:
    """BaseSQLOperator makes arguments of the hook of what the extra holds."""
    connect("ignite_default", conn_type="ignite", extra={"tls": True, "secrets_file": "/etc/other"})
    hook = BaseHook.get_connection("ignite_default").get_hook(hook_params={"tls": True, "secrets_file": "/etc/other"})
    assert isinstance(hook, IgniteHook)
    with pytest.raises(SettingsError, match="must not choose a file of the worker"):
        hook.connect()
