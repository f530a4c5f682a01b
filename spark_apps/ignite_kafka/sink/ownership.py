"""Age of Kafka's last answer that a task owns a slot, for sinks without fenced writes."""

from __future__ import annotations

import time
from collections.abc import Iterable

from ..common.deadline import Clock

CONFIRMED_S = 1.0
"""Time for which a task relies on an answer, in seconds. A task that slept for longer asks again before it puts."""


class SlotConfirmations:
    """When Kafka was last asked about each slot and confirmed it; threads may note different slots."""

    def __init__(self, slots: Iterable[int], clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._asked_s = dict.fromkeys(slots, clock())

    def now(self) -> float:
        """Return the time to note with :meth:`confirmed`, to be read before Kafka is asked.

        The answer may be read much later than it was given.
        """
        return self._clock()

    def confirmed(self, slot: int, asked_s: float) -> None:
        """Note that Kafka confirmed a slot; ``asked_s`` is the time of the question."""
        self._asked_s[slot] = asked_s

    def outdated(self, slots: Iterable[int]) -> list[int]:
        """Return the slots that Kafka has not confirmed within :data:`CONFIRMED_S`, each once."""
        now = self._clock()
        return [slot for slot in sorted(set(slots)) if now - self._asked_s[slot] > CONFIRMED_S]
