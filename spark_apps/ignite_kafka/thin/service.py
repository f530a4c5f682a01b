"""Calls of the backlog service on Ignite nodes (op 7000), and its bulk answers as numpy columns.

The contract, with all byte layouts, is the Javadoc of `BacklogService` in backlog-service/.
Source of op 7000 and 7001: `ClientServiceInvokeRequest` and `ClientServiceDescriptorsResponse` in apache/ignite.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ignite_kafka.errors import BacklogMissing, BacklogRefused, BacklogUnavailable, IgniteKafkaError
from ignite_kafka.thin import codes, protocol
from ignite_kafka.thin.connection import ThinConnection
from ignite_kafka.thin.protocol import Reader, ThinError

SERVICE = "ignite-kafka-backlog"
SERVICE_INVOKE, SERVICE_DESCRIPTORS = 7000, 7001

GIVEN_UP, MISSED, LOST, GONE = 1, 2, 4, 8
"""Marks of a unit: changes were given up, were missed, or their backlog was lost; the incarnation is captured no more."""

CREATED, UPDATED, REMOVED, EXPIRED = 1, 2, 3, 4
"""Kinds of a change."""

_CHANGES, _UNITS = 0x31434B42, 0x31554B42
_PREFIX = "BACKLOG/"
_MIN_INT, _MAX_INT = -(1 << 31), (1 << 31) - 1
_MAP_KIND = 1  # HASH_MAP of GridBinaryMarshaller

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

UNIT = np.dtype([("cache_id", "<i4"), ("partition", "<i4"), ("incarnation", "<i8")])
"""A unit, as the service reads and writes it."""

_MARKED_UNIT = np.dtype([*UNIT.descr, ("mark_number", "<i8")])
_ACKNOWLEDGED = struct.Struct("<iiqqii")


@dataclass(frozen=True)
class Changes:
    """Answer of :meth:`BacklogService.read`: columns of U units, in the order asked for, then of N changes, unit after unit.

    Keys and values are Ignite's binary form with type code; `values` holds nothing of a change whose `value_length` is -1.
    """

    topology: int
    mark_number: Longs
    expired_stamp: Longs
    count: Ints
    marks: Ints
    more: npt.NDArray[np.bool_]
    number: Longs
    time_ms: Longs
    hash: Longs
    kind: npt.NDArray[np.int8]
    key_length: Ints
    value_length: Ints
    keys: memoryview
    values: memoryview

    @classmethod
    def decode(cls, data: memoryview) -> Changes:
        """`ValueError` when the bytes are not such an answer."""
        magic, units, changes, topology, key_bytes, value_bytes = struct.unpack_from("<iiiiqq", data)
        if magic != _CHANGES or len(data) != 32 + 28 * units + 33 * changes + key_bytes + value_bytes:
            raise ValueError("the bytes are not changes of the backlog service")
        take = _Columns(data, 32)
        mark_number, stamp = take("<i8", units), take("<i8", units)
        number, time_ms, hashes = take("<i8", changes), take("<i8", changes), take("<i8", changes)
        count, marks, more = take("<i4", units), take("<i4", units), take("<i4", units)
        key_length, value_length, kind = take("<i4", changes), take("<i4", changes), take("i1", changes)
        keys = data[take.position : take.position + key_bytes]
        values = data[take.position + key_bytes :]
        columns = (mark_number, stamp, count, marks, more.astype(bool), number, time_ms, hashes, kind, key_length, value_length)
        return cls(topology, *columns, keys, values)

    def key_offsets(self) -> Longs:
        """N + 1 offsets into `keys`."""
        return _offsets(self.key_length)

    def value_offsets(self) -> Longs:
        """N + 1 offsets into `values`."""
        return _offsets(np.maximum(self.value_length, 0))

    def acknowledgement(self, units: npt.NDArray[np.void]) -> bytes:
        """What acknowledges all of this, which came for these units."""
        numbers = np.stack([self.number, self.hash], axis=1).astype("<i8", copy=False)
        numbers = numbers.reshape(-1, 2)
        parts, start = [], 0
        for unit, stamp, count in zip(units.tolist(), self.expired_stamp.tolist(), self.count.tolist(), strict=True):
            if count or stamp:
                parts.append(_ACKNOWLEDGED.pack(*unit, stamp, count, 0))
                parts.append(numbers[start : start + count].tobytes())
            start += count
        return b"".join(parts)


@dataclass(frozen=True)
class UnitStates:
    """Answer of :meth:`BacklogService.units`, a row a unit that has a backlog or marks; `low` and `high` are -1 where it has no numbers."""

    unit: npt.NDArray[np.void]
    low: Longs
    high: Longs
    count: Longs
    stored_bytes: Longs
    mark_number: Longs
    marks: Ints

    @classmethod
    def decode(cls, data: memoryview) -> UnitStates:
        """`ValueError` when the bytes are not such an answer."""
        magic, units = struct.unpack_from("<ii", data)
        if magic != _UNITS or len(data) != 8 + 60 * units:
            raise ValueError("the bytes are not units of the backlog service")
        take = _Columns(data, 8)
        incarnation, low, high, count, stored_bytes, mark_number = (take("<i8", units) for _ in range(6))
        cache_id, partition, marks = (take("<i4", units) for _ in range(3))
        unit = np.empty(units, UNIT)
        unit["cache_id"], unit["partition"], unit["incarnation"] = cache_id, partition, incarnation
        return cls(unit, low, high, count, stored_bytes, mark_number, marks)


class BacklogService:
    """The backlog service as one connection reaches it; for the thread of that connection.

    Each call raises BacklogRefused (it can never succeed as it is: `code` says why), BacklogUnavailable (nodes could not do it now),
    BacklogMissing (no node has the jar), or IgniteUnreachable.
    """

    def __init__(self, connection: ThinConnection) -> None:
        self._connection = connection

    def start(self, connector: str, settings: Mapping[str, str], caches: Sequence[str]) -> dict[str, Any]:
        """Capture caches, from before it returns on; the settings have the names of the GridGain Kafka Connector."""
        return dict(self._call("start", connector, dict(settings), list(caches)))

    def update(self, connector: str, caches: Sequence[str]) -> dict[str, Any]:
        """Make these the connector's caches."""
        return dict(self._call("update", connector, list(caches)))

    def connectors(self) -> list[str]:
        """Names of the connectors that capture."""
        return list(self._call("connectors"))

    def status(self, connector: str) -> dict[str, Any]:
        """How a capture is, on the whole and on each node."""
        return dict(self._call("status", connector))

    def units(self, connector: str) -> UnitStates:
        """The backlog of each unit that has one or is marked; reads all of it on the nodes."""
        return UnitStates.decode(self._call("units", connector))

    def read(self, connector: str, units: npt.NDArray[np.void], max_bytes: int) -> Changes:
        """Changes of these units (dtype UNIT), lowest numbers first."""
        return Changes.decode(self._call("read", connector, units.astype(UNIT, copy=False).tobytes(), max_bytes))

    def acknowledge(self, connector: str, sent: bytes) -> None:
        """Remove what was sent; `sent` as of :meth:`Changes.acknowledgement`."""
        self._call("acknowledge", connector, sent)

    def barrier(self, connector: str) -> None:
        """Return when all that was captured before stands in the backlog."""
        self._call("barrier", connector)

    def clear(self, connector: str, units: npt.NDArray[np.void], mark_number: Longs) -> None:
        """Take marks away, of units that are now sent again."""
        marked = np.empty(len(units), _MARKED_UNIT)
        for name in UNIT.names or ():
            marked[name] = units[name]
        marked["mark_number"] = mark_number
        self._call("clear", connector, marked.tobytes())

    def caches(self) -> list[tuple[str, int, str, int, int, str]]:
        """Name, id, deployment id, topology version of its start, partitions and group of each cache."""
        rows = (line.split("\t") for line in self._call("caches"))
        return [(name, int(id_), deployment, int(started), int(parts), group) for name, id_, deployment, started, parts, group in rows]

    def stop(self, connector: str, destroy: bool) -> dict[str, Any]:
        """End a capture; says what was removed."""
        return dict(self._call("stop", connector, destroy))

    def _call(self, method: str, *arguments: Any) -> Any:
        payload = protocol.string(SERVICE) + struct.pack("<Bqi", 0, 0, 0) + protocol.string(method)
        payload += struct.pack("<i", len(arguments)) + b"".join(map(_encode, arguments))
        try:
            return _value(Reader(self._connection.request(SERVICE_INVOKE, payload)))
        except ThinError as error:
            raise _refused(error, self._connection.address) from error


def has_service(connection: ThinConnection) -> bool:
    """Whether the cluster has the backlog service and lets this user see it; unlike a call, asking leaves no warning in a node's log."""
    try:
        reader = Reader(connection.request(SERVICE_DESCRIPTORS, b""))
    except ThinError as error:
        if error.status in (protocol.INVALID_OPERATION, protocol.SECURITY_VIOLATION):
            return False
        raise _refused(error, connection.address) from error
    names = set()
    for _ in range(reader.int32()):
        names.add(reader.text())
        reader.text()  # class
        reader.take(4 + 4)  # instances in all, on a node
        reader.text()  # cache
        reader.typed_uuid()  # node that deployed it
        reader.take(1)  # platform
    return SERVICE in names


class _Columns:
    """Takes columns off a buffer, one after the other, without a copy."""

    def __init__(self, data: memoryview, position: int) -> None:
        self.data, self.position = data, position

    def __call__(self, kind: str, count: int) -> npt.NDArray[Any]:
        column = np.frombuffer(self.data, kind, count, self.position)
        self.position += column.nbytes
        return column


def _offsets(lengths: npt.NDArray[Any]) -> Longs:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _encode(value: Any) -> bytes:
    """A typed value: what the service takes as argument."""
    if isinstance(value, bool):
        return struct.pack("<B?", codes.BOOL, value)
    if isinstance(value, int) and _MIN_INT <= value <= _MAX_INT:
        return struct.pack("<Bi", codes.INT, value)
    if isinstance(value, str):
        return protocol.string(value)
    if isinstance(value, bytes):
        return struct.pack("<Bi", codes.BYTE_ARRAY, len(value)) + value
    if isinstance(value, list):
        return struct.pack("<Bi", codes.STRING_ARRAY, len(value)) + b"".join(map(protocol.string, value))
    if isinstance(value, dict):
        pairs = b"".join(protocol.string(key) + protocol.string(text) for key, text in value.items())
        return struct.pack("<BiB", codes.MAP, len(value), _MAP_KIND) + pairs
    raise TypeError(f"{type(value).__name__} is no argument of the backlog service")


def _value(reader: Reader) -> Any:
    """A typed value: what the service answers."""
    code = reader.byte()
    if code == codes.NULL:
        return None
    if code == codes.INT:
        return reader.int32()
    if code == codes.LONG:
        return reader.int64()
    if code == codes.STRING:
        return str(reader.take(reader.int32()), "utf-8")
    if code == codes.BYTE_ARRAY:
        return reader.take(reader.int32())
    if code == codes.STRING_ARRAY:
        return [_value(reader) for _ in range(reader.int32())]
    if code == codes.MAP:
        size = reader.int32()
        reader.byte()
        return {_value(reader): _value(reader) for _ in range(size)}
    raise ValueError(f"type code {code} is none that the backlog service answers")


def _refused(error: ThinError, address: str) -> IgniteKafkaError:
    """The service's own failure is told by its message alone: `BACKLOG/<code>: <what>`."""
    _, found, rest = error.message.partition(_PREFIX)
    if found:
        code, _, what = rest.partition(": ")
        what = what.splitlines()[0] if what else rest
        if code == "UNAVAILABLE":
            return BacklogUnavailable(what, "Try again; the nodes' logs say more", address=address)
        return BacklogRefused(what, code=code, address=address)
    if error.status == protocol.SECURITY_VIOLATION:
        return BacklogRefused(f"Ignite does not let this user call a service: {error.message}", code="FORBIDDEN", address=address)
    if "Service not found" in error.message or error.status == protocol.INVALID_OPERATION:
        what = "no node of the cluster has the backlog service"
        return BacklogMissing(what, "Put its jar on the class path of every server node", address=address)
    return BacklogUnavailable(f"a call of the backlog service failed: {error.message}", "The nodes' logs say more", address=address)
