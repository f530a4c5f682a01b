"""Input of a Spark app for one run: settings and secrets, merged from operator and connections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_ignite_kafka.airflow_api import mask_secret
from airflow_provider_ignite_kafka.hooks.ignite_connection import IgniteConnection
from airflow_provider_ignite_kafka.hooks.kafka_config import KafkaConfig, kafka_config
from airflow_provider_ignite_kafka.hooks.registry import registry_config
from airflow_provider_ignite_kafka.hooks.unused_secrets import report_unused_secrets
from airflow_provider_ignite_kafka.options import (
    allow_insecure_connections,
    config_providers,
    internal_topic_prefixes,
    permissions,
)
from ignite_kafka.common.event_log import EventCounts, add_events, format_counts
from ignite_kafka.common.redaction import hidden_values
from ignite_kafka.errors import SettingsError
from ignite_kafka.events import CONFIG_CHANGED, collect, emit
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.settings import secrets as secret_files
from ignite_kafka.settings.client_config import one_name
from ignite_kafka.settings.client_properties import kept_from_settings, security_names
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.files import load as properties
from ignite_kafka.settings.files.load import LoadedSettings
from ignite_kafka.settings.metrics import check_metrics_host
from ignite_kafka.settings.permissions import NONE, Permissions
from ignite_kafka.settings.registry_login import check_registry
from ignite_kafka.settings.registry_properties import USER_INFO
from ignite_kafka.settings.secrets import Secrets, is_secret
from ignite_kafka.settings.shipped_stores import stores_as_text
from ignite_kafka.settings.topic_names import reserve, reserved
from ignite_kafka.settings.transport_security import ALLOW, check_ignite, check_kafka

if TYPE_CHECKING:
    from ignite_kafka.ignite.cluster import Cluster

S = TypeVar("S", bound=ConnectorSettings)
_BOOTSTRAP = "bootstrap.servers"
_KAFKA_CONFIG = "kafka_config"
_OVERRIDES = ("producer_override", "consumer_override")
_METRICS_HOST = "metrics_host"
_HOST_ARGUMENT = "the operator's argument metrics_host, which only the Dag's author sets"
_ORIGIN = "Airflow connection"
_MASKED_LINE_CHARACTERS = 16


@dataclass(frozen=True)
class Request:
    """Input of a Spark app for one run: settings, names and secrets.

    :param snapshot_id: id of the snapshot, whose entries are sent once; None if the run is no snapshot.
    :param secrets_file: a mounted file; None: secrets, if any, are shipped.
    :param permissions: the administrator's permissions; see :mod:`.options`.
    :param events: events while the request was made, by id; the app records them with its own.
    """

    settings: ConnectorSettings
    run_id: str
    snapshot_id: str | None
    secrets: Secrets
    secrets_file: Path | None = None
    permissions: Permissions = NONE
    events: EventCounts = field(default_factory=dict)

    @property
    def ships_secrets(self) -> bool:
        """Whether spark-submit must hand over secrets, because no mounted file has them."""
        ignite = self.secrets.ignite
        others = self.secrets.kafka or self.secrets.registry
        return self.secrets_file is None and bool(any(vars(ignite).values()) or others)

    def cluster(self, timeout_s: float) -> Cluster:
        """Connect to the Ignite cluster with timeouts shortened to about `timeout_s` seconds."""
        from ignite_kafka.ignite.cluster import Cluster

        return Cluster(self.settings.ignite_endpoint.bounded(timeout_s), self.secrets.ignite)

    def write(self, folder: Path) -> Path:
        """Write `request.json`, the app's input without secrets, to a folder, and return its path."""
        path = folder / "request.json"
        content = {
            "connector": self.settings.name,
            "run_id": self.run_id,
            "snapshot_id": self.snapshot_id,
            "settings": self.settings.to_dict(),
            "allowed_kafka_options": list(self.permissions.kafka_options),
            "allow_insecure_connections": self.permissions.insecure_connections,
            "hidden_values": list(hidden_values()),
            "internal_topic_prefixes": list(reserved()),
            "events": {id: asdict(count) for id, count in format_counts(self.events).items()},
        }
        path.write_text(json.dumps(content))
        return path

    def write_secrets(self, folder: Path) -> Path:
        """Write `secrets.json`, readable only by this user, to a folder, and return its path."""
        path = folder / "secrets.json"
        secret_files.dump(self.secrets, path)
        return path


@dataclass(frozen=True)
class Connections:
    """Addresses, settings and secrets read from the Airflow connections of a run.

    :param timeouts: timeouts in the Ignite connection, by name in its extra.
    :param registry: properties of the schema registry, secrets among them.
    :param events: events while the connections were read, by id.
    """

    endpoint: IgniteEndpoint
    credentials: IgniteCredentials
    kafka: KafkaConfig
    timeouts: Mapping[str, int]
    registry: Mapping[str, str] = field(default_factory=dict)
    events: EventCounts = field(default_factory=dict)

    @classmethod
    def of(cls, ignite_conn_id: str, kafka_conn_id: str, registry_conn_id: str | None = None) -> Connections:
        """Read connections of types `ignite`, `kafka` and `http` (schema registry), and mask their secrets in logs.

        :raises SettingsError: a field of a connection cannot be read.
        """
        with collect() as log:
            ignite = IgniteConnection.read(ignite_conn_id)
            registry = registry_config(registry_conn_id) if registry_conn_id else {}
            kafka = kafka_config(kafka_conn_id)
        connections = cls(ignite.endpoint, ignite.credentials, kafka, ignite.timeouts, registry, log.counts())
        mask_secrets(connections.secrets)
        return connections

    @property
    def secrets(self) -> Secrets:
        """Credentials and secret properties of the Ignite, Kafka and registry connections."""
        return Secrets(self.credentials, self.kafka.secrets, self.registry, allow_insecure_connections())


def build_request(
    settings: Mapping[str, Any] | str,
    direction: type[ConnectorSettings],
    connections: Connections,
    *,
    default_connector: str,
    run_id: str,
    snapshot_id: str | None = None,
    secrets_file: Path | None = None,
    arguments: Mapping[str, Any] | None = None,
    copies: bool = True,
) -> Request:
    """Check the settings, merge them with the connections, and build the app's input.

    :param settings, direction, arguments: see :func:`merge_settings`.
    :param default_connector: name of the connector if the settings have none.
    :param copies: whether the app copies, and so may open an endpoint of metrics; False: it compares.
    :raises SettingsError: a setting is unknown, contradictory or out of range, weakens or redirects another person's
        connection, or opens the metrics to other hosts; nothing was started.
    """
    with collect() as log:
        secrets = resolve_secrets(secrets_file, connections)
        mounted = MountedSecurity.of(secrets_file, secrets)
        merged = merge_settings(settings, direction, connections, arguments or {}, default_connector, mounted)
    check_kafka(merged, secrets)
    check_ignite(merged, secrets)
    check_registry(merged, secrets)
    if copies:
        host = (arguments or {}).get(_METRICS_HOST)
        check_metrics_host(merged.metrics_host, host, _HOST_ARGUMENT, merged.origin.get(_METRICS_HOST))
    if secrets_file is None:  # with a mounted file each process reads the stores and their passwords itself
        merged, secrets = stores_as_text(merged, secrets, connections.kafka.plain.keys())
        mask_secrets(secrets)
    events = add_events(connections.events, log.counts())
    return Request(merged, run_id, snapshot_id, secrets, secrets_file, permissions(), events)


@dataclass(frozen=True)
class MountedSecurity:
    """Names of the Kafka security properties in a mounted secrets file, which settings must not set too.

    :param file: path of the file; None: no mounted file.
    :param names: security properties in the file; None: the worker does not have the file, so any may be in it.
    """

    file: Path | None = None
    names: tuple[str, ...] | None = ()

    @staticmethod
    def of(file: Path | None, secrets: Secrets) -> MountedSecurity:
        """Collect the names of the security properties in a mounted file, if this worker has the file."""
        readable = file is not None and Path(file).is_file()
        names = tuple(security_names(secrets.kafka)) if readable else None
        return MountedSecurity() if file is None else MountedSecurity(Path(file), names)

    def check(self, own: Sequence[str], origin: str | None) -> None:
        """Refuse security properties in `kafka_config` if the secrets file has, or may have, any.

        Otherwise settings could send the file's credentials to a server of their choice.

        :param own: security properties in the settings.
        :raises SettingsError: both have security properties, or the file's content is unknown here.
        """
        if not own or self.file is None or self.names == ():
            return
        holds = (
            f"it has {self.names[0]}"
            if self.names
            else "this worker does not have the file, and cannot see what it holds"
        )
        raise SettingsError(
            f"{own[0]} is in kafka_config, and the secrets file decides about security: {holds}",
            "Set it in the kafka part of the secrets file, or in the Airflow connection",
            setting=f"{_KAFKA_CONFIG}.{own[0]}",
            set_in=origin,
            file=self.file,
        )


def _check_all_mounted(connection: KafkaConfig, mounted: Secrets, path: Path) -> None:
    """Refuse a connection's security property missing in the mounted file: the app would run without it."""
    missing = sorted(name for name in connection.secrets if not is_secret(name) and name not in mounted.kafka)
    if missing:
        raise SettingsError(
            f"{missing[0]} is in the Kafka connection and not in the secrets file, the app's only source of it",
            "Put it into the kafka part of the secrets file",
            setting=missing[0],
            file=path,
        )


def merge_settings(
    settings: Mapping[str, Any] | str,
    direction: type[S],
    connections: Connections,
    arguments: Mapping[str, Any],
    default_connector: str = "",
    mounted: MountedSecurity = MountedSecurity(),
) -> S:
    """Merge settings, operator arguments and connections: arguments override settings, connections override both.

    Settings fill in what the connections lack: timeouts, and keys of ``kafka_config``; security keys only if neither
    the connection nor the secrets file has any. Event 15001 reports each setting that a connection overrides with
    another value. ``producer_override`` and ``consumer_override`` of the settings override the connection.

    :param settings: settings by name, or the path of a ``.properties`` or ``.json`` file.
    :param direction: SourceSettings or SinkSettings.
    :param arguments: values by the setting's name; None: not given.
    :param mounted: security properties in the mounted secrets file.
    :raises SettingsError: a setting is unknown, contradictory or out of range.
    """
    loaded = _with_arguments(_loaded(settings, direction), arguments, default_connector)
    kafka = dict(connections.kafka.plain)
    overrides = {**_ignite_settings(connections), "bootstrap_servers": kafka.pop(_BOOTSTRAP)}
    possible = (*overrides, _KAFKA_CONFIG, *_OVERRIDES)
    own = {
        name: direction.parsed(name, loaded.values[name], loaded.origin) for name in possible if name in loaded.values
    }
    own_kafka = own.pop(_KAFKA_CONFIG, {})
    _check_own_security(own_kafka, connections.kafka, mounted, loaded.origin.get(_KAFKA_CONFIG))
    overrides[_KAFKA_CONFIG] = _override(own_kafka, kafka)
    for name, of_connection in zip(_OVERRIDES, (connections.kafka.producer, connections.kafka.consumer), strict=True):
        own_override = own.pop(name, {})
        if of_connection:
            overrides[name] = _override(of_connection, own_override)
    merged = loaded.with_values(overrides, _ORIGIN).settings_of(direction)
    used = {one_name(name): value for name, value in merged.kafka_config.items()}
    replaced = {name: name for name, value in own.items() if value != getattr(merged, name)}
    replaced |= {
        f"{_KAFKA_CONFIG}.{name}": _KAFKA_CONFIG for name, value in own_kafka.items() if value != used[one_name(name)]
    }
    for name, setting in replaced.items():
        _report_replaced(name, loaded.origin.get(setting))
    return merged


def _loaded(settings: Mapping[str, Any] | str, direction: type[ConnectorSettings]) -> LoadedSettings:
    """Load settings from a mapping or file, within the limits of the administrator's options."""
    reserve(internal_topic_prefixes())
    if isinstance(settings, str):
        return properties.load(settings, config_providers())
    return LoadedSettings(settings, dict.fromkeys(settings, "operator"), direction=direction)


def _with_arguments(loaded: LoadedSettings, arguments: Mapping[str, Any], default_connector: str) -> LoadedSettings:
    chosen = {name: value for name, value in arguments.items() if value is not None}
    if "name" not in loaded.values:
        chosen.setdefault("name", default_connector)
    overridden = loaded.with_values(chosen, "operator")
    return (
        overridden.with_values({ALLOW: True}, "Airflow's configuration") if allow_insecure_connections() else overridden
    )


def _check_own_security(
    own: Mapping[str, str], connection: KafkaConfig, mounted: MountedSecurity, origin: str | None
) -> None:
    """Refuse security properties in `kafka_config` if the connection or the secrets file has any."""
    ours = security_names(map(one_name, own))
    theirs = security_names([*connection.plain, *connection.secrets])
    if ours and theirs:
        raise SettingsError(
            f"{ours[0]} is in kafka_config, and the Kafka connection decides about security: it has {theirs[0]}",
            "Leave it out, or set it in the connection",
            setting=f"{_KAFKA_CONFIG}.{ours[0]}",
            set_in=origin,
        )
    mounted.check(ours, origin)


def _override(base: Mapping[str, str], override: Mapping[str, str]) -> dict[str, str]:
    """Merge two sets of Kafka client properties; an override also replaces a synonym of its name."""
    overridden = set(map(one_name, override))
    return {**{name: value for name, value in base.items() if one_name(name) not in overridden}, **override}


def _report_replaced(name: str, origin: str | None) -> None:
    """Report the name of a setting overridden by the connection, without the value, a possible secret."""
    emit(CONFIG_CHANGED, reason=f"{name}: overridden by another value in the {_ORIGIN}", setting=name, set_in=origin)


def resolve_secrets(secrets_file: str | Path | None, connections: Connections) -> Secrets:
    """Choose the secrets for this worker: those of the mounted file, or else of the connections.

    The worker may not have the file, but the app uses only the file. Event 15001 names the secrets of the connections
    that the app does not use, without values.

    :raises SettingsError: the file cannot be read, or lacks a value that only the Kafka connection has.
    """
    if not secrets_file:
        return connections.secrets
    secrets_file = Path(secrets_file)
    mounted = secret_files.load(secrets_file, permissions()) if secrets_file.is_file() else None
    if mounted is not None:
        mask_secrets(mounted)
        _check_all_mounted(connections.kafka, mounted, secrets_file)
    report_unused_secrets(connections.secrets, mounted or Secrets(), secrets_file)
    return mounted or connections.secrets


def _ignite_settings(connections: Connections) -> dict[str, Any]:
    tls = {
        f"ignite_tls_{name}": "" if value is None else value for name, value in asdict(connections.endpoint.tls).items()
    }
    timeouts = {f"ignite_{name}": value for name, value in connections.timeouts.items()}
    addresses = {
        "ignite_addresses": list(connections.endpoint.addresses),
        "ignite_address_map": list(connections.endpoint.address_map),
    }
    return {**addresses, **timeouts, **tls}


def mask_secrets(secrets: Secrets) -> None:
    """Register every secret with Airflow's log masker; a private key also line by line."""
    ignite = secrets.ignite
    kafka = (value for name, value in secrets.kafka.items() if is_secret(name) or not kept_from_settings(name, value))
    registry = [value for name, value in secrets.registry.items() if is_secret(name) or "@" in value]
    registry += [value.partition(":")[2] for name, value in secrets.registry.items() if name.endswith(USER_INFO)]
    passwords = (value for name, value in vars(ignite).items() if name not in ("username", "ca_pem"))
    for value in (*passwords, *kafka, *registry):
        if value:
            mask_secret(value)
            for line in value.splitlines():
                if len(line) >= _MASKED_LINE_CHARACTERS and not line.startswith("-----"):
                    mask_secret(line)
