"""Live progress of a run, from what is committed: the driver follows the connector's topics while tasks work.

Offsets tell what is done, the status topic which task failed, the configs topic whether a newer run has taken the connector.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import TopicPartition

from ..errors import IgniteKafkaError
from ..kafka.clients import KafkaClients, translate
from ..kafka.control import configs_topic, connector_generation, offsets_topic
from ..kafka.producer import fenced_by_newer
from ..kafka.status import status_topic
from ..kafka.target import target_of
from ..kafka.topics import Topics
from ..offsets import UnitKey, UnitOffset, parse_key
from ..plan import TransferPlan


@dataclass
class CacheProgress:
    """Units and records of a cache that are committed."""

    units: int = 0
    records: int = 0


class Progress:
    """Follows a run.

    :param from_start: count also what earlier runs of the same snapshot committed; None: count nothing.
    """

    def __init__(self, clients: KafkaClients, topics: Topics, plan: TransferPlan, run_id: str, *, from_start: bool | None) -> None:
        self._plan, self._run_id = plan, run_id
        self.caches: dict[str, CacheProgress] = {cache.name: CacheProgress() for cache in plan.caches}
        self.error: IgniteKafkaError | None = None
        self.target: str | None = None
        prefix = plan.settings.internal_topic_prefix
        self._offsets, self._status, self._configs = offsets_topic(prefix, plan.connector), status_topic(prefix), configs_topic(prefix)
        slots = [] if from_start is None else list(range(plan.slots))
        starts = dict.fromkeys(slots, 0) if from_start or not slots else topics.ends(self._offsets, slots)
        status_end, configs_end = topics.ends(self._status, [0])[0], topics.ends(self._configs, [0])[0]
        self._consumer = clients.reader(**{"enable.partition.eof": False, "fetch.wait.max.ms": 500})  # else 50 requests a second
        places = [TopicPartition(self._offsets, slot, offset) for slot, offset in starts.items()]
        self._consumer.assign([*places, TopicPartition(self._status, 0, status_end), TopicPartition(self._configs, 0, configs_end)])

    def poll(self) -> None:
        """Take in what has come since the last call, without waiting.

        Sets :attr:`error` once a task failed or a newer run began, :attr:`target` to what the user last asked for since this was made.
        """
        for message in self._consumer.consume(50_000, timeout=0):
            error = message.error()
            if error is not None:
                failure = translate(error, "following progress", topic=message.topic(), partition=message.partition())
                if not failure.final:
                    continue  # a broker that restarts: the tasks have their own retries
                raise failure
            if message.topic() == self._status:
                self._task_record(json.loads(message.key() or b""), message.value())
            elif message.topic() == self._configs:
                self._control_record(message.key() or b"", message.value())
            else:
                self._unit_record(message.key() or b"", message.value())

    def _unit_record(self, key: bytes, value: bytes | None) -> None:
        place = parse_key(key)
        if value is None or not isinstance(place, UnitKey) or place.cache not in self.caches:
            return
        unit = UnitOffset.from_json(value)
        if unit.done and unit.snapshot_id == self._plan.snapshot_id:
            self.caches[place.cache].units += 1
            self.caches[place.cache].records += unit.records

    def _task_record(self, key: list[object], value: bytes | None) -> None:
        if value is None or key[:2] != ["task", self._plan.connector]:
            return
        record: Mapping[str, object] = json.loads(value)
        if record["run_id"] == self._run_id:
            self.error = self.error or IgniteKafkaError.from_dict(record["error"])  # type: ignore[arg-type]

    def _control_record(self, key: bytes, value: bytes | None) -> None:
        mine, theirs = self._plan.generation, connector_generation(self._plan.connector, key, value)
        self.target = target_of(self._plan.connector, key, value) or self.target
        if theirs > mine:
            self.error = fenced_by_newer(self._plan.connector, None, mine, theirs)

    def close(self) -> None:
        self._consumer.close()
