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
from ..ignite.address_map import AddressMap
from ..ignite.endpoint import IgniteCredentials, IgniteEndpoint, split_address
from . import registry_properties
from .client_config import canonical
from .client_properties import SECRETS
from .secrets import Secrets

if TYPE_CHECKING:
    from .connector import ConnectorSettings

ALLOW = "allow_insecure_connections"
_PERMIT = (
    f"accept it with --allow-insecure-connections on the command line, by option {ALLOW} of section [ignite_kafka] in "
    f"Airflow's configuration, or by the argument or data source option {ALLOW} in a program; the setting of that name "
    "does not cover credentials"
)
_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"
_SAFE_MECHANISMS = {"GSSAPI"}  # Kerberos sends no reusable credential


@dataclass(frozen=True)
class Weakness:
    """A reason why a connection is not secure.

    :param setting: setting that causes the weakness.
    :param credentials: whether a credential is sent over the connection.
    """

    reason: str
    setting: str
    credentials: bool = True


def kafka_weaknesses(config: Mapping[str, Any]) -> Iterator[Weakness]:
    """Yield the reasons why Kafka clients with these properties would connect insecurely.

    The properties are in the order in which librdkafka would set them.
    """
    config = canonical(config)
    remote = _remote(str(config.get("bootstrap.servers", "")).split(","))
    protocol = config.get("security.protocol", "plaintext")
    mechanism = config.get("sasl.mechanisms", "GSSAPI")
    if remote and protocol == "sasl_plaintext" and mechanism not in _SAFE_MECHANISMS:
        yield Weakness(f"credentials are sent to Kafka at {remote} without TLS", "security.protocol")
    if remote and protocol in ("ssl", "sasl_ssl"):
        login = protocol == "sasl_ssl" or not SECRETS.isdisjoint(config)
        if config.get("enable.ssl.certificate.verification") == "false":
            yield Weakness(
                f"the certificate of Kafka at {remote} is not verified", "enable.ssl.certificate.verification", login
            )
        elif config.get("ssl.endpoint.identification.algorithm") == "none":
            yield Weakness(
                f"the host name of Kafka at {remote} is not verified", "ssl.endpoint.identification.algorithm", login
            )
    token_url = str(config.get(_TOKEN_URL, "")).strip()
    url = urlsplit(token_url if "://" in token_url else f"http://{token_url}")  # as libcurl reads it
    if url.scheme == "http" and (host := _remote([url.netloc.rpartition("@")[2]])):
        yield Weakness(f"the client secret is sent to {host} without TLS", _TOKEN_URL)


def ignite_weaknesses(endpoint: IgniteEndpoint, credentials: IgniteCredentials) -> Iterator[Weakness]:
    """Yield the reasons why connections to the Ignite nodes would be insecure."""
    remote = _remote([*endpoint.addresses, *AddressMap.of(endpoint.address_map).targets])
    tls = endpoint.tls
    if not remote:
        return
    keys = credentials.key_password or credentials.cert_password or credentials.cert_pem
    login = bool(credentials.username or credentials.password or keys)
    if not tls.enabled and (credentials.username or credentials.password):
        yield Weakness(f"user and password are sent to Ignite at {remote} without TLS", "ignite_tls_enabled")
    if tls.enabled and not tls.verify:
        yield Weakness(f"the certificate of Ignite at {remote} is not verified", "ignite_tls_verify", login)
    elif tls.enabled and not tls.check_hostname:
        yield Weakness(f"the host name of Ignite at {remote} is not verified", "ignite_tls_check_hostname", login)


def registry_weaknesses(properties: Mapping[str, Any], credentials: bool) -> Iterator[Weakness]:
    """Yield the reasons why a schema registry's client would connect insecurely.

    :param properties: canonical values, see :mod:`.registry_properties`.
    :param credentials: whether the client sends user and password or a token.
    """
    urls = [urlsplit(url) for url in properties[registry_properties.URL]]
    plain = [url.netloc for url in urls if url.scheme == "http"]
    if credentials and (host := _remote(plain)):
        yield Weakness(f"credentials are sent to the schema registry at {host} without TLS", registry_properties.URL)
    elif credentials and plain and (host := _remote([properties["proxy.host"]])):  # a proxy of https:// passes TLS on
        yield Weakness(f"credentials are sent to the proxy {host} of the schema registry without TLS", "proxy.host")
    issuer = urlsplit(properties[registry_properties.ISSUER_URL])
    if issuer.scheme == "http" and (host := _remote([issuer.netloc.rpartition("@")[2]])):
        yield Weakness(f"the client secret is sent to {host} without TLS", registry_properties.ISSUER_URL)


def check_kafka(settings: ConnectorSettings, secrets: Secrets) -> None:
    """Refuse a connector's Kafka connections if they are insecure and this is not accepted, see :func:`check`."""
    check(
        kafka_weaknesses({**settings.kafka_common, **secrets.kafka}),
        settings.allow_insecure_connections,
        secrets.insecure,
    )


def check_ignite(settings: ConnectorSettings, secrets: Secrets) -> None:
    """Refuse a connector's Ignite connections if they are insecure and this is not accepted, see :func:`check`."""
    check(
        ignite_weaknesses(settings.ignite_endpoint, secrets.ignite),
        settings.allow_insecure_connections,
        secrets.insecure,
    )


def check(weaknesses: Iterable[Weakness], by_settings: bool, permitted: bool) -> None:
    """Refuse weaknesses of connections that nobody accepted; report each accepted one once, by event 15185.

    :param by_settings: whether settings accept weaknesses. This never applies to a connection that sends a credential,
        because credentials are not part of the settings.
    :param permitted: whether weaknesses are accepted by an Airflow administrator, the user of the command, or the
        author of the program.
    :raises SettingsError: a weakness is not accepted.
    """
    for weakness in weaknesses:
        if not (permitted or (by_settings and not weakness.credentials)):
            how = _PERMIT if weakness.credentials else f"set {ALLOW} to true"
            remedy = f"Use TLS that verifies the other side; or, where the network between is trusted, {how}"
            raise SettingsError(f"a connection is not protected: {weakness.reason}", remedy, setting=weakness.setting)
        _report(weakness)


@lru_cache(maxsize=1024)
def _report(weakness: Weakness) -> None:
    emit(INSECURE_CONNECTION, reason=weakness.reason, setting=weakness.setting)


def _remote(addresses: Iterable[str]) -> str:
    """Return the first address that is not on this host; empty if all are."""
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
        return host.lower() == "localhost"  # a resolver may take any other name, such as a.localhost, to another host
