"""Opening of a task's slots, in several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..plan.slots import Owner
from .open_transaction import TransactionLimits
from .slot_claim import SlotClaim
from .slot_writer import SlotWriter

_THREADS = 8  # opening and committing a slot wait for the broker


@dataclass(frozen=True)
class SlotOpener:
    """Function object that opens a slot by its number, for one attempt of a task; threads may share it.

    :param prefix: prefix of the internal topics.
    :param max_batch_bytes: see :class:`.SlotWriter`.
    :param producer: librdkafka settings of the producers; the user's own override them.
    """

    clients: KafkaClients
    topics: Topics
    connector: str
    prefix: str
    owner: Owner
    limits: TransactionLimits
    max_batch_bytes: int
    producer: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, slot: int, end: int | None = None) -> SlotWriter:
        """Open a slot: start its producer, which fences earlier attempts, and read its offsets.

        :param end: see :class:`.SlotClaim`.
        :raises Fenced: a newer run or attempt owns the slot.
        :raises KafkaUnavailable: brokers did not answer.
        """
        claim = SlotClaim.of(self.connector, slot, self.owner, self.prefix, end)
        return SlotWriter(self.clients, claim, self.limits, self.max_batch_bytes, self.topics, self.producer)


class OpenSlots:
    """Open slots of a task, by number; after any error they can only be closed.

    :param open_slot: opens a slot; called in several threads.
    """

    def __init__(self, open_slot: Callable[[int], SlotWriter], slots: Iterable[int]) -> None:
        self._writers: dict[int, SlotWriter] = {}
        self._pool = ThreadPoolExecutor(_THREADS, "slot")

        def opened(slot: int) -> None:
            self._writers[slot] = open_slot(slot)

        try:
            self.each(opened, slots)
        except BaseException:
            self.close()
            raise

    def __getitem__(self, slot: int) -> SlotWriter:
        return self._writers[slot]

    def __iter__(self) -> Iterator[int]:
        return iter(self._writers)

    def each(self, step: Callable[[int], object], slots: Iterable[int]) -> None:
        """Call a function with each slot's number, in several threads, and wait for all.

        Raise the error of the first slot that has one.
        """
        list(self._pool.map(step, slots))

    @property
    def in_doubt(self) -> bool:
        """Whether a requested commit of any slot got no reply, so that its outcome is unknown."""
        return any(writer.commit_requested for writer in self._writers.values())

    def close(self) -> None:
        """Close the producers of all slots; open transactions are aborted."""
        self._pool.shutdown()
        for writer in self._writers.values():
            writer.close()
