"""Op codes, status codes, requests and replies of Ignite's thin client protocol, versions 1.4 to 1.7.

A frame is a little-endian int32 length and that many bytes. A request holds op (int16), request id (int64) and the
payload. A reply holds the request id, flags (int16; bit 0 error, bit 1 affinity version follows, bit 2 notification),
what the flags announce, and the body. Older versions (Ignite before 2.8) report no affinity version, without which a
scan cannot detect that its cache was destroyed. Source: `ClientListenerNioListener`, `ClientConnectionContext`,
`ClientResponse` and `ClientStatus` in apache/ignite.
"""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass

from ..java.hash_code import java_hash

RESOURCE_CLOSE = 0
CACHE_PUT = 1001
CACHE_PUT_IF_ABSENT = 1002
CACHE_PUT_ALL = 1004
CACHE_REMOVE_KEYS = 1018
CACHE_GET_SIZE = 1020
CACHE_PUT_ALL_CONFLICT = 1022
CACHE_REMOVE_ALL_CONFLICT = 1023
CACHE_NAMES = 1050
CACHE_GET_OR_CREATE = 1054
CACHE_CONFIGURATION = 1055
CACHE_DESTROY = 1056
CACHE_PARTITIONS = 1101
QUERY_SCAN = 2000
QUERY_SCAN_PAGE = 2001
QUERY_SQL_FIELDS = 2004
QUERY_SQL_FIELDS_PAGE = 2005
QUERY_CONTINUOUS = 2006
BINARY_TYPE_NAME = 3000
BINARY_TYPE_NAME_PUT = 3001
BINARY_TYPE = 3002
BINARY_TYPE_PUT = 3003
BINARY_CONFIGURATION = 3004
CLUSTER_STATE = 5000
NODE_ENDPOINTS = 5102
STREAMER_START = 8000

JAVA = 0  # the platform of a class name

FAILED = 1
INVALID_OPERATION = 2
CACHE_DOES_NOT_EXIST = 1000
TOO_MANY_CURSORS = 1010
SECURITY_VIOLATION = 1012
AUTHENTICATION_FAILED = 2000

Version = tuple[int, int, int]
VERSIONS: tuple[Version, ...] = ((1, 7, 0), (1, 6, 0), (1, 5, 0), (1, 4, 0))
WITH_FEATURES: Version = (1, 7, 0)

FEATURE_NODE_ENDPOINTS = 3
FEATURE_DATA_REPLICATION = 12  # the operations *_CONFLICT
FEATURE_ALL_AFFINITY_MAPPINGS = 13
FEATURES = frozenset({FEATURE_NODE_ENDPOINTS, FEATURE_DATA_REPLICATION, FEATURE_ALL_AFFINITY_MAPPINGS})

_FLAG_ERROR = 1
_FLAG_AFFINITY = 2
_FLAG_NOTIFICATION = 4
_CODE_STRING = 9
_CODE_UUID = 10
_CODE_BYTES = 12
_CODE_NULL = 101
_CODE_DECIMAL = 30
# Bytes after the type code: byte, short, int, long, float, double, char, boolean, UUID, date, timestamp, time, null.
_WIDTHS = {1: 1, 2: 2, 3: 4, 4: 8, 5: 4, 6: 8, 7: 2, 8: 1, 10: 16, 11: 8, 33: 12, 36: 8, 101: 0}
_THIN_CLIENT = 2

_INT = struct.Struct("<i")
_LONG = struct.Struct("<q")
_AFFINITY = struct.Struct("<qi")
_REQUEST = struct.Struct("<ihq")
_REPLY = struct.Struct("<qH")
_SCAN = struct.Struct("<iBBii?")
_KEEP_BINARY = 1


class ThinError(Exception):
    """Error reply of a node to a request, with status and message.

    Callers turn it into an error of `errors.py`.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"status {status}: {message}")
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Reply:
    """Parsed reply of a node; `body` is the frame without its header.

    `affinity` is (topology version, minor version) if the node reports a change.
    """

    request_id: int
    error: ThinError | None
    affinity: tuple[int, int] | None
    notification: bool
    body: memoryview


class Reader:
    """Reader of the values in a reply, one after the other; `struct.error` or `ValueError` if bytes are missing."""

    def __init__(self, data: memoryview | bytes, position: int = 0) -> None:
        self.data = memoryview(data)
        self.position = position

    def take(self, length: int) -> memoryview:
        """Read the next `length` bytes."""
        end = self.position + length
        if length < 0 or end > len(self.data):
            raise ValueError(f"{length} bytes wanted at position {self.position} of {len(self.data)}")
        self.position, start = end, self.position
        return self.data[start:end]

    def byte(self) -> int:
        """Read an unsigned byte."""
        return self.take(1)[0]

    def boolean(self) -> bool:
        """Read a boolean of one byte."""
        return self.byte() != 0

    def int32(self) -> int:
        """Read a signed 32-bit integer."""
        return int(_INT.unpack(self.take(4))[0])

    def int64(self) -> int:
        """Read a signed 64-bit integer."""
        return int(_LONG.unpack(self.take(8))[0])

    def int16(self) -> int:
        """Read a signed 16-bit integer."""
        return int.from_bytes(self.take(2), "little", signed=True)

    def text(self) -> str | None:
        """Read a string with its type code, or null."""
        data = self._typed(_CODE_STRING)
        return None if data is None else str(data, "utf-8")

    def blob(self) -> bytes | None:
        """Read a byte array with its type code, or null."""
        data = self._typed(_CODE_BYTES)
        return None if data is None else bytes(data)

    def typed_uuid(self) -> uuid.UUID | None:
        """Read a UUID with its type code, or null."""
        code = self.byte()
        if code == _CODE_NULL:
            return None
        if code != _CODE_UUID:
            raise ValueError(f"type code {code} at position {self.position - 1}, {_CODE_UUID} (UUID) wanted")
        return self.raw_uuid()

    def raw_uuid(self) -> uuid.UUID:
        """Read a UUID without type code: two little-endian longs, the most significant first."""
        high = self.int64()
        low = self.int64()
        return uuid.UUID(int=((high & 0xFFFFFFFFFFFFFFFF) << 64) | (low & 0xFFFFFFFFFFFFFFFF))

    def any_object(self) -> bytes:
        """Read one scalar value or null as encoded bytes, such as a column's default value."""
        start = self.position
        code = self.byte()
        if code in _WIDTHS:
            self.take(_WIDTHS[code])
        elif code in (_CODE_STRING, _CODE_BYTES):
            self.take(self.int32())
        elif code == _CODE_DECIMAL:
            self.take(4)
            self.take(self.int32())
        else:
            raise ValueError(f"type code {code} at position {start} is not one that a default value has")
        return bytes(self.data[start : self.position])

    def _typed(self, expected: int) -> memoryview | None:
        code = self.byte()
        if code == _CODE_NULL:
            return None
        if code != expected:
            raise ValueError(f"type code {code} at position {self.position - 1}, {expected} wanted")
        return self.take(self.int32())


def frame(op: int, request_id: int, payload: bytes) -> bytes:
    """Encode a request as a frame: length, op code, request id, payload."""
    return _REQUEST.pack(10 + len(payload), op, request_id) + payload


def handshake(
    version: Version, username: str | None, password: str | None, features: frozenset[int] = FEATURES
) -> bytes:
    """Encode the handshake request as a frame, with the feature mask from version 1.7 on."""
    body = struct.pack("<BhhhB", 1, *version, _THIN_CLIENT)
    if version >= WITH_FEATURES:
        mask = feature_mask(features)
        body += struct.pack("<Bi", _CODE_BYTES, len(mask)) + mask
    if username is not None:
        body += string(username) + string(password)
    elif version < WITH_FEATURES:
        body += string(None) + string(None)
    return _INT.pack(len(body)) + body


def feature_mask(features: frozenset[int]) -> bytes:
    """Encode feature numbers as a bit mask in the form of Java's `BitSet.toByteArray`."""
    mask = bytearray(max(features) // 8 + 1) if features else bytearray()
    for feature in features:
        mask[feature // 8] |= 1 << feature % 8
    return bytes(mask)


def features_of(mask: bytes | None) -> frozenset[int]:
    """Decode feature numbers from a bit mask."""
    return frozenset(byte * 8 + bit for byte, value in enumerate(mask or b"") for bit in range(8) if value >> bit & 1)


def string(value: str | None) -> bytes:
    """Encode a string, or null for None, with its type code."""
    if value is None:
        return bytes([_CODE_NULL])
    data = value.encode()
    return struct.pack("<Bi", _CODE_STRING, len(data)) + data


def parse_reply(data: memoryview) -> Reply:
    """Parse a reply frame; `struct.error` or `ValueError` if the frame is too short."""
    request_id, flags = _REPLY.unpack_from(data)
    affinity = None
    error = None
    position = _REPLY.size
    if flags & _FLAG_AFFINITY:
        affinity = _AFFINITY.unpack_from(data, position)
        position += _AFFINITY.size
    if flags & _FLAG_NOTIFICATION:
        position += 2
    if flags & _FLAG_ERROR:
        reader = Reader(data, position)
        error = ThinError(reader.int32(), reader.text() or "")
    return Reply(request_id, error, affinity, bool(flags & _FLAG_NOTIFICATION), data[position:])


def scan_request(cache_id: int, partition: int, rows: int, *, local: bool) -> bytes:
    """Encode the request that opens a scan cursor on a partition (op 2000, keep-binary, no filter).

    `local` reads the node's own copy of the partition; the node refuses if it has none.
    """
    return _SCAN.pack(cache_id, _KEEP_BINARY, _CODE_NULL, rows, partition, local)


def cache_id(name: str) -> int:
    """Compute Ignite's id of a cache, the Java hash of its name."""
    return java_hash(name)
