"""Reader of record batches from librdkafka straight into Arrow arrays, without a Python object per record.

confluent-kafka makes a Python object of each record: 1 µs of Python a record, and as many small objects as there are
keys and values. ``rd_kafka_consume_batch_queue`` fills an array of pointers to ``rd_kafka_message_t``; numpy reads
those structures where they lie, and Arrow copies keys and values together: 0.4 µs, of which giving the messages back is
half. :func:`.batch_produce.supported` checks that this is possible.

Source: librdkafka ``rdkafka.h`` (``rd_kafka_message_s``, ``rd_kafka_consume_batch_queue``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import Consumer, Message, cimpl

from ..common.arrays import Int64Array
from .headers import headers_of
from .records import Consumed

Addresses = npt.NDArray[np.uint64]

_OBJECT_HEAD = object.__basicsize__
_WORDS = 8  # of rd_kafka_message_t, of 8 bytes each: err, rkt, partition, payload, len, key, key_len, offset
_WINDOW_BITS = 30  # a buffer of an Arrow view array is addressed by 31 bits
_INLINE = 12  # bytes that an Arrow view holds itself
_VIEW = np.dtype(
    {
        "names": ["length", "inline", "buffer", "offset"],
        "formats": ["<i4", "S12", "<i4", "<i4"],
        "offsets": [0, 4, 8, 12],
    }
)


@dataclass(frozen=True)
class Signal:
    """What a consumer reports besides records: the end of a partition, or an error."""

    code: int
    topic: str | None
    partition: int
    offset: int
    text: str = ""


def signal_of(message: Message) -> Signal:
    """Convert a message that is no record, such as the end of a partition, to a signal."""
    error = message.error()
    assert error is not None
    partition = message.partition()
    offset = message.offset()
    return Signal(
        error.code(),
        message.topic(),
        -1 if partition is None else partition,
        -1 if offset is None else offset,
        error.str(),
    )


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(cimpl.__file__)
    library.rd_kafka_queue_new.restype = ctypes.c_void_p
    library.rd_kafka_queue_new.argtypes = [ctypes.c_void_p]
    library.rd_kafka_queue_get_partition.restype = ctypes.c_void_p
    library.rd_kafka_queue_get_partition.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32]
    library.rd_kafka_queue_forward.restype = None
    library.rd_kafka_queue_forward.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.rd_kafka_queue_destroy.argtypes = [ctypes.c_void_p]
    library.rd_kafka_consume_batch_queue.restype = ctypes.c_ssize_t
    library.rd_kafka_consume_batch_queue.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    library.rd_kafka_message_destroy.restype = None
    library.rd_kafka_message_destroy.argtypes = [ctypes.c_void_p]
    library.rd_kafka_message_timestamp.restype = ctypes.c_int64
    library.rd_kafka_message_timestamp.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.rd_kafka_message_headers.restype = ctypes.c_int
    library.rd_kafka_message_headers.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.rd_kafka_header_get_all.restype = ctypes.c_int
    library.rd_kafka_header_get_all.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_void_p] * 3]
    library.rd_kafka_topic_name.restype = ctypes.c_char_p
    library.rd_kafka_topic_name.argtypes = [ctypes.c_void_p]
    return library


class NativeQueue:
    """Native queue of librdkafka that collects the records of the given partitions, to read them in batches.

    It is created before the partitions' assignment, and closed before the consumer. Connection events stay in the
    consumer's own queue, which :meth:`consume` polls through confluent-kafka: a Python callback that librdkafka makes
    while this module calls it finds no state of confluent-kafka, which then aborts the process.

    :param partitions: topic and number of each partition.
    :param timed: whether to read timestamps, which costs a call per record.
    :param headers: whether to read headers, which costs a call per record and header.
    """

    def __init__(
        self, consumer: Consumer, partitions: Sequence[tuple[str, int]], *, timed: bool = False, headers: bool = False
    ) -> None:
        self._consumer = consumer  # keeps the handle alive
        self._timed = timed
        self._headers = headers
        handle = ctypes.c_void_p.from_address(id(consumer) + _OBJECT_HEAD).value
        self._queue = _library().rd_kafka_queue_new(handle)
        for topic, partition in partitions:
            own = _library().rd_kafka_queue_get_partition(handle, topic.encode(), partition)
            _library().rd_kafka_queue_forward(own, self._queue)
            _library().rd_kafka_queue_destroy(own)

    def consume(self, count: int, timeout_s: float) -> tuple[list[Consumed], list[Signal]]:
        """Read at most ``count`` records and signals; wait at most ``timeout_s`` seconds for them."""
        message = self._consumer.poll(0)
        assert message is None or message.error() is not None, "a record in the consumer's own queue"
        signals = [] if message is None else [signal_of(message)]
        pointers = np.zeros(count, np.uint64)
        count_read = _library().rd_kafka_consume_batch_queue(
            self._queue, int(timeout_s * 1000), pointers.ctypes.data, count
        )
        if count_read <= 0:
            return [], signals
        pointers = pointers[:count_read]
        try:
            fetched, more = _read(pointers, self._timed, self._headers)
            return fetched, signals + more
        finally:
            destroy = _library().rd_kafka_message_destroy
            for pointer in pointers.tolist():
                destroy(pointer)

    def close(self) -> None:
        """Free librdkafka's queue."""
        if self._queue:
            _library().rd_kafka_queue_destroy(self._queue)
            self._queue = None


def _read(pointers: Addresses, timed: bool, headed: bool) -> tuple[list[Consumed], list[Signal]]:
    error, topic, partition, value, value_length, key, key_length, offset = _words(pointers)
    codes = error.astype(np.uint32).view(np.int32)
    partitions = partition.astype(np.uint32).view(np.int32)
    fetched = []
    signals = []
    for row in np.flatnonzero(codes).tolist():
        text = ctypes.string_at(int(value[row])).decode(errors="replace") if value[row] else ""
        signals.append(
            Signal(int(codes[row]), _name(int(topic[row])), int(partitions[row]), int(offset[row].view(np.int64)), text)
        )
    for rows in _by_partition(topic, partitions, np.flatnonzero(codes == 0)):
        keys = binary_at(key[rows], key_length[rows])
        values = binary_at(value[rows], value_length[rows])
        name = _name(int(topic[rows[0]]))
        assert name is not None, "a record without a topic"
        times = _times_ms(pointers[rows]) if timed else None
        headers = _headers(pointers[rows]) if headed else None
        first_ms = int(_times_ms(pointers[rows[:1]])[0])
        offsets = offset[rows].view(np.int64)
        fetched.append(
            Consumed(name, int(partitions[rows[0]]), keys, values, offsets, times, headers, first_ms=first_ms)
        )
    return fetched, signals


def _times_ms(pointers: Addresses) -> Int64Array:
    """Return the timestamps of messages, by a call for each, as the message structure lacks them."""
    time_of = _library().rd_kafka_message_timestamp
    kind = ctypes.byref(ctypes.c_int())
    return np.array([time_of(pointer, kind) for pointer in pointers.tolist()], np.int64)


def _headers(pointers: Addresses) -> pa.ListArray:
    """Return the headers of messages; the bytes of all header values are copied at once."""
    of_message = _library().rd_kafka_message_headers
    of_header = _library().rd_kafka_header_get_all
    headers = ctypes.c_void_p()
    name = ctypes.c_char_p()
    value = ctypes.c_void_p()
    size = ctypes.c_size_t()
    references = ctypes.byref(headers)
    places = [ctypes.byref(field) for field in (name, value, size)]
    counts = []
    names = []
    addresses = []
    lengths = []
    for pointer in pointers.tolist():
        count = 0
        if not of_message(pointer, references):
            while not of_header(headers, count, *places):
                names.append(name.value)
                addresses.append(value.value or 0)
                lengths.append(size.value)
                count += 1
        counts.append(count)
    values = (
        binary_at(np.array(addresses, np.uint64), np.array(lengths, np.uint64)) if names else pa.array([], pa.binary())
    )
    return headers_of(np.array(counts, np.int64), pa.array(names, pa.binary()).cast(pa.string()), values)


def _words(pointers: Addresses) -> list[Addresses]:
    """Read message structures in memory; return one array for each of their 8-byte words."""
    first = int(pointers.min())
    count = (int(pointers.max()) - first) // 8 + _WORDS
    memory = np.ctypeslib.as_array((ctypes.c_uint64 * count).from_address(first))
    at = ((pointers - np.uint64(first)) >> np.uint64(3)).astype(np.int64)
    return [memory[at + word] for word in range(_WORDS)]


def _name(topic: int) -> str | None:
    return str(_library().rd_kafka_topic_name(topic).decode()) if topic else None


def _by_partition(topics: Addresses, partitions: npt.NDArray[np.int32], rows: Int64Array) -> Iterator[Int64Array]:
    """Yield the row numbers of each partition's messages, in their order."""
    if not rows.size:
        return
    order = rows[np.lexsort((partitions[rows], topics[rows]))]  # stable
    changes = (np.diff(topics[order]) != 0) | (np.diff(partitions[order]) != 0)
    yield from np.split(order, np.flatnonzero(changes) + 1)


def binary_at(addresses: Addresses, lengths: Addresses) -> pa.BinaryArray:
    """Copy byte strings from memory addresses into one ``pa.binary()`` array; address 0 means null.

    :param lengths: length in bytes for each address.
    """
    views = np.zeros(len(addresses), _VIEW)
    views["length"] = lengths
    absent = addresses == 0
    filled = np.flatnonzero(~absent & (lengths > 0))
    short = filled[lengths[filled] <= _INLINE]
    long = filled[lengths[filled] > _INLINE]
    buffers: list[pa.Buffer] = []
    if short.size:
        views["inline"][short] = _read_inline(addresses[short], lengths[short].astype(np.int64))
    if long.size:
        windows, of_window = np.unique(addresses[long] >> np.uint64(_WINDOW_BITS), return_inverse=True)
        views["buffer"][long] = of_window
        views["offset"][long] = addresses[long] & np.uint64((1 << _WINDOW_BITS) - 1)
        buffers = [pa.foreign_buffer(int(window) << _WINDOW_BITS, (1 << 31) - 1) for window in windows]
    valid = pa.array(~absent).buffers()[1] if absent.any() else None
    array = pa.Array.from_buffers(pa.binary_view(), len(addresses), [valid, pa.py_buffer(views), *buffers])
    return array.cast(pa.binary())


def _read_inline(addresses: Addresses, lengths: Int64Array) -> np.ndarray:
    """Read up to twelve bytes of each short value, padded with zeros, and no byte beyond a value."""
    first = int(addresses.min())
    memory = np.ctypeslib.as_array((ctypes.c_uint8 * (int(addresses.max()) - first + _INLINE)).from_address(first))
    column = np.arange(_INLINE)
    at = (addresses - np.uint64(first)).astype(np.int64)[:, None] + np.minimum(column, lengths[:, None] - 1)
    text = np.where(column < lengths[:, None], memory[at], 0).astype(np.uint8)
    return np.ascontiguousarray(text).view("S12")[:, 0]
