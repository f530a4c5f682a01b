"""Ways to hand records to librdkafka: a batch in one call, and one call a record. Each round is one transaction."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pyarrow as pa

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.producer import TransactionalProducer
from ignite_kafka.kafka.records import Records

from .serve import serve

_BATCH = 20_000
_TIMEOUT_MS = 60_000


@cache
def _batches(count: int) -> list[Records]:
    """Records of about 130 bytes, as the six-field cache gives them."""
    value = '{{"id":{0},"symbol":"SYM{1}","price":{0}.5,"qty":{1},"ts":1767225600000,"note":"note for trade number {0}, with its text"}}'
    batches = []
    for first in range(0, count, _BATCH):
        rows = range(first, min(first + _BATCH, count))
        keys, values = [str(row).encode() for row in rows], [value.format(row, row % 1000).encode() for row in rows]
        batches.append(Records(pa.array(keys, pa.binary()), pa.array(values, pa.binary())))
    return batches


def _transaction(
    request: Mapping[str, Any], queue: Callable[[TransactionalProducer, Records], None]
) -> Mapping[str, Any]:
    batches = _batches(request["count"])
    producer = TransactionalProducer(
        KafkaClients({"bootstrap.servers": request["bootstrap"]}), uuid.uuid4().hex, _TIMEOUT_MS
    )
    producer.init()
    producer.begin()
    started, cpu = time.monotonic(), time.thread_time()
    for records in batches:
        queue(producer, records)
    own = time.thread_time() - cpu
    producer.commit()
    seconds = time.monotonic() - started
    producer.close()
    return {"entries": request["count"], "seconds": seconds, "queueing_us": own / request["count"] * 1e6}


def batch(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """rd_kafka_produce_batch on the Arrow buffers."""
    return _transaction(request, lambda producer, records: producer.produce_records(request["topic"], records))


def one_by_one(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """confluent-kafka's produce for each record, as plain as can be."""

    def queue(producer: TransactionalProducer, records: Records) -> None:
        produce, topic = producer._producer.produce, request["topic"]
        for key, value in zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True):
            produce(topic, value, key)
        producer.await_room(_BATCH, 130)

    return _transaction(request, queue)


if __name__ == "__main__":
    serve({"batch": batch, "one_by_one": one_by_one})
