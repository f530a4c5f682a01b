"""What a broker refuses while records are queued."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from ignite_kafka.errors import RecordTooLarge
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.producer import TransactionalProducer
from ignite_kafka.kafka.records import Records
from tests.support.randomness import generator
from tests.support.waiting import REQUEST_S
from tools.servers import KafkaBroker

_COUNT = 600  # more than the producer's queue holds: it is still being filled when the broker refuses the first batch


@pytest.mark.parametrize("times", [False, True], ids=["all at once", "one by one"])
def test_a_refused_batch_names_its_cause_and_not_what_became_of_the_queue(
    kafka: KafkaBroker, unique: Callable[[str], str], times: bool
) -> None:
    topic = unique("refused")
    clients = KafkaClients(kafka.client_config, {"batch.size": 4_000_000, "message.max.bytes": 4_000_000})
    admin = AdminClient({**kafka.client_config})  # its answers come while it lives
    admin.create_topics([NewTopic(topic, 1)])[topic].result(REQUEST_S)
    noise = generator(1)
    values = pa.array([noise.randbytes(100_000) for _ in range(_COUNT)], pa.binary())
    times_ms = np.full(_COUNT, 1_700_000_000_000) if times else None
    records = Records(pa.array([b"%d" % row for row in range(_COUNT)], pa.binary()), values, times_ms=times_ms)
    producer = TransactionalProducer(clients, unique("refused"), 60_000)
    producer.init()
    producer.begin()
    with pytest.raises(RecordTooLarge, match=rf"ProduceRequest for {topic} .*batch\.size in producer_override"):
        _send(producer, topic, records)
    producer.close()


def _send(producer: TransactionalProducer, topic: str, records: Records) -> None:
    producer.produce_records(topic, records)
    producer.commit()
