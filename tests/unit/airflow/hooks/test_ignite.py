"""Fields of an Airflow connection as endpoint and credentials; the Test button without a cluster."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from airflow_provider_ignite_kafka.hooks.pyignite_client import tls_arguments
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint, TlsSettings
from ignite_kafka.settings.secrets import Secrets, dump


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
    assert IgniteHook("some").get_timeouts() == {"request_timeout_ms": 20}
    assert IgniteHook("some").get_endpoint() == IgniteEndpoint(("n:10800",), request_timeout_ms=20)


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


# pyignite leaves the socket open of a node that it cannot reach
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_test_button_reports_that_pyignite_cannot_connect_where_connectors_can(
    connect: Any, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a node that has only an IPv6 address."""
    connect("ignite_default", conn_type="ignite", host="127.0.0.1", port=closed_port)
    found = SimpleNamespace(connection=lambda: SimpleNamespace(address=f"127.0.0.1:{closed_port}"))
    monkeypatch.setattr(IgniteHook, "connect", lambda _hook: nullcontext(found))
    works, message = IgniteHook().test_connection()
    assert works
    assert re.search("Connectors can use this connection; pyignite.* cannot: ReconnectError", message)


def test_tls_arguments_of_pyignite() -> None:
    credentials = IgniteCredentials("user", "sesame", "mellon")
    assert tls_arguments(IgniteEndpoint(), credentials) == {"use_ssl": False}
    given = tls_arguments(IgniteEndpoint(tls=TlsSettings(True, "ca.pem", "c.pem", "k.pem")), credentials)
    files = {name: given[name] for name in ("ssl_ca_certfile", "ssl_certfile", "ssl_keyfile", "ssl_keyfile_password")}
    assert files == dict(zip(files, ("ca.pem", "c.pem", "k.pem", "mellon"), strict=True))
    assert (given["use_ssl"], given["ssl_cert_reqs"]) == (True, ssl.CERT_REQUIRED)
    loose = tls_arguments(IgniteEndpoint(tls=TlsSettings(True, verify=False)), IgniteCredentials())
    assert (loose["ssl_cert_reqs"], loose["ssl_keyfile_password"]) == (ssl.CERT_NONE, "")


_ODD = [1, -1, 1.5, True, False, [], [1], ["a:1"], {}, {"a": 1}, "::::", "a:99999999", "\0", "²", "٣", [None], "9" * 30, "[::1", [{}]]
_FIELDS = ("addresses", "tls", "ca_file", "cert_file", "key_file", "key_password", "verify", "check_hostname", "connect_timeout_ms")


@pytest.mark.parametrize("field", [*_FIELDS, "request_timeout_ms"])
def test_test_button_answers_whatever_the_extra_holds(connect: Any, monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    monkeypatch.setattr("ignite_kafka.ignite.connection._open", refuse)
    for value in _ODD:
        for tls in ({}, {"tls": True}):
            connect("ignite_default", conn_type="ignite", host="127.0.0.1", port=1, extra={**tls, field: value})
            works, message = IgniteHook().test_connection()
            assert not works
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
