"""Conversion of Java's key and trust stores in a Kafka client's properties to the PEM texts that librdkafka reads.

Java's names are accepted beside librdkafka's: ``ssl.truststore.location``, ``ssl.truststore.password``,
``ssl.truststore.type``, ``ssl.keystore.location``, ``ssl.keystore.password``, ``ssl.keystore.type``,
``ssl.key.password``. A store may also stand where librdkafka wants a PEM file: in ``ssl.ca.location`` and
``ssl.certificate.location``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from ..common import key_stores
from ..errors import SettingsError

TRUST = "ssl.truststore.location"
TRUST_TYPE = "ssl.truststore.type"
TRUST_PASSWORD = "ssl.truststore.password"
KEYS = "ssl.keystore.location"
KEYS_TYPE = "ssl.keystore.type"
KEYS_PASSWORD = "ssl.keystore.password"
KEY_PASSWORD = "ssl.key.password"
CA_FILE = "ssl.ca.location"
CA_TEXT = "ssl.ca.pem"
CERTIFICATE_FILE = "ssl.certificate.location"  # fmt: skip
CERTIFICATE_TEXT = "ssl.certificate.pem"
KEY_FILE = "ssl.key.location"
KEY_TEXT = "ssl.key.pem"
JAVA_NAMES = frozenset({TRUST, TRUST_TYPE, KEYS_TYPE})
"""Java's store properties without a counterpart in librdkafka, except the trust store's password."""


def stores_as_text(config: Mapping[str, Any]) -> dict[str, Any]:
    """Replace key and trust stores in a client's properties by PEM texts, which librdkafka can read.

    Properties without stores stay as they are.

    :raises SettingsError: a store cannot be used, see :mod:`..common.key_stores`; or there are two trust stores or two
        keys.
    """
    properties = dict(config)
    _convert_trust_store(properties)
    _convert_key_store(properties)
    return properties


def _convert_trust_store(properties: dict[str, Any]) -> None:
    kind = _take_type(properties, TRUST_TYPE)
    password = properties.pop(TRUST_PASSWORD, "")
    if path := properties.pop(TRUST, None):
        _refuse_second(properties, TRUST, (CA_FILE, CA_TEXT))
        properties[CA_FILE] = path
        if kind != "PEM" and (kind or not key_stores.is_pem(path)):
            properties[CA_TEXT] = key_stores.trusted(properties.pop(CA_FILE), password, TRUST)
    elif (path := properties.get(CA_FILE)) and key_stores.is_store(path):
        _refuse_second(properties, CA_FILE, (CA_TEXT,))
        properties[CA_TEXT] = key_stores.trusted(properties.pop(CA_FILE), password, CA_FILE)


def _convert_key_store(properties: dict[str, Any]) -> None:
    kind = _take_type(properties, KEYS_TYPE)
    if path := properties.get(KEYS):
        name = KEYS
        _refuse_second(properties, KEYS, (CERTIFICATE_FILE, CERTIFICATE_TEXT, KEY_FILE, KEY_TEXT))
    elif (path := properties.get(CERTIFICATE_FILE)) and key_stores.is_store(path):
        name = CERTIFICATE_FILE
        if properties.get(KEY_FILE) == path:
            del properties[KEY_FILE]
        _refuse_second(properties, CERTIFICATE_FILE, (KEY_FILE, KEY_TEXT))
    else:
        return
    if name == KEYS and key_stores.is_pkcs12(path) and find_spec("cryptography") is None:
        return  # librdkafka reads it itself
    del properties[name]
    if kind == "PEM" or (not kind and key_stores.is_pem(path)):
        properties[CERTIFICATE_FILE] = properties[KEY_FILE] = path
        return
    password = properties.pop(KEYS_PASSWORD, "")
    key_password = properties.pop(KEY_PASSWORD, "")
    pair = key_stores.key_pair(path, password or key_password, key_password, name)
    properties[CERTIFICATE_TEXT], properties[KEY_TEXT] = pair.certificates, pair.key


def _take_type(properties: dict[str, Any], name: str) -> str:
    kind = str(properties.pop(name, "") or "").strip().upper()
    if kind and kind not in key_stores.FORMS:
        what = f"{name} is none of {', '.join(key_stores.FORMS)}"
        raise SettingsError(what, "Leave it out: the file itself shows whether it is JKS or PKCS#12", setting=name)
    return kind


def _refuse_second(properties: Mapping[str, Any], name: str, others: tuple[str, ...]) -> None:
    second = next((other for other in others if properties.get(other)), None)
    if second is not None:
        raise SettingsError(
            f"{name} and {second} are both set, and a client uses only one of them", "Leave one out", setting=name
        )
