"""The commands `validate`, `plan` and `apply` for a folder of connector files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ..common.redaction import set_log_values
from ..errors import IgniteKafkaError, SettingsError
from ..settings import secrets
from ..settings.files.connector_files import SUFFIXES, BrokenConnector, ConnectorFolder, DeclaredConnector, read_folder
from ..settings.files.load import LoadedSettings
from ..settings.secrets import Secrets
from . import render
from .arguments import CommandArguments
from .command_settings import find_conversion_errors, permissions_of, read_ignite_arguments
from .file_results import InvalidConnector, ValidationResult, error_form, valid_connector
from .tables import table

Command = Callable[[CommandArguments], int]


def folder_command(arguments: CommandArguments, command: str) -> Command | None:
    """Return the command's variant for a folder, or that of `validate` for a connector file; None for other files.

    :raises SettingsError: the command takes no folder.
    """
    path = Path(getattr(arguments, "file", None) or "-")
    if path.is_dir():
        if command not in FOLDER_COMMANDS:
            remedy = (
                f"Give one settings file. Folders are for {', '.join(FOLDER_COMMANDS)}; in Airflow, connector_dags "
                "makes a Dag of each file"
            )
            raise SettingsError(f"{command} takes no folder", remedy, folder=path)
        return FOLDER_COMMANDS[command]
    if command == "validate" and path.suffix in SUFFIXES and not arguments.connectors:
        return validate
    return None


def validate(arguments: CommandArguments) -> int:
    """List connectors and errors of the files without connecting to a cluster; return 2 for a broken file."""
    folder = read_folder(arguments.file)
    folder = replace(folder, broken=(*folder.broken, *_check_conversions(folder)))
    if arguments.json:
        render.print_json(_make_result(folder).to_dict())
        return 2 if folder.broken else 0
    rows = [
        (
            connector.name,
            f"{connector.file}, line {connector.line}",
            "to Ignite" if _reads_records(connector) else "to Kafka",
            connector.state,
            _describe_schedule(connector),
        )
        for connector in folder.connectors
    ]
    print(table(("connector", "file", "direction", "state", "schedule"), rows))
    for connector in folder.connectors:
        for note in _list_ignored(connector):
            print(note)
    return _show_broken(folder)


def _make_result(folder: ConnectorFolder) -> ValidationResult:
    broken_names = {broken.name for broken in folder.broken}
    return ValidationResult(
        not folder.broken,
        tuple(
            valid_connector(
                connector.settings(), connector.file, connector.line, connector.state, tuple(_list_ignored(connector))
            )
            for connector in folder.connectors
            if connector.name not in broken_names
        ),
        tuple(
            InvalidConnector(broken.name, broken.file, broken.line, error_form(error))
            for broken in folder.broken
            for error in _findings_of(broken)
        ),
    )


def _list_ignored(connector: DeclaredConnector) -> Iterator[str]:
    for name, reason in connector.loaded.ignored.items():
        yield f"{connector.loaded.origin.get(name) or connector.file}: {name}: {reason}"


def _check_conversions(folder: ConnectorFolder) -> Iterator[BrokenConnector]:
    """Yield errors of transforms and conditions, including connectors whose other settings are wrong."""
    readable: list[tuple[DeclaredConnector | BrokenConnector, LoadedSettings, Sequence[IgniteKafkaError]]] = [
        *((connector, connector.loaded, ()) for connector in folder.connectors),
        *(
            (connector, connector.loaded, _findings_of(connector))
            for connector in folder.broken
            if connector.loaded is not None
        ),
    ]
    for connector, loaded, before in readable:
        for error in find_conversion_errors(loaded, before):
            yield BrokenConnector(connector.file, connector.line, connector.name, error)


def _findings_of(broken: BrokenConnector) -> Sequence[IgniteKafkaError]:
    return broken.error.findings or (broken.error,)


def plan(arguments: CommandArguments) -> int:
    """Show the differences between files and Kafka without writing anything; return 2 for a broken file."""
    from ..admin import declared_state

    folder, values, own_secrets = _read_inputs(arguments)
    rows = declared_state.plan(folder, values, own_secrets)
    if arguments.json:
        render.print_json([row.to_dict() for row in rows])
        return 2 if folder.broken else 0
    shown = [row for row in rows if row.what != declared_state.BROKEN]
    cells = [
        (row.connector, row.what, row.place, _to_text(row.declared), _to_text(row.actual), row.note) for row in shown
    ]
    same = len(folder.connectors) - len({row.connector for row in shown if row.file})
    print(
        "\n".join(
            [
                *([table(("connector", "what", "of", "file", "Kafka", "note"), cells)] if cells else []),
                f"{same:,} connectors are as declared",
            ]
        )
    )
    return _show_broken(folder)


def apply(arguments: CommandArguments) -> int:
    """Set states and offsets in Kafka as in the files; return 1 if a change was not made, 2 for a broken file."""
    from ..admin import declared_state

    folder, values, own_secrets = _read_inputs(arguments)
    changes = []
    for connector in folder.connectors:
        options = {"alter_offsets": arguments.alter_offsets, "wait_ms": arguments.wait_ms}
        changes += declared_state.apply(connector, values, own_secrets, **options)
        if connector.list_offsets is not None:
            path = _list_offsets(connector, values, own_secrets, Path(arguments.file))
            changes.append(declared_state.AppliedChange(connector.name, f"offsets listed in {path}"))
    if arguments.json:
        render.print_json([change.to_dict() for change in changes])
    else:
        rows = [(change.connector, change.action, "yes" if change.done else "NO") for change in changes]
        print(table(("connector", "action", "done"), rows) if rows else "every connector is as declared")
    broken = 2 if arguments.json and folder.broken else 0 if arguments.json else _show_broken(folder)
    return broken or int(not all(change.done for change in changes))


FOLDER_COMMANDS: Mapping[str, Command] = {"validate": validate, "plan": plan, "apply": apply}


def _read_inputs(arguments: CommandArguments) -> tuple[ConnectorFolder, dict[str, Any], Secrets]:
    addresses = {"bootstrap_servers": arguments.kafka, **read_ignite_arguments(arguments)}
    values = {name: value for name, value in addresses.items() if value is not None}
    own_secrets = secrets.load(Path(arguments.secrets), permissions_of(arguments)) if arguments.secrets else Secrets()
    folder = read_folder(arguments.file)
    set_log_values(all(connector.settings().log_values for connector in folder.connectors))
    return folder, values, own_secrets


def _list_offsets(connector: DeclaredConnector, values: dict[str, Any], own_secrets: Secrets, folder: Path) -> Path:
    """Write a connector's offsets as a ConfigMap in Strimzi's form, beside the connector's file; return the path."""
    from .views import offset_lines

    if connector.list_offsets is None or "/" in connector.list_offsets or connector.list_offsets.startswith("."):
        raise SettingsError(
            "the name of the ConfigMap is no name of a file", file=connector.file, value=connector.list_offsets
        )
    offsets = [json.loads(line) for line in offset_lines(connector.settings(values), own_secrets)]
    content = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": connector.list_offsets},
        "data": {"offsets.json": json.dumps({"offsets": offsets}, indent=1)},
    }
    path = folder / Path(connector.file).parent / f"{connector.list_offsets}.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def _show_broken(folder: ConnectorFolder) -> int:
    for broken in folder.broken:
        for error in _findings_of(broken):
            print(f"{broken.file}, line {broken.line}: {broken.name}: {error}")
    return 2 if folder.broken else 0


def _reads_records(connector: DeclaredConnector) -> bool:
    return connector.loaded.direction.reads_records


def _describe_schedule(connector: DeclaredConnector) -> str:
    return str(
        connector.dag.get("schedule") or ("continuous" if connector.settings().run_mode == "continuous" else "by hand")
    )


def _to_text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
