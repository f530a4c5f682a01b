"""Conversion of Java clients' security settings to librdkafka's; secrets move to the secrets file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..settings import registry_properties
from ..settings.client_config import one_name
from ..settings.client_properties import CREDENTIAL_TARGETS, OAUTH_CALLBACK
from ..settings.findings import Findings
from ..settings.key_table import CLIENT_CONVERTED
from ..settings.registry_login import has_login
from ..settings.secrets import is_secret
from . import jaas, key_stores

IN_SECRETS = "it is in the secrets file, as {}"
_CONFIG = "kafka_config."
_HANDLER = "sasl.login.callback.handler.class"
_OAUTH_HANDLER = "OAuthBearerLoginCallbackHandler"
_HOST_CHECK = "ssl.endpoint.identification.algorithm"
_AWS_HANDLER = "IAMClientCallbackHandler"


@dataclass
class Keys:
    """Keys and values of a connector during its migration, with what became of each key.

    :param values: values by key. :param origin: where each was set.
    :param became: what became of a key that is no longer in ``values``.
    :param stands_for: key of the files by the setting that was added for it.
    :param kafka, registry: secrets, see :class:`~ignite_kafka.settings.secrets.Secrets`.
    """

    values: dict[str, Any]
    origin: dict[str, str]
    became: dict[str, str] = field(default_factory=dict)
    kafka: dict[str, str] = field(default_factory=dict)
    registry: dict[str, str] = field(default_factory=dict)
    ignite: dict[str, str] = field(default_factory=dict)
    stands_for: dict[str, str] = field(default_factory=dict)
    errors: Findings = field(default_factory=Findings)

    def take(self, name: str, became: str) -> str:
        """Remove a key, record what became of it, and return its value."""
        self.became[name] = became
        return str(self.values.pop(name))

    def put(self, name: str, value: str, source: str) -> None:
        """Add a setting that replaces the key ``source`` of the original files."""
        self.values[name], self.origin[name], self.stands_for[name] = value, self.origin.get(source, ""), source


def extract_client_security(keys: Keys, main: str, folder: Path, name: str) -> None:
    """Convert the security settings of a connector's Kafka client and schema registries.

    :param main: producer of a source, consumer of a sink.
    :param folder: where converted key stores are written, by the connector's name.
    """
    _Clients(keys, main).extract(folder, name)
    for side in ("key", "value"):
        with keys.errors.check():
            _convert_registry_stores(keys, side, folder / f"{name}-{side}-registry")
    _extract_registry(keys)


@dataclass
class _Clients:
    keys: Keys
    main: str

    @property
    def prefixes(self) -> tuple[str, str, str]:
        """Prefixes under which a client's property may be set, by precedence."""
        return f"{self.main}.override.", f"{self.main}.", ""

    def extract(self, folder: Path, name: str) -> None:
        self._leave_shadowed()
        jaas_key = self.find(jaas.NAME)
        if jaas_key:
            with self.keys.errors.check():
                text = self.keys.take(jaas_key, "it is converted to properties of librdkafka")
                self._put(jaas.librdkafka_properties(text, jaas_key, self.keys.origin.get(jaas_key)), jaas_key)
        self._convert_handler()
        self._convert_host_check()
        with self.keys.errors.check():
            self._convert_trust_store()
        with self.keys.errors.check():
            self._convert_key_store(folder / f"{name}-keystore.p12")
        for prefix in self.prefixes:
            for key in [key for key in self.keys.values if key.startswith(prefix or ("sasl.", "ssl."))]:
                self._extract_secret(key, key.removeprefix(prefix))

    def _leave_shadowed(self) -> None:
        """Remove keys that have no effect, because a key of higher precedence sets the same property."""
        for at, prefix in enumerate(self.prefixes):
            for key in [key for key in self.keys.values if key.startswith(prefix or ("sasl.", "ssl.", "security."))]:
                first = self.find(key.removeprefix(prefix))
                if first != key and first.startswith(self.prefixes[:at]):
                    self.keys.take(key, f"ignored: {first} takes precedence")

    def find(self, bare: str) -> str:
        """Return the key that sets a property: the one with the prefix of highest precedence; empty if unset.

        The worker's own connection has no prefix.
        """
        return next((prefix + bare for prefix in self.prefixes if prefix + bare in self.keys.values), "")

    def _take(self, bare: str, became: str) -> str:
        key = self.find(bare)
        return self.keys.take(key, became) if key else ""

    def _put(self, properties: dict[str, str], source: str) -> None:
        """Add librdkafka properties to the settings, or to the secrets if settings may not hold them."""
        hidden = [name for name in properties if is_secret(name) or name == OAUTH_CALLBACK]
        for name, value in properties.items():
            if name in hidden:
                self.keys.kafka.setdefault(name, value)
            else:
                self.keys.put(_CONFIG + name, value, source)
        if hidden:
            self.keys.became[source] = IN_SECRETS.format(", ".join(hidden))
        if "sasl.mechanisms" in properties:
            self._take("sasl.mechanism", "it is OAUTHBEARER, with tokens of oauth_cb")

    def _convert_handler(self) -> None:
        """Convert Java's login handler class, if librdkafka can get the tokens instead."""
        key = self.find(_HANDLER)
        kind = str(self.keys.values.get(key, "")).rpartition(".")[2]
        if kind in (_OAUTH_HANDLER, _AWS_HANDLER):
            self.keys.take(key, "librdkafka gets the tokens")
            if kind == _OAUTH_HANDLER:
                self.keys.put(f"{_CONFIG}sasl.oauthbearer.method", "oidc", key)

    def _convert_host_check(self) -> None:
        """Convert an empty ``ssl.endpoint.identification.algorithm`` to ``none``: no check of host names.

        Java takes the empty text for that, but librdkafka refuses it.
        """
        key = self.find(_HOST_CHECK)
        if key and not str(self.keys.values[key]).strip():
            self.keys.take(key, f"it is {_CONFIG}{_HOST_CHECK}=none: the broker's host name is not verified")
            self.keys.put(_CONFIG + _HOST_CHECK, "none", key)

    def _convert_trust_store(self) -> None:
        location = self.find("ssl.truststore.location")
        text = self.find("ssl.truststore.certificates")
        kind = self._take("ssl.truststore.type", "the store is converted to PEM").strip().upper()
        password = self._take("ssl.truststore.password", "the store is converted to PEM, which needs no password")
        if text:
            self.keys.put(f"{_CONFIG}ssl.ca.pem", self.keys.take(text, "it is kafka_config.ssl.ca.pem"), text)
        elif location and kind == "PEM":
            self.keys.put(
                f"{_CONFIG}ssl.ca.location", self.keys.take(location, "it is kafka_config.ssl.ca.location"), location
            )
        elif location:
            path = self.keys.take(location, "its certificates are in kafka_config.ssl.ca.pem")
            self.keys.put(f"{_CONFIG}ssl.ca.pem", key_stores.certificates(path, password, location), location)

    def _convert_key_store(self, target: Path) -> None:
        location = self.find("ssl.keystore.location")
        chain = self.find("ssl.keystore.certificate.chain")
        kind = self._take("ssl.keystore.type", "librdkafka knows it by the property's name").strip().upper()
        inline = self._take("ssl.keystore.key", IN_SECRETS.format("ssl.key.pem"))
        if inline:
            self.keys.kafka["ssl.key.pem"] = inline
        if chain:
            self.keys.put(
                f"{_CONFIG}ssl.certificate.pem", self.keys.take(chain, "it is kafka_config.ssl.certificate.pem"), chain
            )
        if location and kind == "PEM":
            path = self.keys.take(
                location, "it is kafka_config.ssl.certificate.location and kafka_config.ssl.key.location"
            )
            for name in ("certificate", "key"):
                self.keys.put(f"{_CONFIG}ssl.{name}.location", path, location)
        elif location:
            password = self._take("ssl.keystore.password", IN_SECRETS.format("ssl.keystore.password"))
            key_password = self._take("ssl.key.password", "the converted store has one password, that of the store")
            path = self.keys.take(location, "it is kafka_config.ssl.keystore.location, as PKCS#12")
            self.keys.kafka["ssl.keystore.password"] = password
            store = key_stores.pkcs12(path, password, key_password, target, location)
            self.keys.put(f"{_CONFIG}ssl.keystore.location", str(store), location)

    def _extract_secret(self, key: str, bare: str) -> None:
        name = one_name(bare)
        if is_secret(name) or name in CREDENTIAL_TARGETS:
            value = self.keys.take(key, IN_SECRETS.format(name))
            if name not in CLIENT_CONVERTED or name in ("ssl.key.password", "ssl.keystore.password"):
                self.keys.kafka.setdefault(name, value)


def _convert_registry_stores(keys: Keys, side: str, target: Path) -> None:
    """Convert Java key stores of a registry connection to PEM files, which Python's TLS can read.

    :param side: key or value, whose converter has the connection.

    :param target: prefix of the files' paths.
    """
    beginning = f"{side}.converter.{registry_properties.PREFIX}ssl."

    def take(name: str, became: str) -> str:
        return keys.take(beginning + name, became).strip() if beginning + name in keys.values else ""

    def is_java(store: str) -> bool:
        kind = str(keys.values.get(f"{beginning}{store}.type", "")).strip().upper()
        return f"{beginning}{store}.location" in keys.values and kind != "PEM"

    if is_java("truststore"):
        location = f"{beginning}truststore.location"
        password = take("truststore.password", "the store is converted to PEM, which needs no password")
        take("truststore.type", "the store is converted to PEM")
        text = key_stores.certificates(
            take("truststore.location", "its certificates are in a PEM file"), password, location
        )
        file = target.with_name(f"{target.name}-ca.pem")
        file.write_text(text)
        keys.put(location, str(file), location)
    if is_java("keystore"):
        location = f"{beginning}keystore.location"
        password = take("keystore.password", IN_SECRETS.format(registry_properties.KEY_PASSWORD))
        key_password = take("key.password", "the converted store has one password, that of the store")
        take("keystore.type", "the store is converted to PEM")
        path = take("keystore.location", "its key and certificates are in a PEM file")
        store = key_stores.pkcs12(path, password, key_password, target.with_name(f"{target.name}.p12"), location)
        keys.put(
            location, str(key_stores.pem(store, password, target.with_name(f"{target.name}.pem"), location)), location
        )
        keys.registry[f"{side}.converter.{registry_properties.KEY_PASSWORD}"] = password


def _extract_registry(keys: Keys) -> None:
    """Move registry logins to the secrets, with the properties for their destination, which no setting may decide."""
    for side in ("key", "value"):
        prefix = f"{side}.converter."
        canonical = {
            key: registry_properties.canonical(key.removeprefix(prefix))
            for key in keys.values
            if key.startswith(prefix)
        }
        texts = {name: str(keys.values[key]) for key, name in canonical.items()}
        own = {name.removeprefix(prefix): value for name, value in keys.registry.items() if name.startswith(prefix)}
        together = registry_properties.ADDRESSES if has_login({**texts, **own}) else frozenset()
        for key, name in canonical.items():
            if name in registry_properties.SECRETS or name in together:
                keys.registry[prefix + name] = keys.take(key, IN_SECRETS.format(key))
