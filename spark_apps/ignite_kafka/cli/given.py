"""Settings and secrets of a command: the files that its arguments name, and the arguments that override them."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import events
from ..common.redaction import set_log_values
from ..convert import check_transforms
from ..convert.filter import check_conditions
from ..errors import NotAvailableYet, SettingsError
from ..settings import files as properties
from ..settings import secrets
from ..settings.connector import ConnectorSettings
from ..settings.permissions import Permissions
from ..settings.secrets import Secrets
from ..settings.source import SourceSettings
from ..settings.transport_security import ALLOW
from .arguments import allowed_providers

_COMMAND_LINE = "the command line"


def settings_of(arguments: argparse.Namespace) -> ConnectorSettings:
    """Settings of the file, overridden by the command line; emits event 15000 if they are invalid."""
    try:
        settings = _read_settings(arguments)
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


def _read_settings(arguments: argparse.Namespace) -> ConnectorSettings:
    loaded = properties.load(arguments.file, allowed_providers(arguments)) if arguments.file else properties.LoadedSettings({}, {})
    given = {
        "name": getattr(arguments, "name", None),
        "ignite_addresses": getattr(arguments, "ignite", None),
        "bootstrap_servers": arguments.kafka,
        "internal_topic_prefix": getattr(arguments, "internal_topic_prefix", None),
    }
    if arguments.allow_insecure_connections:
        given[ALLOW] = True
    return loaded.with_values({name: value for name, value in given.items() if value is not None}, _COMMAND_LINE).settings()


def secrets_of(arguments: argparse.Namespace) -> Secrets:
    """The secrets file's content; without one, none."""
    path = arguments.secrets or getattr(arguments, "mounted_secrets", None)
    return secrets.load(Path(path), permissions_of(arguments)) if path else Secrets()


def permissions_of(arguments: argparse.Namespace) -> Permissions:
    """What the command's arguments allow beyond settings and secrets file."""
    return Permissions(tuple(arguments.allow_kafka_option), arguments.allow_insecure_connections)


def check_conversion(settings: ConnectorSettings) -> None:
    """Check transforms and conditions. Loads their modules, which takes nearly half a second, only if the connector has any.

    :raises SettingsError: as :func:`ignite_kafka.convert.check_transforms` and :func:`ignite_kafka.convert.filter.check_conditions`.
    """
    check_conditions(settings)
    check_transforms(settings)
