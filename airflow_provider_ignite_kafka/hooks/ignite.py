"""Hook of connection type `ignite`: endpoint and credentials of an Ignite cluster. Needs neither Spark nor a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseHook, mask_secret

from airflow_provider_ignite_kafka.hooks.pyignite_client import pyignite_client
from airflow_provider_ignite_kafka.hooks.unused_secrets import report_unused_secrets
from airflow_provider_ignite_kafka.options import INSECURE_REMEDY, allow_insecure_connections, allowed_kafka_options
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint, TlsSettings
from ignite_kafka.settings import secrets
from ignite_kafka.settings.transport_security import check, ignite_weaknesses

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Connection

    from ignite_kafka.ignite.cluster import Cluster

DEFAULT_PORT = 10800
_BOOLEANS = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}
_SHOWN_CACHES = 5
_REMEDY = "Check addresses, TLS files and timeouts of the connection."
_TIMEOUTS = ("connect_timeout_ms", "request_timeout_ms")
_MAX_TIMEOUT_MS = 2_147_483_647


class IgniteHook(BaseHook):
    """Ignite cluster of an Airflow connection.

    Host (one, or several separated by commas), port, login and password are fields of the connection; its extra may hold `addresses`,
    `tls`, `ca_file`, `cert_file`, `key_file`, `key_password`, `verify`, `check_hostname`, `connect_timeout_ms`, `request_timeout_ms`.

    :param ignite_conn_id: id of a connection of type `ignite`.
    """

    conn_name_attr = "ignite_conn_id"
    default_conn_name = "ignite_default"
    conn_type = "ignite"
    hook_name = "Apache Ignite"

    def __init__(self, ignite_conn_id: str = default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.ignite_conn_id = ignite_conn_id

    def get_endpoint(self) -> IgniteEndpoint:
        """Addresses, TLS and timeouts of the cluster; no secret.

        :raises SettingsError: a field of the connection cannot be read.
        """
        connection = self.get_connection(self.ignite_conn_id)
        extra = _Extra(connection)
        tls = TlsSettings(
            enabled=extra.boolean("tls", False),
            ca_file=extra.text("ca_file"),
            cert_file=extra.text("cert_file"),
            key_file=extra.text("key_file"),
            verify=extra.boolean("verify", True),
            check_hostname=extra.boolean("check_hostname", True),
        )
        return IgniteEndpoint(addresses=_addresses(connection, extra), tls=tls, **extra.timeouts())

    def get_timeouts(self) -> dict[str, int]:
        """Timeouts in milliseconds that the connection gives, by their names in its extra; settings decide the others.

        :raises SettingsError: one cannot be read.
        """
        return _Extra(self.get_connection(self.ignite_conn_id)).timeouts()

    def get_credentials(self) -> IgniteCredentials:
        """User, password and the password of the private key; each may be None."""
        connection = self.get_connection(self.ignite_conn_id)
        return IgniteCredentials(connection.login or None, connection.password or None, _Extra(connection).text("key_password"))

    def connect(self, secrets_file: str | None = None, timeout_s: float | None = None) -> Cluster:
        """The cluster, as a context manager that closes its connections.

        :param timeout_s: seconds, to which the connection's timeouts are shortened if they are longer.
        :param secrets_file: path of a secrets file, whose part `ignite` overrides the connection's user and passwords. Event 15001
            names what is not used of the connection, once in a process.
        :raises SettingsError: a field of the connection or the file cannot be read, or the connection is not protected and no
            administrator allows that.
        """
        from ignite_kafka.ignite.cluster import Cluster

        endpoint = self.get_endpoint()
        credentials = self.get_credentials()
        if secrets_file:
            given, credentials = credentials, _credentials_of(secrets_file)
            _report_unused(given, credentials, secrets_file)
        check(ignite_weaknesses(endpoint, credentials), allow_insecure_connections(), INSECURE_REMEDY)
        return Cluster(endpoint if timeout_s is None else endpoint.bounded(timeout_s), credentials)

    def test_connection(self) -> tuple[bool, str]:
        """Connect to the cluster and report its state and caches; called by the Test button of the connection form. Never raises.

        The library's own client connects first, because it verifies host names; then pyignite, which does not, gets the password.

        :return: whether connectors can use the connection, and the cluster's answer or the error with its remedy.
        """
        try:
            endpoint, credentials = self.get_endpoint(), self.get_credentials()
            with self.connect() as cluster:
                address = cluster.connection().address
        except Exception as error:  # noqa: BLE001  # whatever the fields of the form hold
            remedy = "" if isinstance(error, IgniteKafkaError) else f". {_REMEDY}"
            return False, f"{str(error) or type(error).__name__}{remedy}"
        try:
            with pyignite_client(address, endpoint, credentials) as client:
                return True, f"Connected to {address}: {_answer(client)}"
        except Exception as error:  # noqa: BLE001  # pyignite's errors have no common base class
            reason = f"{type(error).__name__}: {error}"
            return (
                True,
                f"Connected to {address}. Connectors can use this connection; pyignite, which needs IPv4 and a CA file, cannot: {reason}",
            )


def _answer(client: Any) -> str:
    """State and caches of the cluster, as it reports them to a pyignite client."""
    from pyignite.datatypes.cluster_state import ClusterState

    state = ClusterState(client.get_cluster().get_state()).name
    names = sorted(client.get_cache_names())
    shown = ", ".join(names[:_SHOWN_CACHES]) + (", ..." if len(names) > _SHOWN_CACHES else "")
    return f"the cluster is {state}, {len(names)} cache{'' if len(names) == 1 else 's'}{': ' if names else ''}{shown}"


@lru_cache(maxsize=1024)
def _report_unused(given: IgniteCredentials, used: IgniteCredentials, secrets_file: str) -> None:
    """Once in a process, because sensors and triggers connect for every poll."""
    report_unused_secrets(secrets.Secrets(given), secrets.Secrets(used), secrets_file, "this connection")


def _credentials_of(secrets_file: str) -> IgniteCredentials:
    credentials = secrets.load(secrets_file, allowed_kafka_options()).ignite
    for secret in (credentials.password, credentials.key_password):
        if secret:
            mask_secret(secret)
    return credentials


class _Extra:
    """The extra of a connection. Values of a URI are text and are parsed as the type of the field."""

    def __init__(self, connection: Connection) -> None:
        self._id = connection.conn_id
        values = connection.extra_dejson
        if not isinstance(values, Mapping):
            raise SettingsError("the extra is not a JSON object", 'Write it as {"name": value, ...}.', connection=self._id)
        self._values: Mapping[str, Any] = values

    def text(self, name: str) -> str | None:
        """A text or a number; no error shows it, because it may be a password."""
        value = self._values.get(name)
        if value in (None, ""):
            return None
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or "\0" in str(value):
            raise SettingsError(f"extra field {name} cannot be read", "Allowed: a text.", connection=self._id)
        return str(value)

    def boolean(self, name: str, default: bool) -> bool:
        value = self._values.get(name)
        if value in (None, ""):
            return default
        known = _BOOLEANS.get(str(value).strip().lower())
        if known is None:
            raise self._wrong(name, value, "true or false")
        return known

    def timeouts(self) -> dict[str, int]:
        found = {name: self.positive(name) for name in _TIMEOUTS}
        return {name: value for name, value in found.items() if value is not None}

    def positive(self, name: str) -> int | None:
        value = self._values.get(name)
        if value in (None, ""):
            return None
        text = str(value).strip()
        if not (text.isascii() and text.isdecimal() and 0 < int(text) <= _MAX_TIMEOUT_MS):
            raise self._wrong(name, value, f"a whole number of milliseconds from 1 to {_MAX_TIMEOUT_MS}")
        return int(text)

    def texts(self, name: str) -> list[str]:
        value = self._values.get(name) or []
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise self._wrong(name, value, "a list of texts, or one text separated by commas")
        return [item.strip() for item in items if item.strip()]

    def _wrong(self, name: str, value: Any, allowed: str) -> SettingsError:
        return SettingsError(f"extra field {name} is {value!r}", f"Allowed: {allowed}.", connection=self._id)


def _addresses(connection: Connection, extra: _Extra) -> tuple[str, ...]:
    port = connection.port or DEFAULT_PORT
    listed = extra.texts("addresses") or [part.strip() for part in (connection.host or "").split(",") if part.strip()]
    return tuple(address if _has_port(address) else f"{_bracketed(address)}:{port}" for address in listed) or IgniteEndpoint.addresses


def _has_port(address: str) -> bool:
    host, colon, port = address.rpartition(":")
    return bool(colon) and port.isdigit() and (":" not in host or host.endswith("]"))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
