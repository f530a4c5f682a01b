"""Addresses of Arrow values as librdkafka reads them."""

from __future__ import annotations

import ctypes

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, Producer
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.kafka import batch_produce as native
from ignite_kafka.kafka.batch_produce import NativeTopic, addresses, describe, supported


@given(st.lists(st.none() | st.binary(max_size=20), max_size=30))
def test_each_value_is_found_at_its_address(values: list[bytes | None]) -> None:
    array = pa.array(values, pa.binary())
    where, length = addresses(array)
    found = [None if at == 0 else ctypes.string_at(int(at), int(size)) for at, size in zip(where, length, strict=True)]
    assert found == values


def test_an_array_with_an_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        addresses(pa.array([b"a", b"b"], pa.binary())[1:])


def test_the_installed_confluent_kafka_is_of_the_kind_that_the_layout_was_checked_against() -> None:
    assert supported()


def test_the_message_structure_is_that_of_rdkafka_h() -> None:
    fields = [
        ("err", ctypes.c_int),
        ("rkt", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_void_p),
        ("len", ctypes.c_size_t),
    ]
    fields += [("key", ctypes.c_void_p), ("key_len", ctypes.c_size_t), ("offset", ctypes.c_int64), ("private", ctypes.c_void_p)]
    message = type("rd_kafka_message_t", (ctypes.Structure,), {"_fields_": fields})
    assert ctypes.sizeof(message) == native._MESSAGE.itemsize
    offsets = {name: place[1] for name, place in (native._MESSAGE.fields or {}).items()}
    for name, _ in fields:
        assert getattr(message, name).offset == offsets[name], name


def test_a_message_that_is_too_large_is_refused_at_once() -> None:
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "message.max.bytes": 1000, "log_level": 0})
    topic = NativeTopic(producer, "t")
    try:
        codes = topic.produce(pa.array([b"k", b"k"], pa.binary()), pa.array([b"v", b"v" * 2000], pa.binary()), 0, 2)
    finally:
        topic.close()
        producer.purge()
    assert codes.tolist() == [0, KafkaError.MSG_SIZE_TOO_LARGE]
    assert "too large" in describe(KafkaError.MSG_SIZE_TOO_LARGE)
