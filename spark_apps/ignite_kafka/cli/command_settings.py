"""Settings and secrets of a command, from the files in its arguments, overridden by other arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import events
from ..common.redaction import set_log_values
from ..convert import check_transforms
from ..convert.filter import check_conditions
from ..errors import IgniteKafkaError, NotAvailableYet, SettingsError
from ..settings import secrets
from ..settings.connector import ConnectorSettings
from ..settings.files import load as properties
from ..settings.files.load import LoadedSettings
from ..settings.findings import Findings
from ..settings.permissions import Permissions
from ..settings.secrets import Secrets
from ..settings.source import SourceSettings
from ..settings.transforms import CONFIGS
from ..settings.transport_security import ALLOW
from .arguments import CommandArguments, allowed_providers

_COMMAND_LINE = "the command line"
_ALL = "all-connectors"  # settings have a name, which no record has here
_CONVERSION: Mapping[Callable[[ConnectorSettings], None], Sequence[str]] = {
    check_conditions: ("where", "overrides"),
    check_transforms: (*CONFIGS, *CONFIGS.values(), "overrides"),
}
"""Checks of the conversion, each with the settings that must have no errors before."""
_ADDRESSES = {"--kafka": "bootstrap_servers", "--ignite": "ignite_addresses"}


def settings_of(arguments: CommandArguments, *, conversion: bool = False) -> ConnectorSettings:
    """Load the settings of the file, overridden by the command line; emit event 15000 for invalid settings.

    :param conversion: check transforms and conditions, too, and raise all errors at once.
    """
    return _report_errors(
        lambda: _load_with_conversion(arguments) if conversion else _load_values(arguments, arguments.file).settings()
    )


def settings_of_cluster(arguments: CommandArguments) -> ConnectorSettings:
    """Load the settings of the connections, for a command about all connectors; a name in the file has no effect."""
    loaded = _load_values(arguments, arguments.file)
    return _report_errors(loaded.with_values({"name": _ALL}, _COMMAND_LINE).settings)


def _load_with_conversion(arguments: CommandArguments) -> ConnectorSettings:
    loaded = _load_values(arguments, arguments.file)
    findings = Findings()
    with findings.check():
        settings = loaded.settings()
    findings.errors += find_conversion_errors(loaded, findings.errors)
    findings.raise_all()
    return settings


def settings_by_file_or_name(arguments: CommandArguments) -> ConnectorSettings:
    """Load the settings of the file (:func:`settings_of`), or those recorded by the named connector's newest run.

    :raises SettingsError: neither or both of file and name are given, or an address is missing for the name.
    """
    return _report_errors(lambda: _load_recorded(arguments) if arguments.file is None else _load_file(arguments))


def _load_file(arguments: CommandArguments) -> ConnectorSettings:
    for option in ("name", "settings", "internal_topic_prefix"):
        if getattr(arguments, option) is not None:
            what = f"--{option.replace('_', '-')} is given beside a settings file"
            raise SettingsError(what, "Give the settings file alone, or --name without it.", file=arguments.file)
    return _load_values(arguments, arguments.file).settings()


def _load_recorded(arguments: CommandArguments) -> ConnectorSettings:
    if arguments.name is None:
        raise SettingsError(
            "neither a settings file nor --name is given", "Give FILE, or --name NAME with --kafka and --ignite."
        )
    loaded = _load_values(arguments, arguments.settings)
    missing = [option for option, name in _ADDRESSES.items() if name not in loaded.values]
    if missing:
        what = f"the addresses of the clusters are not known by the connector's name: {' and '.join(missing)} missing"
        raise SettingsError(what, "Give them, or a file with --settings.", connector=arguments.name)
    from ..admin.recorded_settings import settings_of_newest_run

    return settings_of_newest_run(loaded.settings(), secrets_of(arguments))


def _report_errors(read: Callable[[], ConnectorSettings]) -> ConnectorSettings:
    try:
        settings = read()
        set_log_values(settings.log_values)
        return settings
    except (SettingsError, NotAvailableYet) as error:
        events.emit(events.MISCONFIGURED, reason=str(error))
        raise


def require_source(settings: ConnectorSettings) -> SourceSettings:
    """Return a source's settings; refuse a sink's.

    :raises NotAvailableYet: the settings are those of a sink.
    """
    if isinstance(settings, SourceSettings):
        return settings
    raise NotAvailableYet("this command is not available yet for Kafka to Ignite", connector=settings.name)


def _load_values(arguments: CommandArguments, file: str | None) -> LoadedSettings:
    loaded = properties.load(file, allowed_providers(arguments)) if file else properties.LoadedSettings({}, {})
    overriding = {
        "name": getattr(arguments, "name", None),
        **read_ignite_arguments(arguments),
        "bootstrap_servers": arguments.kafka,
        "internal_topic_prefix": getattr(arguments, "internal_topic_prefix", None),
        "metrics_host": getattr(arguments, "metrics_host", None),
    }
    if arguments.allow_insecure_connections:
        overriding[ALLOW] = True
    return loaded.with_values({name: value for name, value in overriding.items() if value is not None}, _COMMAND_LINE)


def read_ignite_arguments(arguments: CommandArguments) -> dict[str, Any]:
    """Return the settings for Ignite's addresses from ``--ignite`` and ``--ignite-address-map``; None if not given.

    With ``--ignite`` the file's address map is not used, because it would send the login to other addresses.
    """
    nodes = getattr(arguments, "ignite", None)
    pairs = getattr(arguments, "ignite_address_map", None)
    return {"ignite_addresses": nodes, "ignite_address_map": [] if nodes is not None and pairs is None else pairs}


def secrets_of(arguments: CommandArguments) -> Secrets:
    """Return the content of the secrets file named in the arguments; no secrets without a file."""
    path = arguments.secrets or getattr(arguments, "mounted_secrets", None)
    return secrets.load(Path(path), permissions_of(arguments)) if path else Secrets()


def permissions_of(arguments: CommandArguments) -> Permissions:
    """Return the permissions that the command's arguments grant."""
    return Permissions(tuple(arguments.allow_kafka_option), arguments.allow_insecure_connections)


def find_conversion_errors(loaded: LoadedSettings, before: Iterable[IgniteKafkaError]) -> list[IgniteKafkaError]:
    """Return the errors of transforms and conditions, even if other settings are invalid.

    :param before: earlier errors. A check is skipped if the settings needed by it have an error.
    """
    wrong = {str(error.where.get("setting")).partition(".")[0] for error in before}
    settings = loaded.direction.unchecked(loaded.values, loaded.origin)
    findings = Findings()
    for check, names in _CONVERSION.items():
        if wrong.isdisjoint(names):
            with findings.check():
                check(settings)
    return findings.errors
