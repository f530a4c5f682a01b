"""Connector plugins of the REST interface: their classes, their settings, and the validation of a configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..common.versions import library_version
from ..errors import IgniteKafkaError, SettingsError
from ..settings.connect.names import CLASS, CLASSES, settings_class
from ..settings.connector import ConnectorSettings
from ..settings.fields import Setting
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..settings.suggestions import did_you_mean
from .bodies import invalid_configuration
from .configuration import Operator, check_configuration, errors_of
from .messages import RestError

GROUP = "Settings"
_LISTED: Mapping[str, type[ConnectorSettings]] = {
    "org.gridgain.kafka.sink.IgniteSinkConnector": SinkSettings,
    "org.gridgain.kafka.source.IgniteSourceConnector": SourceSettings,
}
"""Classes shown to users; :data:`.names.CLASSES` has further names of them."""
_TYPES = {"string": "STRING", "boolean": "BOOLEAN", "list": "LIST", "int": "INT", "mapping": "STRING"}
_UNSET: tuple[object, ...] = (None, "", (), {})


def list_plugins() -> list[dict[str, str]]:
    """Return the connector plugins, as ``GET /connector-plugins`` does."""
    return [
        {"class": name, "type": "sink" if direction.reads_records else "source", "version": library_version()}
        for name, direction in sorted(_LISTED.items())
    ]


def plugin_settings(name: str) -> list[dict[str, Any]]:
    """Return the definitions of a plugin's settings, as ``GET /connector-plugins/NAME/config`` does.

    :raises RestError: 404 for an unknown plugin.
    """
    if name not in CLASSES:
        raise RestError(404, f"Unknown plugin {name}.")
    direction = CLASSES[name]
    return [{**_definition(direction, key), "group": None, "order_in_group": -1} for key in direction.definitions()]


def check_class(config: Mapping[str, str]) -> None:
    """Check that a configuration names one of the plugins.

    :raises RestError: 400 for no class, or another one.
    """
    if not config.get(CLASS, "").strip():
        raise RestError(400, f"Connector config {{{', '.join(config)}}} contains no connector type")
    try:
        settings_class(config, {})
    except SettingsError:
        hint = did_you_mean(config[CLASS], CLASSES)
        what = (
            f"Failed to find any class that implements Connector and which name matches {config[CLASS]}, available "
            f"connectors are: {', '.join(sorted(CLASSES))}"
        )
        raise RestError(400, f"{what}. {hint}" if hint else what) from None


def check_all(config: Mapping[str, str], operator: Operator) -> ConnectorSettings:
    """Check a configuration, and return its settings.

    :raises RestError: 400 with all errors.
    """
    check_class(config)
    if not config.get("name", "").strip():
        raise invalid_configuration(["Invalid value  for configuration name: String may not be empty"])
    try:
        return check_configuration(config, operator)
    except IgniteKafkaError as error:
        raise invalid_configuration([str(part) for part in errors_of(error)]) from None


def validate(plugin: str, config: Mapping[str, str], operator: Operator) -> dict[str, Any]:
    """Validate a configuration, as ``PUT /connector-plugins/NAME/config/validate`` does.

    :raises RestError: 400 for the configuration of another plugin.
    """
    given_class = config.get(CLASS, plugin)
    if CLASSES.get(given_class, given_class) != CLASSES.get(plugin, plugin):
        raise RestError(400, f"Included connector type {given_class} does not match request type {plugin}")
    check_class({CLASS: plugin})
    direction = CLASSES[plugin]
    errors: dict[str, list[str]] = {}
    if "name" not in config:
        errors["name"] = ['Missing required configuration "name" which has no default value.']
    try:
        check_configuration({"name": "unnamed", **config, CLASS: plugin}, operator)
    except IgniteKafkaError as error:
        for part in errors_of(error):
            errors.setdefault(_shown_name(direction, str(part.where.get("setting", ""))), []).append(str(part))
    infos = [_info(direction, key, config, errors) for key in direction.definitions()]
    defined = {info["definition"]["name"] for info in infos}
    infos += [_extra_info(key, config.get(key), errors[key]) for key in errors if key not in defined]
    return {"name": plugin, "error_count": sum(map(len, errors.values())), "groups": [GROUP], "configs": infos}


def _info(
    direction: type[ConnectorSettings], key: str, config: Mapping[str, str], errors: Mapping[str, list[str]]
) -> dict[str, Any]:
    name = _shown_name(direction, key)
    definition = {**_definition(direction, key), "group": GROUP}
    sent = config.get(name, config.get(key, definition["default_value"]))
    return {"definition": definition, "value": _value(name, sent, errors.get(name, ()))}


def _extra_info(name: str, sent: str | None, errors: Iterable[str]) -> dict[str, Any]:
    """Return the errors of a key that is no setting, such as a property of a transform."""
    definition = _describe(name, "STRING", "", None, required=False, order=-1)
    return {"definition": {**definition, "group": GROUP}, "value": _value(name, sent, errors)}


def _value(name: str, value: str | None, errors: Iterable[str]) -> dict[str, Any]:
    return {"name": name, "value": value, "recommended_values": [], "errors": list(errors), "visible": True}


def _definition(direction: type[ConnectorSettings], key: str) -> dict[str, Any]:
    setting: Setting = direction.definitions()[key]
    order = list(direction.definitions()).index(key) + 1
    required = key == "name"
    default = None if required else text_of(direction.defaults()[key])
    kind = _TYPES.get(setting.type.type_name, "STRING")
    return _describe(
        _shown_name(direction, key), kind, f"{setting.help}. {setting.type.allowed}", default, required, order
    )


def _describe(
    name: str, kind: str, documentation: str, default: str | None, required: bool, order: int
) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "required": required,
        "default_value": default,
        "importance": "HIGH" if required else "MEDIUM",
        "documentation": documentation,
        "group": None,
        "order_in_group": order,
        "width": "LONG" if kind in ("LIST", "STRING") else "SHORT",
        "display_name": name,
        "dependents": [],
    }


def _shown_name(direction: type[ConnectorSettings], key: str) -> str:
    """Return a setting's name in the GridGain connector, or our name without one."""
    definition = direction.definitions().get(key)
    return definition.reference or key if definition is not None else key


def text_of(value: object) -> str | None:
    """Return a setting's value as the text of a configuration; None for an unset one."""
    if value in _UNSET:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, Mapping) else str(value)
