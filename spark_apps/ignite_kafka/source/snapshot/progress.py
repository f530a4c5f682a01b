"""Live progress of a snapshot, counted from the offset records that its tasks commit."""

from __future__ import annotations

import time

from confluent_kafka import Message, TopicPartition

from ...kafka.clients import KafkaClients
from ...kafka.topics import Topics
from ...plan.source_plan import TransferPlan
from ...runtime.driver_consumer import DriverConsumer
from ...state.internal_names import offsets_topic
from ...state.offsets import unit_of
from ...state.status import CacheCount


class SnapshotProgress(DriverConsumer):
    """The driver's consumer during a snapshot, which also reads the connector's offsets topic.

    :param from_start: whether to count units committed by earlier runs of the same snapshot, too.
    """

    def __init__(self, clients: KafkaClients, topics: Topics, plan: TransferPlan, *, from_start: bool) -> None:
        self._plan = plan
        self._from_start = from_start
        self.caches: dict[str, CacheCount] = {cache.name: CacheCount() for cache in plan.caches}
        self.committed_at = time.monotonic()
        """Time of the last commit seen, on the monotonic clock."""
        super().__init__(clients, topics, plan)

    def _more_partitions(self, topics: Topics) -> list[TopicPartition]:
        offsets = offsets_topic(self._plan.settings.internal_topic_prefix, self._plan.connector)
        slots = list(range(self._plan.slots))
        starts = dict.fromkeys(slots, 0) if self._from_start else topics.ends(offsets, slots)
        return [TopicPartition(offsets, slot, offset) for slot, offset in starts.items()]

    def _record(self, message: Message) -> None:
        self.committed_at = time.monotonic()
        parsed = unit_of(message)
        if parsed is None or parsed[0].cache not in self.caches:
            return
        place, unit = parsed
        if unit.done and unit.snapshot_id == self._plan.snapshot_id:
            self.caches[place.cache].add(
                CacheCount(records=unit.records, units=1, bad=unit.bad, dead_letters=unit.dead_letters)
            )
