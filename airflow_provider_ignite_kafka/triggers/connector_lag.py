"""Trigger that fires when a connector has little left to copy, or has copied all changes from before the trigger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_ignite_kafka.cache_watch.poll import FATAL, TRANSIENT
from airflow_provider_ignite_kafka.runs.lag import TIMEOUT_S, LagCondition, LagReader
from airflow_provider_ignite_kafka.threads import RepeatedCall
from airflow_provider_ignite_kafka.triggers.arguments import error_event, refuse_unknown, seconds
from ignite_kafka.common.deadline import Deadline
from ignite_kafka.errors import IgniteKafkaError, SettingsError

if TYPE_CHECKING:
    from ignite_kafka.admin.connector_lag import ConnectorLag

_READER = tuple(field.name for field in fields(LagReader))
_ARGUMENTS = (*_READER, "max_lag", "marks", "poll_interval", "poll_timeout")


class ConnectorLagTrigger(BaseTrigger):
    """Trigger that polls a connector's lag, and fires it once it is small enough.

    The event has the form of ``ignite_kafka.admin.connector_lag.ConnectorLag.to_dict``.

    Clusters that do not answer are asked again. An error that later polls would have, too, is fired:
    ``{"error": reason, "final": whether no retry can help}``. The constructor raises nothing, see
    :class:`~airflow_provider_ignite_kafka.triggers.cache_watch.IgniteCacheWatchTrigger`.

    :param connector: name of the connector.
    :param max_lag: maximum number of records or changes left to copy, of the whole connector, or by cache of a source
        or topic of a sink.
    :param marks: positions to pass, by ``name/partition``, instead of `max_lag`; None: those of the first poll, if
        `max_lag` is None.
    :param poll_interval: seconds between two polls.
    :param poll_timeout: maximum time of a poll, in seconds.
    """

    def __init__(
        self,
        *,
        connector: str = "",
        kafka_conn_id: str = LagReader.kafka_conn_id,
        ignite_conn_id: str = LagReader.ignite_conn_id,
        internal_topic_prefix: str = LagReader.internal_topic_prefix,
        secrets_file: str | None = None,
        max_lag: int | Mapping[str, int] | None = 0,
        marks: Mapping[str, int] | None = None,
        poll_interval: float = 60.0,
        poll_timeout: float = TIMEOUT_S,
        **unknown: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # BaseTrigger has no annotations
        self.reader = LagReader(connector, kafka_conn_id, ignite_conn_id, internal_topic_prefix, secrets_file)
        self.max_lag = max_lag
        self.marks = marks
        self.poll_interval = poll_interval
        self.poll_timeout = poll_timeout
        self.unknown = unknown
        self._polls = RepeatedCall(lambda: self.reader.read(self.poll_timeout), f"connector-lag-{connector}")

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Serialize the trigger for Airflow's database, with the connections' ids instead of their secrets.

        :raises SettingsError: an argument is wrong.
        """
        refuse_unknown(type(self).__name__, self.unknown, _ARGUMENTS)
        self._check()
        own = {name: getattr(self, name) for name in _ARGUMENTS if name not in _READER}
        return f"{type(self).__module__}.{type(self).__qualname__}", asdict(self.reader) | own

    def _check(self) -> None:
        name = type(self).__name__
        if not self.reader.connector or not isinstance(self.reader.connector, str):
            raise SettingsError(f"connector of {name} is {self.reader.connector!r}", "Give the connector's name.")
        LagCondition(0 if self.max_lag is None else self.max_lag).check()
        seconds(name, "poll_interval", self.poll_interval)
        seconds(name, "poll_timeout", self.poll_timeout, positive=True)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the lag meets the condition, then fire one event with the lag or an error."""
        try:
            self._check()
            yield TriggerEvent((await self._wait()).to_dict())
        except (*TRANSIENT, AirflowException, AirflowRuntimeError) as error:
            yield error_event(error)

    async def _wait(self) -> ConnectorLag:
        from ignite_kafka.admin.connector_lag import marks_of

        while True:
            lag = await self._poll()
            if lag is not None:
                if self.max_lag is None and self.marks is None and lag.is_readable:
                    self.marks = marks_of(lag)
                caught_up = self.max_lag is None and self.marks is None
                condition = LagCondition(self.max_lag or 0, self.marks)
                if not caught_up and condition.is_met(lag):
                    return lag
                if warning := condition.warning(lag):
                    self.log.warning(warning)
                self.log.info(
                    "Connector %s is %s; to copy: %s", lag.connector, lag.state, lag.counts() or "the initial data"
                )
            await asyncio.sleep(self.poll_interval)

    async def _poll(self) -> ConnectorLag | None:
        """Read the lag in a thread; None if the clusters do not answer now, so that a later poll may succeed."""
        if (ended := await self._polls.ended(Deadline.after(self.poll_timeout))) is None:
            self.log.warning(
                "The lag could not be read within %s s; next poll in %s s", self.poll_timeout, self.poll_interval
            )
            return None
        try:
            return ended.result()
        except TRANSIENT as error:
            if isinstance(error, FATAL):
                raise
            what = error if isinstance(error, IgniteKafkaError) else repr(error)
            self.log.warning("The lag could not be read; next poll in %s s: %s", self.poll_interval, what)
            return None
