"""Strimzi's `KafkaConnector` resources, read as connector files.

Source: its CRD, versions v1 and v1beta2, and Strimzi's documentation of annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import SettingsError
from ..suggestions import did_you_mean
from ..yaml_lines import Document, Path

GROUP = "kafka.strimzi.io/"
SPEC = ("class", "tasksMax", "autoRestart", "version", "config", "pause", "state", "listOffsets", "alterOffsets")
_OFFSETS_ANNOTATION = "strimzi.io/connector-offsets"
_FIELD_OF = {
    "name": "metadata.name",
    "connector.class": "class",
    "tasks.max": "tasksMax",
    "connector.plugin.version": "version",
}
_OFFSETS_KEY = "offsets.json"
_CLUSTER_LABEL = "strimzi.io/cluster"
UNLIMITED = 1_000_000


@dataclass(frozen=True)
class Parts:
    """Fields of a connector's YAML document, equal for Strimzi's and this project's form.

    :param own: settings computed from the document's other fields, by our names; the configuration overrides them.
    :param ignored: keys of the configuration that Strimzi ignores, with the reason.
    :param cluster: name of the `KafkaConnect` that runs the connector; empty: not named. None: the document is no
        resource of Strimzi. All names in the configuration of a resource are Kafka Connect's.
    """

    name: Any
    connector_class: Any
    config: Mapping[str, Any]
    config_path: Path
    lines: Mapping[Path, int]
    state: Any = "running"
    state_path: Path = ("state",)
    offsets: Any = None
    list_offsets: str | None = None
    restarts: int | None = None
    own: Mapping[str, Any] = field(default_factory=dict)
    cluster: str | None = None
    ignored: Mapping[str, str] = field(default_factory=dict)
    dag: Mapping[str, Any] = field(default_factory=dict)
    task: Mapping[str, Any] = field(default_factory=dict)


def is_config_map(value: Any) -> bool:
    """Return whether a YAML document is a ConfigMap, which may hold a connector's offsets."""
    return isinstance(value, dict) and value.get("kind") == "ConfigMap"


def is_strimzi(value: Mapping[str, Any]) -> bool:
    """Return whether a YAML document is a Kubernetes resource, and so in Strimzi's form."""
    return "apiVersion" in value or "kind" in value


def name_of(value: Any) -> str:
    """Return the name of a resource; an empty text if the resource has no name."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def parts(document: Document, maps: Mapping[str, Any]) -> Parts:
    """Read the settings, state and offsets of a `KafkaConnector` resource.

    :param maps: ConfigMaps of the folder by name.
    :raises SettingsError: the document is another resource, has an unknown field, or needs a missing ConfigMap.
    """
    value = document.value
    lines = document.lines
    spec = _check_spec(value, lines)
    raw_config = spec.get("config") or {}
    config = {name: value for name, value in raw_config.items() if name not in _FIELD_OF}
    annotation = _mapping_of(value["metadata"], "annotations", lines, ("metadata",)).get(_OFFSETS_ANNOTATION)
    tasks = {"tasks_max": spec["tasksMax"]} if "tasksMax" in spec else {}
    state = spec.get("state") or ("paused" if spec.get("pause") is True else "running")
    return Parts(
        name=name_of(value),
        connector_class=spec.get("class"),
        config=config,
        config_path=("spec", "config"),
        lines=lines,
        state=state,
        state_path=("spec", "state"),
        offsets=_find_offsets(spec, maps, lines) if annotation == "alter" else None,
        list_offsets=_name_in_reference(spec, "listOffsets", "toConfigMap", lines) if annotation == "list" else None,
        restarts=_parse_restarts(spec.get("autoRestart"), lines),
        ignored={
            name: f"Strimzi has {_FIELD_OF[name]} for it, and ignores it here"
            for name in _FIELD_OF
            if name in raw_config
        },
        own={"run_mode": "continuous", **tasks},  # a connector of Connect has no end
        cluster=str(_mapping_of(value["metadata"], "labels", lines, ("metadata",)).get(_CLUSTER_LABEL) or ""),
    )


def _check_spec(value: Mapping[str, Any], lines: Mapping[Path, int]) -> dict[str, Any]:
    if value.get("kind") != "KafkaConnector" or not str(value.get("apiVersion")).startswith(GROUP):
        what = f"the resource is {value.get('apiVersion')} {value.get('kind')}"
        raise SettingsError(
            what,
            f"Allowed: KafkaConnector and KafkaConnect of {GROUP}v1 or v1beta2, and ConfigMap",
            line=lines.get(("kind",)),
        )
    spec = value.get("spec")
    if not name_of(value) or not isinstance(spec, dict) or not isinstance(spec.get("config") or {}, dict):
        raise SettingsError("metadata.name, spec or spec.config is missing or no mapping")
    for name in spec:
        if name not in SPEC:
            raise SettingsError(
                f"spec has no {name}",
                did_you_mean(name, SPEC) or f"It has: {', '.join(SPEC)}",
                line=lines.get(("spec", name)),
            )
    return spec


def _mapping_of(value: Mapping[str, Any], key: str, lines: Mapping[Path, int], path: Path) -> Mapping[str, Any]:
    """Return a mapping within a document, such as metadata.labels; empty if the document lacks it."""
    mapping = value.get(key) or {}
    if not isinstance(mapping, dict):
        raise SettingsError(f"{'.'.join(map(str, (*path, key)))} is no mapping", line=lines.get((*path, key)))
    return mapping


def _name_in_reference(spec: Mapping[str, Any], name: str, direction: str, lines: Mapping[Path, int]) -> str:
    try:
        return str(spec[name][direction]["name"])
    except (KeyError, TypeError) as error:
        line = lines.get(("spec", name))
        raise SettingsError(f"{name}.{direction}.name is missing, and the annotation asks for it", line=line) from error


def _find_offsets(spec: Mapping[str, Any], maps: Mapping[str, Any], lines: Mapping[Path, int]) -> Any:
    name = _name_in_reference(spec, "alterOffsets", "fromConfigMap", lines)
    data = _mapping_of(maps.get(name) or {}, "data", {}, ())
    if _OFFSETS_KEY not in data:
        remedy = "Put it into a YAML file of the folder"
        raise SettingsError(
            f"there is no ConfigMap {name} with {_OFFSETS_KEY}", remedy, line=lines.get(("spec", "alterOffsets"))
        )
    return data[_OFFSETS_KEY]


def _parse_restarts(restarts: Any, lines: Mapping[Path, int]) -> int | None:
    if not isinstance(restarts, dict) or restarts.get("enabled") is not True:
        return None
    most = restarts.get("maxRestarts")
    if most is None:
        return UNLIMITED
    if not str(most).isdecimal():
        raise SettingsError(
            f"autoRestart.maxRestarts is {most!r}", "Allowed: a whole number", line=lines.get(("spec", "autoRestart"))
        )
    return int(most)
