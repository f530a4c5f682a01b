"""Writing a single record: confirmed, refused, or left unanswered by the broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.single_record import write_record


class Producer:
    """A producer whose broker confirms each record unless configured otherwise."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []
        self.refuses: KafkaError | None = None
        self.silent, self.full = False, False

    patience_s = 30.0

    def writer(self) -> Producer:
        return self

    def produce(self, *record: Any, on_delivery: Callable[[KafkaError | None, None], None], headers: Any) -> None:
        if self.full:
            raise KafkaException(KafkaError(KafkaError._QUEUE_FULL))
        self.sent.append((*record, headers))
        on_delivery(self.refuses, None)

    def flush(self, _: float) -> int:
        return int(self.silent)


def write(producer: Producer) -> None:
    write_record(cast(KafkaClients, producer), "t", b"k", b"v", "the answer", partition=3, headers=[("a", b"b")], connector="c")


def test_it_goes_to_its_partition_with_its_headers() -> None:
    producer = Producer()
    write(producer)
    assert producer.sent == [("t", b"v", b"k", 3, [("a", b"b")])]


def test_a_broker_that_does_not_confirm_it_is_named_with_what_was_written() -> None:
    producer = Producer()
    producer.silent = True
    with pytest.raises(KafkaUnavailable, match="did not confirm the answer in time") as silent:
        write(producer)
    assert silent.value.where == {"topic": "t", "connector": "c"}


@pytest.mark.parametrize("full", [True, False])
def test_a_refusal_is_an_error(full: bool) -> None:
    producer = Producer()
    producer.full, producer.refuses = full, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(IgniteKafkaError, match="writing the answer"):
        write(producer)
