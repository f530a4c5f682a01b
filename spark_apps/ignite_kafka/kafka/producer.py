"""Transactional producer that is given up after any call without an answer.

librdkafka has no KIP-890: a delayed EndTxn of a transaction can end the producer's next transaction. So after a
transactional call without an answer the producer is discarded; the next producer's init_transactions ends the open
transaction, and the offsets topic shows what was committed (docs/delivery.md).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as TopicPartitionOffset

from ..common.heartbeat import beat
from ..common.redaction import in_message
from ..errors import Fenced, IgniteKafkaError, KafkaUnavailable
from ..settings.client_config import canonical
from . import batch_produce as native
from .bounded_calls import CallStuck, bounded, stuck
from .clients import NO_NEW_TOPICS, QUICK, ErrorMemory, KafkaClients, make_client, translate
from .headers import Header, pairs
from .lent_values import LentValues
from .record_size import RECORD_OVERHEAD, SizeLimit, too_large
from .records import Records

_FENCED = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
}
_PURGED = {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}
_CHUNK = 20_000

DEFAULTS: dict[str, Any] = {
    "linger.ms": 20,
    "batch.size": 1_000_000,
    "compression.type": "lz4",
    "partitioner": "murmur2_random",  # the partitions that Java clients choose
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 1_048_576,
    "delivery.report.only.error": True,
    # with connections on demand, init_transactions sometimes misses the coordinator's connection and waits 500 ms for a
    # timer: claiming 16 slots takes 0.53 s with it, 0.08 s without
    "enable.sparse.connections": False,
    **QUICK,
    "retry.backoff.ms": 500,  # see TransactionalProducer.spent
}
_MESSAGE_TIMEOUT_MS = 300_000
_OFFSETS_S = 5.0  # an early retry loses nothing, because the offsets are sent again in a new transaction
_SILENCE_S = 0.1
_LAST_REFERENCE = 2  # including the reference of sys.getrefcount itself
_EARLIEST_RETRY = 0.8  # of retry.backoff.ms: librdkafka varies it by a fifth


class ProducerFenced(Exception):
    """Exception of a producer: a newer one has its transactional id, or its transaction timed out."""


def size_limit(clients: KafkaClients, settings: Mapping[str, Any]) -> SizeLimit:
    """Return the size limits that a :class:`TransactionalProducer` with these settings has."""
    return SizeLimit.of(canonical({**DEFAULTS, **settings, **clients.common, **clients.producer}))


class TransactionalProducer:
    """Producer with one transactional id. Not thread-safe, and never shared across a fork.

    :attr:`written` holds the last offset per topic and partition if ``delivery.report.only.error`` is False.

    :param queue_bytes: limit of librdkafka's queue, in bytes; :meth:`produce_records` waits beyond it.
    :param settings: librdkafka settings; those of the clients override them.
    :param client: creates the producer of librdkafka.
    """

    def __init__(
        self,
        clients: KafkaClients,
        transactional_id: str,
        timeout_ms: int,
        *,
        queue_bytes: int = 16 << 20,
        settings: Mapping[str, Any] | None = None,
        client: Callable[[dict[str, Any]], Producer] = Producer,
    ) -> None:
        self.transactional_id = transactional_id
        self._memory = ErrorMemory()
        self._queue_bytes = queue_bytes
        self._delivery_error: KafkaError | None = None
        self.outcome_unknown = False
        self._open = self._stuck = False
        self.written: dict[tuple[str, int], int] = {}
        properties = {**DEFAULTS, **(settings or {}), **clients.common, **clients.producer}
        config = canonical(properties)
        config |= {
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "error_cb": self._memory,
            **NO_NEW_TOPICS,
        }
        config["message.timeout.ms"] = _message_timeout_ms(config.get("message.timeout.ms"), timeout_ms)
        self.size_limit = SizeLimit.of(config)
        self._producer = make_client(client, config)
        self._topics: dict[str, native.NativeTopic] = {}
        self._lent = LentValues()
        # after the transaction's timeout the broker has ended the transaction in any case
        self._patience_s = min(timeout_ms / 1000, clients.patience_s)
        self._init_s = clients.patience_s
        self._earliest_retry_s = float(config["retry.backoff.ms"]) / 1000 * _EARLIEST_RETRY
        self.spent = False

    def init(self) -> None:
        """Fence all earlier producers with this transactional id, and end their open transaction."""
        self._call_within(self._init_s, "init_transactions", self._init_s)

    def begin(self) -> None:
        """Begin a transaction."""
        self._call_within(self._patience_s, "begin_transaction")
        self._open = True

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int = -1,
        headers: Sequence[Header] | None = None,
        timestamp_ms: int = 0,
    ) -> None:
        """Queue a single record, such as an offset record or a dead letter.

        :param timestamp_ms: milliseconds since 1970; 0: now.
        """
        try:
            self._producer.produce(
                topic,
                value,
                key,
                partition,
                on_delivery=self._on_delivery,
                timestamp=timestamp_ms,
                headers=list(headers or ()),
            )
        except BufferError as cause:
            raise KafkaUnavailable("the producer's queue is full", topic=topic) from cause
        except KafkaException as cause:
            raise self._error(cause, "queueing a record", topic=topic) from cause

    def produce_records(self, topic: str, records: Records) -> None:
        """Queue all records of a batch, in order; wait while too many bytes are in flight.

        :raises RecordTooLarge: a record is larger than message.max.bytes of the producer; later records are not queued.
        """
        count = len(records.keys)
        if not count:
            return
        native_calls = native.supported() and records.headers is None and records.times_ms is None
        if native_calls and topic not in self._topics:
            self._topics[topic] = native.NativeTopic(self._producer, topic)
        size = records.nbytes / count
        chunk = int(max(1, min(_CHUNK, self._queue_bytes / 2 / max(1.0, size))))
        self._release()
        lent = native_calls and self._lent.lend(records.values)
        for first in range(0, count, chunk):
            last = min(first + chunk, count)
            self.await_room(last - first, size)
            if not native_calls:
                self._produce_each(topic, records, first, last)
                continue
            codes = self._topics[topic].produce(records.keys, records.values, first, last, copy=not lent)
            if codes.any():
                at = int(np.flatnonzero(codes)[0])
                raise self._refused(int(codes[at]), records, first + at, topic)

    def _produce_each(self, topic: str, records: Records, first: int, last: int) -> None:
        """Queue records one by one, because librdkafka's batch call takes neither headers nor timestamps."""
        span = slice(first, last)
        headers = repeat(None) if records.headers is None else pairs(records.headers[span])
        times = repeat(0) if records.times_ms is None else records.times_ms[span].tolist()
        columns = zip(
            range(first, last),
            records.keys[span].to_pylist(),
            records.values[span].to_pylist(),
            headers,
            times,
            strict=False,
        )
        for row, key, value, headers_of_row, time_ms in columns:
            try:
                self._producer.produce(topic, value, key, headers=headers_of_row, timestamp=time_ms)
            except KafkaException as cause:
                raise self._refused(cause.args[0].code(), records, row, topic) from cause

    def await_room(self, count: int, size: float) -> None:
        """Wait until the queue has room for ``count`` records of ``size`` bytes each.

        :raises KafkaUnavailable: the queue did not shrink for ``patience_s``.
        """
        allowed = max(0, int(self._queue_bytes / max(1.0, size)) - count)
        left = len(self._producer)
        moved_at = time.monotonic()
        while left > allowed:
            self._call("sending records", "poll", 0.005)
            if self._delivery_error is not None:
                raise self._error(KafkaException(self._delivery_error), "sending records")
            if len(self._producer) < left:
                left = len(self._producer)
                moved_at = time.monotonic()
                beat()
            elif time.monotonic() - moved_at > self._patience_s:
                raise KafkaUnavailable(
                    f"the broker took no records for {self._patience_s:.0f} s",
                    "Check the broker's load.",
                    transactional_id=self.transactional_id,
                )

    def send_offsets(self, offsets: Sequence[TopicPartitionOffset], group_metadata: Any) -> None:
        """Add a consumer group's offsets to the open transaction.

        :param group_metadata: ``Consumer.consumer_group_metadata()``.
        :raises KafkaUnavailable: no answer: nothing of the transaction is committed, and the producer must be
            discarded.
        """
        timeout_s = min(_OFFSETS_S, self._patience_s)
        self._call_within(timeout_s, "send_offsets_to_transaction", list(offsets), group_metadata, timeout_s)

    def commit(self) -> None:
        """Commit the open transaction.

        :attr:`spent` is set if the call was slow enough for librdkafka to have sent EndTxn twice (a broken connection,
            a late reply). The
        first EndTxn may still arrive, and would end this producer's next transaction when it is half sent. So a spent
        producer must be closed; the next producer's init makes the broker refuse the late request.

        :raises ProducerFenced: another producer has this transactional id now; this transaction is aborted unless its
            EndTxn was answered.
        :raises KafkaUnavailable: no answer: the outcome is unknown (:attr:`outcome_unknown`), and the producer must be
            discarded.
        """
        self._drain()
        self.outcome_unknown = True
        began_at = time.monotonic()
        self._call_within(self._patience_s, "commit_transaction", self._patience_s)
        self.outcome_unknown = self._open = False
        self.spent = time.monotonic() - began_at >= self._earliest_retry_s
        self._release()

    def _drain(self) -> None:
        """Wait until all records are delivered, so that the commit only sends EndTxn.

        Without progress the commit itself reports the cause.
        """
        left = len(self._producer)
        moved_at = time.monotonic()
        while left and time.monotonic() - moved_at < _SILENCE_S:
            self._call("sending records", "flush", _SILENCE_S / 2)  # poll would wait for linger.ms
            if len(self._producer) < left:
                left = len(self._producer)
                moved_at = time.monotonic()

    def abort(self, timeout_s: float) -> None:
        """Abort the open transaction."""
        self._call_within(timeout_s, "abort_transaction", timeout_s)
        self._open = False
        self._release()

    def abort_open(self, timeout_s: float) -> None:
        """Abort a transaction left open, for example by Ctrl-C, so that readers need not wait for its timeout.

        If the abort fails, the timeout ends the transaction. The abort's error is suppressed, because it would hide the
        caller's error.
        """
        if self._open and not self.outcome_unknown:
            with suppress(IgniteKafkaError, ProducerFenced):
                self.abort(timeout_s)

    def _release(self) -> None:
        """Release the kept value arrays, once librdkafka has no record left to send."""
        if not len(self._producer):
            self._lent.release()

    def close(self) -> None:
        """Close the producer; records still queued are not sent."""
        for topic in self._topics.values():
            topic.close()
        self._topics = {}
        # flush of a fenced producer raises its fatal error, which would hide the cause of the close
        with suppress(KafkaException):
            self._producer.purge(in_queue=True, in_flight=True, blocking=False)
            self._producer.flush(0)
        gone = not len(self._producer) or sys.getrefcount(self._producer) == _LAST_REFERENCE
        del self._producer  # ends librdkafka, if this is the last reference
        if gone:
            self._lent.release()

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        topic = message.topic()
        partition = message.partition()
        offset = message.offset()
        if error is not None and error.code() in _PURGED:
            return  # librdkafka has already failed the transaction; :meth:`_failed` asks for the reason
        if error is not None:
            self._delivery_error = error
        elif topic is not None and partition is not None and offset is not None:
            self.written[topic, partition] = offset

    def _call(self, doing: str, method: str, *arguments: object) -> None:
        try:
            getattr(self._producer, method)(*arguments)
        except KafkaException as cause:
            error = self._error(cause, doing)
            # the text of this error only counts the failures
            if cause.args[0].code() == KafkaError._INCONSISTENT and self._delivery_error is not None:
                error = self._error(KafkaException(self._delivery_error), "sending records")
            raise error from cause

    def _call_within(self, timeout_s: float, method: str, *arguments: object) -> None:
        """Make a call with a time limit; after a call that hangs, refuse further calls."""
        where = {"transactional_id": self.transactional_id}
        if self._stuck:
            raise KafkaUnavailable(f"{method} is not called: an earlier call did not return", **where)
        try:
            bounded(lambda: self._call(method, method, *arguments), timeout_s)
        except CallStuck as cause:
            self._stuck = True
            raise stuck(method, cause, **where) from cause
        beat()

    def _refused(self, code: int, records: Records, row: int, topic: str) -> Exception:
        """Return the error to raise for a record that librdkafka did not queue."""
        return self._failed(topic) if code == KafkaError._STATE else _refused(code, records, row, topic)

    def _failed(self, topic: str) -> Exception:
        """Return the error because of which the open transaction can only be aborted.

        Librdkafka raises it from each call that such a state forbids.
        """
        try:
            self._producer.begin_transaction()
        except KafkaException as cause:
            return self._error(cause, "sending records", topic=topic)
        raise AssertionError("a transaction began within a transaction")

    def _error(self, cause: KafkaException, doing: str, **where: Any) -> Exception:
        error: KafkaError = cause.args[0]
        if error.txn_requires_abort():
            self.outcome_unknown = False  # this error means that EndTxn was not sent
        if error.code() in _FENCED:
            return ProducerFenced(f"{self.transactional_id}: {doing}: {error.str()}")
        return translate(error, doing, self._memory, transactional_id=self.transactional_id, **where)


def _refused(code: int, records: Records, row: int, topic: str) -> IgniteKafkaError:
    key = records.keys[row].as_py()
    value = records.values[row].as_py()
    size = len(key or b"") + len(value or b"")
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        what = f"a record of {size + RECORD_OVERHEAD} bytes is larger than the producer's message.max.bytes"
        return too_large(what, topic, key=in_message((key or b"")[:80]))
    return KafkaUnavailable(
        f"librdkafka refused a record: {native.describe(code)}", topic=topic, key=in_message((key or b"")[:80])
    )


def _message_timeout_ms(value: str | int | None, transaction_ms: int) -> str | int:
    """Return the timeout of a record, at most its transaction's, because librdkafka refuses a longer one.

    A value of 0 means no limit.

    Text that is not a number is left for librdkafka to refuse.
    """
    text = str(_MESSAGE_TIMEOUT_MS if value is None else value)
    return min(int(text) or transaction_ms, transaction_ms) if text.isdecimal() else text


def fenced_by_newer(connector: str, slot: int | None, own: int, theirs: int) -> Fenced:
    """Return the error to raise when a producer of the connector was fenced.

    :param theirs: newest generation recorded; a repair, a change of offsets and a starting run record none.
    """
    if theirs > own:
        newer = f"generation {theirs}"
        remedy = "This run ends; the newer one continues. Run a connector once at a time."
    else:
        newer = "a run that is starting, a repair, or a change of offsets (ignite-kafka offsets reset, alter)"
        remedy = "This run ends. After a repair or a change of offsets, start the connector again."
    return Fenced(
        f"{newer} of connector {connector!r} has taken over from generation {own}",
        remedy,
        connector=connector,
        slot=slot,
    )
