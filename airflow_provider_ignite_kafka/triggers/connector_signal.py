"""Trigger that fires when a signal's ad-hoc snapshot has ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, fields
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_ignite_kafka.cache_watch.poll import FATAL, TRANSIENT
from airflow_provider_ignite_kafka.runs.signals import SignalReader, progress_text
from airflow_provider_ignite_kafka.threads import RepeatedCall
from airflow_provider_ignite_kafka.triggers.arguments import error_event, refuse_unknown, seconds
from ignite_kafka.common.deadline import Deadline
from ignite_kafka.errors import IgniteKafkaError, SettingsError

POLL_TIMEOUT_S = 60.0
_READER = tuple(field.name for field in fields(SignalReader))
_ARGUMENTS = (*_READER, "signal", "poll_interval", "requested")


class ConnectorSignalTrigger(BaseTrigger):
    """Trigger that polls a signal, and fires its progress once the signal has ended.

    The event has the form of :func:`.runs.signals.signal_to_dict`. Brokers that do not answer are asked again. An error
    that later polls would have, too, is fired: ``{"error": reason, "final": whether no retry can help}``.

    :param connector: name of the connector.
    :param signal: id of the signal.
    :param poll_interval: seconds between two polls.
    :param requested: whether the signal is recorded already; otherwise one that is not is waited for.
    """

    def __init__(
        self,
        *,
        connector: str = "",
        signal: str = "",
        kafka_conn_id: str = SignalReader.kafka_conn_id,
        internal_topic_prefix: str = SignalReader.internal_topic_prefix,
        secrets_file: str | None = None,
        poll_interval: float = 10.0,
        requested: bool = False,
        **unknown: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # BaseTrigger has no annotations
        self.reader = SignalReader(connector, kafka_conn_id, internal_topic_prefix, secrets_file)
        self.signal = signal
        self.poll_interval = poll_interval
        self.requested = requested
        self.unknown = unknown
        self._polls = RepeatedCall(
            lambda: self.reader.read(self.signal, requested=self.requested), f"connector-signal-{connector}"
        )

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Serialize the trigger for Airflow's database, with the connection's id instead of its secrets.

        :raises SettingsError: an argument is wrong.
        """
        refuse_unknown(type(self).__name__, self.unknown, _ARGUMENTS)
        self._check()
        own = {"signal": self.signal, "poll_interval": self.poll_interval, "requested": self.requested}
        return f"{type(self).__module__}.{type(self).__qualname__}", asdict(self.reader) | own

    def _check(self) -> None:
        name = type(self).__name__
        for argument, value in (("connector", self.reader.connector), ("signal", self.signal)):
            if not value or not isinstance(value, str):
                raise SettingsError(f"{argument} of {name} is {value!r}", "Give a text.")
        seconds(name, "poll_interval", self.poll_interval)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the signal has ended, then fire one event with its progress or an error."""
        try:
            self._check()
            yield TriggerEvent(await self._wait())
        except (*TRANSIENT, AirflowException, AirflowRuntimeError) as error:
            yield error_event(error)

    async def _wait(self) -> dict[str, Any]:
        while True:
            progress = await self._poll()
            if progress is not None and progress["ended"]:
                return progress
            self.requested = self.requested or progress is not None
            await asyncio.sleep(self.poll_interval)

    async def _poll(self) -> dict[str, Any] | None:
        """Read the signal in a thread; None if the brokers do not answer now, so that a later poll may succeed."""
        if (ended := await self._polls.ended(Deadline.after(POLL_TIMEOUT_S))) is None:
            self.log.warning("The signal could not be read within %s s; it is read again", POLL_TIMEOUT_S)
            return None
        try:
            progress = ended.result()
        except TRANSIENT as error:
            if isinstance(error, FATAL):
                raise
            what = error if isinstance(error, IgniteKafkaError) else repr(error)
            self.log.warning("The signal could not be read; next poll in %s s: %s", self.poll_interval, what)
            return None
        self.log.info("%s", progress_text(self.reader.connector, self.signal, progress))
        return progress
