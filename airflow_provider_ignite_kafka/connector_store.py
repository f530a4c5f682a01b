"""Connectors declared by Kafka Connect's REST interface, read from Kafka while a Dag file is parsed.

Parsing must be quick, and must not fail with Kafka: what was read is kept in a file for half a minute, and for as long
as Kafka does not answer.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.configuration import AIRFLOW_HOME
from airflow.providers.common.compat.sdk import AirflowException, AirflowSkipException

from airflow_provider_ignite_kafka.options import config_providers
from airflow_provider_ignite_kafka.runs.kafka_access import connection_clients
from airflow_provider_ignite_kafka.threads import in_thread
from ignite_kafka.admin.declared_connectors import StoredConnector, read_declared
from ignite_kafka.common.typed_json import loads, read_as
from ignite_kafka.connect_rest.configuration import AutoRestart, Operator, check_declared, load_configuration
from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, SettingsError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.files.connector_files import BrokenConnector, ConnectorFolder, DeclaredConnector
from ignite_kafka.settings.findings import UNFORESEEN
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.topic_names import DEFAULT_PREFIX
from ignite_kafka.settings.trust import ADDRESS
from ignite_kafka.settings.trust import SETTINGS as TRUST
from ignite_kafka.state.internal_names import configs_topic
from ignite_kafka.state.target_state import read_lasting_stop

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

log = logging.getLogger(__name__)
_FRESH_S = 30.0
_LIMIT_S = 8.0
_CONNECT_S = 4.0


@dataclass(frozen=True)
class _Kept:
    """Content of the file: connectors, and the time at which they were read, in seconds since 1970."""

    read_s: float
    connectors: tuple[StoredConnector, ...] = ()


@dataclass(frozen=True)
class ConnectorStore:
    """Connectors declared by REST in a Kafka cluster, for :func:`.connector_dags.connector_dags`.

    :param secrets_file: path of a secrets file, which overrides the connection's secrets.
    """

    kafka_conn_id: str = "kafka_default"
    internal_topic_prefix: str = DEFAULT_PREFIX
    secrets_file: str | None = None

    def read(self) -> ConnectorFolder:
        """Return the declared connectors, at most half a minute old; older ones while Kafka does not answer.

        Without Kafka and without earlier ones there is none, and the log has the error.
        """
        kept = self._read_file()
        if kept is None or not 0 <= time.time() - kept.read_s < _FRESH_S:
            try:
                kept = _Kept(time.time(), tuple(self._read_kafka()))
                self._write_file(kept)
            except (IgniteKafkaError, AirflowException, FutureTimeoutError) as error:
                age = (
                    "there are none" if kept is None else f"those read {time.time() - kept.read_s:,.0f} s ago are used"
                )
                log.warning("The declared connectors of %s cannot be read; %s: %s", self.kafka_conn_id, age, error)
        return _to_folder(kept.connectors if kept is not None else (), self.internal_topic_prefix)

    def check_not_stopped(self, connector: str) -> Callable[[Context, Any], None]:
        """Return the hook of a task that skips it if the connector's stop was requested since the Dag was parsed."""

        def check(context: Context, *_: Any) -> None:
            clients = self._clients()
            where = clients, Topics(clients), self.internal_topic_prefix, connector
            if read_lasting_stop(*where):
                raise AirflowSkipException(f"connector {connector} is stopped; PUT /connectors/{connector}/resume")

        return check

    def _clients(self) -> KafkaClients:
        return connection_clients(self.kafka_conn_id, self.secrets_file)

    def _read_kafka(self) -> list[StoredConnector]:
        clients = self._clients()  # in this thread, because Airflow's supervisor has the connection

        def read() -> list[StoredConnector]:
            clients.check(_CONNECT_S)
            return read_declared(clients, Topics(clients), self.internal_topic_prefix)

        try:
            return in_thread(read, "ignite-kafka-store").result(_LIMIT_S)
        except FutureTimeoutError as cause:
            raise KafkaUnavailable(f"there was no complete answer within {_LIMIT_S:g} s") from cause

    @property
    def _file(self) -> Path:
        key = json.dumps([self.kafka_conn_id, self.internal_topic_prefix, self.secrets_file])
        name = hashlib.sha256(key.encode()).hexdigest()[:16]
        return Path(AIRFLOW_HOME) / "ignite_kafka_connectors" / f"{name}.json"

    def _read_file(self) -> _Kept | None:
        try:
            return read_as(_Kept, loads(self._file.read_bytes()))
        except (OSError, ValueError):
            return None

    def _write_file(self, kept: _Kept) -> None:
        """Write the file; a folder that cannot be written costs only the time to read Kafka each time."""
        path = self._file
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{os.getpid()}")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w") as file:
                json.dump(asdict(kept), file)
            temporary.replace(path)
        except OSError as error:
            log.info("The declared connectors cannot be kept in %s: %s", path, error)


def _to_folder(connectors: tuple[StoredConnector, ...], prefix: str) -> ConnectorFolder:
    """Turn declared connectors into the form of connector files; a wrong one is broken alone."""
    whole: list[DeclaredConnector] = []
    broken: list[BrokenConnector] = []
    place = f"topic {configs_topic(prefix)}"
    for connector in connectors:
        try:
            whole.append(_declare(connector, prefix, place))
        except IgniteKafkaError as error:
            broken.append(BrokenConnector(place, 0, connector.name, error))
        except UNFORESEEN as error:
            log.debug("the record cannot be used", exc_info=True)
            what = f"a value of the record cannot be used: {type(error).__name__}"
            wrong = SettingsError(what, "Declare the connector again by REST.", connector=connector.name)
            broken.append(BrokenConnector(place, 0, connector.name, wrong))
    return ConnectorFolder(tuple(whole), tuple(broken))


def _declare(connector: StoredConnector, prefix: str, place: str) -> DeclaredConnector:
    """Return a declared connector after the checks of REST, which a record of another program has not passed.

    :raises SettingsError: see :func:`.check_declared`.
    """
    allowed = config_providers()
    check_declared(connector.name, connector.config, Operator(_any_connection(prefix), allowed=allowed))
    loaded = load_configuration(connector.config, allowed)
    kept = {name: value for name, value in loaded.values.items() if TRUST.get(name) != ADDRESS}
    declared = DeclaredConnector(
        place,
        0,
        connector.name,
        type(loaded)({**kept, "internal_topic_prefix": prefix}, loaded.origin, {}, loaded.direction, loaded.findings),
        connector.target.lower(),
        restarts=_restarts(AutoRestart.of(connector.config)),
    )
    declared.settings()
    return declared


def _any_connection(prefix: str) -> ConnectorSettings:
    """Return connections for checks without connections, which the task checks when it has Airflow's."""
    values = {"name": "checked", "bootstrap_servers": "localhost:9092", "ignite_addresses": ["localhost:10800"]}
    return SourceSettings.from_dict({**values, "internal_topic_prefix": prefix})


def _restarts(restarts: AutoRestart) -> int | None:
    """Return the retries of a task; None: as the Dag's arguments say."""
    return 0 if not restarts.enabled else restarts.most
