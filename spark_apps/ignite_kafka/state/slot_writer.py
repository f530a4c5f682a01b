"""Writer of one slot of a connector: its producer, its offsets, and transactions that hold whole units.

The order of steps makes it exactly once (docs/delivery.md): init_transactions (fences every earlier attempt and settles
its transaction) → read the slot's offsets to their end → stop if a newer run or attempt owns the slot → skip finished
units → data records and the units' offset records in one transaction → commit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import TopicPartition as TopicPartitionOffset

from ..common.measurements import COMMIT, count_retry, observe
from ..errors import (
    Fenced,
    IgniteKafkaError,
    KafkaUnavailable,
    OffsetsLost,
    RecordTooLarge,
    TopicError,
    TransactionTimeout,
)
from ..ignite.types.key_kind import KeyKind
from ..ignite.types.model import BinaryType, TypeUse
from ..kafka.clients import KafkaClients
from ..kafka.dead_letters import DeadLetter
from ..kafka.producer import ProducerFenced, TransactionalProducer, fenced_by_newer
from ..kafka.records import Records
from ..kafka.topics import TopicPartition, Topics, TopicSpec
from ..plan.sink_offsets import PartitionKey, PartitionOffset
from ..plan.slots import Owner, SlotKey, SlotState, UnitKey, UnitOffset
from .internal_names import slot_transactional_id
from .internal_records import FORMAT_HEADERS
from .offsets import read_slot
from .open_transaction import OpenTransaction, TransactionLimits
from .slot_claim import SlotClaim

log = logging.getLogger(__name__)
_ABORT_S = 5.0


class SlotWriter:
    """Open slot of a connector: its producer and offsets; after an error it can only be closed.

    A new writer of the slot reads what was committed.

    :param max_batch_bytes: maximum batch size: the smallest max.message.bytes of the topics, because librdkafka does
        not split a batch that a topic refuses.
    :param settings: librdkafka settings of the slot's producer.
    :param topics: topic administration that slots may share, because each admin client costs the broker two
        connections.
    :raises Fenced: from any method: a newer run, or a newer attempt of the same task, owns the slot.
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
        self._clients = clients
        self._claim = claim
        self._limits = limits
        self._topics = topics or Topics(clients)
        self._max_batch_bytes = max_batch_bytes
        self._closed = False
        self._transaction: OpenTransaction | None = None
        self.types_sent: dict[int, BinaryType] = {}
        self.uses_sent: dict[str, set[TypeUse]] = {}
        self.commit_requested = False
        self._open()

    def _open(self) -> None:
        transactional_id = slot_transactional_id(self._claim.connector, self._claim.slot)
        settings = {"batch.size": self._max_batch_bytes, **self._settings}
        self._producer = TransactionalProducer(
            self._clients, transactional_id, self._limits.timeout_ms, settings=settings
        )
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
        if owner == Owner():  # each run writes its own before its tasks begin
            raise OffsetsLost(
                "the slot has no owner: records of the offsets topic were deleted during the run",
                "Start the run again: it checks the offsets topic.",
                topic=self._claim.offsets_topic,
                partition=self._claim.slot,
                connector=self._claim.connector,
            )
        if owner.generation > self._claim.owner.generation:
            raise fenced_by_newer(
                self._claim.connector, self._claim.slot, self._claim.owner.generation, owner.generation
            )
        if owner > self._claim.owner:
            claimed = self._claim.owner
            raise Fenced(
                f"attempt {owner.attempt} of epoch {owner.epoch} has taken over from attempt {claimed.attempt} of "
                f"epoch {claimed.epoch}",
                "None: Spark started a newer attempt of the task, or the driver another epoch, which continues.",
                connector=self._claim.connector,
                slot=self._claim.slot,
            )

    def _who_fenced(self) -> IgniteKafkaError:
        """Find out why this slot's producer was fenced, and return the error to raise.

        A newer owner is final, a timeout names its setting, anything else can be retried.
        """
        transaction = self._transaction
        timed_out, open_ms = (transaction.timed_out, transaction.open_ms) if transaction else (False, 0.0)
        try:
            self._check_owner(read_slot(self._clients, self._topics, self._claim).owner)
        except Fenced as fenced:
            return fenced
        if timed_out:
            return self._timed_out(open_ms)
        return KafkaUnavailable(
            "the slot's producer was fenced by a task of an older run, by a change of offsets (ignite-kafka offsets "
            "reset, alter), or by another program that uses its transactional id",
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

    def _begin(self) -> OpenTransaction:
        if self._transaction is not None:
            return self._transaction
        if self._producer.spent:
            self._producer.close()
            self._open()
        self._producer.begin()
        self._transaction = OpenTransaction(self._limits)
        if self._claim.owner > self.state.owner:
            key = SlotKey(self._claim.connector, self._claim.slot).to_json()
            self._producer.produce(
                self._claim.offsets_topic, key, self._claim.owner.to_json(), self._claim.slot, FORMAT_HEADERS
            )
        return self._transaction

    def ensure_topic(self, spec: TopicSpec) -> tuple[str, int]:
        """Create a data topic if it is missing, and return its topic id and partition count.

        :raises TopicError: the user may not create it, its settings are refused, or it was deleted at once.
        """
        self._topics.ensure([spec])
        identities = self._topics.identities([spec.name])
        if spec.name not in identities:
            raise TopicError("the topic was deleted right after it was created", "Start again.", topic=spec.name)
        return identities[spec.name]

    def send(self, topic: str, partitions: int | None, records: Records, topic_id: str = "") -> None:
        """Queue a batch of records for a data topic in the open transaction.

        :param partitions: partition count that the topic must have at the commit; None: any.
        :param topic_id: id that the topic must have at the commit; empty: any.
        """
        self._guarded(self._send, topic, partitions, records, topic_id)

    def _send(self, topic: str, partitions: int | None, records: Records, topic_id: str) -> None:
        transaction = self._begin()
        self._check_timeout()
        transaction.expect(topic, partitions, topic_id)
        transaction.add_batch(topic, records)
        self._producer.produce_records(topic, records)

    def too_large(self, topic: str, topic_bytes: int | None, records: Records) -> dict[int, RecordTooLarge]:
        """Return an error, by row, for each record too large for the producer or the topic.

        :param topic_bytes: ``max.message.bytes`` of the topic; None: unknown.
        """
        return self._producer.size_limit.exceeded(records, topic, topic_bytes)

    def send_type_record(self, topic: str, key: bytes, value: bytes) -> None:
        """Queue a record of the types topic in the open transaction."""
        self._guarded(self._produce, topic, key, value, 0)

    def send_heartbeat(self, topic: str, key: bytes, value: bytes) -> None:
        """Queue a record of the heartbeats topic in the open transaction."""
        self._guarded(self._produce, topic, key, value, 0)

    def unit_done(
        self,
        cache: str,
        partition: int,
        incarnation: str,
        snapshot_id: str,
        records: int,
        bad: int = 0,
        topic_id: str = "",
        key_kinds: Iterable[KeyKind] = (),
        dropped: int = 0,
        dead_letters: int = 0,
    ) -> None:
        """Queue the offset record that marks a cache partition as done.

        The highest update counter sent is kept.

        :param bad: number of entries skipped.
        :param dropped: number of entries that transforms dropped.
        :param dead_letters: number of entries that became dead letters.
        :param topic_id: id of the topic that holds the unit's records.
        :param key_kinds: kinds of the keys sent of the cache.
        """
        high = self.state.high(cache, partition)
        kinds = tuple(sorted(key_kinds))
        counts = True, records, high
        offset = UnitOffset(
            self._claim.owner.generation,
            incarnation,
            snapshot_id,
            *counts,
            key_kinds=kinds,
            bad=bad,
            topic_id=topic_id,
            dropped=dropped,
            dead_letters=dead_letters,
        )
        self.unit_offset(cache, partition, offset)

    def unit_offset(self, cache: str, partition: int, offset: UnitOffset) -> None:
        """Queue a cache partition's offset record in the open transaction."""
        key = UnitKey(self._claim.connector, cache, partition).to_json()
        self._guarded(self._produce, self._claim.offsets_topic, key, offset.to_json(), self._claim.slot)

    def send_dead_letters(self, letters: Iterable[DeadLetter]) -> None:
        """Queue dead letters in the open transaction."""
        for letter in letters:
            self._guarded(self._send_dead_letter, letter)

    def _send_dead_letter(self, letter: DeadLetter) -> None:
        transaction = self._begin()
        self._check_timeout()
        transaction.add(letter.topic, letter.key, letter.value)
        self._producer.await_room(1, len(letter.key or b"") + len(letter.value or b""))
        self._producer.produce(
            letter.topic, letter.key, letter.value, headers=letter.headers, timestamp_ms=letter.timestamp_ms
        )

    def positions(self, offsets: Mapping[TopicPartition, PartitionOffset], group_metadata: Any) -> None:
        """Add consumer offsets to the open transaction.

        They are committed for the consumer group, and written as copies to the offsets topic.
        """
        self._guarded(self._positions, offsets, group_metadata)

    def _positions(self, offsets: Mapping[TopicPartition, PartitionOffset], group_metadata: Any) -> None:
        self._begin().topics.update(topic for topic, _ in offsets)
        for place, offset in offsets.items():
            key = PartitionKey(self._claim.connector, *place).to_json()
            self._producer.produce(self._claim.offsets_topic, key, offset.to_json(), self._claim.slot, FORMAT_HEADERS)
        metadata = {place: offset.metadata(self._claim.offsets_topic) for place, offset in offsets.items()}
        committed = [TopicPartitionOffset(*place, offset.offset, metadata[place]) for place, offset in offsets.items()]
        self._producer.send_offsets(committed, group_metadata)

    def _produce(self, topic: str, key: bytes, value: bytes, partition: int) -> None:
        self._begin().add_internal(topic, key, value)
        self._producer.produce(topic, key, value, partition, FORMAT_HEADERS)

    def _check_timeout(self) -> None:
        if self._transaction is not None and self._transaction.timed_out:
            raise self._timed_out(self._transaction.open_ms)

    @property
    def past_limits(self) -> bool:
        """Whether the open transaction should be committed at the end of the current cache partition."""
        return self._transaction is not None and self._transaction.past_limits

    def commit(self) -> None:
        """Check the data topics, and commit the open transaction, if there is one.

        :raises TopicError: a data topic was deleted, or its partition count changed, during the run; the transaction is
            not committed.
        """
        if self._transaction is not None:
            self._guarded(self._commit, self._transaction)

    def confirm(self) -> None:
        """Ask Kafka whether this producer still owns the slot, by a transaction that names the owner alone.

        :raises Fenced: a newer run, or a newer attempt of the same task, owns the slot.
        :raises KafkaUnavailable: the brokers did not answer, or another producer has the transactional id.
        """
        key = SlotKey(self._claim.connector, self._claim.slot).to_json()
        self._guarded(self._produce, self._claim.offsets_topic, key, self._claim.owner.to_json(), self._claim.slot)
        self.commit()

    def _commit(self, transaction: OpenTransaction) -> None:
        self._check_timeout()
        transaction.check_topics(self._topics)
        self.commit_requested = True
        began_at = time.monotonic()
        try:
            self._producer.commit()
        except IgniteKafkaError as error:
            if not error.final:
                count_retry(COMMIT)
            raise
        finally:
            self.commit_requested = self._producer.outcome_unknown
        observe(COMMIT, time.monotonic() - began_at)
        self.state.owner = max(self.state.owner, self._claim.owner)
        self._transaction = None

    def _guarded(self, step: Callable[..., object], *arguments: object) -> None:
        try:
            step(*arguments)
        except ProducerFenced as cause:
            raise self._who_fenced() from cause
        except RecordTooLarge as cause:
            if self._transaction is None:
                raise
            raise self._transaction.too_large(cause, self._claim.slot) from cause
        except TopicError as cause:
            topics = set() if self._transaction is None else self._transaction.topics
            if "topic" not in cause.where and self._transaction is not None:
                # a topic may have been deleted after the check before the commit
                self._transaction.check_topics(self._topics)
            error = self._topics.unknown_topic(cause, [self._claim.offsets_topic, *topics])
            if not isinstance(error, TopicError) or "topic" in error.where or not topics:
                raise error from cause.__cause__
            # the coordinator does not name the refused topic of the transaction
            raise TopicError(error.what, error.remedy, **error.where, topics=", ".join(sorted(topics))) from cause

    def close(self) -> None:
        """Close the slot's producer and abort an open transaction; a second call does nothing.

        An open transaction is aborted if the broker answers at once, else by the slot's next init or its timeout.
        """
        if self._closed:
            return
        self._closed = True
        if self._transaction is not None and not self.commit_requested:
            try:
                self._producer.abort(_ABORT_S)
            except (ProducerFenced, IgniteKafkaError) as error:
                log.info(
                    "slot %d: an open transaction stays until its timeout or the next init: %s", self._claim.slot, error
                )
        self._producer.close()
