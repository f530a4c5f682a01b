"""Connectors as YAML files under version control, in our own form or as Strimzi's `KafkaConnector`.

Our form: ``name``, ``class``, ``config``, ``state``, ``offsets``, ``dag``, ``task``; docs/connector-files.md describes
them. A file may hold several documents. An error in a document breaks its connector only.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...errors import IgniteKafkaError, SettingsError
from ..connect import strimzi, strimzi_worker
from ..connect.names import CLASS, is_connect, settings_class, translate
from ..connect.strimzi import Parts
from ..connect.strimzi_worker import with_worker
from ..connect.worker import GivenFile
from ..connector import ConnectorSettings
from ..findings import UNFORESEEN, Findings
from ..sink import SinkSettings
from ..suggestions import did_you_mean
from ..yaml_lines import BadDocument, Document, documents
from . import airflow_arguments
from .declared_offsets import DeclaredOffset, parse_offsets
from .load import LoadedSettings

log = logging.getLogger(__name__)
STATES = ("running", "paused", "stopped")
SUFFIXES = (".yaml", ".yml")
_UNNAMED = "unnamed"
KEYS = ("name", "class", "config", "state", "offsets", "dag", "task")
_NEXT = re.compile(rb"---(\s|$)")  # begins the next document
_NAME = re.compile(rb"^(?:metadata:\s*\n\s+)?name:\s*[\"']?([A-Za-z0-9._-]+)", re.MULTILINE)


@dataclass(frozen=True)
class DeclaredConnector:
    """A connector declared in a YAML file, ready to be used.

    :param file: path below the folder.
    :param line: first line of the connector's document.
    :param state: ``running``, ``paused`` or ``stopped``.
    :param offsets: offsets that the connector must have; empty: its offsets stay as they are.
    :param list_offsets: name of a YAML file to be written with the connector's offsets; None: no file.
    :param restarts: maximum number of restarts after a failure; None: as the Dag's arguments say.
    :param dag, task: arguments, see :mod:`.airflow_arguments`.
    """

    file: str
    line: int
    name: str
    loaded: LoadedSettings
    state: str = "running"
    offsets: tuple[DeclaredOffset, ...] = ()
    list_offsets: str | None = None
    restarts: int | None = None
    dag: Mapping[str, Any] = field(default_factory=dict)
    task: Mapping[str, Any] = field(default_factory=dict)

    def settings(self, values: Mapping[str, Any] | None = None) -> ConnectorSettings:
        """Return the checked settings of the connector.

        :param values: values that override those of the file, such as the brokers' addresses.
        :raises SettingsError: see :meth:`LoadedSettings.settings`.
        """
        return _settings_of(self.loaded.with_values(values, "the command line") if values else self.loaded)


@dataclass(frozen=True)
class BrokenConnector:
    """A connector that cannot be used, because its document or its whole file has an error.

    :param name: the connector's name, or the file's if the connector's is unknown.
    :param loaded: the connector's unchecked settings; None: they could not be read.
    """

    file: str
    line: int
    name: str
    error: IgniteKafkaError
    loaded: LoadedSettings | None = None


@dataclass(frozen=True)
class ConnectorFolder:
    """The connectors declared in a folder and its subfolders, in the order of their paths."""

    connectors: tuple[DeclaredConnector, ...]
    broken: tuple[BrokenConnector, ...]


@dataclass(frozen=True)
class _Place:
    file: str
    line: int
    name: str

    def broken(self, error: IgniteKafkaError, loaded: LoadedSettings | None = None) -> BrokenConnector:
        return BrokenConnector(self.file, self.locate(error), self.name, error, loaded)

    def locate(self, error: IgniteKafkaError) -> int:
        """Put the document's file and line into an error; return the line."""
        error.where.pop("file", None)
        line = int(error.where.pop("line", None) or self.line)
        error.where["set_in"] = str(error.where.get("set_in") or f"{self.file}, line {line}")
        return line


def read_folder(folder: str | Path) -> ConnectorFolder:
    """Read all `.yaml` and `.yml` files of a folder and its subfolders, except hidden files.

    :param folder: the folder, or a single file.
    :raises SettingsError: there is no such folder or file.
    """
    folder = Path(folder)
    if folder.suffix in SUFFIXES and folder.is_file():
        return _build_connectors([*_read_file(folder, folder.name)])
    if not folder.is_dir():
        raise SettingsError("there is no such folder of connector files", "Check its path", folder=folder)
    # a link to a missing file is a broken file, like a file without read permission
    paths = sorted(
        path for path in folder.rglob("*") if path.suffix in SUFFIXES and (path.is_file() or not path.exists())
    )
    files = [path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    return _build_connectors(
        [document for path in files for document in _read_file(path, path.relative_to(folder).as_posix())]
    )


_Read = tuple["_Place", Document | IgniteKafkaError]


def _build_connectors(read: Sequence[_Read]) -> ConnectorFolder:
    """Build connectors from YAML documents; Strimzi's use the ConfigMaps and workers among the documents."""
    maps = {
        strimzi.name_of(d.value): d.value for _, d in read if isinstance(d, Document) and strimzi.is_config_map(d.value)
    }
    workers, connectors = _build_workers(read)
    for place, document in read:
        if isinstance(document, IgniteKafkaError):
            connectors.append(place.broken(document))
        elif not strimzi.is_config_map(document.value) and not strimzi_worker.is_worker(document.value):
            connectors.append(_declare(place, document, maps, workers))
    return _separate_names(connectors)


def _build_workers(read: Sequence[_Read]) -> tuple[dict[str, GivenFile], list[DeclaredConnector | BrokenConnector]]:
    """Return Strimzi's `KafkaConnect` resources by name, and the unusable ones with their errors."""
    workers: dict[str, GivenFile] = {}
    broken: list[DeclaredConnector | BrokenConnector] = []
    for place, document in read:
        if isinstance(document, Document) and strimzi_worker.is_worker(document.value):
            try:
                worker = strimzi_worker.worker_of(document, place.file)
                if place.name in workers:
                    what = f"the {strimzi_worker.KIND} {place.name} is in {workers[place.name].file}, too"
                    raise SettingsError(what, "Keep those of one namespace in a folder")
                workers[place.name] = worker
            except SettingsError as error:
                broken.append(place.broken(error))
    return workers, broken


def _read_file(path: Path, file: str) -> Iterator[tuple[_Place, Document | IgniteKafkaError]]:
    """Yield the YAML documents of a file; an unreadable document or file yields its error instead."""
    content = b""
    try:
        content = path.read_bytes()
        for document in documents(content, file):
            if isinstance(document, BadDocument):
                yield _Place(file, document.line, _name_in(content, document.line, path.stem)), document.error
                continue
            name = (
                (strimzi.name_of(document.value) or document.value.get("name"))
                if isinstance(document.value, dict)
                else None
            )
            yield _Place(file, document.line, name if isinstance(name, str) else path.stem), document
    except OSError as error:
        yield _Place(file, 1, path.stem), SettingsError(f"the file cannot be read: {error.strerror}", file=file)
    except SettingsError as error:
        yield _Place(file, 1, _name_in(content, 1, path.stem)), error


def _name_in(content: bytes, line: int, otherwise: str) -> str:
    """Return the connector's name in an unreadable document, so that its Dag keeps its id."""
    first, *rest = content.splitlines()[line - 1 :] or [b""]
    end = next((number for number, text in enumerate(rest) if _NEXT.match(text)), len(rest))
    named = _NAME.search(b"\n".join((first, *rest[:end])))
    return named[1].decode() if named else otherwise


def _declare(
    place: _Place, document: Document, maps: Mapping[str, Any], workers: Mapping[str, GivenFile]
) -> DeclaredConnector | BrokenConnector:
    findings = Findings()
    loaded = None
    try:
        if not isinstance(document.value, dict):
            raise SettingsError("the document is no mapping", f"It has: {', '.join(KEYS)}")
        parts = strimzi.parts(document, maps) if strimzi.is_strimzi(document.value) else _read_parts(document, findings)
        parts = _check_form(parts, findings)
        with findings.check():
            loaded = _load_with_worker(place, parts, workers)
        return _build_checked(place, parts, loaded, findings)
    except IgniteKafkaError as error:
        return place.broken(error, loaded)
    except UNFORESEEN as error:
        log.debug("the document cannot be used", exc_info=True)
        what = f"a value of the document has a type that cannot be used: {type(error).__name__}: {error}"
        return place.broken(SettingsError(what, f"Compare it with the keys {', '.join(KEYS)} and their types"))


def _read_parts(document: Document, findings: Findings) -> Parts:
    """Read the fields of a document in this project's form; record errors, and omit wrong fields."""
    value = document.value
    lines = document.lines
    for key in value:
        with findings.check():
            if key not in KEYS:
                remedy = did_you_mean(key, KEYS) or f"There are: {', '.join(KEYS)}"
                raise SettingsError(f"there is no {key}", remedy, line=lines.get((key,)))
    values: dict[str, Any] = {}
    for key, arguments in (("config", None), ("dag", airflow_arguments.DAG), ("task", airflow_arguments.TASK)):
        mapping, values[key] = value.get(key) or {}, {}
        with findings.check():
            if not isinstance(mapping, dict):
                raise SettingsError(f"{key} is no mapping", line=lines.get((key,)))
            values[key] = (
                mapping
                if arguments is None
                else airflow_arguments.parse_airflow_arguments(key, mapping, arguments, lines)
            )
    return Parts(
        name=value.get("name"),
        connector_class=value.get("class"),
        config=values["config"],
        config_path=("config",),
        lines=lines,
        state=value.get("state", "running"),
        offsets=value.get("offsets"),
        dag=values["dag"],
        task=values["task"],
    )


def _check_form(parts: Parts, findings: Findings) -> Parts:
    """Check name and state; fill in a missing name, so that the settings can be checked as well."""
    with findings.check():
        if not isinstance(parts.name, str):
            raise SettingsError("name is missing", "Name the connector: its offsets are stored under that name")
        if parts.config.get("name", parts.name) != parts.name:
            raise SettingsError(
                "config.name differs from name", "Leave it out", line=parts.lines.get((*parts.config_path, "name"))
            )
    with findings.check():
        if parts.state not in STATES:
            raise SettingsError(
                f"state is {parts.state!r}", f"Allowed: {', '.join(STATES)}", line=parts.lines.get(parts.state_path)
            )
    return parts if isinstance(parts.name, str) else replace(parts, name=_UNNAMED)


def _build_checked(place: _Place, parts: Parts, loaded: LoadedSettings | None, findings: Findings) -> DeclaredConnector:
    """Build the connector, or raise all errors of its document together.

    :raises SettingsError: all errors of the document.
    """
    name = parts.name
    offsets: tuple[DeclaredOffset, ...] = ()
    if loaded is not None:
        with findings.check():
            name = _settings_of(loaded).name
        with findings.check():
            offsets = (
                () if parts.offsets is None else parse_offsets(parts.offsets, sink=loaded.direction is SinkSettings)
            )
    if loaded is None or findings.errors:
        if len(findings.errors) > 1:
            for error in findings.errors:
                place.locate(error)
        findings.raise_all()
        raise AssertionError("settings that could not be read have an error")
    return DeclaredConnector(
        place.file,
        place.line,
        name,
        loaded,
        parts.state,
        offsets,
        parts.list_offsets,
        parts.restarts,
        parts.dag,
        parts.task,
    )


def _settings_of(loaded: LoadedSettings) -> ConnectorSettings:
    # without events of ignored keys: `validate` reports these keys, and a Dag file is parsed every 30 seconds
    return replace(loaded, ignored={}).settings()


def _load_with_worker(place: _Place, parts: Parts, workers: Mapping[str, GivenFile]) -> LoadedSettings:
    """Load a connector's settings; a Strimzi connector gets the defaults of its `KafkaConnect` first."""

    def set_in(name: str) -> str:
        return f"{place.file}, line {parts.lines.get((*parts.config_path, name), place.line)}"

    origin = {name: set_in(name) for name in parts.config}
    ignored = {f"config.{name}": reason for name, reason in parts.ignored.items()}
    origin |= {f"config.{name}": set_in(name) for name in parts.ignored}
    if parts.cluster is not None:
        connector = GivenFile(f"{place.file}, {place.name}", parts.config, origin, ignored, cluster=parts.cluster)
        merged = with_worker(workers.get(parts.cluster), connector)
        parts = replace(parts, config=merged.values)
        origin = dict(merged.origin)
        ignored = dict(merged.ignored)
    loaded = _load(parts, {**origin, "name": f"{place.file}, line {place.line}"}, f"{place.file}, line {place.line}")
    return replace(
        loaded,
        ignored={**loaded.ignored, **ignored},
        origin={**{name: origin[name] for name in ignored}, **loaded.origin},
    )


def _load(parts: Parts, origin: Mapping[str, str], document: str) -> LoadedSettings:
    """Load settings of a source or sink, as the connector's class or, without it, its topics show."""
    own = {"name": parts.name, **parts.own}
    if parts.connector_class is None and not is_connect(parts.config):
        values = {**own, **parts.config}
        return LoadedSettings(
            values, {**dict.fromkeys(own, document), **origin}, direction=settings_class(values, origin)
        )
    if parts.connector_class is not None and CLASS in parts.config:
        raise SettingsError(
            f"{CLASS} is given twice, as class and in the configuration", "Keep one", set_in=origin.get(CLASS)
        )
    named = {} if parts.connector_class is None else {CLASS: parts.connector_class}
    if is_connect(parts.config) or parts.cluster is not None:
        translated = LoadedSettings(*translate({**parts.config, **named, "name": parts.name}, origin))
        return translated.with_values(
            {name: value for name, value in parts.own.items() if name not in translated.values}, document
        )
    values = {**own, **parts.config}
    return LoadedSettings(values, {**dict.fromkeys(own, document), **origin}, direction=settings_class(named, origin))


def _separate_names(connectors: list[DeclaredConnector | BrokenConnector]) -> ConnectorFolder:
    """Mark connectors that share a name as broken, and give every broken connector a unique name."""
    by_name: dict[str, list[DeclaredConnector]] = {}
    for connector in connectors:
        if isinstance(connector, DeclaredConnector):
            by_name.setdefault(connector.name, []).append(connector)
    good = {name: same[0] for name, same in by_name.items() if len(same) == 1}
    broken: dict[str, BrokenConnector] = {}
    for connector in connectors:
        if isinstance(connector, DeclaredConnector) and connector.name in good:
            continue
        wrong = (
            connector if isinstance(connector, BrokenConnector) else _break_double(connector, by_name[connector.name])
        )
        is_taken = wrong.name in good or wrong.name in broken
        name = f"{wrong.name}-{wrong.file.replace('/', '-')}-{wrong.line}" if is_taken else wrong.name
        broken[name] = replace(wrong, name=name)
    return ConnectorFolder(tuple(good.values()), tuple(broken.values()))


def _break_double(connector: DeclaredConnector, same: list[DeclaredConnector]) -> BrokenConnector:
    other = next(other for other in same if other is not connector)
    what = f"the connector {connector.name} is in {other.file}, line {other.line}, too"
    return _Place(connector.file, connector.line, connector.name).broken(
        SettingsError(what, "Give each connector its own name"), connector.loaded
    )
