"""Detection of insecure connections to other hosts: credentials without TLS, and TLS without verification."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import SettingsError
from ..events import INSECURE_CONNECTION, emit
from ..ignite.endpoint import IgniteCredentials, IgniteEndpoint, split_address
from . import registry_properties
from .client_config import canonical
from .secrets import Secrets

if TYPE_CHECKING:
    from .connector import ConnectorSettings

ALLOW = "allow_insecure_connections"
_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"
_SAFE_MECHANISMS = {"GSSAPI"}  # Kerberos sends no reusable credential


@dataclass(frozen=True)
class Weakness:
    """A weakness of a connection.

    :param setting: the setting that causes it.
    """

    reason: str
    setting: str


def kafka_weaknesses(config: Mapping[str, Any]) -> Iterator[Weakness]:
    """Weaknesses of Kafka clients with these properties, secrets included, in the order in which librdkafka would set them."""
    config = canonical(config)
    remote = _remote(str(config.get("bootstrap.servers", "")).split(","))
    protocol, mechanism = config.get("security.protocol", "plaintext"), config.get("sasl.mechanisms", "GSSAPI")
    if remote and protocol == "sasl_plaintext" and mechanism not in _SAFE_MECHANISMS:
        yield Weakness(f"credentials are sent to Kafka at {remote} without TLS", "security.protocol")
    if remote and protocol in ("ssl", "sasl_ssl"):
        if config.get("enable.ssl.certificate.verification") == "false":
            yield Weakness(f"the certificate of Kafka at {remote} is not verified", "enable.ssl.certificate.verification")
        elif config.get("ssl.endpoint.identification.algorithm") == "none":
            yield Weakness(f"the host name of Kafka at {remote} is not verified", "ssl.endpoint.identification.algorithm")
    token_url = str(config.get(_TOKEN_URL, "")).strip()
    url = urlsplit(token_url if "://" in token_url else f"http://{token_url}")  # as libcurl reads it
    if url.scheme == "http" and (host := _remote([url.netloc.rpartition("@")[2]])):
        yield Weakness(f"the client secret is sent to {host} without TLS", _TOKEN_URL)


def ignite_weaknesses(endpoint: IgniteEndpoint, credentials: IgniteCredentials) -> Iterator[Weakness]:
    """Weaknesses of connections to Ignite nodes."""
    remote, tls = _remote(endpoint.addresses), endpoint.tls
    if not remote:
        return
    if not tls.enabled and (credentials.username or credentials.password):
        yield Weakness(f"user and password are sent to Ignite at {remote} without TLS", "ignite_tls_enabled")
    if tls.enabled and not tls.verify:
        yield Weakness(f"the certificate of Ignite at {remote} is not verified", "ignite_tls_verify")
    elif tls.enabled and not tls.check_hostname:
        yield Weakness(f"the host name of Ignite at {remote} is not verified", "ignite_tls_check_hostname")


def registry_weaknesses(properties: Mapping[str, Any], credentials: bool) -> Iterator[Weakness]:
    """Weaknesses of the client of a schema registry.

    :param properties: canonical values, see :mod:`.registry_properties`.
    :param credentials: whether it sends user and password or a token.
    """
    plain = [urlsplit(url).netloc for url in properties[registry_properties.URL] if url.startswith("http://")]
    if credentials and (host := _remote(plain)):
        yield Weakness(f"credentials are sent to the schema registry at {host} without TLS", registry_properties.URL)
    issuer = urlsplit(properties[registry_properties.ISSUER_URL])
    if issuer.scheme == "http" and (host := _remote([issuer.netloc])):
        yield Weakness(f"the client secret is sent to {host} without TLS", registry_properties.ISSUER_URL)


def check_kafka(settings: ConnectorSettings, secrets: Secrets) -> None:
    """Check a connector's Kafka clients, see :func:`check`."""
    check(kafka_weaknesses({**settings.kafka_common, **secrets.kafka}), settings.allow_insecure_connections)


def check_ignite(settings: ConnectorSettings, secrets: Secrets) -> None:
    """Check a connector's connections to Ignite, see :func:`check`."""
    check(ignite_weaknesses(settings.ignite_endpoint, secrets.ignite), settings.allow_insecure_connections)


def check(weaknesses: Iterable[Weakness], allowed: bool, how: str = f"set {ALLOW} to true") -> None:
    """Refuse weaknesses, or report each by event 15185, once per process, if they are accepted.

    :param allowed: whether insecure connections are accepted.
    :param how: how to accept them, for the message.
    :raises SettingsError: there is a weakness, and it is not accepted.
    """
    for weakness in weaknesses:
        if not allowed:
            remedy = f"Use TLS that verifies the other side; or, where the network between is trusted, {how}"
            raise SettingsError(f"a connection is not protected: {weakness.reason}", remedy, setting=weakness.setting)
        _report(weakness)


@lru_cache(maxsize=1024)
def _report(weakness: Weakness) -> None:
    emit(INSECURE_CONNECTION, reason=weakness.reason, setting=weakness.setting)


def _remote(addresses: Iterable[str]) -> str:
    """The first address of another host; empty without one."""
    return next((address.strip() for address in addresses if address.strip() and not _is_loopback(address.strip())), "")


def _is_loopback(address: str) -> bool:
    text = address.rpartition("://")[2]  # librdkafka accepts a protocol before the host
    try:
        host = split_address(text)[0]
    except ValueError:
        host = text
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() in ("localhost", "localhost.localdomain") or host.lower().endswith(".localhost")
