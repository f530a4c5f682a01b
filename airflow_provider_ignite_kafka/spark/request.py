"""What an app is told: its request and its secrets, as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from airflow.providers.common.compat.sdk import mask_secret

from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from airflow_provider_ignite_kafka.hooks.kafka_config import KafkaConfig, kafka_config
from airflow_provider_ignite_kafka.options import HOW, allow_insecure_connections, allowed_kafka_options
from ignite_kafka.errors import SettingsError
from ignite_kafka.events import CONFIG_CHANGED, emit
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.settings import files as properties
from ignite_kafka.settings import secrets as secret_files
from ignite_kafka.settings.client_config import one_name
from ignite_kafka.settings.client_properties import kept_from_settings, security_names
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.files import LoadedSettings
from ignite_kafka.settings.secrets import Secrets, is_secret
from ignite_kafka.settings.transport_security import ALLOW, check, ignite_weaknesses, kafka_weaknesses

S = TypeVar("S", bound=ConnectorSettings)
_BOOTSTRAP, _KAFKA_CONFIG = "bootstrap.servers", "kafka_config"
_OVERRIDES = ("producer_override", "consumer_override")
_ORIGIN = "Airflow connection"
_MASKED_LINE_CHARACTERS = 16


@dataclass(frozen=True)
class Request:
    """One run of a connector: everything the app needs but secrets, and the secrets beside it.

    :param snapshot_id: what is sent once; None where the run is no snapshot.
    :param secrets_file: a mounted file; None: the secrets are to be shipped, where there are any.
    :param allowed_kafka_options: what an administrator allows Kafka clients to do on the host; see :mod:`.options`.
    """

    settings: ConnectorSettings
    run_id: str
    snapshot_id: str | None
    secrets: Secrets
    secrets_file: Path | None = None
    allowed_kafka_options: tuple[str, ...] = ()

    @property
    def ships_secrets(self) -> bool:
        ignite = self.secrets.ignite
        return self.secrets_file is None and bool(ignite.username or ignite.password or ignite.key_password or self.secrets.kafka)

    def write(self, folder: Path) -> Path:
        """Write `request.json`, which holds no secret."""
        path = folder / "request.json"
        content = {
            "connector": self.settings.name,
            "run_id": self.run_id,
            "snapshot_id": self.snapshot_id,
            "settings": self.settings.to_dict(),
            "allowed_kafka_options": list(self.allowed_kafka_options),
        }
        path.write_text(json.dumps(content))
        return path

    def write_secrets(self, folder: Path) -> Path:
        """Write `secrets.json`, readable by this user alone."""
        path = folder / "secrets.json"
        secret_files.dump(self.secrets, path)
        return path


@dataclass(frozen=True)
class Clusters:
    """Both ends of a copy, as the connections name them.

    :param timeouts: those of the endpoint that the connection itself gives.
    """

    endpoint: IgniteEndpoint
    credentials: IgniteCredentials
    kafka: KafkaConfig
    timeouts: Mapping[str, int]

    @classmethod
    def of(cls, ignite_conn_id: str, kafka_conn_id: str) -> Clusters:
        """Of connections of types `ignite` and `kafka`; their secrets are hidden from logs from then on.

        :raises SettingsError: a field of a connection cannot be read.
        """
        ignite = IgniteHook(ignite_conn_id)
        found = cls(ignite.get_endpoint(), ignite.get_credentials(), kafka_config(kafka_conn_id), ignite.get_timeouts())
        hide(found.secrets)
        return found

    @property
    def secrets(self) -> Secrets:
        return Secrets(self.credentials, self.kafka.secrets)


def build_request(
    settings: Mapping[str, Any] | str,
    direction: type[ConnectorSettings],
    clusters: Clusters,
    *,
    default_connector: str,
    run_id: str,
    snapshot_id: str | None = None,
    secrets_file: Path | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Request:
    """Check the settings and join them with the connections.

    :param settings, direction, arguments: see :func:`joined_settings`.
    :param default_connector: name of the connector where the settings give none.
    :raises SettingsError: a setting is unknown, contradictory or out of range; nothing was started.
    """
    joined = joined_settings(settings, direction, clusters, arguments or {}, default_connector)
    allowed = allowed_kafka_options()
    secrets = secrets_of(secrets_file, clusters)
    check(kafka_weaknesses({**joined.kafka_common, **secrets.kafka}), joined.allow_insecure_connections, HOW)
    check(ignite_weaknesses(joined.ignite_endpoint, secrets.ignite), joined.allow_insecure_connections, HOW)
    return Request(joined, run_id, snapshot_id, secrets, secrets_file, allowed)


def _check_all_mounted(connection: KafkaConfig, mounted: Secrets, path: Path) -> None:
    """Refuse a property that no setting may hold and that the app would miss: with a mounted file it reads nothing else."""
    missing = sorted(name for name in connection.secrets if not is_secret(name) and name not in mounted.kafka)
    if missing:
        raise SettingsError(
            f"{missing[0]} is in the Kafka connection and not in the secrets file, which the app reads alone",
            "Put it into the kafka part of the secrets file",
            setting=missing[0],
            file=path,
        )


def joined_settings(
    settings: Mapping[str, Any] | str, direction: type[S], clusters: Clusters, arguments: Mapping[str, Any], default_connector: str = ""
) -> S:
    """Settings, over them those that are an operator's arguments, over these where the connections say that the clusters are.

    What a connection does not name is left to the settings: time-outs, and keys of ``kafka_config``, but none of security where the
    connection has any. Event 15001 tells of each setting that has another value than a connection, which takes its place. Of producers and
    consumers it is the other way round: what the settings' ``producer_override`` and ``consumer_override`` name counts, and the connection
    has the rest.

    :param settings: settings by name, or the path of a ``.properties`` or ``.json`` file.
    :param direction: SourceSettings or SinkSettings.
    :param arguments: by the setting's name; None: not given.
    :raises SettingsError: a setting is unknown, contradictory or out of range.
    """
    if isinstance(settings, str):
        given = properties.load(settings)
    else:
        given = LoadedSettings(settings, dict.fromkeys(settings, "operator"), direction=direction)
    chosen = {name: value for name, value in arguments.items() if value is not None}
    if "name" not in given.values:
        chosen.setdefault("name", default_connector)
    wanted = given.with_values(chosen, "operator")
    kafka = dict(clusters.kafka.plain)
    connections = {**_ignite_settings(clusters), "bootstrap_servers": kafka.pop(_BOOTSTRAP)}
    own = {
        name: direction.parsed(name, wanted.values[name], wanted.origin)
        for name in (*connections, _KAFKA_CONFIG, *_OVERRIDES)
        if name in wanted.values
    }
    own_kafka = own.pop(_KAFKA_CONFIG, {})
    _check_own_security(own_kafka, clusters.kafka, wanted.origin.get(_KAFKA_CONFIG))
    connections[_KAFKA_CONFIG] = _over(own_kafka, kafka)
    for name, of_connection in zip(_OVERRIDES, (clusters.kafka.producer, clusters.kafka.consumer), strict=True):
        own_override = own.pop(name, {})
        if of_connection:
            connections[name] = _over(of_connection, own_override)
    if allow_insecure_connections():
        wanted = wanted.with_values({ALLOW: True}, "Airflow's configuration")
    joined = wanted.with_values(connections, _ORIGIN).settings_of(direction)
    used = {one_name(name): value for name, value in joined.kafka_config.items()}
    replaced = {name: name for name, value in own.items() if value != getattr(joined, name)}
    replaced |= {f"{_KAFKA_CONFIG}.{name}": _KAFKA_CONFIG for name, value in own_kafka.items() if value != used[one_name(name)]}
    for name, setting in replaced.items():
        _tell_replaced(name, wanted.origin.get(setting))
    return joined


def _check_own_security(own: Mapping[str, str], connection: KafkaConfig, origin: str | None) -> None:
    """Where a connection says how clients prove who they are and check the brokers, settings say nothing of it."""
    ours, theirs = security_names(map(one_name, own)), security_names([*connection.plain, *connection.secrets])
    if ours and theirs:
        raise SettingsError(
            f"{ours[0]} is in kafka_config, and the Kafka connection decides about security: it has {theirs[0]}",
            "Leave it out, or set it in the connection",
            setting=f"{_KAFKA_CONFIG}.{ours[0]}",
            set_in=origin,
        )


def _over(below: Mapping[str, str], above: Mapping[str, str]) -> dict[str, str]:
    """Settings of Kafka clients, and of those below them the ones that they do not have by any name."""
    taken = set(map(one_name, above))
    return {**{name: value for name, value in below.items() if one_name(name) not in taken}, **above}


def _tell_replaced(name: str, origin: str | None) -> None:
    """No value is shown: of some settings none may be."""
    emit(CONFIG_CHANGED, reason=f"{name}: the {_ORIGIN} has another value, which counts", setting=name, set_in=origin)


def secrets_of(secrets_file: str | Path | None, clusters: Clusters) -> Secrets:
    """The secrets that this worker uses: those of a mounted file, or of the connections where none is named or it is not mounted here.

    An app reads the file alone. Event 15001 names the secrets of the connections that it does not use; no value is shown.
    """
    if not secrets_file:
        return clusters.secrets
    secrets_file = Path(secrets_file)
    connections = clusters.secrets
    mounted = secret_files.load(secrets_file, allowed_kafka_options()) if secrets_file.is_file() else None
    if mounted is not None:
        hide(mounted)
        _check_all_mounted(clusters.kafka, mounted, secrets_file)
    used = secret_files.to_dict(mounted or Secrets())
    given = secret_files.to_dict(connections)
    unused = [
        f"{name} of the {side.capitalize()} connection"
        for side in ("ignite", "kafka")
        for name, value in given[side].items()
        if value and value != used[side].get(name)
    ]
    if unused:
        reason = f"{', '.join(unused)}: not used by the app, which reads its secrets from {secrets_file} alone"
        emit(CONFIG_CHANGED, reason=reason, setting="secrets_file", set_in="operator")
    return mounted or connections


def _ignite_settings(clusters: Clusters) -> dict[str, Any]:
    tls = {f"ignite_tls_{name}": "" if value is None else value for name, value in asdict(clusters.endpoint.tls).items()}
    timeouts = {f"ignite_{name}": value for name, value in clusters.timeouts.items()}
    return {"ignite_addresses": list(clusters.endpoint.addresses), **timeouts, **tls}


def hide(secrets: Secrets) -> None:
    """Register every secret value with Airflow's masker; the lines of a private key also one by one, as a log would show them."""
    ignite = secrets.ignite
    kafka = (value for name, value in secrets.kafka.items() if is_secret(name) or not kept_from_settings(name, value))
    for value in (ignite.password, ignite.key_password, *kafka):
        if value:
            mask_secret(value)
            for line in value.splitlines():
                if len(line) >= _MASKED_LINE_CHARACTERS and not line.startswith("-----"):
                    mask_secret(line)
