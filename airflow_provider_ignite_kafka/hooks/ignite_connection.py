"""Parsing of an Airflow connection of type `ignite` to endpoint and credentials of a cluster.

Dags import this module, so it loads neither SQL nor pyignite nor Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from airflow.providers.common.compat.sdk import BaseHook

from airflow_provider_ignite_kafka.airflow_api import mask_secret
from airflow_provider_ignite_kafka.hooks.unused_secrets import report_unused_secrets
from airflow_provider_ignite_kafka.options import allow_insecure_connections, permissions
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.address_map import FORM, AddressMap
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint, TlsSettings
from ignite_kafka.settings import secrets
from ignite_kafka.settings.transport_security import check, ignite_weaknesses

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Connection

    from ignite_kafka.ignite.cluster import Cluster

DEFAULT_CONN_ID = "ignite_default"
DEFAULT_PORT = 10800
_UTC = "UTC"
_BOOLEANS = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}
_TIMEOUTS = ("connect_timeout_ms", "request_timeout_ms")
_MAX_TIMEOUT_MS = 2_147_483_647


@dataclass(frozen=True)
class IgniteConnection:
    """Parsed Airflow connection to an Ignite cluster.

    :param endpoint: addresses, TLS and timeouts; no secret.
    :param credentials: user, password and the passwords of TLS files; each may be None.
    :param timeouts: the connection's timeouts in milliseconds, by their names in its extra; settings decide the other
        timeouts.
    :param schema: SQL schema for names without a schema; None: PUBLIC.
    :param time_zone: time zone of the nodes, for DATE and TIME columns.
    """

    endpoint: IgniteEndpoint
    credentials: IgniteCredentials
    timeouts: Mapping[str, int] = field(default_factory=dict)
    schema: str | None = None
    time_zone: str = _UTC

    @classmethod
    def read(cls, conn_id: str) -> IgniteConnection:
        """Look up an Airflow connection by its id and parse it; raises as :meth:`of`."""
        return cls.of(BaseHook.get_connection(conn_id))

    @classmethod
    def of(cls, connection: Connection) -> IgniteConnection:
        """Parse an Airflow connection of type `ignite`.

        :raises SettingsError: a field of the connection cannot be read.
        """
        extra = _Extra(connection)
        tls = TlsSettings(
            enabled=extra.boolean("tls", False),
            ca_file=extra.text("ca_file"),
            cert_file=extra.text("cert_file"),
            key_file=extra.text("key_file"),
            verify=extra.boolean("verify", True),
            check_hostname=extra.boolean("check_hostname", True),
        )
        timeouts = extra.timeouts()
        passwords = {name: extra.text(name) for name in ("key_password", "ca_password", "cert_password")}
        credentials = IgniteCredentials(connection.login or None, connection.password or None, **passwords)
        endpoint = IgniteEndpoint(
            addresses=_addresses(connection, extra), tls=tls, address_map=extra.address_map(), **timeouts
        )
        return cls(endpoint, credentials, timeouts, connection.schema or None, extra.time_zone())

    def cluster(self, secrets_file: str | None = None, timeout_s: float | None = None) -> Cluster:
        """Make the library's client of the cluster, a context manager that closes its connections.

        :param secrets_file: see :meth:`checked`.
        :param timeout_s: seconds, to which the connection's timeouts are shortened if they are longer.
        """
        from ignite_kafka.ignite.cluster import Cluster

        return Cluster(
            self.endpoint if timeout_s is None else self.endpoint.bounded(timeout_s), self.checked(secrets_file)
        )

    def checked(self, secrets_file: str | None = None) -> IgniteCredentials:
        """Return the credentials, after checking that the connection protects them or an administrator allows it.

        :param secrets_file: path of a secrets file, whose part `ignite` overrides the connection's user and passwords.
            Event 15001 names the unused secrets of the connection, once in a process.
        :raises SettingsError: the file cannot be read, or the connection is not protected and no administrator allows
            that.
        """
        credentials = self.credentials
        if secrets_file:
            credentials = _credentials_of(secrets_file)
            _report_unused(self.credentials, credentials, secrets_file)
        check(ignite_weaknesses(self.endpoint, credentials), by_settings=False, permitted=allow_insecure_connections())
        return credentials


@lru_cache(maxsize=1024)
def _report_unused(credentials: IgniteCredentials, used: IgniteCredentials, secrets_file: str) -> None:
    """Report unused secrets of the connection only once in a process, because every poll connects."""
    report_unused_secrets(secrets.Secrets(credentials), secrets.Secrets(used), secrets_file, "this connection")


def _credentials_of(secrets_file: str) -> IgniteCredentials:
    credentials = secrets.load(secrets_file, permissions()).ignite
    for name, secret in vars(credentials).items():
        if secret and name != "username":
            mask_secret(secret)
    return credentials


class _Extra:
    """Typed access to the extra of a connection, in which values may also be texts."""

    def __init__(self, connection: Connection) -> None:
        self._id = connection.conn_id
        values = connection.extra_dejson
        if not isinstance(values, Mapping):
            raise SettingsError(
                "the extra is not a JSON object", 'Write it as {"name": value, ...}.', connection=self._id
            )
        self._values: Mapping[str, Any] = values

    def text(self, name: str) -> str | None:
        """Return a field as text; errors do not show the value, because it may be a password."""
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
        parsed = _BOOLEANS.get(str(value).strip().lower())
        if parsed is None:
            raise self._wrong(name, value, "true or false")
        return parsed

    def timeouts(self) -> dict[str, int]:
        values = {name: self.positive(name) for name in _TIMEOUTS}
        return {name: value for name, value in values.items() if value is not None}

    def positive(self, name: str) -> int | None:
        value = self._values.get(name)
        if value in (None, ""):
            return None
        text = str(value).strip()
        if not (text.isascii() and text.isdecimal() and 0 < int(text) <= _MAX_TIMEOUT_MS):
            raise self._wrong(name, value, f"a whole number of milliseconds from 1 to {_MAX_TIMEOUT_MS}")
        return int(text)

    def time_zone(self) -> str:
        name = self.text("time_zone") or _UTC
        try:
            return ZoneInfo(name).key
        except (KeyError, OSError, ValueError) as error:  # the name is unknown, or is a folder of names
            raise self._wrong("time_zone", name, "a name of the IANA database such as Europe/Berlin") from error

    def address_map(self) -> tuple[str, ...]:
        """Return the address map as pairs announced=reachable; a JSON object is accepted, too."""
        value = self._values.get("address_map")
        pairs = (
            [f"{left}={right}" for left, right in value.items()]
            if isinstance(value, Mapping)
            else self.texts("address_map")
        )
        try:
            AddressMap.of(pairs)
        except ValueError as error:
            raise self._wrong("address_map", value, f"{FORM}, with commas between pairs: {error}") from error
        return tuple(pairs)

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
    return (
        tuple(address if _has_port(address) else f"{_bracketed(address)}:{port}" for address in listed)
        or IgniteEndpoint.addresses
    )


def _has_port(address: str) -> bool:
    host, colon, port = address.rpartition(":")
    return bool(colon) and port.isdigit() and (":" not in host or host.endswith("]"))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
