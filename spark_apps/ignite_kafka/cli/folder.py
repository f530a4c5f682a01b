"""`validate`, `plan` and `apply` of a folder of connector files."""

from __future__ import annotations

import argparse
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
from .command_settings import conversion_errors, given_nodes, permissions_of
from .tables import table

Command = Callable[[argparse.Namespace], int]


def add_apply(added: argparse.ArgumentParser) -> None:
    """Add the arguments of `apply` to those of all commands with a file."""
    added.add_argument("--json", action="store_true", help="print JSON")
    added.add_argument(
        "--alter-offsets",
        action="store_true",
        help="alter offsets of stopped connectors too; data is then sent again or skipped",
    )
    wait = "time to wait for the end of each run that is stopped, in milliseconds (default: 60000; 0: no wait)"
    added.add_argument("--wait-ms", type=int, default=60_000, metavar="MS", help=wait)


def of_folder(arguments: argparse.Namespace, command: str) -> Command | None:
    """The form of a command for a folder, and of `validate` for one connector file.

    None: the command was given another file.

    :raises SettingsError: the command takes no folder.
    """
    path = Path(getattr(arguments, "file", None) or "-")
    if path.is_dir():
        if command not in OF_FOLDERS:
            remedy = (
                f"Give one settings file. Folders are for {', '.join(OF_FOLDERS)}; in Airflow, connector_dags makes a "
                "Dag of each file"
            )
            raise SettingsError(f"{command} takes no folder", remedy, folder=path)
        return OF_FOLDERS[command]
    if command == "validate" and path.suffix in SUFFIXES and not arguments.connectors:
        return validate
    return None


def validate(arguments: argparse.Namespace) -> int:
    """List connectors and errors of the files; asks no cluster. Returns 2 if a file is broken."""
    folder = read_folder(arguments.file)
    rows = [
        (
            connector.name,
            f"{connector.file}, line {connector.line}",
            "to Ignite" if _is_sink(connector) else "to Kafka",
            connector.state,
            _schedule(connector),
        )
        for connector in folder.connectors
    ]
    print(table(("connector", "file", "direction", "state", "schedule"), rows))
    for connector in folder.connectors:
        for name, reason in connector.loaded.ignored.items():
            print(f"{connector.loaded.origin.get(name) or connector.file}: {name}: {reason}")
    return _show_broken(replace(folder, broken=(*folder.broken, *_unusable(folder))))


def _unusable(folder: ConnectorFolder) -> Iterator[BrokenConnector]:
    """What is wrong with transforms and conditions, also of connectors whose other settings are wrong."""
    readable: list[tuple[DeclaredConnector | BrokenConnector, LoadedSettings, Sequence[IgniteKafkaError]]] = [
        *((connector, connector.loaded, ()) for connector in folder.connectors),
        *(
            (connector, connector.loaded, _findings(connector))
            for connector in folder.broken
            if connector.loaded is not None
        ),
    ]
    for connector, loaded, before in readable:
        for error in conversion_errors(loaded, before):
            yield BrokenConnector(connector.file, connector.line, connector.name, error)


def _findings(broken: BrokenConnector) -> Sequence[IgniteKafkaError]:
    return broken.error.findings or (broken.error,)


def plan(arguments: argparse.Namespace) -> int:
    """Show what differs between files and Kafka; writes nothing. Returns 2 if a file is broken."""
    from ..admin import declared_state

    folder, values, hidden = _overriding_values(arguments)
    rows = declared_state.plan(folder, values, hidden)
    if arguments.json:
        print(json.dumps([row.to_dict() for row in rows], indent=2))
        return 2 if folder.broken else 0
    shown = [row for row in rows if row.what != declared_state.BROKEN]
    cells = [(row.connector, row.what, row.place, _text(row.declared), _text(row.actual), row.note) for row in shown]
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


def apply(arguments: argparse.Namespace) -> int:
    """Bring states and offsets to Kafka; returns 1 if something was not done, 2 if a file is broken."""
    from ..admin import declared_state

    folder, values, hidden = _overriding_values(arguments)
    done = []
    for connector in folder.connectors:
        options = {"alter_offsets": arguments.alter_offsets, "wait_ms": arguments.wait_ms}
        done += declared_state.apply(connector, values, hidden, **options)
        if connector.list_offsets is not None:
            done.append(
                declared_state.AppliedChange(
                    connector.name,
                    f"offsets listed in {_list_offsets(connector, values, hidden, Path(arguments.file))}",
                )
            )
    if arguments.json:
        print(json.dumps([row.to_dict() for row in done], indent=2))
    else:
        rows = [(row.connector, row.action, "yes" if row.done else "NO") for row in done]
        print(table(("connector", "action", "done"), rows) if rows else "every connector is as declared")
    broken = 2 if arguments.json and folder.broken else 0 if arguments.json else _show_broken(folder)
    return broken or int(not all(row.done for row in done))


OF_FOLDERS: Mapping[str, Command] = {"validate": validate, "plan": plan, "apply": apply}


def _overriding_values(arguments: argparse.Namespace) -> tuple[ConnectorFolder, dict[str, Any], Secrets]:
    addresses = {"bootstrap_servers": arguments.kafka, **given_nodes(arguments)}
    values = {name: value for name, value in addresses.items() if value is not None}
    hidden = secrets.load(Path(arguments.secrets), permissions_of(arguments)) if arguments.secrets else Secrets()
    folder = read_folder(arguments.file)
    set_log_values(all(connector.settings().log_values for connector in folder.connectors))
    return folder, values, hidden


def _list_offsets(connector: DeclaredConnector, values: dict[str, Any], hidden: Secrets, folder: Path) -> Path:
    """Write a connector's offsets as the ConfigMap that Strimzi would write, beside the connector's file."""
    from .views import offset_lines

    if connector.list_offsets is None or "/" in connector.list_offsets or connector.list_offsets.startswith("."):
        raise SettingsError(
            "the name of the ConfigMap is no name of a file", file=connector.file, value=connector.list_offsets
        )
    offsets = [json.loads(line) for line in offset_lines(connector.settings(values), hidden)]
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
        for error in _findings(broken):
            print(f"{broken.file}, line {broken.line}: {broken.name}: {error}")
    return 2 if folder.broken else 0


def _is_sink(connector: DeclaredConnector) -> bool:
    return connector.loaded.direction.reads_records


def _schedule(connector: DeclaredConnector) -> str:
    return str(
        connector.dag.get("schedule") or ("continuous" if connector.settings().run_mode == "continuous" else "by hand")
    )


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
