"""Strimzi's `KafkaConnect` resource, read as a worker's file with defaults of its connectors.

Source: its CRD, versions v1 and v1beta2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...errors import SettingsError
from ..converters import missing_converters
from ..yaml_lines import Document
from .config_providers import is_declaration
from .strimzi import GROUP, name_of
from .worker import GivenFile, Merged, merge_worker_file

KIND = "KafkaConnect"
CONNECTOR = "KafkaConnector"
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_DEFAULTS = {"key.converter": _JSON, "value.converter": _JSON}
_SERVERS = "bootstrapServers"
_CONNECTION = ("tls", "authentication")
_SECURED = (
    "Kubernetes has its certificates and passwords: settings, the secrets file or the connection of Airflow "
    "have Kafka's here"
)
_FORBIDDEN = (
    "ssl.", "sasl.", "security.", "listeners", "plugin.path", "rest.", "bootstrap.servers",
    "consumer.interceptor.classes", "producer.interceptor.classes", "prometheus.metrics.reporter.",
)  # fmt: skip
_ALLOWED = ("ssl.endpoint.identification.algorithm", "ssl.cipher.suites", "ssl.protocol", "ssl.enabled.protocols")


def is_worker(value: Any) -> bool:
    """Return whether a YAML document is a `KafkaConnect` resource."""
    return isinstance(value, dict) and value.get("kind") == KIND and str(value.get("apiVersion")).startswith(GROUP)


def worker_of(document: Document, file: str) -> GivenFile:
    """Read a `KafkaConnect` resource as the worker's file, which has its connectors' converters and clients.

    Keys that Strimzi ignores are left out; missing converters are Strimzi's defaults.

    :raises SettingsError: the resource has no name, or its configuration is no mapping.
    """
    name = name_of(document.value)
    lines = document.lines
    spec = document.value.get("spec")
    if not name or not isinstance(spec, dict) or not isinstance(spec.get("config") or {}, dict):
        raise SettingsError("metadata.name, spec or spec.config is missing or no mapping", line=document.line)
    config: Mapping[str, Any] = spec.get("config") or {}
    forbidden = [key for key in config if key.startswith(_FORBIDDEN) and not key.startswith(_ALLOWED)]
    values = {key: value for key, value in config.items() if key not in forbidden}
    origin = {key: f"{file}, line {lines.get(('spec', 'config', key), document.line)}" for key in config}
    for key, value in _DEFAULTS.items():
        if key not in values:
            values[key], origin[key] = value, f"Strimzi, whose {KIND} {name} has no {key}"
    if spec.get(_SERVERS):
        values["bootstrap.servers"], origin["bootstrap.servers"] = (
            spec[_SERVERS],
            f"{file}, line {lines.get(('spec', _SERVERS))}",
        )
    connection = [key for key in _CONNECTION if key in spec]
    ignored = dict.fromkeys(forbidden, "Strimzi ignores it here") | dict.fromkeys(
        (f"spec.{key}" for key in connection), _SECURED
    )
    origin |= {f"spec.{key}": f"{file}, line {lines.get(('spec', key))}" for key in connection}
    return GivenFile(f"{file}, {KIND} {name}", values, origin, ignored, is_worker=True, cluster=name)


def with_worker(worker: GivenFile | None, connector: GivenFile) -> GivenFile:
    """Merge a `KafkaConnector` with the defaults from its `KafkaConnect`.

    Config providers are left out: a file of a folder may read none.

    :param worker: the `KafkaConnect`; None: missing.
    :returns: the connector, with the keys that Kafka Connect and Strimzi ignore as ignored, too.
    :raises SettingsError: no file has a converter.
    """
    left: dict[str, str] = {}
    places: dict[str, str] = {}
    if worker is not None:
        left = {f"{KIND} {worker.cluster}, {name}": reason for name, reason in worker.ignored.items()}
        places = {f"{KIND} {worker.cluster}, {name}": worker.origin[name] for name in worker.ignored}
        worker = replace(
            worker, values={name: value for name, value in worker.values.items() if not is_declaration(name)}
        )
    merged = merge_worker_file(worker, connector)
    check_converters(merged, connector)
    own = {name: reason for (file, name), reason in merged.became.items() if file == connector.file}
    origin = {**places, **connector.origin, **merged.origin}
    return replace(connector, values=merged.values, origin=origin, ignored={**connector.ignored, **own, **left})


def check_converters(merged: Merged, connector: GivenFile) -> None:
    """Refuse a Strimzi connector if neither it nor its `KafkaConnect` sets any converter.

    A single missing converter is no error; event 15001 reports it.

    :param connector: the connector's file, with the name of its `KafkaConnect`.
    :raises SettingsError: the `KafkaConnect` was not given.
    """
    missing = missing_converters(merged.values)
    if len(missing) > 1 and connector.cluster is not None:
        of = (
            f"{KIND} {connector.cluster}"
            if connector.cluster
            else f"a {KIND}, which its label strimzi.io/cluster would name"
        )
        what = f"nobody gave {' and '.join(missing)}, and Kafka Connect has no default: the connector has those of {of}"
        remedy = f"Put that resource beside the connector, or write {' and '.join(missing)} into spec.config"
        raise SettingsError(what, remedy, file=connector.file)
