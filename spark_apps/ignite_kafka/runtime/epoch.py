"""Epochs of a stream. An epoch is one Spark job, whose tasks run until the driver ends it.

The driver ends an epoch when the target state or the set of caches changes and, after some time, when tasks wait for a
core or the number of cores has changed. Otherwise it continues, because the next epoch opens all slots anew, which
takes up to a second.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import TopicPartition

from ..common.heartbeat import beat
from ..errors import KafkaUnavailable
from ..kafka.clients import KafkaClients, translate
from ..plan.source_plan import RunPlan
from ..state.configs import capture_secret_of, epoch_of
from ..state.internal_names import configs_topic
from ..state.internal_records import InternalRecord
from ..state.signal_records import Signal
from .fencing import fencing_error

LOADING_S = 20.0
STREAMING_S = 120.0
"""Minimum time that a task waits for a core, in seconds: while the initial data is sent, and afterwards."""

_SECRET_POLL_S = 0.5
_STEP_S = 5.0  # between two signs of life of a task that waits

LONGEST_S = 3600.0
"""Maximum time of a task without a new record of its driver, in seconds."""

Unit = tuple[int, int]
"""Cache id and partition."""


@dataclass(frozen=True)
class Epoch:
    """What the driver tells the tasks of an epoch: number, duration, where a bounded run ends.

    :param number: increases within a generation, from 1.
    :param configs_offset: end offset of the configs topic before the epoch began.
    :param until: for a run that ends: the highest number in each unit's backlog when the run began; None: the stream
        has no end.
    :param seconds: maximum duration.
    :param ahead_s: seconds by which earlier epochs are ahead of ``max_records_per_second``.
    :param signal: ad-hoc snapshot that the tasks send beside the changes; None: there is none.
    """

    number: int
    configs_offset: int
    until: Mapping[Unit, int] | None = None
    seconds: float = LOADING_S
    ahead_s: float = 0.0
    signal: Signal | None = None


@dataclass(frozen=True)
class Running:
    """Running epoch, with its number of tasks and Spark's cores at its start, to detect changed cores."""

    epoch: Epoch
    cores: int
    tasks: int


class EpochEnd:
    """Detects the end of an epoch in a task, by time or by the driver's records in the configs topic."""

    def __init__(self, clients: KafkaClients, plan: RunPlan, epoch: Epoch) -> None:
        self._plan = plan
        self._epoch = epoch
        self._end = time.monotonic() + epoch.seconds
        self._ended = False
        self._secret: str | None = None
        self._consumer = clients.reader(**{"enable.partition.eof": False, "fetch.wait.max.ms": 500})
        topic = configs_topic(plan.settings.internal_topic_prefix)
        self._consumer.assign([TopicPartition(topic, 0, epoch.configs_offset)])

    def capture_secret(self, wait_s: float) -> str:
        """Wait at most ``wait_s`` seconds for the epoch's record in the configs topic, and return its capture secret.

        :raises KafkaUnavailable: the record did not arrive in that time.
        :raises Fenced: a newer run has taken the connector.
        """
        until = time.monotonic() + wait_s
        while self._secret is None and time.monotonic() < until and not self.ended(min(_SECRET_POLL_S, wait_s)):
            pass
        if self._secret is None:
            topic = configs_topic(self._plan.settings.internal_topic_prefix)
            what = "the record of the epoch, which holds the secret of the capture, did not arrive"
            raise KafkaUnavailable(
                what, "Check the brokers.", topic=topic, connector=self._plan.connector, epoch=self._epoch.number
            )
        return self._secret

    def reached(self, wait_s: float = 0.0) -> bool:
        """Wait at most ``wait_s`` seconds for the epoch's end, by time or by the driver; return whether it is over.

        :raises Fenced: a newer run has taken the connector.
        """
        left_s = self._end - time.monotonic()
        return self.ended(min(wait_s, left_s)) or left_s <= wait_s

    def ended(self, wait_s: float = 0.0) -> bool:
        """Wait at most ``wait_s`` seconds for the driver's record that ends the epoch; return whether it came.

        :raises Fenced: a newer run has taken the connector.
        """
        until = time.monotonic() + wait_s
        while not self._ended:
            message = self._consumer.poll(min(_STEP_S, max(0.0, until - time.monotonic())))
            beat()
            if message is None:
                if time.monotonic() >= until:
                    break
            elif (error := message.error()) is None:
                record = InternalRecord.of(message)
                if record is not None:
                    self._on_record(record)
            elif (failure := translate(error, "following the configs topic", topic=message.topic())).final:
                raise failure
        return self._ended

    def _on_record(self, record: InternalRecord) -> None:
        connector = self._plan.connector
        self._secret = capture_secret_of(connector, record) or self._secret
        if (fenced := fencing_error(self._plan, record)) is not None:
            raise fenced
        self._ended = self._ended or epoch_of(connector, record) > (self._plan.generation, self._epoch.number)

    def close(self) -> None:
        """Close the consumer of the configs topic."""
        self._consumer.close()
