"""Sensor that waits until a signal's ad-hoc snapshot has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import PokeReturnValue

from airflow_provider_ignite_kafka.cache_watch.poll import FATAL, TRANSIENT
from airflow_provider_ignite_kafka.runs.result import error_to_exception
from airflow_provider_ignite_kafka.runs.signals import SignalReader, conclude, progress_text
from airflow_provider_ignite_kafka.sensors.deferrable import DeferrableSensor
from airflow_provider_ignite_kafka.triggers.arguments import event_to_exception
from airflow_provider_ignite_kafka.triggers.connector_signal import ConnectorSignalTrigger

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


class ConnectorSignalSensor(DeferrableSensor):
    """Sensor that waits until a signal's ad-hoc snapshot is complete; it returns the counts.

    The task fails without retries if the signal fails or is stopped, or if its end is no longer recorded: the last
    100 ends of a connector are. A signal that is not known yet is waited for, as one of a signal topic is. Outlets get
    asset events with the counts of their topics.

    :param connector: name of the connector. Templated.
    :param signal: id of the signal. Templated.
    :param kafka_conn_id: connection of the Kafka provider. Templated.
    :param internal_topic_prefix: setting of the connector.
    :param secrets_file: path of a secrets file on worker and triggerer. Templated.
    :param deferrable: wait in the triggerer. Default: option `[operators] default_deferrable`.
    """

    template_fields: Sequence[str] = ("connector", "signal", "kafka_conn_id", "secrets_file")
    ui_color = "#e0ecf4"

    def __init__(
        self,
        *,
        connector: str,
        signal: str,
        kafka_conn_id: str = SignalReader.kafka_conn_id,
        internal_topic_prefix: str = SignalReader.internal_topic_prefix,
        secrets_file: str | None = None,
        poke_interval: float = 10.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(poke_interval=poke_interval, **kwargs)
        self.connector = connector
        self.signal = signal
        self.kafka_conn_id = kafka_conn_id
        self.internal_topic_prefix = internal_topic_prefix
        self.secrets_file = secrets_file
        self._is_recorded = False  # in mode reschedule each poke begins anew

    @property
    def _reader(self) -> SignalReader:
        return SignalReader(self.connector, self.kafka_conn_id, self.internal_topic_prefix, self.secrets_file or None)

    def check(self, context: Context) -> PokeReturnValue:
        """Read the signal once; done when it is complete. Without an answer, Airflow calls again later."""
        try:
            progress = self._reader.read(self.signal, requested=self._is_recorded)
        except TRANSIENT as error:
            if isinstance(error, FATAL):
                raise error_to_exception(error) from error
            self.log.warning("The signal could not be read: %s", error)
            return PokeReturnValue(False)
        self.log.info("%s", progress_text(self.connector, self.signal, progress))
        self._is_recorded = self._is_recorded or progress is not None
        if progress is None or not progress["ended"]:
            return PokeReturnValue(False)
        return PokeReturnValue(True, conclude(context, self.outlets, self._reader, progress))

    def trigger(self, context: Context) -> ConnectorSignalTrigger:
        """Make the trigger that fires once the signal has ended."""
        return ConnectorSignalTrigger(
            connector=self.connector,
            signal=self.signal,
            kafka_conn_id=self.kafka_conn_id,
            internal_topic_prefix=self.internal_topic_prefix,
            secrets_file=self.secrets_file or None,
            poll_interval=self.poke_interval,
        )

    def execute_complete(self, context: Context, event: dict[str, Any], **_newer: Any) -> dict[str, Any]:
        """Return the counts in the trigger's event.

        :raises AirflowFailException: the signal has failed or was stopped.
        :raises AirflowException: the trigger could not read the signal.
        """
        if (failure := event_to_exception(event)) is not None:
            raise failure
        return conclude(context, self.outlets, self._reader, event)
