"""Conversion of key and trust stores to texts before a run is handed to Spark.

Executors then need neither the files nor their passwords nor ``cryptography``.

Certificates travel with the settings, private keys with the secrets. If a mounted secrets file holds the passwords,
nothing is converted here, and each process reads the stores when it connects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ..common import key_stores
from ..ignite.tls import stores_as_text as ignite_stores
from . import registry_properties as names
from .client_stores import CA_FILE, CERTIFICATE_FILE, KEY_TEXT, KEYS, TRUST
from .client_stores import stores_as_text as kafka_stores
from .connector import ConnectorSettings
from .secrets import Secrets, is_secret

S = TypeVar("S", bound=ConnectorSettings)
_TRUST = f"{names.PREFIX}ssl.truststore."
_KEYS = f"{names.PREFIX}ssl.keystore."


def stores_as_text(settings: S, secrets: Secrets, of_connection: Collection[str] = ()) -> tuple[S, Secrets]:
    """Replace the paths of key and trust stores in settings and secrets by their content; PEM files stay files.

    A trust store of Ignite stays a file if there are no secrets: Spark would have to protect its text like a secret.

    :param of_connection: names of the connection's Kafka properties. A store named by ``kafka_config`` of the settings
        is not read: the author of settings must not have the worker send its files to Spark.
    :raises SettingsError: a store cannot be used.
    """
    settings, secrets = _convert_ignite_stores(settings, secrets)
    kafka = {**settings.kafka_config, **secrets.kafka}
    own = {*of_connection, *secrets.kafka}
    ours = all(name in own for name in (TRUST, KEYS, CA_FILE, CERTIFICATE_FILE) if name in kafka)
    as_text = kafka_stores(kafka) if ours else kafka
    if as_text != kafka:
        hidden = {name for name in as_text if name in secrets.kafka or is_secret(name) or name == KEY_TEXT}
        kafka_config = {name: value for name, value in as_text.items() if name not in hidden}
        settings = replace(settings, kafka_config=kafka_config)
        secrets = replace(secrets, kafka={name: as_text[name] for name in hidden})
    return settings, replace(secrets, registry=_convert_registry_stores(secrets.registry))


def _convert_ignite_stores(settings: S, secrets: Secrets) -> tuple[S, Secrets]:
    if not settings.ignite_tls_enabled or not any(vars(secrets.ignite).values()):
        return settings, secrets
    tls, credentials = ignite_stores(settings.ignite_endpoint.tls, secrets.ignite)
    files: Any = {f"ignite_tls_{name}": getattr(tls, name) or "" for name in ("ca_file", "cert_file", "key_file")}
    return replace(settings, **files), replace(secrets, ignite=credentials)


def _convert_registry_stores(registry: Mapping[str, str]) -> dict[str, str]:
    """Replace the paths of the registry's key and trust stores by their content.

    All properties stay as they are if one belongs to a single side, because it could override a common property.
    """
    properties = {names.canonical(name): value for name, value in registry.items()}
    trust = properties.get(f"{_TRUST}location", "")
    keys = properties.get(f"{_KEYS}location", "")
    if any(name.startswith(("key.converter.", "value.converter.")) for name in registry):
        return dict(registry)
    if trust and key_stores.is_store(trust):
        properties[f"{_TRUST}certificates"] = key_stores.trusted(
            trust, properties.pop(names.TRUST_PASSWORD, ""), f"{_TRUST}location"
        )
        del properties[f"{_TRUST}location"]
        properties.pop(f"{_TRUST}type", None)
    if keys and key_stores.is_store(keys):
        password = properties.pop(names.STORE_PASSWORD, "")
        key_password = properties.pop(names.KEY_PASSWORD, "")
        pair = key_stores.key_pair(keys, password or key_password, key_password, f"{_KEYS}location")
        properties[f"{_KEYS}certificate.chain"], properties[f"{_KEYS}key"] = pair.certificates, pair.key
        del properties[f"{_KEYS}location"]
        properties.pop(f"{_KEYS}type", None)
    return properties
