"""An epoch of a stream: one Spark job, whose tasks go on until its time is over or the driver ends it.

Short enough that a task that finds no free core waits no longer than that, and that lost or new executors count from the next one on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import TopicPartition

from ...errors import Fenced
from ...kafka.clients import KafkaClients, translate
from ...kafka.control import configs_topic, connector_generation, epoch_of
from ...kafka.producer import fenced_by_newer
from ...plan import TransferPlan

LOADING_S, STREAMING_S = 20.0, 120.0
"""While what was there before is sent, an epoch's end tells how far it is. Later each costs up to a second: slots are opened anew."""

Unit = tuple[int, int]
"""Cache id and partition."""


@dataclass(frozen=True)
class Epoch:
    """What a task must know of it.

    :param number: rising within a generation; 1 is the first.
    :param configs_offset: where the configs topic ended before it began.
    :param until: for a catch-up: the highest number that each unit's backlog had when the run began; None: the stream has no end.
    """

    number: int
    configs_offset: int
    until: Mapping[Unit, int] | None = None
    seconds: float = LOADING_S


class EpochEnd:
    """Tells a task when its epoch is over: by time, or by what the driver has written."""

    def __init__(self, clients: KafkaClients, plan: TransferPlan, epoch: Epoch) -> None:
        self._plan, self._epoch = plan, epoch
        self._end = time.monotonic() + epoch.seconds
        self._told = False
        self._consumer = clients.reader(**{"enable.partition.eof": False, "fetch.wait.max.ms": 500})
        topic = configs_topic(plan.settings.internal_topic_prefix)
        self._consumer.assign([TopicPartition(topic, 0, epoch.configs_offset)])

    def reached(self, wait_s: float = 0.0) -> bool:
        """Whether the epoch is over; waits at most that long for its end.

        :raises Fenced: a newer run has taken the connector.
        """
        left_s = self._end - time.monotonic()
        return self.told(min(wait_s, left_s)) or left_s <= wait_s

    def told(self, wait_s: float = 0.0) -> bool:
        """Whether the driver has ended the epoch; waits at most that long for it.

        :raises Fenced: a newer run has taken the connector.
        """
        until = time.monotonic() + wait_s
        while not self._told:
            message = self._consumer.poll(max(0.0, until - time.monotonic()))
            if message is None:
                break
            error = message.error()
            if error is None:
                self._take(message.key() or b"", message.value())
            elif (failure := translate(error, "following the configs topic", topic=message.topic())).final:
                raise failure
        return self._told

    def _take(self, key: bytes, value: bytes | None) -> None:
        connector, mine = self._plan.connector, self._plan.generation
        theirs = connector_generation(connector, key, value)
        if theirs > mine:
            raise self._fenced(theirs)
        self._told = self._told or epoch_of(connector, key, value) > (mine, self._epoch.number)

    def _fenced(self, theirs: int) -> Fenced:
        return fenced_by_newer(self._plan.connector, None, self._plan.generation, theirs)

    def close(self) -> None:
        self._consumer.close()
