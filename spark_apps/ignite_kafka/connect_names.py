"""Names of Kafka Connect and of the reference -> our settings: so that a connector file loads as it is.

Sources: Kafka's documentation of source connector, producer, consumer and worker settings; KIP-158 (topic.creation.*); KIP-458
(producer.override.*).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .errors import NotAvailableYet, SettingsError
from .settings import DEFAULTS, SETTINGS, refuse_secret
from .unknown import did_you_mean

_SOURCE_CLASSES = frozenset({"org.gridgain.kafka.source.IgniteSourceConnector", "IgniteSourceConnector", "IgniteSource"})
_CLASS = "connector.class"
_CREATION = "topic.creation.default."
_SECURITY = ("security.", "ssl.", "sasl.")
_PROVIDED = re.compile(r"\$\{[^}:]+:[^}]*\}")

OF_REFERENCE = {setting.reference: name for name, setting in SETTINGS.items() if setting.reference}
_OF_CONNECT = {
    "name": "name",
    "tasks.max": "tasks_max",
    "key.converter": "key_converter",
    "value.converter": "value_converter",
    "key.converter.schemas.enable": "key_converter_schemas_enable",
    "value.converter.schemas.enable": "value_converter_schemas_enable",
    "key.converter.decimal.format": "decimal_format",
    "value.converter.decimal.format": "decimal_format",
    "transforms": "transforms",
    "bootstrap.servers": "bootstrap_servers",
    f"{_CREATION}partitions": "topic_partitions",
    f"{_CREATION}replication.factor": "replication_factor",
}
_MAPPINGS = {
    "producer.override.": "producer_override",
    "consumer.override.": "consumer_override",
    "producer.": "producer_override",
    "consumer.": "consumer_override",
    _CREATION: "topic_config",
    "kafka_config.": "kafka_config",
    "producer_override.": "producer_override",
    "consumer_override.": "consumer_override",
    "topic_config.": "topic_config",
}
_WORKER = "it is a setting of a Connect worker, and there is none here"
_SINK = "it is a setting of the sink"
_IGNORED = {
    "topics": _SINK,
    "topics.regex": _SINK,
    "shallProcessUpdates": _SINK,
    "cachePrefix": _SINK,
    "flushOnOffsetCommit": _SINK,
    "keyFields": _SINK,
    "keyPolicy": _SINK,
    "pushInterval": _SINK,
    "header.converter": "records have no headers",
    "config.action.reload": "nothing is reloaded while a run lasts",
    "exactly.once.support": "records are always sent exactly once",
    "transaction.boundary": "transactions hold whole partitions of a cache, see the transaction_max_* settings",
    "transaction.boundary.interval.ms": "see transaction_max_ms",
    "offsets.storage.topic": "the topic's name follows from internal_topic_prefix and the connector's name",
    "topic.creation.enable": "topics that are missing are always made",
    "predicates": "it is used only with transforms",
    "errors.tolerance": "an entry that cannot be sent stops the run, see error_handling_policy",
    "errors.log.enable": "errors are always logged",
    "errors.log.include.messages": "messages name an entry's place, not its content",
    "errors.retry.timeout": "see retry_timeout_ms",
    "errors.retry.delay.max.ms": "see retry_timeout_ms",
    "tasks.max.enforce": "there are never more tasks than tasks_max",
    "connector.plugin.version": "there is one version, the one that is installed",
    "key.converter.schemas.cache.size": "schemas are not written",
    "value.converter.schemas.cache.size": "schemas are not written",
    "key.converter.replace.null.with.default": "schemas are not written, so there are no defaults",
    "value.converter.replace.null.with.default": "schemas are not written, so there are no defaults",
    "group.id": _WORKER,
    "client.id": _WORKER,
    "plugin.path": _WORKER,
    "plugin.discovery": _WORKER,
    "exactly.once.source.support": _WORKER,
    "connector.client.config.override.policy": _WORKER,
}  # fmt: skip
_IGNORED_BEGINNINGS = {
    "admin.override.": "the admin client has the settings of kafka_config",
    "admin.": "the admin client has the settings of kafka_config",
    "predicates.": "it is used only with transforms",
    "errors.deadletterqueue.": _SINK,
    "offset.": _WORKER,
    "config.storage.": _WORKER,
    "status.storage.": _WORKER,
    "internal.": _WORKER,
    "rest.": _WORKER,
    "listeners": _WORKER,
    "task.shutdown.": _WORKER,
    "scheduled.rebalance.": _WORKER,
}


def is_connect(data: Mapping[str, Any]) -> bool:
    """Whether names are Connect's: it names the class of a connector, or has a name with a dot or of the reference."""
    return any("." in name or name in OF_REFERENCE for name in data)


def translate(given: Mapping[str, Any], origin: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Connect's names -> (our values, where each was set, ignored name -> reason).

    :param origin: where each given name was set.
    :raises SettingsError: a name that nobody knows, a secret, another connector's class, or two names of one setting that disagree.
    :raises NotAvailableYet: a feature of Connect that this version does not have.
    """
    _check_class(given.get(_CLASS), origin.get(_CLASS))
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    ignored: dict[str, str] = {}
    for name, value in given.items():
        if name == _CLASS:
            continue
        reason = _reason_to_ignore(name)
        if reason:
            ignored[name] = reason
            places[name] = origin.get(name, "")
            continue
        target, item = _target(name, origin.get(name))
        if isinstance(value, str) and _PROVIDED.search(value):
            remedy = "Write the value itself, or, for a secret, put it into the secrets file"
            raise SettingsError("configuration providers are not asked here", remedy, setting=name, set_in=origin.get(name))
        _put(values, target, item, value, name, origin.get(name))
        places[target] = origin.get(name, "")
    for side in ("key", "value"):
        if "JsonConverter" in str(given.get(f"{side}.converter")) and f"{side}.converter.schemas.enable" not in given:
            ignored[f"{side}.converter.schemas.enable"] = "it is not set; Connect's default is true, and here it is false"
    return values, places, ignored


def _check_class(connector: object, place: str | None) -> None:
    if connector is None or connector in _SOURCE_CLASSES:
        return
    if "Ignite" in str(connector) and "Sink" in str(connector):
        raise NotAvailableYet("a sink connector (Kafka to Ignite) is not available yet", setting=_CLASS, value=connector, set_in=place)
    raise SettingsError(
        f"{_CLASS} is another connector's", f"Allowed: {', '.join(sorted(_SOURCE_CLASSES))}", setting=_CLASS, value=connector, set_in=place
    )


def _reason_to_ignore(name: str) -> str | None:
    if name in _OF_CONNECT or name in SETTINGS:
        return None
    beginnings = (reason for beginning, reason in _IGNORED_BEGINNINGS.items() if name.startswith(beginning))
    return _IGNORED.get(name) or next(beginnings, None)


def _target(name: str, place: str | None) -> tuple[str, str | None]:
    """Our setting, and the name within it where it is a mapping."""
    ours = _OF_CONNECT.get(name) or OF_REFERENCE.get(name) or (name if name in SETTINGS else None)
    if ours is not None:
        return ours, None
    if name.startswith("transforms."):
        return "transforms", None
    if name.startswith("topic.creation.") and not name.startswith(_CREATION):
        raise NotAvailableYet("groups of topics are not available yet", "Use topic.creation.default.*", setting=name, set_in=place)
    if name.startswith(_SECURITY):
        return "kafka_config", name
    for beginning, mapping in _MAPPINGS.items():
        if name.startswith(beginning):
            return mapping, name.removeprefix(beginning)
    refuse_secret(name, place)
    hint = did_you_mean(name, [*OF_REFERENCE, *_OF_CONNECT, *SETTINGS])
    raise SettingsError("there is no such setting", hint or "See docs/settings.md", setting=name, set_in=place)


def _put(values: dict[str, Any], target: str, item: str | None, value: Any, name: str, place: str | None) -> None:
    if target == "transforms" and name != target:
        values.setdefault(target, DEFAULTS[target])
    elif item is not None:
        values[target] = {**values.get(target, {}), item: value}
    elif values.setdefault(target, value) != value:
        raise SettingsError(
            f"{target} is set twice, to different values", "Keep one of its names", setting=name, value=repr(value), set_in=place
        )
