"""Reading of the thin client protocol's frames from a socket: a little-endian int32 length, then the body."""

from __future__ import annotations

import socket
import struct

FIRST_BYTES = 8 << 20  # first buffer of a frame: enough for most scan pages; a longer frame's buffer grows
_LENGTH = struct.Struct("<i")


class FrameTooLong(ValueError):
    """Raised for a frame whose announced length exceeds the limit."""

    def __init__(self, length: int) -> None:
        super().__init__(f"a frame of {length} bytes is not Ignite's thin client protocol")
        self.length = length


class FrameReader:
    """Reader of frames from one socket; after a time-out the next call resumes the read."""

    def __init__(self) -> None:
        self._head = _Buffer(_LENGTH.size)
        self._body: _Buffer | None = None

    def read(self, source: socket.socket, limit: int) -> memoryview:
        """Read the next frame's body.

        :param limit: bytes of the longest frame that is accepted.
        :raises FrameTooLong: a longer frame is announced; nothing of the frame is read.
        :raises ValueError: the announced length is not positive.
        :raises OSError: the socket failed, was closed by the other side, or timed out.
        """
        if self._body is None:
            length = _LENGTH.unpack(self._head.fill(source))[0]
            if length > limit:
                raise FrameTooLong(length)
            if length <= 0:
                raise ValueError(f"a frame of {length} bytes is not Ignite's thin client protocol")
            self._head = _Buffer(_LENGTH.size)
            self._body = _Buffer(length)
        view = self._body.fill(source)
        self._body = None
        return view


class _Buffer:
    """Bytes of a frame's head or body received so far.

    It grows as bytes arrive, so that an announced length alone takes no memory.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._buffer = bytearray(min(length, FIRST_BYTES))
        self._received = 0

    def fill(self, source: socket.socket) -> memoryview:
        """Read the remaining bytes from the socket; after an error the next call resumes."""
        while self._received < self._length:
            if self._received == len(self._buffer):
                self._buffer += bytes(min(len(self._buffer), self._length - self._received))
            with memoryview(self._buffer) as whole, whole[self._received :] as room:
                count = source.recv_into(room)
            if count == 0:
                raise ConnectionError("the other side closed the connection")
            self._received += count
        return memoryview(self._buffer)
