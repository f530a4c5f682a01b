"""Preparation of a connector file's keys for translation: ignored, renamed and refused keys of :mod:`.key_table`.

Kafka Connect's clients take ``producer.override.x`` of the connector before ``producer.x`` of the worker. A connector
here has one security configuration, that of the client that moves its records: the producer of a source, the consumer
of a sink.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .. import key_table, registry_properties
from ..client_config import one_name
from ..client_properties import SECURITY
from ..converters import CLASSES, JSON, PROPERTIES, uses_registry
from ..secrets import is_secret
from . import ignite_connectors
from .given_keys import ConnectKeys

PREFIXES = ("producer.override.", "consumer.override.", "producer.", "consumer.")
_TOP_LEVEL = ("security.", "ssl.", "sasl.")
_SERVERS = "bootstrap.servers"
_GROUP = "group.id"
_TRANSACTION = "transaction.timeout.ms"
_POLICY = "errorHandlingPolicy"
_TOLERANCE = "errors.tolerance"
_LETTERS = "errors.deadletterqueue.topic.name"
_OURS = re.compile(r"[a-z_]+")
_NULL = key_table.Refusal("its value is null", "Write a value, or leave the key out")
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9._-]")


def apply_key_rules(values: Mapping[str, Any], origin: Mapping[str, str], *, sink: bool) -> ConnectKeys:
    """Ignore, rename or refuse keys of a connector's file, so that only translatable keys remain.

    :param sink: whether the connector is a sink.
    """
    keys = ConnectKeys(dict(values), dict(origin))
    for name in [name for name, value in values.items() if value is None and not _OURS.fullmatch(name)]:
        keys.refuse(name, _NULL)
    ignite_connectors.convert_ignite_connector_keys(keys)
    main = "consumer" if sink else "producer"
    for name in tuple(keys.values):
        if name in keys.values:
            _judge(keys, name, main)
    _correct_name(keys)
    _apply_tolerance(keys, sink=sink)
    if sink and keys.values.get("keyPolicy") == "kafka" and "keyFields" in keys.values:
        keys.ignore("keyFields", "with keyPolicy kafka the key is the record's topic, partition and offset")
    return keys


def _judge(keys: ConnectKeys, name: str, main: str) -> None:
    ending = next((reason for ending, reason in key_table.IGNORED_ENDINGS.items() if name.endswith(ending)), None)
    beginnings = key_table.CONNECTOR_IGNORED_BEGINNINGS.items()
    reason = ending or next((reason for beginning, reason in beginnings if name.startswith(beginning)), None)
    if reason:
        keys.ignore(name, reason)
        return
    prefix = next((candidate for candidate in PREFIXES if name.startswith(candidate)), None)
    if prefix is not None:
        _judge_client(keys, name, prefix, main)
    elif name.startswith(_TOP_LEVEL):
        _judge_property(keys, name, name, main)
    elif name.startswith(("key.converter.", "value.converter.")):
        _judge_converter(keys, name)


def _judge_client(keys: ConnectKeys, name: str, prefix: str, main: str) -> None:
    """Ignore or refuse a producer or consumer property, or move it to this project's setting for it."""
    client = prefix.partition(".")[0]
    bare = name.removeprefix(prefix)
    override = f"{client}.override.{bare}"
    if prefix == f"{client}." and override in keys.values:
        keys.ignore(name, f"{override} takes precedence")
    elif not _judge_property(keys, name, bare, client):
        _move(keys, name, bare, client, main)


def _judge_property(keys: ConnectKeys, name: str, bare: str, client: str) -> bool:
    """Ignore or refuse a client property by the tables of :mod:`.key_table`; return whether either was done."""
    value = str(keys.values[name]).strip()
    change = key_table.CLIENT_CHANGED.get(bare)
    refusal = key_table.CLIENT_REFUSED.get(bare)
    beginnings = key_table.CLIENT_IGNORED_BEGINNINGS.items()
    reason = key_table.CLIENT_IGNORED.get(bare) or next(
        (why for begin, why in beginnings if bare.startswith(begin)), None
    )
    if client == "consumer":
        reason = reason or key_table.CONSUMER_IGNORED.get(bare)
    if change is not None and value.lower() not in change.allowed:
        keys.ignore(name, change.reason)
    elif bare == "partitioner.class" and value in key_table.DEFAULT_PARTITIONERS:
        keys.ignore(name, "it is Java's default, which librdkafka's murmur2_random follows")
    elif bare == "isolation.level" and value.lower() == "read_uncommitted":
        keys.refuse(name, key_table.ISOLATION)
    elif reason:
        keys.ignore(name, reason)
    elif refusal is not None:
        keys.refuse(name, refusal)
    else:
        return False
    return True


def _move(keys: ConnectKeys, name: str, bare: str, client: str, main: str) -> None:
    """Move a client property to the setting of the whole connector that replaces it; leave other properties."""
    value = keys.values[name]
    security = bare in key_table.CLIENT_CONVERTED or one_name(bare) in SECURITY or is_secret(bare)
    if client != main and (security or bare == _SERVERS):
        keys.ignore(name, f"a connector has one connection to Kafka, that of its {main}")
    elif bare == _SERVERS:
        keys.rename(name, _SERVERS, value)
    elif security and not is_secret(bare):
        keys.rename(name, f"kafka_config.{bare}", value)
        if bare in keys.values:
            keys.ignore(bare, f"{name} takes precedence")
    elif bare == _GROUP:
        if main == "consumer":
            keys.rename(name, "consumer_group", value)
        else:
            keys.ignore(name, "a source has no consumer group")
    elif bare == _TRANSACTION:
        keys.rename(name, "transaction_timeout_ms", value)


def _judge_converter(keys: ConnectKeys, name: str) -> None:
    """Ignore a converter property that this converter does not read, as Kafka Connect does.

    A property that no converter reads stays: it may be a typing error.
    """
    side = name.partition(".")[0]
    # a file may have our names beside Connect's
    converter = keys.values.get(f"{side}.converter") or keys.values.get(f"{side}_converter")
    kind = CLASSES.get(str(converter), str(converter or JSON))
    bare = registry_properties.canonical(name.removeprefix(f"{side}.converter."))
    of_registry = bare in registry_properties.PROPERTIES or bare in registry_properties.SECRETS
    if kind not in CLASSES.values():
        return
    if of_registry and not uses_registry(kind):
        keys.ignore(name, f"converter {kind} uses no schema registry")
    elif bare not in PROPERTIES[kind] and any(bare in properties for properties in PROPERTIES.values()):
        keys.ignore(name, f"converter {kind} does not read it")


def _correct_name(keys: ConnectKeys) -> None:
    """Replace characters of the connector's name that topics and transactional ids must not contain."""
    name = keys.values.get("name")
    if "connector.class" not in keys.values or not isinstance(name, str) or not _NOT_IN_NAME.search(name.strip()):
        return
    legal_name = _NOT_IN_NAME.sub("-", name.strip())
    keys.values["name"] = legal_name
    keys.ignored["name"] = f"it is changed to {legal_name}: topics and transactional ids bear the name"
    if keys.values.get("topics") or keys.values.get("topics.regex"):
        keys.values.setdefault("consumer_group", f"connect-{name}")
        keys.origin.setdefault("consumer_group", keys.origin.get("name", ""))


def _apply_tolerance(keys: ConnectKeys, *, sink: bool) -> None:
    """Apply Kafka Connect's default of ``errors.tolerance``: stop at the first error of a converter or a transform.

    This default applies also if ``errorHandlingPolicy`` skips the connector's own errors. Otherwise this policy alone
    covers all errors.
    """
    values = keys.values
    policy = keys.values.get(_POLICY)
    if (
        "connector.class" in values
        and policy == "LOG_ONLY"
        and not {_TOLERANCE, "conversion_error_policy"} & values.keys()
    ):
        values[_TOLERANCE], keys.origin[_TOLERANCE] = "none", "the default of Kafka Connect"
    tolerance = values.get(_TOLERANCE)
    dead_letters = "DEAD_LETTER" in (policy, values.get("error_handling_policy"), values.get("conversion_error_policy"))
    stops = tolerance == "none" or policy != "LOG_ONLY"
    if values.get(_LETTERS) and tolerance in (None, "none") and not dead_letters and not (sink and stops):
        keys.ignore(
            _LETTERS, f"{_POLICY} is LOG_ONLY" if sink else f"{_TOLERANCE} is none: the first error stops the run"
        )
