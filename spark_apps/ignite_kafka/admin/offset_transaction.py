"""Transaction of a command that changes offsets: its time limit grows with their number."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import TopicPartition as TopicPartitionOffset

from ..common.deadline import Clock, Deadline
from ..errors import TransactionTimeout
from ..kafka.producer import TransactionalProducer
from ..state.internal_records import FORMAT_HEADERS

MIN_TIMEOUT_MS = 30_000
MAX_TIMEOUT_MS = 600_000  # the default of transaction_timeout_ms, within Kafka's default of transaction.max.timeout.ms
OFFSETS_PER_S = 1_000
"""Offsets that a slow broker takes in a second."""
OFFSETS_PER_REQUEST = 1_000
"""Group offsets of one request: its coordinator writes them as one batch, of at most max.message.bytes (1 MB)."""


def timeout_ms(offsets: int, recorded_ms: object) -> int:
    """Return the timeout of a transaction that changes a number of offsets, in milliseconds.

    :param recorded_ms: transaction_timeout_ms of the newest run, which the brokers accept; not a number: unknown.
    """
    most = recorded_ms if isinstance(recorded_ms, int) else MAX_TIMEOUT_MS
    return max(MIN_TIMEOUT_MS, min(MIN_TIMEOUT_MS + offsets * 1_000 // OFFSETS_PER_S, most))


class OffsetTransaction:
    """The one transaction of a command; each call checks its age.

    :param producer: initialised, with the timeout.
    :param offsets: number of offsets to be changed, for messages.
    """

    def __init__(
        self, producer: TransactionalProducer, offsets: int, timeout_ms: int, clock: Clock = time.monotonic
    ) -> None:
        self._producer = producer
        self._offsets = offsets
        self._timeout_ms = timeout_ms
        self._clock = clock
        self._deadline: Deadline | None = None

    @property
    def timed_out(self) -> bool:
        """Whether the transaction is older than its timeout, so that the broker has aborted it."""
        return self._deadline is not None and self._deadline.expired

    def begin(self) -> None:
        """Begin the transaction."""
        self._deadline = Deadline.after(self._timeout_ms / 1000, self._clock)
        self._producer.begin()

    def produce(self, topic: str, key: bytes, value: bytes | None, slot: int) -> None:
        """Queue a record of the offsets topic.

        :raises TransactionTimeout: the transaction is too old; nothing of it will be committed.
        """
        self._check_time()
        self._producer.await_room(1, len(key) + len(value or b""))
        self._producer.produce(topic, key, value, slot, FORMAT_HEADERS)

    def send_offsets(self, offsets: Sequence[TopicPartitionOffset], group_metadata: Any) -> None:
        """Add offsets of a consumer group, in requests of :data:`OFFSETS_PER_REQUEST`.

        :raises TransactionTimeout: as :meth:`produce`.
        """
        for first in range(0, len(offsets), OFFSETS_PER_REQUEST):
            self._check_time()
            self._producer.send_offsets(offsets[first : first + OFFSETS_PER_REQUEST], group_metadata)

    def commit(self) -> None:
        """Commit the transaction.

        :raises TransactionTimeout: as :meth:`produce`.
        """
        self._check_time()
        self._producer.commit()

    def _check_time(self) -> None:
        if self.timed_out:
            raise self.timeout_error()

    def timeout_error(self) -> TransactionTimeout:
        """Return the error to raise for a transaction that is too old."""
        return TransactionTimeout(
            f"the change of {self._offsets} offsets was not committed within {self._timeout_ms / 1000:.0f} s, after "
            "which the broker aborts its transaction; nothing was changed",
            "Change fewer at once, by --cache (of a sink: --topic) and --partition, and check the brokers' load.",
            transactional_id=self._producer.transactional_id,
        )
