"""Common heads of values: cut and restored values are equal, whatever else a topic holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.kafka import batch_produce
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.consumer import BatchLimits, RecordReader
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.kafka.value_heads import ValueHeads
from tests.support.waiting import DEADLINE_S

TOPIC = "topic"
WAIT_S = 5.0
FIRST, SECOND = b"a" * 1_000 + b":", b"b" * 1_000 + b":"
RUN = 1_500  # more than the first fetch takes
VALUES_OF_THE_TOPIC = [
    *(FIRST + b"%d" % row for row in range(RUN)),
    *(SECOND + b"%d" % row for row in range(RUN)),
    *[None] * 10,
    *(b"%d" % row for row in range(RUN)),
]
VALUES = st.lists(st.none() | st.builds(bytes.__add__, st.sampled_from([b"A:", b"B:", b"A", b""]), st.binary(max_size=4)), max_size=12)


def head_of(topic: str, value: bytes) -> bytes:
    """The bytes up to the first colon."""
    assert topic == TOPIC
    return value[: value.find(b":") + 1]


def records(values: list[bytes | None]) -> Consumed:
    count = len(values)
    return Consumed(TOPIC, 0, pa.array([b"k"] * count, pa.binary()), pa.array(values, pa.binary()), np.arange(count))


def restored(part: Consumed) -> list[bytes | None]:
    return [None if value is None else part.head + value for value in part.values.to_pylist()]


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_what_is_cut_can_be_restored(fetches: list[list[bytes | None]]) -> None:
    heads = ValueHeads(head_of)
    for values in fetches:
        part = heads.cut(records(values))
        assert restored(part) == values
        assert part.read_bytes - part.kept_bytes == len(part.head) * (len(values) - values.count(None))
        first = next((value for value in values if value is not None), b"")
        shared = head_of(TOPIC, first)
        if shared and all(value is None or value.startswith(shared) for value in values):
            assert part.head in (shared, first[: len(part.head)])
            assert part.head


def test_a_head_is_looked_for_only_where_values_begin_otherwise_than_before() -> None:
    asked = []

    def counted(topic: str, value: bytes) -> bytes:
        asked.append(value)
        return head_of(topic, value)

    heads = ValueHeads(counted)
    for value in (b"A:1", b"A:2", b"B:1", b"B:2"):
        heads.cut(records([value, None]))
    assert asked == [b"A:1", b"B:1"]


def test_tombstones_fit_to_the_head_before_them() -> None:
    heads = ValueHeads(head_of)
    fetches: list[list[bytes | None]] = [[None], [b"A:1"], [None, None]]
    assert [heads.cut(records(values)).head for values in fetches] == [b"", b"A:", b"A:"]


@pytest.fixture
def broker() -> Iterator[str]:
    """librdkafka's mock broker in a producer's thread; its topic has three runs of heads in one partition."""
    producer = Producer({"test.mock.num.brokers": 1})
    brokers = producer.list_topics(TOPIC, timeout=DEADLINE_S).brokers.values()  # also creates the topic
    for value in VALUES_OF_THE_TOPIC:
        producer.produce(TOPIC, value, b"key", 0)
    assert producer.flush(DEADLINE_S) == 0
    yield ",".join(f"{one.host}:{one.port}" for one in brokers)
    producer.flush(0)  # the broker ends with its producer


@pytest.mark.parametrize("native", [True, False])
def test_batches_of_a_topic_whose_heads_change(broker: str, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch has one head a partition, ends at its last record's position, and counts only kept bytes."""
    if not native:
        monkeypatch.setattr(batch_produce, "supported", lambda: False)
    clients, place, count = KafkaClients({"bootstrap.servers": broker, "log_level": 0}), (TOPIC, 0), len(VALUES_OF_THE_TOPIC)
    limits = BatchLimits(10 * count, RUN * 250)  # a quarter of a run, including heads
    batches: list[Consumed] = []
    with closing(RecordReader(clients, "g", {place: 0}, {place: count}, limits, head_of=head_of)) as reader:
        while not reader.finished:
            batches += reader.read(WAIT_S)
            if batches:
                assert reader.positions[place] == int(batches[-1].offsets[-1]) + 1
    assert [value for part in batches for value in restored(part)] == VALUES_OF_THE_TOPIC
    assert [offset for part in batches for offset in part.offsets.tolist()] == list(range(count))
    assert {FIRST, SECOND} <= {part.head for part in batches}
    assert max(part.read_bytes for part in batches) > limits.bytes
    assert all(part.kept_bytes <= limits.bytes or not part.head for part in batches)


def test_small_records_are_left_whole(broker: str) -> None:
    """Batches end by their number of records, so cutting heads would not enlarge them."""
    clients, place, count = KafkaClients({"bootstrap.servers": broker, "log_level": 0}), (TOPIC, 0), len(VALUES_OF_THE_TOPIC)
    with closing(RecordReader(clients, "g", {place: 0}, {place: count}, BatchLimits(100, 1 << 20), head_of=head_of)) as reader:
        batches: list[Consumed] = []
        while not reader.finished:
            batches += reader.read(WAIT_S)
    assert [value for part in batches for value in part.values.to_pylist()] == VALUES_OF_THE_TOPIC
    assert {part.head for part in batches} == {b""}
