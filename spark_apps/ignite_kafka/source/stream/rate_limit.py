"""The rate limit of a stream: ``max_records_per_second``, shared by tasks in proportion to their slots.

A limiter without bursts: each record sent postpones the next batch. Batches are small
(:attr:`RateLimiter.batch_records`), so records leave evenly; only a unit that is loaded from the cache is sent whole,
and the limiter waits for it afterwards.
"""

from __future__ import annotations

import time

from ...common.deadline import Clock

_BATCH_S = 0.5


class RateLimiter:
    """Limiter of the records that one task sends in a second.

    :param per_second: records per second; None: no limit.
    :param ahead_s: seconds by which the records sent before are ahead of the limit.
    """

    def __init__(self, per_second: float | None, ahead_s: float = 0.0, clock: Clock = time.monotonic) -> None:
        self._per_second = per_second
        self._clock = clock
        self._due_s = clock() + ahead_s

    @staticmethod
    def of_task(per_second: int | None, slots: int, all_slots: int, ahead_s: float) -> RateLimiter:
        """Make the limiter of a task, with the share of the limit that its `slots` are of `all_slots`."""
        return RateLimiter(None if per_second is None else per_second * slots / all_slots, ahead_s)

    @property
    def batch_records(self) -> int | None:
        """Maximum records in one batch; None: no limit."""
        return None if self._per_second is None else max(1, int(self._per_second * _BATCH_S))

    def sent(self, records: int) -> None:
        """Count records sent now, which postpones the next batch."""
        if self._per_second is not None:
            self._due_s = max(self._due_s, self._clock()) + records / self._per_second

    @property
    def ahead_s(self) -> float:
        """Seconds until the next batch may be sent."""
        return max(0.0, self._due_s - self._clock())
