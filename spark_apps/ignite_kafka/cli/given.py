"""Settings and secrets of a command: the files that its arguments name, and the arguments that override them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from .. import events
from ..common.redaction import set_log_values
from ..convert import check_transforms
from ..convert.filter import check_conditions
from ..errors import IgniteKafkaError, NotAvailableYet, SettingsError
from ..settings import files as properties
from ..settings import secrets
from ..settings.connector import ConnectorSettings
from ..settings.files import LoadedSettings
from ..settings.findings import Findings
from ..settings.permissions import Permissions
from ..settings.secrets import Secrets
from ..settings.source import SourceSettings
from ..settings.transforms import CONFIGS
from ..settings.transport_security import ALLOW
from .arguments import allowed_providers

_COMMAND_LINE = "the command line"
_CONVERSION: Mapping[Callable[[ConnectorSettings], None], Sequence[str]] = {
    check_conditions: ("where", "overrides"),
    check_transforms: (*CONFIGS, *CONFIGS.values(), "overrides"),
}
"""Checks of the conversion, and the settings whose errors make them pointless."""


def settings_of(arguments: argparse.Namespace, *, conversion: bool = False) -> ConnectorSettings:
    """Settings of the file, overridden by the command line; emits event 15000 if they are invalid.

    :param conversion: check transforms and conditions, too; all errors come at once.
    """
    try:
        loaded = _loaded(arguments)
        found = Findings()
        with found.check():
            settings = loaded.settings()
        if conversion:
            found.errors += conversion_errors(loaded, found.errors)
        found.raise_all()
        set_log_values(settings.log_values)
        return settings
    except (SettingsError, NotAvailableYet) as error:
        events.emit(events.MISCONFIGURED, reason=str(error))
        raise


def of_source(settings: ConnectorSettings) -> SourceSettings:
    """The settings, which must be of a source.

    :raises NotAvailableYet: they are of a sink.
    """
    if isinstance(settings, SourceSettings):
        return settings
    raise NotAvailableYet("this command is not available yet for Kafka to Ignite", connector=settings.name)


def _loaded(arguments: argparse.Namespace) -> LoadedSettings:
    loaded = properties.load(arguments.file, allowed_providers(arguments)) if arguments.file else properties.LoadedSettings({}, {})
    given = {
        "name": getattr(arguments, "name", None),
        "ignite_addresses": getattr(arguments, "ignite", None),
        "bootstrap_servers": arguments.kafka,
        "internal_topic_prefix": getattr(arguments, "internal_topic_prefix", None),
    }
    if arguments.allow_insecure_connections:
        given[ALLOW] = True
    return loaded.with_values({name: value for name, value in given.items() if value is not None}, _COMMAND_LINE)


def secrets_of(arguments: argparse.Namespace) -> Secrets:
    """The secrets file's content; without one, none."""
    path = arguments.secrets or getattr(arguments, "mounted_secrets", None)
    return secrets.load(Path(path), permissions_of(arguments)) if path else Secrets()


def permissions_of(arguments: argparse.Namespace) -> Permissions:
    """What the command's arguments allow beyond settings and secrets file."""
    return Permissions(tuple(arguments.allow_kafka_option), arguments.allow_insecure_connections)


def conversion_errors(loaded: LoadedSettings, before: Iterable[IgniteKafkaError]) -> list[IgniteKafkaError]:
    """Errors of transforms and conditions of settings that may be wrong.

    :param before: errors found already. Those of transforms or conditions leave nothing more to say about them.
    """
    wrong = {str(error.where.get("setting")).partition(".")[0] for error in before}
    settings = loaded.direction.unchecked(loaded.values, loaded.origin)
    found = Findings()
    for check, names in _CONVERSION.items():
        if wrong.isdisjoint(names):
            with found.check():
                check(settings)
    return found.errors


def check_conversion(settings: ConnectorSettings) -> None:
    """Check transforms and conditions. Loads their modules, which takes nearly half a second, only if the connector has any.

    :raises SettingsError: as :func:`ignite_kafka.convert.check_transforms` and :func:`ignite_kafka.convert.filter.check_conditions`.
    """
    check_conditions(settings)
    check_transforms(settings)
