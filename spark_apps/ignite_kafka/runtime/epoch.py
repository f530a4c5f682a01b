"""An epoch of a stream: one Spark job, whose tasks go on until the driver ends it.

It does so where there is a reason: what the user asks for, caches that came or went, and, after some time, tasks that wait for a core, or
another number of cores. Without one an epoch goes on: its end costs up to a second, for slots are opened anew.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import TopicPartition

from ..errors import Fenced, KafkaUnavailable
from ..kafka.clients import KafkaClients, translate
from ..kafka.producer import fenced_by_newer
from ..plan.source_plan import RunPlan
from ..state.configs import capture_secret_of, configs_topic, connector_generation, epoch_of
from ..state.internal_records import InternalRecord

LOADING_S, STREAMING_S = 20.0, 120.0
"""How long a task waits for a core at least, while what was there before is sent, and later."""

_SECRET_POLL_S = 0.5

LONGEST_S = 3600.0
"""No task goes on longer without a word of its driver."""

Unit = tuple[int, int]
"""Cache id and partition."""


@dataclass(frozen=True)
class Epoch:
    """What a task must know of it.

    :param number: rising within a generation; 1 is the first.
    :param configs_offset: where the configs topic ended before it began.
    :param until: for a catch-up: the highest number that each unit's backlog had when the run began; None: the stream has no end.
    :param ahead_s: how long what the epochs before have sent is ahead of ``max_records_per_second``.
    """

    number: int
    configs_offset: int
    until: Mapping[Unit, int] | None = None
    seconds: float = LOADING_S
    ahead_s: float = 0.0


@dataclass(frozen=True)
class Running:
    """An epoch with what the driver knows of its job: cores that Spark had at its beginning, and tasks."""

    epoch: Epoch
    cores: int
    tasks: int


class EpochEnd:
    """The end of a task's epoch: by time, or by a record of the driver."""

    def __init__(self, clients: KafkaClients, plan: RunPlan, epoch: Epoch) -> None:
        self._plan, self._epoch = plan, epoch
        self._end = time.monotonic() + epoch.seconds
        self._ended = False
        self._secret: str | None = None
        self._consumer = clients.reader(**{"enable.partition.eof": False, "fetch.wait.max.ms": 500})
        topic = configs_topic(plan.settings.internal_topic_prefix)
        self._consumer.assign([TopicPartition(topic, 0, epoch.configs_offset)])

    def capture_secret(self, wait_s: float) -> str:
        """The secret of the capture, from the record that began the epoch; waits at most that long for it.

        :raises KafkaUnavailable: it did not come in that time.
        :raises Fenced: a newer run has taken the connector.
        """
        until = time.monotonic() + wait_s
        while self._secret is None and time.monotonic() < until and not self.ended(min(_SECRET_POLL_S, wait_s)):
            pass
        if self._secret is None:
            topic = configs_topic(self._plan.settings.internal_topic_prefix)
            what = "the record that begins an epoch, with the secret of the capture, did not come"
            raise KafkaUnavailable(what, "Check the brokers.", topic=topic, connector=self._plan.connector, epoch=self._epoch.number)
        return self._secret

    def reached(self, wait_s: float = 0.0) -> bool:
        """Whether the epoch is over; waits at most that long for its end.

        :raises Fenced: a newer run has taken the connector.
        """
        left_s = self._end - time.monotonic()
        return self.ended(min(wait_s, left_s)) or left_s <= wait_s

    def ended(self, wait_s: float = 0.0) -> bool:
        """Whether the driver has ended the epoch; waits at most that long for its record.

        :raises Fenced: a newer run has taken the connector.
        """
        until = time.monotonic() + wait_s
        while not self._ended:
            message = self._consumer.poll(max(0.0, until - time.monotonic()))
            if message is None:
                break
            error = message.error()
            if error is None:
                record = InternalRecord.of(message)
                if record is not None:
                    self._take(record)
            elif (failure := translate(error, "following the configs topic", topic=message.topic())).final:
                raise failure
        return self._ended

    def _take(self, record: InternalRecord) -> None:
        connector, mine = self._plan.connector, self._plan.generation
        self._secret = capture_secret_of(connector, record) or self._secret
        theirs = connector_generation(connector, record)
        if theirs > mine:
            raise self._fenced(theirs)
        self._ended = self._ended or epoch_of(connector, record) > (mine, self._epoch.number)

    def _fenced(self, theirs: int) -> Fenced:
        return fenced_by_newer(self._plan.connector, None, self._plan.generation, theirs)

    def close(self) -> None:
        self._consumer.close()
