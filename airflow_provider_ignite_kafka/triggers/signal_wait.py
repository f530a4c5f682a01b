"""Wait of a task for a signal's end, in the worker or by a trigger; shared by the operator and the sensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ignite_kafka.cache_watch.poll import FATAL, TRANSIENT
from airflow_provider_ignite_kafka.runs.result import error_to_exception
from airflow_provider_ignite_kafka.runs.signals import SignalReader, conclude, progress_text
from airflow_provider_ignite_kafka.triggers.arguments import event_to_exception
from airflow_provider_ignite_kafka.triggers.connector_signal import ConnectorSignalTrigger

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


class SignalWait:
    """Mixin of tasks that wait until a signal's ad-hoc snapshot has ended.

    The class that uses it is an operator with these attributes, which may be templates:

    :ivar signal: id of the signal.
    :ivar secrets_file: path of a secrets file; None or empty: none.
    :ivar poke_interval: seconds between two polls.
    :ivar is_requested: whether the signal is recorded; one that is not is waited for.
    """

    is_requested: bool = False

    connector: str
    signal: str
    kafka_conn_id: str
    internal_topic_prefix: str
    secrets_file: str | None
    poke_interval: float
    outlets: list[Any]
    log: Any

    @property
    def _reader(self) -> SignalReader:
        return SignalReader(self.connector, self.kafka_conn_id, self.internal_topic_prefix, self.secrets_file or None)

    def trigger(self, context: Context) -> ConnectorSignalTrigger:
        """Make the trigger that fires once the signal has ended."""
        return ConnectorSignalTrigger(
            connector=self.connector,
            signal=self.signal,
            kafka_conn_id=self.kafka_conn_id,
            internal_topic_prefix=self.internal_topic_prefix,
            secrets_file=self.secrets_file or None,
            poll_interval=self.poke_interval,
            requested=self.is_requested,
        )

    def poll(self) -> dict[str, Any] | None:
        """Read the signal once, and log its progress.

        :return: the progress; None if there is no such signal yet, or the brokers do not answer now.
        :raises AirflowFailException: no later poll can succeed.
        """
        try:
            progress = self._reader.read(self.signal, requested=self.is_requested)
        except TRANSIENT as error:
            if isinstance(error, FATAL):
                raise error_to_exception(error) from error
            self.log.warning("The signal could not be read: %s", error)
            return None
        self.log.info("%s", progress_text(self.connector, self.signal, progress))
        self.is_requested = self.is_requested or progress is not None
        return progress

    def conclude(self, context: Context, progress: dict[str, Any]) -> dict[str, Any]:
        """Return the counts of the ended signal, after asset events of the outlets.

        :raises AirflowFailException: the signal has failed or was stopped.
        """
        return conclude(context, self.outlets, self._reader, progress)

    def execute_complete(self, context: Context, event: dict[str, Any], **_newer: Any) -> dict[str, Any]:
        """Return the counts in the trigger's event.

        :raises AirflowFailException: the signal has failed or was stopped.
        :raises AirflowException: the trigger could not read the signal.
        """
        if (failure := event_to_exception(event)) is not None:
            raise failure
        return self.conclude(context, event)
