"""Sensors that wait until a connector has little left to copy, or has copied all changes from before the task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, PokeReturnValue

from airflow_provider_ignite_kafka.airflow_api import keep, task_store
from airflow_provider_ignite_kafka.cache_watch.poll import FATAL, TRANSIENT
from airflow_provider_ignite_kafka.runs.lag import TIMEOUT_S, LagCondition, LagReader
from airflow_provider_ignite_kafka.runs.result import error_to_exception
from airflow_provider_ignite_kafka.sensors.deferrable import DeferrableSensor
from airflow_provider_ignite_kafka.triggers.arguments import event_to_exception
from airflow_provider_ignite_kafka.triggers.connector_lag import ConnectorLagTrigger
from ignite_kafka.errors import SettingsError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from ignite_kafka.admin.connector_lag import ConnectorLag

_KEY = "connector-lag-marks"


class ConnectorLagSensor(DeferrableSensor):
    """Sensor that waits until a connector has copied its initial data and all but `max_lag` records or changes.

    The lag of a sink is the number of offsets that its consumer group has not committed, transaction markers and
    records behind open transactions included; of a stream the number of changes in its backlog on the nodes. The lag
    of a snapshot is unknown until it is complete. A connector is asked again if it was never started, is between two
    runs, or its clusters do not answer. The sensor returns the lag.

    :param connector: name of the connector. Templated.
    :param max_lag: maximum lag of the whole connector, or a mapping by cache of a source or topic of a sink. Templated.
    :param kafka_conn_id: connection of the Kafka provider. Templated.
    :param ignite_conn_id: connection of type `ignite`, used for streams from Ignite. Templated.
    :param internal_topic_prefix: setting of the connector.
    :param secrets_file: path of a secrets file on worker and triggerer. Templated.
    :param poll_timeout: seconds in which a poll must have ended.
    :param deferrable: wait in the triggerer. Default: option `[operators] default_deferrable`.
    """

    template_fields: Sequence[str] = ("connector", "max_lag", "kafka_conn_id", "ignite_conn_id", "secrets_file")
    ui_color = "#e0ecf4"

    def __init__(
        self,
        *,
        connector: str,
        max_lag: int | Mapping[str, int] | str = 0,
        kafka_conn_id: str = LagReader.kafka_conn_id,
        ignite_conn_id: str = LagReader.ignite_conn_id,
        internal_topic_prefix: str = LagReader.internal_topic_prefix,
        secrets_file: str | None = None,
        poll_timeout: float = TIMEOUT_S,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connector = connector
        self.max_lag = max_lag
        self.kafka_conn_id = kafka_conn_id
        self.ignite_conn_id = ignite_conn_id
        self.internal_topic_prefix = internal_topic_prefix
        self.secrets_file = secrets_file
        self.poll_timeout = poll_timeout

    def check(self, context: Context) -> PokeReturnValue:
        """Read the lag once and compare it with the condition; without an answer, Airflow calls again later."""
        try:
            lag = LagReader(**self._reader()).read(self.poll_timeout)
            is_met = self._is_met(lag, context)
        except TRANSIENT as error:
            if isinstance(error, FATAL):
                raise error_to_exception(error) from error
            self.log.warning("The lag could not be read: %s", error)
            return PokeReturnValue(False)
        self.log.info("Connector %s is %s; lag: %s", lag.connector, lag.state, lag.counts() or 0)
        return PokeReturnValue(is_met, lag.to_dict() if is_met else None)

    def execute_complete(self, context: Context, event: dict[str, Any], **_newer: Any) -> dict[str, Any]:
        """Return the lag in the trigger's event as the task's result.

        :raises AirflowFailException, AirflowException: the trigger could not read the lag; the former if no retry can
            help.
        """
        if (failure := event_to_exception(event)) is not None:
            raise failure
        return event

    def trigger(self, context: Context) -> ConnectorLagTrigger:
        """Make a trigger that fires once the connector's lag meets the condition."""
        arguments = {**self._reader(), **self._condition(context)}
        return ConnectorLagTrigger(**arguments, poll_interval=self.poke_interval, poll_timeout=self.poll_timeout)

    def _reader(self) -> dict[str, Any]:
        return {
            "connector": self.connector,
            "kafka_conn_id": self.kafka_conn_id,
            "ignite_conn_id": self.ignite_conn_id,
            "internal_topic_prefix": self.internal_topic_prefix,
            "secrets_file": self.secrets_file or None,
        }

    def _condition(self, context: Context) -> dict[str, Any]:
        return {"max_lag": self._max_lag()}

    def _is_met(self, lag: ConnectorLag, context: Context) -> bool:
        condition = LagCondition(self._max_lag())
        if warning := condition.warning(lag):
            self.log.warning(warning)
        return condition.is_met(lag)

    def _max_lag(self) -> int | Mapping[str, int]:
        """Parse argument `max_lag`, a number or a text rendered from a template.

        :raises SettingsError: the argument is no number.
        """
        text = self.max_lag
        value = int(text) if isinstance(text, str) and text.strip().isdecimal() else text
        LagCondition(value).check()  # type: ignore[arg-type]  # what it checks
        return value  # type: ignore[return-value]


class ConnectorCaughtUpSensor(ConnectorLagSensor):
    """Sensor that waits until a connector has copied all data from before the task, ignoring newer data.

    It returns the connector's lag.

    A stream under load may never have a lag of 0. At its first check of a running connector, this sensor notes the end
    of each partition, and waits until all partitions are copied up to there. Arguments are those of
    :class:`ConnectorLagSensor` without `max_lag`.
    """

    def __init__(self, *, connector: str, **kwargs: Any) -> None:
        if "max_lag" in kwargs:
            raise SettingsError("ConnectorCaughtUpSensor has no argument max_lag", "Use ConnectorLagSensor.")
        super().__init__(connector=connector, **kwargs)
        self._marks: dict[str, int] | None = None

    def _condition(self, context: Context) -> dict[str, Any]:
        return {"max_lag": None, "marks": self._kept(context)}

    def _is_met(self, lag: ConnectorLag, context: Context) -> bool:
        from ignite_kafka.admin.connector_lag import marks_of

        marks = self._kept(context)
        if marks is None:
            if not lag.is_readable:
                return False
            marks = marks_of(lag)
            self._keep(context, marks)
        return LagCondition(marks=marks).is_met(lag)

    def _kept(self, context: Context) -> dict[str, int] | None:
        store = task_store(context)
        return self._marks if store is None else store.get(_KEY)

    def _keep(self, context: Context, marks: dict[str, int]) -> None:
        store = task_store(context)
        if store is not None:
            keep(store, _KEY, marks)
        elif self.reschedule and not self.deferrable:
            raise AirflowFailException(
                "mode='reschedule' needs the task state store of Airflow 3.3: use deferrable=True"
            )
        self._marks = marks
