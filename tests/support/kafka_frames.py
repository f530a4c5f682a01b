"""Frames of Kafka's protocol on a socket, and the numbers in them (https://kafka.apache.org/protocol)."""

from __future__ import annotations

import socket
import struct

_CHUNK = 1 << 16


def read_frame(source: socket.socket) -> bytes | None:
    """The next frame without its size; None at the end of the stream."""
    head = _read_exactly(source, 4)
    return None if head is None else _read_exactly(source, struct.unpack(">i", head)[0])


def _read_exactly(source: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        part = source.recv(min(_CHUNK, size - len(data)))
        if not part:
            return None
        data += part
    return bytes(data)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned number of variable length, and the position after it."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if not byte & 0x80:
            return value, position
