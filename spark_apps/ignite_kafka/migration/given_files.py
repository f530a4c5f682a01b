"""Input files of `migrate`, `validate` and `run`: settings of workers, of connectors, or of several."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from ..errors import SettingsError
from ..settings.connect import strimzi, strimzi_worker
from ..settings.connect.names import CLASS
from ..settings.connect.rest_bodies import bodies
from ..settings.connect.worker import GivenFile
from ..settings.files.connector_files import SUFFIXES
from ..settings.files.load import is_properties, json_of, properties_of, read
from ..settings.yaml_lines import BadDocument, Document, documents
from ..settings.yaml_lines import Path as LinePath

_PATHS: Mapping[str, LinePath] = {
    "name": ("metadata", "name"),
    CLASS: ("spec", "class"),
    "tasks.max": ("spec", "tasksMax"),
    "state": ("spec", "state"),
}


def read_given(path: str | Path) -> tuple[GivenFile, ...]:
    """Read worker and connector settings from a `.properties` file, a REST request body, or Strimzi's YAML file.

    The REST interface is Kafka Connect's.

    A `.properties` file is a worker's if it names no connector, a `KafkaConnect` of Strimzi always.

    :raises SettingsError: the file cannot be read, or is of another form.
    """
    content, file = read(path, (".properties", ".json", *SUFFIXES))
    if Path(file).suffix in SUFFIXES:
        parts = [*documents(content, file)]
        maps = {strimzi.name_of(document.value): document.value for document in parts if _is_config_map(document)}
        return tuple(_read_resource(document, file, maps) for document in parts if not _is_config_map(document))
    if is_properties(file):
        values, origin = properties_of(content, file)
        return (GivenFile(file, values, origin, is_worker=CLASS not in values and "name" not in values),)
    return tuple(
        GivenFile(
            body.origin,
            body.config,
            dict.fromkeys((*body.config, *body.ignored), body.origin),
            body.ignored,
            body.errors,
        )
        for body in bodies(json_of(content, file), file)
    )


def _is_config_map(document: Document | BadDocument) -> TypeGuard[Document]:
    return isinstance(document, Document) and strimzi.is_config_map(document.value)


def _read_resource(document: Document | BadDocument, file: str, maps: Mapping[str, Any]) -> GivenFile:
    """Read Strimzi's `KafkaConnect` or `KafkaConnector`, and give class, tasks and name Kafka Connect's keys."""
    if isinstance(document, BadDocument):
        raise document.error
    if strimzi_worker.is_worker(document.value):
        return strimzi_worker.worker_of(document, file)
    if not isinstance(document.value, dict) or not strimzi.is_strimzi(document.value):
        remedy = (
            "Files of connectors in our own form need none: give their folder to validate, or to connector_dags "
            "in Airflow"
        )
        raise SettingsError("the document is no resource of Strimzi", remedy, file=file, line=document.line)
    parts = strimzi.parts(document, maps)
    head = {"name": parts.name, CLASS: parts.connector_class, "tasks.max": parts.own.get("tasks_max")}
    values = {name: value for name, value in head.items() if value is not None} | dict(parts.config)
    ignored = {f"config.{name}": reason for name, reason in parts.ignored.items()}
    paths = {name: (*parts.config_path, name.removeprefix("config.")) for name in (*values, *ignored)} | dict(_PATHS)
    origin = {name: f"{file}, line {document.lines.get(path, document.line)}" for name, path in paths.items()}
    if parts.state != "running":
        ignored["state"] = "a connector here runs when it is started"
    return GivenFile(f"{file}, {strimzi_worker.CONNECTOR} {parts.name}", values, origin, ignored, cluster=parts.cluster)
