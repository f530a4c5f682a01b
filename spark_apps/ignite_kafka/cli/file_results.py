"""Results of the commands that read connectors' files, as they are printed with ``--json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import IgniteKafkaError
from ..settings.connector import ConnectorSettings
from ..settings.sink import SinkSettings
from .settings_table import ShownSetting, show_settings


@dataclass(frozen=True)
class ValidConnector:
    """A connector whose settings are valid.

    :param line: first line of the connector's document; None: the file has one connector.
    :param direction: ``to Kafka`` or ``to Ignite``.
    :param settings: settings that are not defaults, and the clusters' addresses, by name.
    :param state: declared state of a file in a folder; None: the file declares none.
    :param notes: what became of keys that are no settings, and points to check.
    """

    name: str
    file: str
    line: int | None
    direction: str
    run_mode: str
    settings: Mapping[str, ShownSetting]
    state: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ErrorForm:
    """An error as JSON; ``where`` has positions by name, ``findings`` the errors that it collects."""

    type: str
    what: str
    remedy: str
    where: Mapping[str, str | int | float | bool]
    findings: tuple[Any, ...] = ()


@dataclass(frozen=True)
class InvalidConnector:
    """A connector of a folder with an error, and the error's line in its file."""

    connector: str
    file: str
    line: int
    error: ErrorForm


@dataclass(frozen=True)
class ValidationResult:
    """Result of `validate`."""

    valid: bool
    connectors: tuple[ValidConnector, ...]
    errors: tuple[InvalidConnector, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class MigratedConnector:
    """A connector converted by `migrate`.

    :param keys: number of keys of Kafka Connect in the connector's files.
    :param ignored: how many of them have no effect here.
    :param settings: path of the new settings file.
    :param secrets: path of the new secrets file; None without secrets.
    :param command: command that runs the connector.
    :param config_providers: whether the run needs ``--allow-config-provider``.
    """

    name: str
    file: str
    run_mode: str
    keys: int
    ignored: int
    warnings: tuple[str, ...]
    settings: str
    secrets: str | None
    command: str
    config_providers: bool


@dataclass(frozen=True)
class MigrationResult:
    """Result of `migrate`; ``written`` has the paths of all new files."""

    connectors: tuple[MigratedConnector, ...]
    written: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return asdict(self)


def valid_connector(
    settings: ConnectorSettings,
    file: str,
    line: int | None = None,
    state: str | None = None,
    notes: tuple[str, ...] = (),
) -> ValidConnector:
    """Return the result for a connector with valid settings."""
    direction = "to Ignite" if isinstance(settings, SinkSettings) else "to Kafka"
    return ValidConnector(
        settings.name, file, line, direction, settings.run_mode, show_settings(settings), state, notes
    )


def error_form(error: IgniteKafkaError) -> ErrorForm:
    """Return an error with its findings as JSON values."""
    return ErrorForm(**error.to_dict(), findings=tuple(finding.to_dict() for finding in error.findings))
