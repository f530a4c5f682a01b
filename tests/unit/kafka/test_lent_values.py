"""Values that librdkafka reads in place: all of them arrive, and each array is kept until then and no longer."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.lent_values import LentValues
from ignite_kafka.kafka.producer import TransactionalProducer
from ignite_kafka.kafka.records import Records

ROWS = 500


def values(mark: str) -> pa.BinaryArray:
    return pa.array([f"{mark} {row} ".encode() * 20 for row in range(ROWS)], pa.binary())


@pytest.fixture
def broker() -> Iterator[str]:
    """The address of librdkafka's own broker, a thread of a producer."""
    producer = Producer({"test.mock.num.brokers": 1})
    brokers = producer.list_topics("topic", timeout=30).brokers.values()  # which makes the topic, too
    yield ",".join(f"{one.host}:{one.port}" for one in brokers)
    producer.flush(0)  # the broker ends with its producer


def begun(broker: str) -> TransactionalProducer:
    """A producer with an open transaction."""
    producer = TransactionalProducer(KafkaClients({"bootstrap.servers": broker, "log_level": 0}, {}), "lent", 60_000)
    producer.init()
    producer.begin()
    return producer


def produced(producer: TransactionalProducer, topic: str, mark: str) -> weakref.ref[pa.Array]:
    """Queue values, of which nothing here remains but this."""
    array = values(mark)
    producer.produce_records(topic, Records(pa.array([b"key"] * ROWS, pa.binary()), array))
    return weakref.ref(array)


def test_an_array_is_kept_until_it_is_released() -> None:
    lent, array = LentValues(), values("a")
    kept = weakref.ref(array)
    assert lent.lend(array)
    del array
    assert kept() is not None
    lent.release()
    assert kept() is None


def test_an_array_outlives_what_has_lent_it() -> None:
    """Python frees the parts of an object in any order, and librdkafka may be the last of them."""
    lent, array = LentValues(), values("a")
    kept = weakref.ref(array)
    lent.lend(array)
    del lent, array
    gc.collect()
    assert kept() is not None


def test_values_beyond_the_bound_are_copied() -> None:
    one, other = values("a"), values("b")
    lent = LentValues(most=one.nbytes * 3 // 2)
    assert (lent.lend(one), lent.lend(other)) == (True, False)
    lent.release()
    assert lent.lend(other)
    lent.release()


def test_what_was_lent_arrives_and_is_released_by_the_commit(broker: str) -> None:
    producer = begun(broker)
    kept = [produced(producer, "topic", mark) for mark in "ab"]
    assert kept[1]() is not None
    producer.commit()
    assert [one() for one in kept] == [None, None]
    producer.close()
    expected = [value for mark in "ab" for value in values(mark).to_pylist()]
    assert _consumed(broker, len(expected)) == expected


def test_what_was_lent_is_released_by_the_abort(broker: str) -> None:
    producer = begun(broker)
    kept = produced(producer, "topic", "a")
    producer.abort(30)
    assert kept() is None
    producer.close()


def test_what_was_lent_and_not_sent_is_released_by_the_close(broker: str) -> None:
    producer = begun(broker)
    kept = produced(producer, "no such topic", "a")
    assert kept() is not None
    producer.close()
    assert kept() is None


def _consumed(broker: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["topic"])
    found: list[bytes] = []
    try:
        while len(found) < count:
            message = consumer.poll(60)
            assert message is not None, f"{len(found)} of {count} records arrived"
            assert message.error() is None, message.error()
            value = message.value()
            assert isinstance(value, bytes)
            found.append(value)
    finally:
        consumer.close()
    return found
