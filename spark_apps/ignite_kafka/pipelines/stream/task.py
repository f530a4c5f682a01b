"""What a Spark task of a stream does: batch after batch of whole slots, until its epoch ends.

A batch: read the backlog, send it in one transaction a slot, acknowledge; then load a share of what is still to be loaded, in the same way.
So what was there before delays no change, and no stop, by more than ``batch_bytes`` of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing

from ... import events
from ...errors import IgniteKafkaError, OutcomeUnknown
from ...offsets import Owner
from ...plan import TransferPlan
from ...secrets import Secrets
from ..allocation import tune_allocation
from ..connect import ignite_cluster, slot_clients
from ..slot_copy import CacheCount, SlotResult
from .epoch import Epoch, EpochEnd
from .reading import BacklogReader
from .sending import SlotsSender
from .unit_table import UnitTable

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 2.0


def stream_slots(plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch) -> Iterator[SlotResult]:
    """Stream slots until the epoch ends; one result each, with what was sent in this epoch."""
    tune_allocation()
    yield from TaskStream(plan, secrets, slots, attempt, epoch).run()


class TaskStream:
    """The slots of one task from the beginning of an epoch to its end, over as many attempts as the retry budget allows."""

    def __init__(self, plan: TransferPlan, secrets: Secrets, slots: Sequence[int], attempt: int, epoch: Epoch) -> None:
        self._plan, self._secrets, self._slots, self._epoch = plan, secrets, slots, epoch
        self._settings, self._clients = plan.settings, slot_clients(plan.settings, secrets)
        self._owner = Owner(plan.generation, attempt)
        self._table = UnitTable.of(plan, slots)
        self._counts = {slot: {cache.name: CacheCount() for cache in plan.caches} for slot in slots}
        self._failing_since: float | None = None
        self._in_doubt = self._finished = self._loaded = False

    def run(self) -> list[SlotResult]:
        error: IgniteKafkaError | None = None
        wait = _FIRST_WAIT_S
        with closing(EpochEnd(self._clients, self._plan, self._epoch)) as end:
            while True:
                try:
                    self._attempt(end)
                    break
                except IgniteKafkaError as failure:
                    self._failing_since = self._failing_since or time.monotonic()
                    if failure.final or time.monotonic() - self._failing_since > self._settings.retry_timeout_ms / 1000:
                        error = self._verdict(failure)
                        break
                    events.emit(events.UNIT_REDONE, slot=", ".join(map(str, self._slots)), reason=str(failure))
                if end.told(wait):  # its time alone is no way out while nothing works: the time that failures may take goes on
                    break
                wait = min(wait * 2, _LONGEST_WAIT_S)
        return [SlotResult(slot, self._counts[slot], error, self._finished, self._loaded) for slot in self._slots]

    def _attempt(self, end: EpochEnd) -> None:
        with ignite_cluster(self._settings, self._secrets) as cluster:
            sender = SlotsSender(self._plan, self._clients, self._table, self._owner, cluster, self._counts)
            try:
                with closing(BacklogReader(self._plan, self._table, cluster, self._clients)) as reader:
                    sender.restore(reader)
                    self._in_doubt = False
                    self._batches(reader, sender, end)
            finally:
                self._in_doubt = self._in_doubt or sender.in_doubt
                sender.close()

    def _batches(self, reader: BacklogReader, sender: SlotsSender, end: EpochEnd) -> None:
        while True:
            started = time.monotonic()
            sender.commit(reader.changes(), reader)
            if self._epoch.until is not None and reader.caught_up(self._epoch.until):
                self._finished = self._loaded = True
                return
            sender.commit(reader.load(), reader)
            for take in reader.sweep():
                sender.commit([take], reader)
            self._failing_since = None
            self._loaded = reader.all_loaded
            reader.memory.forget(time.monotonic())
            next_poll_s = started + self._settings.poll_interval_ms / 1000
            if end.reached(0.0 if reader.more else max(0.0, next_poll_s - time.monotonic())):
                for take in reader.sweep(ends=True):
                    sender.commit([take], reader)
                return

    def _verdict(self, error: IgniteKafkaError) -> IgniteKafkaError:
        if self._in_doubt and not error.final:
            return OutcomeUnknown(
                f"a commit got no answer and the slots could not be read since: {error}",
                "Start the connector again: it reads what was committed and goes on from there.",
                connector=self._plan.connector,
                slots=", ".join(map(str, self._slots)),
            )
        return error
