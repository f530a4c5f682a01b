"""Open slots of a sink's task, which commit its offsets and dead letters in transactions.

They also determine the start offsets of their topic partitions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import events
from ..errors import TopicError
from ..kafka.clients import KafkaClients
from ..kafka.dead_letters import DeadLetter
from ..kafka.producer import DEFAULTS
from ..kafka.record_size import DEFAULT_MESSAGE_BYTES
from ..kafka.topics import TopicPartition, Topics
from ..plan.sink_offsets import PartitionOffset
from ..plan.sink_plan import SinkPlan, TopicPlan
from ..plan.slots import Owner
from ..state.open_slots import OpenSlots, SlotOpener
from ..state.open_transaction import TransactionLimits
from .ownership import SlotConfirmations
from .put_limits import committed_limits
from .start_offsets import Starts, repeated_ends, resolve_starts


class SinkSlots:
    """Open slots of one task, each with a transactional producer; after an error they can only be closed.

    :ivar slot_of: topic partition to the number of its slot.
    """

    def __init__(self, plan: SinkPlan, clients: KafkaClients, slots: Iterable[int], owner: Owner) -> None:
        self._plan = plan
        self._settings = plan.settings
        self._topics = Topics(clients)
        self._plans: dict[TopicPartition, TopicPlan] = {}
        self.slot_of: dict[TopicPartition, int] = {}
        for slot, topic, partition in plan.partitions(slots):
            self._plans[topic.name, partition] = topic
            self.slot_of[topic.name, partition] = slot
        settings = plan.settings
        limits = TransactionLimits(timeout_ms=settings.transaction_timeout_ms)
        producer = {
            "message.max.bytes": max(plan.max_batch_bytes, DEFAULT_MESSAGE_BYTES),
            "batch.size": DEFAULTS["batch.size"],
        }
        opener = SlotOpener(
            clients,
            self._topics,
            plan.connector,
            settings.internal_topic_prefix,
            owner,
            limits,
            plan.max_batch_bytes,
            producer,
        )
        slots_with_topics = sorted(set(self.slot_of.values()))
        self._confirmations = SlotConfirmations(slots_with_topics)
        self._writers = OpenSlots(opener, slots_with_topics)

    def starts(self) -> Starts:
        """Return the start offset of each topic partition, and report offsets reset by ``auto_offset_reset``.

        :raises TopicError, RecordsLost: see :func:`~ignite_kafka.sink.start_offsets.resolve_starts`.
        """
        self.check_topics()
        starts = resolve_starts(self._plans, self._settings, self._topics, self._copies())
        for (topic, partition), start in starts.reset.items():
            reason = f"auto_offset_reset is {self._settings.auto_offset_reset}"
            where = {"topic": topic, "partition": partition, "start": start.offset, "wanted": start.instead_of}
            events.emit(events.OFFSET_RESET, **where, reason=reason)
        return starts

    def committed_limits(self, starts: Starts) -> dict[TopicPartition, int]:
        """Return the offset before which records of each partition may be stored already, or its start."""
        return committed_limits(self._plans, starts.offsets, self._copies())

    def repeated_ends(self, starts: Starts, limits: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the end of what may be stored and is not committed; see :func:`.repeated_ends`."""
        return repeated_ends(starts.offsets, limits, self._topics)

    def _copies(self) -> dict[TopicPartition, PartitionOffset]:
        return {place: copy for slot in self._writers for place, copy in self._writers[slot].state.by_topic.items()}

    def check_topics(self) -> None:
        """Check that no planned topic was deleted or recreated, because its offsets would be wrong.

        :raises TopicError: a topic was deleted, or deleted and made again.
        """
        planned = {topic.name: topic.topic_id for topic in self._plans.values()}
        descriptions = self._topics.describe(list(planned))
        for name, topic_id in planned.items():
            if name not in descriptions or descriptions[name].topic_id != topic_id:
                how = "deleted" if name not in descriptions else "deleted and made again"
                raise TopicError(
                    f"the topic was {how} during the run", "Start again: its offsets are checked then.", topic=name
                )

    def commit(
        self,
        offsets: Mapping[TopicPartition, int],
        limits: Mapping[TopicPartition, int],
        dead_letters: Mapping[TopicPartition, Sequence[DeadLetter]],
        group_metadata: Any,
    ) -> None:
        """Commit consumer offsets and dead letters, in one transaction for each slot; wait for all commits.

        :param limits: of a strict sink, offsets before which records may be stored until the next commit.
        """
        by_slot: dict[int, dict[TopicPartition, PartitionOffset]] = defaultdict(dict)
        for place, offset in offsets.items():
            topic_id = self._plans[place].topic_id
            by_slot[self.slot_of[place]][place] = PartitionOffset(
                offset, topic_id, self._plan.generation, limits.get(place, 0)
            )

        def commit_slot(slot: int) -> None:
            writer = self._writers[slot]
            for place in by_slot[slot]:
                writer.send_dead_letters(dead_letters.get(place, ()))
            writer.positions(by_slot[slot], group_metadata)
            writer.commit()

        asked_s = self._confirmations.now()
        self._writers.each(commit_slot, by_slot)
        self._confirmations.confirmed(by_slot, asked_s)

    def confirm(self, places: Iterable[TopicPartition]) -> None:
        """Ask Kafka whether this task still owns the slots of topic partitions, unless it has just said so.

        To be called directly before their records are put: nodes execute the puts of any task.

        :raises Fenced: a newer run, or a newer attempt of the task, owns a slot.
        :raises KafkaUnavailable: the brokers did not answer, or another producer has a slot's transactional id.
        """
        if outdated := self._confirmations.outdated(self.slot_of[place] for place in places):
            asked_s = self._confirmations.now()
            self._writers.each(lambda slot: self._writers[slot].confirm(), outdated)
            self._confirmations.confirmed(outdated, asked_s)

    def close(self) -> None:
        """Close the producers of all slots; open transactions are aborted."""
        self._writers.close()
