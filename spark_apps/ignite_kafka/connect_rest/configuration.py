"""Settings from a declared configuration, within the limits of whoever operates the server.

A configuration from REST is trusted as parameters of a Dag run are: it chooses what is copied, and never where
credentials go, which code runs, or which file is read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..convert import check_transforms
from ..convert.filter import check_conditions
from ..errors import IgniteKafkaError, SettingsError
from ..settings.client_config import one_name
from ..settings.client_properties import security_names
from ..settings.connect.config_providers import AllowedProvider
from ..settings.connector import ConnectorSettings
from ..settings.files.load import LoadedSettings, of_connect
from ..settings.findings import UNFORESEEN, Findings
from ..settings.metrics import check_metrics_host
from ..settings.registry_login import check_registry
from ..settings.secrets import Secrets
from ..settings.transport_security import ALLOW, check_ignite, check_kafka
from ..settings.trust import ADDRESS
from ..settings.trust import SETTINGS as TRUST

log = logging.getLogger(__name__)
_ORIGIN = "the connector's configuration"
_KAFKA_CONFIG = "kafka_config"
_OF_ENDPOINT = ("metrics_host", "metrics_port")
_ENABLED = "autoRestart.enabled"
_MOST = "autoRestart.maxRestarts"
RESTART_KEYS = (_ENABLED, _MOST)


@dataclass(frozen=True)
class Operator:
    """What whoever operates the server decides for all connectors.

    :param connection: settings of the connections to Kafka and Ignite, and the prefix of internal topics; its name
        counts for nothing.
    :param allowed: what config providers in configurations may read.
    """

    connection: ConnectorSettings
    secrets: Secrets = field(default_factory=Secrets)
    allowed: tuple[AllowedProvider, ...] = ()

    def connection_of(self, connector: str) -> ConnectorSettings:
        """Return the connection's settings with the name of a connector.

        :raises SettingsError: the name is not allowed.
        """
        return replace(self.connection, name=connector)


@dataclass(frozen=True)
class AutoRestart:
    """Restarts of a failed connector, by the fields of Strimzi's resource.

    :param most: maximum number of restarts without a longer run in between; None: no limit.
    """

    enabled: bool = True
    most: int | None = None

    @staticmethod
    def of(config: Mapping[str, str]) -> AutoRestart:
        """Read ``autoRestart.enabled`` and ``autoRestart.maxRestarts`` of a configuration.

        :raises SettingsError: a value is no boolean, or no whole number.
        """
        enabled = config.get(_ENABLED, "true").strip().lower()
        if enabled not in ("true", "false"):
            raise SettingsError(f"{_ENABLED} is wrong", setting=_ENABLED, allowed="true or false", set_in=_ORIGIN)
        most = config.get(_MOST, "").strip()
        if most and not (most.isascii() and most.isdecimal() and len(most) <= 9):
            raise SettingsError(f"{_MOST} is wrong", setting=_MOST, allowed="a whole number", set_in=_ORIGIN)
        return AutoRestart(enabled == "true", int(most) if most else None)


def check_configuration(config: Mapping[str, str], operator: Operator) -> ConnectorSettings:
    """Return the checked settings of a configuration, with the operator's connections.

    :param config: texts by key, with ``name`` and ``connector.class``.
    :raises SettingsError: a key is unknown, contradictory or out of range; a secret is in it; or it decides what only
        the operator may decide. Its findings are all errors.
    """
    findings = Findings()
    with findings.check():
        AutoRestart.of(config)
    loaded = load_configuration(config, operator.allowed)
    for error in _refusals(loaded, operator):
        findings.errors.append(error)
    settings: ConnectorSettings | None = None
    with findings.check():
        settings = _with_connection(loaded, operator).settings()
    if settings is not None:
        for check in (check_kafka, check_ignite, check_registry):
            with findings.check():
                check(settings, operator.secrets)
        for check_conversion in (check_conditions, *(() if _has_own_transforms(settings) else (check_transforms,))):
            with findings.check():
                check_conversion(settings)
        with findings.check():
            _check_name(config, settings)
        with findings.check():
            check_metrics_host(settings.metrics_host, None, "a loopback address", _ORIGIN)
    findings.raise_all()
    assert settings is not None, "settings that could not be built have an error"
    return settings


def check_declared(name: str, config: Mapping[str, str], operator: Operator) -> ConnectorSettings:
    """Return the checked settings of a declared connector, as :func:`check_configuration` does, from a record of Kafka.

    Other programs may have written the record: its key may have another name than its configuration, and files and Dags
    are named after the key.

    :param name: name in the record's key.
    :raises SettingsError: as :func:`check_configuration`; the names differ, or a value has a type that cannot be used.
    """
    if config.get("name") != name:
        raise SettingsError(
            "the record declares another connector than its key", "Declare it again by REST.", setting="name", key=name
        )
    try:
        return check_configuration(config, operator)
    except UNFORESEEN as error:
        log.debug("the configuration cannot be used", exc_info=True)
        what = f"a value of the configuration cannot be used: {type(error).__name__}"
        raise SettingsError(what, "Declare the connector again by REST.", set_in=_ORIGIN) from None


def load_configuration(config: Mapping[str, str], allowed: Iterable[AllowedProvider] = ()) -> LoadedSettings:
    """Load the settings of a configuration, without checks and without connections; it runs until it is stopped.

    :param allowed: what config providers in the configuration may read.
    :raises SettingsError: its class is another connector's.
    """
    keys = {key: value for key, value in config.items() if key not in RESTART_KEYS}
    loaded = replace(of_connect(keys, dict.fromkeys(keys, _ORIGIN), allowed), ignored={})
    if "run_mode" in loaded.values:
        return loaded
    return loaded.with_values({"run_mode": "continuous"}, "Kafka Connect, whose connectors run until they are stopped")


def _has_own_transforms(settings: ConnectorSettings) -> bool:
    """Return whether a transform is a Python function: its module is imported by the run, not by the server."""
    types = [properties.get("type", "") for properties in settings.transform_config.values()]
    overrides = json.dumps({name: dict(override) for name, override in settings.overrides.items()}, default=str)
    return any(":" in kind for kind in types) or "transform_config" in overrides


def _check_name(config: Mapping[str, str], settings: ConnectorSettings) -> None:
    """Refuse a name with other characters, which files of Kafka Connect may have: requests use the name as it is."""
    if config.get("name") != settings.name:
        raise SettingsError(
            "name is wrong: it has characters that topics must not have",
            f"Write {settings.name}.",
            setting="name",
            value=config.get("name"),
            set_in=_ORIGIN,
        )


def errors_of(error: IgniteKafkaError) -> list[IgniteKafkaError]:
    """Return the single errors in an error of :func:`check_configuration`."""
    return list(error.findings) or [error]


def _refusals(loaded: LoadedSettings, operator: Operator) -> list[SettingsError]:
    """Return an error for each value that only the operator may choose."""
    own_security = security_names(map(one_name, _mapping(loaded.values.get(_KAFKA_CONFIG))))
    errors = [
        _refusal(f"{_KAFKA_CONFIG}.{name}", "how the brokers are reached and checked is the server's")
        for name in own_security
    ]
    if str(loaded.values.get(ALLOW, "false")).strip().lower() == "true":
        errors.append(_refusal(ALLOW, "whether credentials may travel unprotected is decided by who runs the server"))
    prefix = loaded.values.get("internal_topic_prefix", operator.connection.internal_topic_prefix)
    if prefix != operator.connection.internal_topic_prefix:
        errors.append(_refusal("internal_topic_prefix", "the server has one prefix for all its connectors"))
    return errors


def _refusal(setting: str, reason: str) -> SettingsError:
    return SettingsError(f"{setting} cannot be set by REST: {reason}", "Leave it out.", setting=setting, set_in=_ORIGIN)


def _with_connection(loaded: LoadedSettings, operator: Operator) -> LoadedSettings:
    """Replace each address by the operator's; Kafka properties that are no addresses are kept."""
    connection = operator.connection.to_dict()
    addresses: dict[str, Any] = {
        name: value for name, value in connection.items() if TRUST.get(name) == ADDRESS and name not in _OF_ENDPOINT
    }
    own = _mapping(loaded.values.get(_KAFKA_CONFIG))
    addresses[_KAFKA_CONFIG] = {**own, **connection[_KAFKA_CONFIG]}
    addresses["internal_topic_prefix"] = connection["internal_topic_prefix"]
    return loaded.with_values(addresses, "the server")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
