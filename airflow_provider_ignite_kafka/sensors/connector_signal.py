"""Sensor that waits until a signal's ad-hoc snapshot has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import PokeReturnValue

from airflow_provider_ignite_kafka.runs.signals import SignalReader
from airflow_provider_ignite_kafka.sensors.deferrable import DeferrableSensor
from airflow_provider_ignite_kafka.triggers.signal_wait import SignalWait

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


class ConnectorSignalSensor(SignalWait, DeferrableSensor):
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

    def check(self, context: Context) -> PokeReturnValue:
        """Read the signal once; done when it is complete. Without an answer, Airflow calls again later."""
        progress = self.poll()
        if progress is None or not progress["ended"]:
            return PokeReturnValue(False)
        return PokeReturnValue(True, self.conclude(context, progress))
