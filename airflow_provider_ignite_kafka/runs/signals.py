"""Signals of a connector for operators, sensors and triggers, with Airflow connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ignite_kafka.assets.addresses import KAFKA_PORT, listed
from airflow_provider_ignite_kafka.assets.copied import Copied, CopiedCache
from airflow_provider_ignite_kafka.assets.events import emit_asset_events
from airflow_provider_ignite_kafka.runs.kafka_access import connection_clients
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from ignite_kafka.admin.signals import RequestedSignals, SignalView
    from ignite_kafka.kafka.clients import KafkaClients
    from ignite_kafka.state.signal_records import CacheSelection

COMPLETED = "COMPLETED"


@dataclass(frozen=True)
class SignalReader:
    """Access to one connector's signals over Airflow's Kafka connection.

    :param kafka_conn_id: connection of the Kafka provider.
    :param secrets_file: path of a secrets file, whose parts replace the secrets of the connection.
    """

    connector: str
    kafka_conn_id: str = "kafka_default"
    internal_topic_prefix: str = ConnectorSettings.internal_topic_prefix
    secrets_file: str | None = None

    def read(self, signal: str, *, requested: bool = False) -> dict[str, Any] | None:
        """Read a signal and its progress as JSON values; None if there is none of that id. Blocks.

        :param requested: whether the signal was there before, so that its absence means that its end is forgotten.
        :raises SettingsError: the signal has ended, and its end is forgotten.
        :raises IgniteKafkaError: the brokers did not answer, or a connection cannot be used.
        """
        from ignite_kafka.admin.signals import forgotten_error, read_signal  # loads Arrow, which a Dag file must not

        view = read_signal(self._settings, Secrets(), signal, self._clients())
        if view is None and requested:
            raise forgotten_error(self.connector, signal)
        return None if view is None else signal_to_dict(view)

    def request(self, selections: Sequence[CacheSelection], signal: str) -> RequestedSignals:
        """Request an ad-hoc snapshot. Blocks.

        :raises IgniteKafkaError: see :func:`ignite_kafka.admin.signals.request_snapshot`.
        """
        from ignite_kafka.admin.signals import request_snapshot  # as in :meth:`read`

        return request_snapshot(self._settings, Secrets(), selections, signal, "Airflow", self._clients())

    def copied(self, progress: Mapping[str, Any]) -> Copied:
        """Return what a complete signal has sent, for asset events. Blocks."""
        from ignite_kafka.admin.signals import topics_of_caches  # as in :meth:`read`

        clients = self._clients()
        topics = topics_of_caches(self._settings, clients)
        caches = [
            CopiedCache(name, topics[name], records) for name, records in progress["caches"].items() if name in topics
        ]
        servers = listed(str(clients.common.get("bootstrap.servers", "")), KAFKA_PORT)
        run = {"connector": self.connector, "signal": progress["signal"], "state": progress["state"]}
        return Copied(True, (), servers, tuple(caches), run)

    @property
    def _settings(self) -> SourceSettings:
        return SourceSettings(name=self.connector, internal_topic_prefix=self.internal_topic_prefix)

    def _clients(self) -> KafkaClients:
        return connection_clients(self.kafka_conn_id, self.secrets_file)


def signal_to_dict(view: SignalView) -> dict[str, Any]:
    """Return what tasks and triggers need of a signal, as JSON values."""
    total = view.total
    return {
        "signal": view.id,
        "state": view.state,
        "records": total.records,
        "partitions": total.units,
        "partitions_done": total.units_done,
        "caches": {name: count.records for name, count in (view.counts or {}).items()},
        "seconds_left": view.left_s,
        "reason": view.error,
        "ended": view.ended_ms is not None,
    }


def conclude(
    context: Context, outlets: Sequence[Any], reader: SignalReader, progress: dict[str, Any]
) -> dict[str, Any]:
    """Return the counts of an ended signal, after asset events of the outlets.

    :raises AirflowFailException: the signal has failed or was stopped.
    """
    if (failure := signal_failure(progress)) is not None:
        raise AirflowFailException(str(failure))
    if outlets:
        emit_asset_events(context, outlets, reader.copied(progress))
    return progress


def progress_text(connector: str, signal: str, progress: Mapping[str, Any] | None) -> str:
    """Describe the progress of a signal in one line."""
    if progress is None:
        return f"Signal {signal} of connector {connector} is not known yet"
    done = f"{progress['partitions_done']:,} of {progress['partitions']:,} partitions, {progress['records']:,} records"
    left = progress["seconds_left"]
    more = "" if left is None else f", about {round(left):,} s left"
    return f"Signal {signal} of connector {connector} is {progress['state']}: {done}{more}"


def signal_failure(progress: Mapping[str, Any]) -> IgniteKafkaError | None:
    """Return the error of a signal that has ended otherwise than completely; None for a complete one."""
    if progress["state"] == COMPLETED:
        return None
    what = f"the signal ended as {progress['state']}" + (f": {progress['reason']}" if progress["reason"] else "")
    return IgniteKafkaError(what, "Send a signal with a new id.", signal=progress["signal"])
