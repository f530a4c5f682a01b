"""Operator that sends a signal to a streaming source: an ad-hoc snapshot of caches beside the running stream."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseOperator, conf

from airflow_provider_ignite_kafka.runs.result import error_to_exception
from airflow_provider_ignite_kafka.runs.signals import SignalReader
from airflow_provider_ignite_kafka.templates import TypedTemplates
from airflow_provider_ignite_kafka.triggers.signal_wait import SignalWait
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.state.signal_records import CacheSelection

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_NO_ID = re.compile(r"[^A-Za-z0-9._:-]")
_MOST_OF_ID = 100


class SnapshotSignalOperator(SignalWait, TypedTemplates, BaseOperator):
    """Operator that has a streaming source send entries of caches again, and waits until they are sent.

    The connector's run sends them beside its changes; without a run, its next run does. A retried task waits for the
    signal of its first try, because the signal's id follows from Dag, task, run and map index. The task fails without
    retries if the signal fails or is stopped, or if its end is no longer recorded. Outlets get asset events with the
    counts of their topics.

    :param connector: name of the connector. Templated.
    :param caches: names of caches, or a mapping of names to conditions in the language of setting `where`; an empty
        condition selects every entry. Templated.
    :param keys: record keys of one cache: only these are sent; at most 10,000. Templated.
    :param partitions: Ignite partitions of one cache: only these are sent.
    :param signal: id of the signal. Default: from Dag, task, run and map index. Templated.
    :param kafka_conn_id: connection of the Kafka provider. Templated.
    :param internal_topic_prefix: setting of the connector.
    :param secrets_file: path of a secrets file on worker and triggerer. Templated.
    :param wait_for_completion: whether the task waits for the signal's end; otherwise it returns the signal's id.
        `execution_timeout` limits the wait.
    :param poke_interval: seconds between two polls.
    :param deferrable: wait in the triggerer. Default: option `[operators] default_deferrable`.
    """

    template_fields: Sequence[str] = ("connector", "caches", "keys", "signal", "kafka_conn_id", "secrets_file")
    ui_color = "#d5e8f7"

    def __init__(
        self,
        *,
        connector: str,
        caches: Mapping[str, str] | Sequence[str] | str,
        keys: Sequence[str] = (),
        partitions: Sequence[int] = (),
        signal: str = "",
        kafka_conn_id: str = SignalReader.kafka_conn_id,
        internal_topic_prefix: str = SignalReader.internal_topic_prefix,
        secrets_file: str | None = None,
        wait_for_completion: bool = True,
        poke_interval: float = 10.0,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connector = connector
        self.signal = signal
        self.kafka_conn_id = kafka_conn_id
        self.internal_topic_prefix = internal_topic_prefix
        self.secrets_file = secrets_file
        self.poke_interval = poke_interval
        self.deferrable = deferrable
        self.caches = caches
        self.keys = keys
        self.partitions = partitions
        self.wait_for_completion = wait_for_completion

    def execute(self, context: Context) -> Any:
        """Request the snapshot, and wait for its end.

        :return: the counts, as those of the sensor ``ConnectorSignalSensor``; without a wait the signal's id.
        :raises AirflowFailException: the connector cannot follow signals, an argument is wrong, or the signal failed.
        """
        self.signal = self.signal or _id_of(context)
        try:
            requested = self._reader.request(self._selections(), self.signal)
        except IgniteKafkaError as error:
            raise error_to_exception(error) from error
        self.is_requested = True
        again = " again" if requested.repeated else ""
        self.log.info("Signal %s of connector %s is requested%s", self.signal, self.connector, again)
        if requested.run_ended:
            self.log.warning("No run of connector %s is active: its next run sends the snapshot", self.connector)
        if not self.wait_for_completion:
            return self.signal
        if self.deferrable:
            self.defer(trigger=self.trigger(context), method_name="execute_complete", timeout=self.execution_timeout)
        while (progress := self.poll()) is None or not progress["ended"]:
            time.sleep(self.poke_interval)
        return self.conclude(context, progress)

    def _selections(self) -> list[CacheSelection]:
        """Return what the arguments select.

        :raises SettingsError: keys or partitions are given for several caches, or no cache is.
        """
        caches = self.caches
        if isinstance(caches, str):
            caches = [caches]
        conditions = dict(caches) if isinstance(caches, Mapping) else dict.fromkeys(caches, "")
        if not conditions:
            raise SettingsError("no cache is given", "Give caches.", setting="caches")
        if len(conditions) > 1 and (self.keys or self.partitions):
            raise SettingsError("keys and partitions are of one cache", "Give one cache.", setting="caches")
        keys = tuple(map(str, self.keys))
        return [CacheSelection(cache, where, keys, tuple(self.partitions)) for cache, where in conditions.items()]


def _id_of(context: Context) -> str:
    """Return the id of a task's signal, the same in each try; characters that ids may not have become hyphens."""
    task = context["ti"]
    parts = [task.dag_id, task.task_id, task.run_id]
    if task.map_index is not None and task.map_index >= 0:
        parts.append(str(task.map_index))
    text = _NO_ID.sub("-", ":".join(parts))
    if len(text) <= _MOST_OF_ID:
        return text
    from hashlib import sha256

    return f"{text[:60]}-{sha256(':'.join(parts).encode()).hexdigest()[:32]}"
