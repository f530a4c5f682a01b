"""Configuration of a schema registry's client, from a converter's properties and the secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from ..common import key_stores
from ..errors import SettingsError
from ..settings import registry_properties as names
from ..settings.client_config import canonical
from ..settings.connector import ConnectorSettings
from ..settings.converters import parse_property
from ..settings.registry_login import refuse_addresses
from ..settings.secrets import Secrets
from ..settings.transport_security import check, registry_weaknesses
from .schema import SubjectNames

_OAUTH = {  # properties of Kafka's OAuth client by those of the registry's
    names.ISSUER_URL: "sasl.oauthbearer.token.endpoint.url",
    "bearer.auth.client.id": "sasl.oauthbearer.client.id",
    names.CLIENT_SECRET: "sasl.oauthbearer.client.secret",
    "bearer.auth.scope": "sasl.oauthbearer.scope",
}
CA_TEXT = "ssl.ca.pem"
CERTIFICATE_TEXT = "ssl.certificate.pem"
"""Keys under which the client's CA and certificate are kept as text, instead of the paths of files.

The client itself does not know these keys.
"""
_REMEDY = "Put it into the part registry of the secrets file, or into the Airflow connection of the registry"


@dataclass(frozen=True, repr=False, eq=False)
class RegistryConfig:
    """Configuration of the schema registry client for a connector's keys or values.

    :param urls: URLs without credentials.
    :param properties: canonical values by Confluent's names, without secrets.
    :param client: configuration of :class:`confluent_kafka.schema_registry.SchemaRegistryClient`, with secrets.
    :param retry_s: seconds for which a request is tried again.
    """

    urls: tuple[str, ...]
    properties: Mapping[str, Any]
    subjects: SubjectNames
    client: Mapping[str, Any] = field(default_factory=dict)
    retry_s: float = 300.0

    def __repr__(self) -> str:
        return f"RegistryConfig({','.join(self.urls)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RegistryConfig) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((self.urls, self.subjects))

    def _parts(self) -> tuple[Any, ...]:
        return self.urls, dict(self.properties), self.subjects, dict(self.client), self.retry_s


def registry_config(settings: ConnectorSettings, secrets: Secrets, side: str) -> RegistryConfig:
    """Return the registry configuration for a connector's keys or values.

    :param side: ``key`` or ``value``.
    :raises SettingsError: a URL or a credential is missing, a connection is not protected, or settings decide where a
        login is sent.
    """
    kafka = canonical({**settings.kafka_common, **secrets.kafka})
    retry_s = settings.retry_timeout_ms / 1000
    setting = f"{side}_converter_config"
    return config_of(
        side,
        settings.converter_properties(side),
        secrets.registry_of(side),
        kafka,
        retry_s=retry_s,
        insecure=secrets.insecure,
        setting=setting,
        set_in=settings.origin.get(setting),
    )


def config_of(
    side: str,
    properties: Mapping[str, Any],
    secrets: Mapping[str, str],
    kafka: Mapping[str, Any],
    *,
    retry_s: float = 300.0,
    insecure: bool = False,
    setting: str = "",
    set_in: str | None = None,
) -> RegistryConfig:
    """Return the registry configuration for a converter's properties; raise the errors of :func:`registry_config`.

    :param properties: canonical values of every property of the converter.
    :param secrets: properties from the secrets file, which override ``properties``.
    :param kafka: properties of the Kafka connection, with secrets.
    :param insecure: whether credentials may be sent over connections that are not protected.
    :param setting: the setting or option with ``properties``, for messages; empty: that of a connector.
    :param set_in: where it was set, for messages.
    """
    setting = setting or f"{side}_converter_config"
    refuse_addresses(properties, secrets, setting, set_in)
    own = dict(secrets)
    url_info = ""
    properties_by_name = {name: properties[name] for name in names.PROPERTIES}
    if names.URL in own:
        own[names.URL], url_info = _split_credentials(own[names.URL])
    for name in own.keys() & names.PROPERTIES.keys() - {names.KEY_TEXT}:
        properties_by_name[name] = parse_property(f"secrets.registry.{name}", names.PROPERTIES[name], own[name])
    if not properties_by_name[names.URL]:
        remedy = "Set it, or put it into the part registry of the secrets file"
        raise SettingsError(f"the {side} converter has no schema registry", remedy, setting=f"{setting}.{names.URL}")
    login = _login(properties_by_name, own, url_info, kafka, setting)
    check(registry_weaknesses(properties_by_name, bool(login)), False, insecure)
    client = {
        "url": ",".join(properties_by_name[names.URL]),
        **login,
        **_tls(properties_by_name, own),
        **_network(properties_by_name),
    }
    subjects = SubjectNames(properties_by_name[f"{side}.subject.name.strategy"], side)
    return RegistryConfig(
        properties_by_name[names.URL], MappingProxyType(properties_by_name), subjects, client, retry_s
    )


def _split_credentials(text: str) -> tuple[str, str]:
    """Split credentials off URLs; return the bare URLs and the first ``user:password``."""
    urls = [url.strip() for url in text.split(",") if url.strip()]
    infos = [urlsplit(url).netloc.rpartition("@")[0] for url in urls]
    bare = [url.replace(f"{info}@", "", 1) if info else url for url, info in zip(urls, infos, strict=True)]
    return ",".join(bare), next(filter(None, infos), "")


def _login(
    properties: Mapping[str, Any], own: Mapping[str, str], url_info: str, kafka: Mapping[str, Any], setting: str
) -> dict[str, Any]:
    source = properties[names.USER_INFO_SOURCE]
    token_source = properties[names.TOKEN_SOURCE]
    if token_source:
        return _bearer(properties, own, kafka, setting)
    if source == "USER_INFO":
        info = _require(own, names.USER_INFO, setting)
    elif source == "SASL_INHERIT":
        if "sasl.username" not in kafka or "sasl.password" not in kafka:
            raise SettingsError(
                "the Kafka connection has no sasl.username and sasl.password that the registry could inherit",
                f"Set {names.USER_INFO_SOURCE} to USER_INFO and {names.USER_INFO} in the secrets file",
                setting=f"{setting}.{names.USER_INFO_SOURCE}",
            )
        info = f"{kafka['sasl.username']}:{kafka['sasl.password']}"
    else:  # Confluent's default is the URL; basic.auth.user.info is a secret and given for a purpose
        info = own.get(names.USER_INFO, "") or unquote(url_info)
    if not info:
        return {}
    if ":" not in info:
        raise SettingsError("user and password are not user:password", _REMEDY, setting=names.USER_INFO)
    return {names.USER_INFO: info}


def _bearer(
    properties: Mapping[str, Any], own: Mapping[str, str], kafka: Mapping[str, Any], setting: str
) -> dict[str, Any]:
    common: dict[str, Any] = {"bearer.auth.logical.cluster": properties["bearer.auth.logical.cluster"]}
    if pool := properties["bearer.auth.identity.pool.id"]:
        common["bearer.auth.identity.pool.id"] = pool
    if properties[names.TOKEN_SOURCE] == "STATIC_TOKEN":
        return {**common, names.TOKEN_SOURCE: "STATIC_TOKEN", names.TOKEN: _require(own, names.TOKEN, setting)}
    if properties[names.TOKEN_SOURCE] == "SASL_OAUTHBEARER_INHERIT":
        issuer = {name: str(kafka.get(theirs, "")) for name, theirs in _OAUTH.items()}
    else:
        issuer = {name: own.get(name, "") or properties.get(name, "") for name in _OAUTH}
    for name in (names.ISSUER_URL, "bearer.auth.client.id", names.CLIENT_SECRET):
        _require(issuer, name, setting)
    return {**common, names.TOKEN_SOURCE: "OAUTHBEARER", **issuer}


def _require(properties: Mapping[str, str], name: str, setting: str) -> str:
    if not properties.get(name):
        raise SettingsError(
            "it is missing, and the registry's credentials need it", _REMEDY, setting=f"{setting}.{name}"
        )
    return properties[name]


def _tls(properties: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, Any]:
    """Return the client's TLS configuration: paths of files, or their content as text."""
    config: dict[str, Any] = {}
    path, text = _path_or_text(properties, "truststore.location", "truststore.certificates")
    if path and _is_store(properties, "truststore", path):
        text = key_stores.trusted(path, own.get(names.TRUST_PASSWORD, ""), f"{names.PREFIX}ssl.truststore.location")
    if text:
        config[CA_TEXT] = text
    elif path:
        config["ssl.ca.location"] = path
    path, text = _path_or_text(properties, "keystore.location", "keystore.certificate.chain")
    key_password = own.get(names.KEY_PASSWORD, "")
    store_password = own.get(names.STORE_PASSWORD, "")
    if path and _is_store(properties, "keystore", path):
        pair = key_stores.key_pair(
            path, store_password or key_password, key_password, f"{names.PREFIX}ssl.keystore.location"
        )
        return {**config, CERTIFICATE_TEXT: pair.certificates + pair.key}
    if text:
        config[CERTIFICATE_TEXT] = f"{text}\n{own.get(names.KEY_TEXT, '')}"
    elif path:
        config["ssl.certificate.location"] = path
    if (text or path) and (key_password or store_password):
        config["ssl.key.password"] = key_password or store_password
    return config


def _path_or_text(properties: Mapping[str, Any], file: str, text: str) -> tuple[str, str]:
    """Return the path and the text that two properties give; raise SettingsError if both are set."""
    file = f"{names.PREFIX}ssl.{file}"
    text = f"{names.PREFIX}ssl.{text}"
    if properties[file] and properties[text]:
        raise SettingsError(
            f"{file} and {text} are both set, and a client uses only one of them", "Leave one out", setting=file
        )
    return properties[file], properties[text]


def _is_store(properties: Mapping[str, Any], kind: str, path: str) -> bool:
    form = properties[f"{names.PREFIX}ssl.{kind}.type"]
    return form in ("JKS", "PKCS12") or (not form and key_stores.is_store(path))


def _network(properties: Mapping[str, Any]) -> dict[str, Any]:
    connect_s = properties["http.connect.timeout.ms"] / 1000
    read_s = properties["http.read.timeout.ms"] / 1000
    config: dict[str, Any] = {
        "timeout": (connect_s, read_s, read_s, read_s),
        "max.retries": 0,
        "cache.latest.ttl.sec": 0,
    }
    if properties["proxy.host"]:
        config["proxy"] = f"http://{properties['proxy.host']}:{properties['proxy.port']}"
    return config
