"""Bookkeeping of a slot's open transaction: size, age and topics, to decide when to commit it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..common.deadline import Clock
from ..common.redaction import in_message
from ..errors import RecordTooLarge, TopicError
from ..kafka.records import Records, largest_record
from ..kafka.topics import Topics


@dataclass(frozen=True)
class TransactionLimits:
    """Limits of a transaction, which is committed at the end of a cache partition once it exceeds a limit.

    :param open_ms: age in milliseconds.
    :param timeout_ms: the broker's timeout, after which it aborts the transaction.
    """

    records: int = 500_000
    bytes: int = 256 << 20
    open_ms: int = 30_000
    timeout_ms: int = 600_000


class OpenTransaction:
    """Size, age and topics of the transaction that a slot has open.

    :attr:`topics` are all topics it writes to; the id and partition count of data topics are checked before the commit.
    """

    def __init__(self, limits: TransactionLimits, clock: Clock = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._opened_at = clock()
        self._records = self._bytes = 0
        self._largest: tuple[int, str, str] = (0, "", "")
        self._data_topics: dict[str, tuple[int | None, str]] = {}
        self.topics: set[str] = set()

    @property
    def open_ms(self) -> float:
        """Age of the transaction in milliseconds."""
        return (self._clock() - self._opened_at) * 1000

    @property
    def timed_out(self) -> bool:
        """Whether the transaction is older than its timeout, so that the broker has aborted it."""
        return self.open_ms >= self._limits.timeout_ms

    @property
    def past_limits(self) -> bool:
        """Whether the transaction should be committed at the end of the current cache partition."""
        return (
            self._records >= self._limits.records
            or self._bytes >= self._limits.bytes
            or self.open_ms >= self._limits.open_ms
        )

    def expect(self, topic: str, partitions: int | None, topic_id: str) -> None:
        """Note a data topic's partition count (None: any) and id (empty: any), to be checked before the commit."""
        if partitions is not None or topic_id:
            self._data_topics[topic] = partitions, topic_id

    def add_batch(self, topic: str, records: Records) -> None:
        """Count a batch of records queued in the transaction."""
        row, size = largest_record(records)
        self._note_largest(topic, records.keys[row].as_py() if size else None, size)
        self._add(topic, len(records), records.nbytes)

    def add(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """Count one record queued in the transaction."""
        self._note_largest(topic, key, len(key or b"") + len(value or b""))
        self.add_internal(topic, key, value)

    def add_internal(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """Count a record of an internal topic; unlike data records, errors never name it as the largest."""
        self._add(topic, 1, len(key or b"") + len(value or b""))

    def _add(self, topic: str, records: int, size: int) -> None:
        self.topics.add(topic)
        self._records += records
        self._bytes += size

    def _note_largest(self, topic: str, key: bytes | None, size: int) -> None:
        if size > self._largest[0]:
            self._largest = size, topic, in_message((key or b"")[:80])

    def too_large(self, error: RecordTooLarge, slot: int) -> RecordTooLarge:
        """Add the transaction's largest record to a broker's error, because the broker does not name the record."""
        size, topic, key = self._largest
        what = f"{error.what}; the largest record of this transaction has {size} bytes"
        return RecordTooLarge(what, error.remedy, topic=topic, key=key, slot=slot)

    def check_topics(self, topics: Topics) -> None:
        """Check before the commit that no data topic was deleted, recreated or given other partitions.

        :raises TopicError: a data topic was deleted, created again or has another partition count.
        """
        identities = topics.identities(self._data_topics)
        for topic, (partitions, topic_id) in self._data_topics.items():
            if topic not in identities:
                raise _deleted(topic, "was deleted during the run")
            if topic_id and identities[topic][0] != topic_id:
                raise _deleted(
                    topic,
                    "was deleted and made again during the run",
                    known_topic_id=topic_id,
                    topic_id=identities[topic][0],
                )
            if partitions is not None and identities[topic][1] != partitions:
                raise TopicError(
                    f"the topic has {identities[topic][1]} partitions now, and had {partitions} when the run was "
                    f"planned",
                    "Keys would change partition. Begin a new snapshot; start a stream once with failover_policy "
                    "FULL_SNAPSHOT.",
                    topic=topic,
                )


def _deleted(topic: str, how: str, **where: str) -> TopicError:
    what = f"the topic {how}: what was sent to it before is lost"
    return TopicError(
        what, "Start the run again: it names the commands that send everything again.", topic=topic, **where
    )
