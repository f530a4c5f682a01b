"""Sending of a whole Arrow batch by one call of librdkafka, without a Python call per record.

confluent-kafka's ``produce`` costs about a microsecond of Python a record, as much as scanning and decoding it.
librdkafka's own ``rd_kafka_produce_batch`` takes an array of ``rd_kafka_message_t``, which numpy fills without a Python
loop: pointers into the Arrow buffers plus lengths. The library is the one that confluent-kafka has loaded; its handle
is the first field of the producer object after Python's object head (``Handle`` in confluent_kafka.h), unchanged since
version 0.9. :func:`supported` checks the layout.

Source: librdkafka ``rdkafka.h`` (``rd_kafka_message_s``, ``rd_kafka_produce_batch``); the C structure is part of its
stable ABI. Measured in docs/decisions/0002-batch-produce.md.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from importlib.metadata import version

import numpy as np
import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Producer, cimpl

_COPY = 2  # RD_KAFKA_MSG_F_COPY: librdkafka copies the value, too, before the call returns
_ANY_PARTITION = -1  # RD_KAFKA_PARTITION_UA: the partitioner decides
_OBJECT_HEAD = object.__basicsize__
_MESSAGE = np.dtype(
    {
        "names": ["err", "rkt", "partition", "payload", "len", "key", "key_len", "offset", "private"],
        "formats": ["<i4", "<u8", "<i4", "<u8", "<u8", "<u8", "<u8", "<i8", "<u8"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56, 64],
        "itemsize": 72,
    }
)


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(cimpl.__file__)
    library.rd_kafka_topic_new.restype = ctypes.c_void_p
    library.rd_kafka_topic_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    library.rd_kafka_topic_destroy.argtypes = [ctypes.c_void_p]
    library.rd_kafka_produce_batch.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int32,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_int,
    ]
    library.rd_kafka_err2str.restype = ctypes.c_char_p
    library.rd_kafka_err2str.argtypes = [ctypes.c_int]
    return library


@cache  # reading the version takes 4 ms: it parses the package's metadata
def supported() -> bool:
    """Return whether Python and confluent-kafka have the memory layout that the native calls rely on."""
    return (
        version("confluent-kafka").startswith("2.")
        and sys.implementation.name == "cpython"
        and sys.maxsize > 2**32
        and sys.byteorder == "little"
    )


def addresses(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the memory address and the length of each value in a binary array; both are 0 for a null.

    :raises ValueError: the array has an offset.
    """
    if array.offset:
        raise ValueError("an array with an offset: slice its buffers first")
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int32, len(array) + 1).astype(np.uint64)
    # an array of empty values may have no data buffer; librdkafka takes any address but 0 as 'empty', not 'null'
    base = data.address if data is not None and data.size else offsets.address
    where = np.uint64(base) + bounds[:-1]
    length = bounds[1:] - bounds[:-1]
    if array.null_count:
        absent = np.asarray(array.is_null())
        where = np.where(absent, np.uint64(0), where)
        length = np.where(absent, np.uint64(0), length)
    return where, length


class NativeTopic:
    """Native topic of a producer, to send batches; it must be closed before the producer."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer  # keeps the handle alive
        handle = ctypes.c_void_p.from_address(id(producer) + _OBJECT_HEAD).value
        self._topic = _library().rd_kafka_topic_new(handle, topic.encode(), None)
        if not self._topic:
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, f"topic {topic!r} refused by librdkafka"))

    def produce(self, keys: pa.Array, values: pa.Array, first: int, last: int, *, copy: bool = True) -> np.ndarray:
        """Queue records ``first`` to ``last`` (excluded) for sending.

        :param copy: copy the values; else the caller keeps them until librdkafka has no message left
            (:mod:`.lent_values`). Keys are always copied.
        :returns: librdkafka's error code for each record (int32); 0: queued.
        """
        messages = np.zeros(last - first, _MESSAGE)
        key, key_length = addresses(keys)
        value, value_length = addresses(values)
        messages["key"], messages["key_len"] = key[first:last], key_length[first:last]
        messages["payload"], messages["len"] = value[first:last], value_length[first:last]
        messages["partition"] = _ANY_PARTITION
        _library().rd_kafka_produce_batch(
            self._topic, _ANY_PARTITION, _COPY if copy else 0, messages.ctypes.data, last - first
        )
        codes: np.ndarray = messages["err"]
        return codes

    def close(self) -> None:
        """Free librdkafka's topic."""
        if self._topic:
            _library().rd_kafka_topic_destroy(self._topic)
            self._topic = None


def describe(code: int) -> str:
    """Return librdkafka's text for an error code."""
    return str(_library().rd_kafka_err2str(code).decode())
