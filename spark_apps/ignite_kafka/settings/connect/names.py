"""Translation of Kafka Connect's and the GridGain connector's setting names, so that their files load unchanged.

Sources: Kafka's documentation of source connector, producer, consumer and worker settings; KIP-158 (topic.creation.*);
KIP-458 (producer.override.*).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...errors import IgniteKafkaError, SettingsError, describe_settings
from ..client_config import is_client_property
from ..client_properties import CONSUMER, PRODUCER
from ..connector import ConnectorSettings
from ..converters import PROPERTIES, missing_converters
from ..error_policies import DEAD_LETTER, LOG_ONLY, STOP
from ..fields import TEXTS
from ..findings import PROVIDED, Findings
from ..mapped_names import (
    CONNECT_NAMES,
    CONNECT_NAMES_OF_SINK,
    CONNECT_NAMES_OF_SOURCE,
    DEFAULT_GROUP,
    MAPPINGS,
    TOLERANCE,
    TOLERATED,
)  # fmt: skip
from ..sink import SinkSettings
from ..source import SourceSettings
from ..suggestions import did_you_mean
from ..topic_groups import CONNECT_PREFIX, LISTED, from_connect
from ..transforms import CONFIGS, split_aliased_keys
from . import ignite_connectors
from .keys import apply_key_rules

CLASSES: Mapping[str, type[ConnectorSettings]] = {
    "org.gridgain.kafka.source.IgniteSourceConnector": SourceSettings,
    "IgniteSourceConnector": SourceSettings,
    "IgniteSource": SourceSettings,
    "org.gridgain.kafka.sink.IgniteSinkConnector": SinkSettings,
    "IgniteSinkConnector": SinkSettings,
    "IgniteSink": SinkSettings,
}
CLASS = ignite_connectors.CLASS
_OTHER_CLASSES: Mapping[str, type[ConnectorSettings]] = {
    ignite_connectors.SINK: SinkSettings,
    ignite_connectors.SOURCE: SourceSettings,
}
_GRIDGAIN_9 = "org.gridgain.kafka.GridGainSinkConnector"
_JSON_CLASS = "org.apache.kafka.connect.json.JsonConverter"  # its schemas.enable is true by default
_TOPICS = ("topics", "topics.regex", "topics_regex")  # required by a sink, unknown to a source
_CREATION = DEFAULT_GROUP
_SECURITY = ("security.", "ssl.", "sasl.")
_REFERENCE = re.compile(r"\$\{[^}:]+:[^}]*\}")

_OF_CONNECT: Mapping[type[ConnectorSettings], Mapping[str, str]] = {
    SourceSettings: {**CONNECT_NAMES, **CONNECT_NAMES_OF_SOURCE},
    SinkSettings: {**CONNECT_NAMES, **CONNECT_NAMES_OF_SINK},
}
_NO_CONVERTER = (
    "nobody gave it, and Kafka Connect has no default: it is json without schemas here, unless the "
    "worker's file is given, too"
)


def setting_names() -> dict[str, str]:
    """Return this project's setting for each of Kafka Connect's names and name prefixes."""
    names = {name: setting for connect in _OF_CONNECT.values() for name, setting in connect.items()}
    beginnings = {beginning.removesuffix("."): setting for beginning, setting in MAPPINGS.items()}
    return {**beginnings, CONNECT_PREFIX.removesuffix("."): "topic_creation_groups", **names, TOLERANCE: TOLERATED}


describe_settings(setting_names())

_WORKER = "it configures a worker of Kafka Connect, which this connector does not have"
_OTHERS = {SourceSettings: "it is a setting of the sink", SinkSettings: "it is a setting of the source"}
_IGNORED = {
    "config.action.reload": "a run reads its settings once",
    "errors.log.enable": "errors are always logged",
    "errors.deadletterqueue.context.headers.enable": "dead letters always have the context headers",
    "errors.retry.timeout": "see retry_timeout_ms",
    "errors.retry.delay.max.ms": "see retry_timeout_ms",
    "tasks.max.enforce": "tasks_max is never exceeded",
    "connector.plugin.version": "only the installed version is available",
    "group.id": _WORKER,
    "client.id": _WORKER,
    "plugin.path": _WORKER,
    "plugin.discovery": _WORKER,
    "exactly.once.source.support": _WORKER,
    "connector.client.config.override.policy": _WORKER,
}  # fmt: skip
_IGNORED_BY: Mapping[type[ConnectorSettings], Mapping[str, str]] = {
    SourceSettings: {
        "exactly.once.support": "records are always sent exactly once",
        "transaction.boundary": "transactions hold whole partitions of a cache, see the transaction_max_* settings",
        "transaction.boundary.interval.ms": "see transaction_max_ms",
        "offsets.storage.topic": "internal_topic_prefix and the connector's name determine the topic",
        f"{_CREATION}include": "the default group has all topics that no other group matches",
        f"{_CREATION}exclude": "the default group has all topics that no other group matches",
        "topics.regex": _OTHERS[SourceSettings],
    },
    SinkSettings: {"topic.creation.enable": _OTHERS[SinkSettings]},
}
_IGNORED_BEGINNINGS = {
    "admin.override.": "the admin client has the settings of kafka_config",
    "admin.": "the admin client has the settings of kafka_config",
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
    """Return whether settings use Kafka Connect's names: a dotted name, or a name of the GridGain connector."""
    return any("." in name or any(name in _names_by_reference(settings) for settings in _OTHERS) for name in data)


def settings_class(data: Mapping[str, Any], origin: Mapping[str, str]) -> type[ConnectorSettings]:
    """Return the settings class, source or sink, by ``connector.class``; without it, a topics setting means a sink.

    :raises SettingsError: the class is another connector's.
    """
    connector = data.get(CLASS)
    if connector is None:
        return SinkSettings if any(name in data for name in _TOPICS) else SourceSettings
    if isinstance(connector, str) and connector in _OTHER_CLASSES:
        return _OTHER_CLASSES[connector]
    if connector == _GRIDGAIN_9:
        what = "connector.class is the sink of GridGain 9 and Ignite 3, which this package does not write to"
        remedy = "For Ignite 2 and GridGain 8 use IgniteSinkConnector, with topics, topicPrefix and ignite_addresses"
        raise SettingsError(what, remedy, setting=CLASS, value=connector, set_in=origin.get(CLASS))
    if not isinstance(connector, str) or connector not in CLASSES:
        allowed = f"Allowed: {', '.join(sorted(CLASSES))}"
        raise SettingsError(
            f"{CLASS} belongs to another connector", allowed, setting=CLASS, value=connector, set_in=origin.get(CLASS)
        )
    return CLASSES[connector]


def translate(
    values: Mapping[str, Any], origin: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str], dict[str, str], type[ConnectorSettings], tuple[IgniteKafkaError, ...]]:
    """Translate Kafka Connect's setting names to this project's; report ignored and unknown names.

    :param origin: place where each name was set.
    :returns: values and origins by our names, ignored names with the reason, the class of the settings, and errors:
        SettingsError for an unknown name, a secret, or different values of one setting.
    :raises SettingsError: the class belongs to another connector.
    """
    direction = settings_class(values, origin)
    translated: dict[str, Any] = {}
    origins: dict[str, str] = {}
    keys = apply_key_rules(values, origin, sink=direction.reads_records)
    values = keys.values
    origin = keys.origin
    ignored = keys.ignored
    origins |= {name: origin.get(name, "") for name in ignored}
    findings = Findings(keys.errors)
    done = {CLASS} | _translate_groups(translated, origins, values, origin, findings, direction)
    done |= _translate_aliased(translated, origins, values, origin, findings)
    for name, value in values.items():
        if name in done:
            continue
        if reason := _reason_to_ignore(name, direction):
            ignored[name] = reason
            origins[name] = origin.get(name, "")
            continue
        with findings.check():
            if name == TOLERANCE:
                _translate_tolerance(translated, origins, values, origin)
                continue
            target, item = _find_target(name, origin.get(name), direction)
            if target in direction.all_when_absent and isinstance(value, str) and not value.strip():
                ignored[name] = "it is empty and selects all, like its default in the GridGain connector"
                origins[name] = origin.get(name, "")
                continue
            _refuse_provider(name, value, origin)
            _put(translated, target, item, value, name, origin.get(name))
            origins[target] = origin.get(name, "")
    _default_schemas(translated, values, origin)
    _report_converters(ignored, origins, values, origin)
    return translated, origins, ignored, direction, tuple(findings.errors)


def _report_converters(
    ignored: dict[str, str], origins: dict[str, str], values: Mapping[str, Any], origin: Mapping[str, str]
) -> None:
    """Report converters missing from a connector's Kafka Connect file, because the worker's file may set them."""
    for name in missing_converters(values) if "." in str(values.get(CLASS)) else ():
        ignored[name], origins[name] = _NO_CONVERTER, origin.get(CLASS, "")


def _default_schemas(translated: dict[str, Any], values: Mapping[str, Any], origin: Mapping[str, str]) -> None:
    """Set schemas.enable to true, the default of Kafka's JsonConverter, unless the file sets it."""
    for side in ("key", "value", "header"):
        if values.get(f"{side}.converter") == _JSON_CLASS and f"{side}.converter.schemas.enable" not in values:
            _put(
                translated,
                f"{side}_converter_config",
                "schemas.enable",
                "true",
                f"{side}.converter",
                origin.get(f"{side}.converter"),
            )


def _translate_groups(
    translated: dict[str, Any],
    origins: dict[str, str],
    values: Mapping[str, Any],
    origin: Mapping[str, str],
    findings: Findings,
    direction: type[ConnectorSettings],
) -> set[str]:
    """Translate the groups of topic.creation.groups; return the names of the translated properties."""
    if direction is not SourceSettings or LISTED not in values:
        return set()
    grouped: dict[str, str] = {}
    with findings.check():
        translated["topic_creation_groups"], grouped = from_connect(values, origin)
        origins["topic_creation_groups"] = origin.get(LISTED, "")
    for name in grouped:
        with findings.check():
            _refuse_provider(name, values[name], origin)
    return {LISTED, *grouped}


def _translate_aliased(
    translated: dict[str, Any],
    origins: dict[str, str],
    values: Mapping[str, Any],
    origin: Mapping[str, str],
    findings: Findings,
) -> set[str]:
    """Translate the properties of transforms and predicates; return the names of the translated properties."""
    done: set[str] = set()
    for kind, setting in CONFIGS.items():
        try:
            aliases: Any = TEXTS.parse(values.get(kind, ()))
        except ValueError:  # the list itself is the error
            aliases = ()
        named = split_aliased_keys(values, kind, aliases)
        done |= named.keys()
        if not named:
            continue
        configs: dict[str, dict[str, Any]] = {}
        for name, (alias, item) in named.items():
            with findings.check():
                _refuse_provider(name, values[name], origin)
            configs.setdefault(alias, {})[item] = values[name]
            origins[name] = origin.get(name, "")
        with findings.check():
            if setting in values:
                remedy = f"Give the properties by {kind}.<alias>. or in {setting}"
                raise SettingsError(f"{setting} is set twice", remedy, setting=setting, set_in=origin.get(setting))
        translated[setting] = configs
        origins[setting] = origin.get(next(iter(named)), "")
        done.add(setting)
    return done


def _refuse_provider(name: str, value: Any, origin: Mapping[str, str]) -> None:
    if origin.get(name, "").endswith(PROVIDED):  # what a provider gives is text, whatever it looks like
        return
    if isinstance(value, str) and _REFERENCE.search(value):
        remedy = "Write the value itself; put a secret into the secrets file"
        raise SettingsError(
            "it is of configuration providers, which are not declared", remedy, setting=name, set_in=origin.get(name)
        )


def _translate_tolerance(
    translated: dict[str, Any], origins: dict[str, str], values: Mapping[str, Any], origin: Mapping[str, str]
) -> None:
    """Translate errors.tolerance to conversion_error_policy: none stops, all skips or sends dead letters."""
    tolerant = DEAD_LETTER if values.get("errors.deadletterqueue.topic.name") else LOG_ONLY
    policy = {"none": STOP, "all": tolerant}.get(str(values[TOLERANCE]))
    if policy is None:
        raise SettingsError(
            f"{TOLERANCE} is wrong", setting=TOLERANCE, allowed="none or all", set_in=origin.get(TOLERANCE)
        )
    _put(translated, TOLERATED, None, policy, TOLERANCE, origin.get(TOLERANCE))
    origins[TOLERATED] = origin.get(TOLERANCE, "")


def _names_by_reference(direction: type[ConnectorSettings]) -> Mapping[str, str]:
    """Return the source's or sink's settings by their names in the GridGain connector."""
    return {setting.reference: name for name, setting in direction.definitions().items() if setting.reference}


def _reason_to_ignore(name: str, direction: type[ConnectorSettings]) -> str | None:
    if name in _OF_CONNECT[direction] or name in direction.definitions() or name in _names_by_reference(direction):
        return None
    if (reason := _IGNORED.get(name) or _IGNORED_BY[direction].get(name)) is not None:
        return reason
    if any(
        name in names
        for other in _OTHERS
        if other is not direction
        for names in (_names_by_reference(other), _OF_CONNECT[other])
    ):
        return _OTHERS[direction]
    if name in _TOPICS:
        return _OTHERS[direction]
    if name.startswith(CONNECT_PREFIX) and not (name.startswith(_CREATION) and direction is SourceSettings):
        return "its group is not in topic.creation.groups" if direction is SourceSettings else _OTHERS[direction]
    return next((reason for beginning, reason in _IGNORED_BEGINNINGS.items() if name.startswith(beginning)), None)


def target_of(name: str, direction: type[ConnectorSettings]) -> str:
    """Return the setting, or the name within a mapping setting, that a file's key is translated to.

    A key of a transform or predicate is its own target.

    :raises SettingsError: there is no such setting.
    """
    if name == TOLERANCE:
        return TOLERATED
    if name.startswith(CONNECT_PREFIX) and not name.startswith(_CREATION):
        return "topic_creation_groups"
    if name.startswith(tuple(f"{kind}." for kind in CONFIGS)):
        return name
    setting, item = _find_target(name, None, direction)
    return setting if item is None else f"{setting}.{item}"


def _find_target(name: str, set_in: str | None, direction: type[ConnectorSettings]) -> tuple[str, str | None]:
    """Return the setting that a key is translated to and, for a mapping setting, the name within the mapping."""
    settings = direction.definitions()
    connect = _OF_CONNECT[direction]
    reference = _names_by_reference(direction)
    ours = connect.get(name) or reference.get(name) or (name if name in settings else None)
    if ours is not None:
        return ours, None
    if name.startswith(_SECURITY):
        return "kafka_config", name
    for beginning, mapping in MAPPINGS.items():
        if name.startswith(beginning) and mapping in settings:
            return mapping, name.removeprefix(beginning)
    direction.refuse_secret(name, set_in)
    if any(name in settings for settings in PROPERTIES.values()):
        hint = f"It is a property of converters: write value.converter.{name}, key.converter.{name} or both"
        raise SettingsError("there is no such setting", hint, setting=name, set_in=set_in)
    hint = did_you_mean(name, [*reference, *connect, *settings]) or _client_hint(name, direction)
    raise SettingsError("there is no such setting", hint or "See docs/settings.md", setting=name, set_in=set_in)


def _client_hint(name: str, direction: type[ConnectorSettings]) -> str:
    client = "consumer" if direction.reads_records else "producer"
    of_client = is_client_property(name, CONSUMER if direction.reads_records else PRODUCER)
    return f"It is a property of Kafka's clients: write {client}.override.{name}" if of_client else ""


def _put(values: dict[str, Any], target: str, item: str | None, value: Any, name: str, set_in: str | None) -> None:
    if item is not None:
        values[target] = {**values.get(target, {}), item: value}
    elif values.setdefault(target, value) != value:
        raise SettingsError(
            f"{target} is set twice, to different values",
            "Keep one of its names",
            setting=name,
            value=repr(value),
            set_in=set_in,
        )
