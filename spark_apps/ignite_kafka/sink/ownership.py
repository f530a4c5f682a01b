"""Age of Kafka's last answer that a task owns a slot, for sinks without fenced writes."""

from __future__ import annotations

import time
from collections.abc import Iterable

from ..common.deadline import Clock

MIN_CONFIRMED_S = 1.0
"""Shortest time for which a task relies on an answer, in seconds. A task that slept for longer asks again."""
MAX_CONFIRMED_S = 5.0
"""Longest time for which a task relies on an answer, in seconds, however slowly Kafka answers."""
CONFIRMED_PER_QUESTION = 20
"""How many times the duration of its question an answer is relied on: questions take a twentieth of the time."""


def confirmed_for_s(question_s: float) -> float:
    """Return the seconds, from the question on, for which an answer is relied on.

    :param question_s: seconds from the question to the answers about all of its slots.
    """
    return min(max(MIN_CONFIRMED_S, CONFIRMED_PER_QUESTION * question_s), MAX_CONFIRMED_S)


class SlotConfirmations:
    """Until when a task relies on Kafka's last answer about each of its slots."""

    def __init__(self, slots: Iterable[int], clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until_s = dict.fromkeys(slots, clock() + MIN_CONFIRMED_S)

    def now(self) -> float:
        """Return the time to note with :meth:`confirmed`, to be read before Kafka is asked.

        The answer may be read much later than it was given.
        """
        return self._clock()

    def confirmed(self, slots: Iterable[int], asked_s: float) -> None:
        """Note that Kafka has just confirmed slots; ``asked_s`` is the time of the question about all of them."""
        until_s = asked_s + confirmed_for_s(self._clock() - asked_s)
        self._until_s.update(dict.fromkeys(slots, until_s))

    def outdated(self, slots: Iterable[int]) -> list[int]:
        """Return the slots whose last answer is too old to be relied on, each once."""
        now = self._clock()
        return [slot for slot in sorted(set(slots)) if now > self._until_s[slot]]
