"""One slot of a connector: its producer, its offsets, and transactions that hold whole units.

The order that makes it exactly once (docs/delivery.md): init_transactions (fences every earlier attempt and settles what it left) →
read the slot's offsets to their end → stop if a newer run or attempt owns the slot → skip what is done → data records and the
units' offset records in one transaction → commit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TopicPartition as TopicPartitionOffset

from ..common.redaction import in_message
from ..errors import Fenced, IgniteKafkaError, KafkaUnavailable, RecordTooLarge, TopicError, TransactionTimeout
from ..ignite.types.model import BinaryType
from ..kafka.clients import KafkaClients
from ..kafka.dead_letters import DeadLetter
from ..kafka.producer import ProducerFenced, TransactionalProducer, fenced_by_newer
from ..kafka.records import Records, largest_record
from ..kafka.topics import TopicPartition, Topics
from ..plan.sink_offsets import PartitionKey, PartitionOffset
from ..plan.slots import Owner, SlotKey, SlotState, UnitKey, UnitOffset
from .configs import offsets_topic, slot_transactional_id
from .internal_records import FORMAT_HEADERS
from .offsets import read_slot

log = logging.getLogger(__name__)
_ABORT_S = 5.0


@dataclass(frozen=True)
class TransactionLimits:
    """A transaction closes at the end of the unit that passes any of these. ``timeout_ms`` is the broker's: past it, it aborts."""

    records: int = 500_000
    bytes: int = 256 << 20
    open_ms: int = 30_000
    timeout_ms: int = 600_000


@dataclass(frozen=True)
class SlotClaim:
    """Which slot, and in whose name.

    :param end: where the slot's offsets ended when the driver claimed it for a new snapshot: while they end there, nothing is done yet
        and they need not be read. None: they are read.
    """

    connector: str
    slot: int
    owner: Owner
    offsets_topic: str
    end: int | None = None

    @staticmethod
    def of(connector: str, slot: int, owner: Owner, prefix: str, end: int | None = None) -> SlotClaim:
        return SlotClaim(connector, slot, owner, offsets_topic(prefix, connector), end)


class SlotWriter:
    """An open slot. After any error it is closed, never used again; opening the slot anew tells what was committed.

    :param max_batch_bytes: librdkafka does not split a batch that a topic refuses for its size, so batches are no larger than the
        smallest max.message.bytes of the topics.
    :param settings: librdkafka's, for the slot's producer.
    :param topics: an admin client that slots may share: each one costs the broker two connections.
    :raises Fenced: from any method, where a newer run, or a newer attempt of the same task, owns the slot.
    :raises TransactionTimeout: a transaction was open longer than the broker allows.
    """

    def __init__(
        self,
        clients: KafkaClients,
        claim: SlotClaim,
        limits: TransactionLimits,
        max_batch_bytes: int,
        topics: Topics | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._settings = settings or {}
        self._clients, self._claim, self._limits = clients, claim, limits
        self._topics = topics or Topics(clients)
        self._max_batch_bytes = max_batch_bytes
        self._closed = False
        self._opened_at: float | None = None
        self._records = self._bytes = 0
        self._data_topics: dict[str, tuple[int | None, str]] = {}
        self._topics_sent: set[str] = set()
        self._largest: tuple[int, str, str] = (0, "", "")
        self.types_sent: dict[int, BinaryType] = {}
        self.commit_asked = False
        self._open()

    def _open(self) -> None:
        transactional_id = slot_transactional_id(self._claim.connector, self._claim.slot)
        settings = {"batch.size": self._max_batch_bytes, **self._settings}
        self._producer = TransactionalProducer(self._clients, transactional_id, self._limits.timeout_ms, settings=settings)
        try:
            self._producer.init()
            self.state = self._read_state()
            self._check_owner(self.state.owner)
            self.state.check(self._claim.connector)
        except ProducerFenced as cause:
            self.close()
            raise self._who_fenced() from cause
        except IgniteKafkaError:
            self.close()
            raise

    def _read_state(self) -> SlotState:
        claim = self._claim
        if claim.end is not None and self._topics.ends(claim.offsets_topic, [claim.slot])[claim.slot] == claim.end:
            return SlotState(claim.slot, Owner(claim.owner.generation))
        return read_slot(self._clients, self._topics, claim)

    def _check_owner(self, owner: Owner) -> None:
        if owner.generation > self._claim.owner.generation:
            raise fenced_by_newer(self._claim.connector, self._claim.slot, self._claim.owner.generation, owner.generation)
        if owner > self._claim.owner:
            mine = self._claim.owner
            raise Fenced(
                f"attempt {owner.attempt} of epoch {owner.epoch} has taken over from attempt {mine.attempt} of epoch {mine.epoch}",
                "Nothing to do: Spark started a newer attempt of the task, or the driver another epoch, which goes on.",
                connector=self._claim.connector,
                slot=self._claim.slot,
            )

    def _who_fenced(self) -> IgniteKafkaError:
        """Why this producer is fenced: a newer owner is final, a time-out names its setting, anything else can be tried again."""
        open_ms = 0.0 if self._opened_at is None else (time.monotonic() - self._opened_at) * 1000
        try:
            self._check_owner(read_slot(self._clients, self._topics, self._claim).owner)
        except Fenced as fenced:
            return fenced
        if open_ms >= self._limits.timeout_ms:
            return self._timed_out(open_ms)
        return KafkaUnavailable(
            "the slot's producer was fenced by a task of an older run that opened the slot once more",
            connector=self._claim.connector,
            slot=self._claim.slot,
        )

    def _timed_out(self, open_ms: float) -> TransactionTimeout:
        return TransactionTimeout(
            f"a transaction was open for {open_ms:.0f} ms and transaction_timeout_ms is {self._limits.timeout_ms}",
            "Raise transaction_timeout_ms (and transaction.max.timeout.ms of the broker), or lower the load.",
            connector=self._claim.connector,
            slot=self._claim.slot,
        )

    def _begin(self) -> None:
        if self._opened_at is not None:
            return
        if self._producer.spent:
            self._producer.close()
            self._open()
        self._producer.begin()
        self._opened_at = time.monotonic()
        if self._claim.owner > self.state.owner:
            key = SlotKey(self._claim.connector, self._claim.slot).to_json()
            self._producer.produce(self._claim.offsets_topic, key, self._claim.owner.to_json(), self._claim.slot, FORMAT_HEADERS)

    def send(self, topic: str, partitions: int | None, records: Records, topic_id: str = "") -> None:
        """Queue a batch of records for a data topic; at the commit it must have that many partitions and that id, where they are given."""
        self._guarded(self._send, topic, partitions, records, topic_id)

    def _send(self, topic: str, partitions: int | None, records: Records, topic_id: str) -> None:
        self._begin()
        self._check_open()
        if partitions is not None or topic_id:
            self._data_topics[topic] = partitions, topic_id
        self._topics_sent.add(topic)
        self._note_largest(topic, records)
        self._producer.produce_records(topic, records)
        self._records += len(records.keys)
        self._bytes += records.nbytes

    def too_large(self, topic: str, topic_bytes: int | None, records: Records) -> dict[int, RecordTooLarge]:
        """Rows of records that the producer, or a topic with this ``max.message.bytes`` (None: not known), would refuse for their size."""
        return self._producer.size_limit.exceeded(records, topic, topic_bytes)

    def _note_largest(self, topic: str, records: Records) -> None:
        """The broker does not say which record it refused: the largest one is the one to look at."""
        row, size = largest_record(records)
        if size > self._largest[0]:
            self._largest = size, topic, in_message((records.keys[row].as_py() or b"")[:80])

    def send_control(self, topic: str, key: bytes, value: bytes) -> None:
        """Queue one record of an internal topic of one partition, in the same transaction."""
        self._guarded(self._produce, topic, key, value, 0)

    def unit_done(
        self, cache: str, partition: int, incarnation: str, snapshot_id: str, records: int, bad: int = 0, topic_id: str = ""
    ) -> None:
        """Queue the unit's offset record: the control row that alone marks it done. The highest update counter sent is kept.

        :param bad: entries that were passed over.
        :param topic_id: of the topic that its records are in.
        """
        high = self.state.high(cache, partition)
        offset = UnitOffset(self._claim.owner.generation, incarnation, snapshot_id, True, records, high, bad=bad, topic_id=topic_id)
        self.unit_offset(cache, partition, offset)

    def unit_offset(self, cache: str, partition: int, offset: UnitOffset) -> None:
        """Queue a unit's offset record."""
        key = UnitKey(self._claim.connector, cache, partition).to_json()
        self._guarded(self._produce, self._claim.offsets_topic, key, offset.to_json(), self._claim.slot)

    def send_dead_letters(self, letters: Iterable[DeadLetter]) -> None:
        """Queue dead letters."""
        for letter in letters:
            self._guarded(self._send_dead_letter, letter)

    def _send_dead_letter(self, letter: DeadLetter) -> None:
        self._begin()
        self._check_open()
        size = len(letter.key or b"") + len(letter.value or b"")
        if size > self._largest[0]:
            self._largest = size, letter.topic, in_message((letter.key or b"")[:80])
        self._topics_sent.add(letter.topic)
        self._records += 1
        self._bytes += size
        self._producer.await_room(1, size)
        self._producer.produce(letter.topic, letter.key, letter.value, headers=letter.headers, timestamp_ms=letter.timestamp_ms)

    def positions(self, offsets: Mapping[TopicPartition, PartitionOffset], group_metadata: Any) -> None:
        """Have the next offsets of topic partitions committed with the open transaction: to their consumer group, and the copy of them."""
        self._guarded(self._positions, offsets, group_metadata)

    def _positions(self, offsets: Mapping[TopicPartition, PartitionOffset], group_metadata: Any) -> None:
        self._begin()
        self._topics_sent |= {topic for topic, _ in offsets}
        for place, offset in offsets.items():
            key = PartitionKey(self._claim.connector, *place).to_json()
            self._producer.produce(self._claim.offsets_topic, key, offset.to_json(), self._claim.slot, FORMAT_HEADERS)
        committed = [TopicPartitionOffset(*place, offset.offset, offset.metadata) for place, offset in offsets.items()]
        self._producer.send_offsets(committed, group_metadata)

    def _produce(self, topic: str, key: bytes, value: bytes, partition: int) -> None:
        self._begin()
        self._topics_sent.add(topic)
        self._producer.produce(topic, key, value, partition, FORMAT_HEADERS)
        self._records += 1
        self._bytes += len(key) + len(value)

    def _check_open(self) -> None:
        open_ms = 0.0 if self._opened_at is None else (time.monotonic() - self._opened_at) * 1000
        if open_ms >= self._limits.timeout_ms:
            raise self._timed_out(open_ms)

    @property
    def past_limits(self) -> bool:
        """Whether the open transaction should close at the next unit's end."""
        if self._opened_at is None:
            return False
        open_ms = (time.monotonic() - self._opened_at) * 1000
        return self._records >= self._limits.records or self._bytes >= self._limits.bytes or open_ms >= self._limits.open_ms

    def commit(self) -> None:
        """Commit what is open, if anything.

        :raises TopicError: a data topic was deleted, or its partition count changed, during the run; the transaction is not committed.
        """
        if self._opened_at is None:
            return
        self._guarded(self._commit)

    def _commit(self) -> None:
        self._check_open()
        self._check_topics()
        self.commit_asked = True
        try:
            self._producer.commit()
        finally:
            self.commit_asked = self._producer.outcome_unknown
        self.state.owner = max(self.state.owner, self._claim.owner)
        self._opened_at = None
        self._records = self._bytes = 0
        self._data_topics = {}
        self._topics_sent = set()

    def _check_topics(self) -> None:
        """
        :raises TopicError: a data topic of the open transaction is gone, or is another one than it was.
        """
        found = self._topics.identities(self._data_topics)
        for topic, (partitions, topic_id) in self._data_topics.items():
            if topic not in found:
                raise deleted(topic, "was deleted during the run")
            if topic_id and found[topic][0] != topic_id:
                raise deleted(topic, "was deleted and made again during the run", known_topic_id=topic_id, topic_id=found[topic][0])
            if partitions is not None and found[topic][1] != partitions:
                raise TopicError(
                    f"the topic has {found[topic][1]} partitions now, and had {partitions} when the run was planned",
                    "Keys would change partition: begin a new snapshot.",
                    topic=topic,
                )

    def _guarded(self, step: Callable[..., object], *arguments: object) -> None:
        try:
            step(*arguments)
        except ProducerFenced as cause:
            raise self._who_fenced() from cause
        except RecordTooLarge as cause:
            size, topic, key = self._largest
            what = f"{cause.what}; the largest record of this transaction has {size} bytes"
            raise RecordTooLarge(what, cause.remedy, topic=topic, key=key, slot=self._claim.slot) from cause
        except TopicError as cause:
            if "topic" not in cause.where:
                self._check_topics()  # the topic may have gone after the check before the commit
            error = self._topics.unknown_topic(cause, [self._claim.offsets_topic, *self._topics_sent])
            if not isinstance(error, TopicError) or "topic" in error.where or not self._topics_sent:
                raise error from cause.__cause__
            # the coordinator does not say which topic of the transaction it refused
            topics = ", ".join(sorted(self._topics_sent))
            raise TopicError(error.what, error.remedy, **error.where, topics=topics) from cause

    def close(self) -> None:
        """Throw the producer away; a second call does nothing.

        What is open is aborted if that can be had at once, else by the slot's next init or its time-out.
        """
        if self._closed:
            return
        self._closed = True
        if self._opened_at is not None and not self.commit_asked:
            try:
                self._producer.abort(_ABORT_S)
            except (ProducerFenced, IgniteKafkaError) as error:
                log.info("slot %d: an open transaction is left to its time-out or the next init: %s", self._claim.slot, error)
        self._producer.close()


def deleted(topic: str, how: str, **where: Any) -> TopicError:
    """The error of a data topic that no longer holds what was sent to it.

    :param how: what became of it, and when.
    """
    return TopicError(
        f"the topic {how}: what was sent to it before is lost",
        "Start the run again: it names the commands that send everything again.",
        topic=topic,
        **where,
    )
