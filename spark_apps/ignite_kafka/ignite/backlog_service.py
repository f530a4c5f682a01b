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
import pyarrow as pa

from ..errors import BacklogMissing, BacklogRefused, BacklogUnavailable, IgniteKafkaError
from . import backlog_calls as service_calls
from . import protocol
from .connection import ThinConnection
from .protocol import Reader, ThinError
from .types import type_codes as codes

SERVICE = "ignite-kafka-backlog"
SERVICE_INVOKE, SERVICE_DESCRIPTORS = 7000, 7001

GIVEN_UP, MISSED, LOST, GONE, ASKED = 1, 2, 4, 8, 16
"""Marks of a unit: changes were given up, were missed, or their backlog was lost; the incarnation is captured no more; the user asked."""

CREATED, UPDATED, REMOVED, EXPIRED = 1, 2, 3, 4
"""Kinds of a change."""

_CHANGES, _CHANGED, _UNITS = 0x31434B42, 0x31444B42, 0x31554B42
_PREFIX = "BACKLOG/"
_OTHER_CONTRACT = "Could not find proxy method"  # no method of that name takes so many arguments

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

UNIT = np.dtype([("cache_id", "<i4"), ("partition", "<i4"), ("incarnation", "<i8")])
"""A unit, as the service reads and writes it."""

_MARKED_UNIT = np.dtype([*UNIT.descr, ("mark_number", "<i8")])
_ACKNOWLEDGED = np.dtype([*UNIT.descr, ("stamp", "<i8"), ("count", "<i4"), ("zero", "<i4")])
_HEADER = struct.Struct("<iiiiq")
_CHANGED_HEADER = struct.Struct("<iiiii")
_WRAPPER = np.array([5, -4])  # type code and length before an object, offset of its root after it


@dataclass(frozen=True)
class Changes:
    """Answer of :meth:`BacklogService.read`: columns of U units, in the order asked for, then of N changes, unit after unit.

    `entries` is what a scan page holds: key and value of each change, a binary object wrapped (code 27), a missing value as code 101;
    the two length columns give their bytes there. A page of one's own can be made of any run of it. `kind` tells whether there is a value.
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
    entries: memoryview

    @classmethod
    def decode(cls, data: memoryview) -> Changes:
        """`ValueError` when the bytes are not such an answer."""
        if len(data) < _HEADER.size:
            raise ValueError("the bytes are not changes of the backlog service")
        magic, units, changes, topology, entry_bytes = _HEADER.unpack_from(data)
        if magic != _CHANGES or len(data) != _HEADER.size + 28 * units + 33 * changes + entry_bytes:
            raise ValueError("the bytes are not changes of the backlog service")
        take = _Columns(data, _HEADER.size)
        mark_number, stamp = take("<i8", units), take("<i8", units)
        number, time_ms, hashes = take("<i8", changes), take("<i8", changes), take("<i8", changes)
        count, marks, more = take("<i4", units), take("<i4", units), take("<i4", units)
        key_length, value_length, kind = take("<i4", changes), take("<i4", changes), take("i1", changes)
        columns = (mark_number, stamp, count, marks, more.astype(bool), number, time_ms, hashes, kind, key_length, value_length)
        return cls(topology, *columns, data[take.position :])

    @classmethod
    def none(cls, topology: int) -> Changes:
        """Of no units."""
        return cls.decode(memoryview(_HEADER.pack(_CHANGES, 0, 0, topology, 0)))

    def entry_offsets(self) -> Longs:
        """N + 1 offsets into `entries`."""
        offsets = np.zeros(len(self.number) + 1, np.int64)
        np.cumsum(self.key_length + self.value_length, dtype=np.int64, out=offsets[1:])
        return offsets

    def keys(self) -> pa.BinaryArray:
        """The key of each change in Ignite's binary form with type code, an object without its wrapper."""
        cuts = np.empty((len(self.number), 2), np.int32)  # start and end of each key; entries are below 2 GiB
        cuts[:, 0] = self.entry_offsets()[:-1]
        cuts[:, 1] = cuts[:, 0] + self.key_length
        wrapped = np.frombuffer(self.entries, np.uint8)[cuts[:, 0]] == codes.WRAPPED
        cuts += np.where(wrapped[:, None], _WRAPPER, 0).astype(np.int32)
        pieces = pa.Array.from_buffers(pa.binary(), max(cuts.size - 1, 0), [None, pa.py_buffer(cuts), pa.py_buffer(self.entries)])
        return pieces.take(pa.array(np.arange(0, cuts.size, 2, dtype=np.int32)))

    def acknowledgement(
        self, units: npt.NDArray[np.void], rows: npt.NDArray[np.bool_] | None = None, stamps: npt.NDArray[np.bool_] | None = None
    ) -> bytes:
        """What acknowledges the changes of this answer, which came for these units.

        :param rows: N flags: which changes; None is all. Expired keys are not told by them.
        :param stamps: U flags: of which units the expired keys, all that came; None is all.
        """
        taken = self.kind != EXPIRED if rows is None else rows & (self.kind != EXPIRED)
        unit_of = np.repeat(np.arange(len(units)), self.count)
        counts = np.bincount(unit_of[taken], minlength=len(units))
        stamp = self.expired_stamp if stamps is None else np.where(stamps, self.expired_stamp, 0)
        concerned = (counts > 0) | (stamp > 0)
        heads = np.zeros(int(concerned.sum()), _ACKNOWLEDGED)
        for name in UNIT.names or ():
            heads[name] = units[name][concerned]
        heads["stamp"], heads["count"] = stamp[concerned], counts[concerned]
        # int64 words: four of a head, two of a change
        head_of = np.repeat(np.arange(len(heads)), heads["count"])
        change = 4 * (head_of + 1) + 2 * np.arange(len(head_of))
        head = 4 * np.arange(len(heads)) + 2 * (np.cumsum(heads["count"]) - heads["count"])
        words = np.empty(4 * len(heads) + 2 * len(head_of), "<i8")
        words[head[:, None] + np.arange(4)] = heads.view("<i8").reshape(-1, 4)
        words[change], words[change + 1] = self.number[taken], self.hash[taken]
        return words.tobytes()


@dataclass(frozen=True)
class ChangedUnits:
    """Answer of :meth:`BacklogService.changed`.

    :param units: those that have changed (dtype UNIT), in no order; None: any may have.
    :param place: what to ask with next time.
    """

    topology: int
    units: npt.NDArray[np.void] | None
    place: bytes

    @classmethod
    def decode(cls, data: memoryview) -> ChangedUnits:
        """`ValueError` when the bytes are not such an answer."""
        magic, topology, every, units, place_bytes = _CHANGED_HEADER.unpack_from(data)
        if magic != _CHANGED or len(data) != _CHANGED_HEADER.size + UNIT.itemsize * units + place_bytes:
            raise ValueError("the bytes are not changed units of the backlog service")
        named = np.frombuffer(data, UNIT, units, _CHANGED_HEADER.size)
        return cls(topology, None if every else named, bytes(data[len(data) - place_bytes :]))


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

    :param secret: of the capture; calls that change it need the one that it was started with. None: it has none.

    Each call raises BacklogRefused (it can never succeed as it is: `code` says why), BacklogUnavailable (nodes could not do it now),
    BacklogMissing (no node has the jar), or IgniteUnreachable.
    """

    def __init__(self, connection: ThinConnection, secret: str | None = None) -> None:
        self._connection, self._secret = connection, secret

    def version(self) -> int:
        """Version of the service's contract on the node that answers.

        :raises BacklogRefused: the node's jar is older than this call, code OLDER_JAR.
        """
        return int(self._call("version"))

    def start(self, connector: str, settings: Mapping[str, str], caches: Sequence[str]) -> dict[str, Any]:
        """Capture caches, from before it returns on; the settings have the names of the GridGain Kafka Connector. A new capture, or one
        without a secret, has this object's secret from then on."""
        return dict(self._call("start", connector, dict(settings), list(caches), self._secret))

    def update(self, connector: str, caches: Sequence[str]) -> dict[str, Any]:
        """Make these the connector's caches."""
        return dict(self._call("update", connector, list(caches), self._secret))

    def connectors(self) -> list[str]:
        """Names of the connectors that capture."""
        return list(self._call("connectors"))

    def status(self, connector: str) -> dict[str, Any]:
        """How a capture is, on the whole and on each node."""
        return dict(self._call("status", connector))

    def units(self, connector: str) -> UnitStates:
        """The backlog of each unit that has one or is marked; reads all of it on the nodes."""
        return UnitStates.decode(self._call("units", connector))

    def changed(self, connector: str, place: bytes) -> ChangedUnits:
        """Units that have changed since the answer that gave this place; empty: every unit."""
        return ChangedUnits.decode(self._call("changed", connector, place))

    def read(self, connector: str, units: npt.NDArray[np.void], max_bytes: int) -> Changes:
        """Changes of these units (dtype UNIT), lowest numbers first."""
        return Changes.decode(self._call("read", connector, units.astype(UNIT, copy=False).tobytes(), max_bytes))

    def acknowledge(self, connector: str, sent: bytes) -> None:
        """Remove what was sent; `sent` as of :meth:`Changes.acknowledgement`."""
        for part in service_calls.acknowledgements(sent):
            self._call("acknowledge", connector, part, self._secret)

    def lookup(self, connector: str, cache: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Values of keys as their primary nodes have them, None for a key that the cache has not; all without wrapper."""
        values: list[bytes | None] = []
        while len(values) < len(keys):
            part = service_calls.first_keys(keys, len(values))
            found = service_calls.values_of(self._call("lookup", connector, cache, service_calls.framed(part)))
            if not 0 < len(found) <= len(part):
                raise ValueError(f"the backlog service answered {len(found)} values for {len(part)} keys")
            values += found  # fewer than asked for where the values are larger than one answer may be
        return values

    def locate(self, connector: str, cache: str, keys: Sequence[bytes]) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Partition of each key, and whether its primary node has it; keys without wrapper."""
        partitions, present, at = [np.empty(0, np.int32)], [np.empty(0, bool)], 0
        while at < len(keys):
            part = service_calls.first_keys(keys, at)
            data = self._call("locate", connector, cache, service_calls.framed(part))
            (count,) = struct.unpack_from("<i", data)
            partitions.append(np.frombuffer(data, "<i4", count, 4))
            present.append(np.frombuffer(data, "i1", count, 4 + 4 * count).astype(bool))
            at += len(part)
        return np.concatenate(partitions), np.concatenate(present)

    def barrier(self, connector: str) -> None:
        """Return when all that was captured before stands in the backlog."""
        self._call("barrier", connector)

    def clear(self, connector: str, units: npt.NDArray[np.void], mark_number: Longs) -> None:
        """Take marks away, of units that are now sent again."""
        marked = np.empty(len(units), _MARKED_UNIT)
        for name in UNIT.names or ():
            marked[name] = units[name]
        marked["mark_number"] = mark_number
        self._call("clear", connector, marked.tobytes(), self._secret)

    def mark(self, connector: str, units: npt.NDArray[np.void]) -> None:
        """Mark units (dtype UNIT) as ASKED: they are to be sent again from the cache."""
        self._call("mark", connector, units.astype(UNIT, copy=False).tobytes(), self._secret)

    def caches(self) -> list[tuple[str, int, str, int, int, str]]:
        """Name, id, deployment id, topology version of its start, partitions and group of each cache."""
        rows = (line.split("\t") for line in self._call("caches"))
        return [(name, int(id_), deployment, int(started), int(parts), group) for name, id_, deployment, started, parts, group in rows]

    def stop(self, connector: str, destroy: bool) -> dict[str, Any]:
        """End a capture; says what was removed: the connector's own service and backlog cache, never others of their names."""
        return dict(self._call("stop", connector, destroy, self._secret))

    def force_stop(self, connector: str, destroy: bool) -> dict[str, Any]:
        """The same for an administrator, whatever the capture's secret."""
        return dict(self._call("forceStop", connector, destroy))

    def _call(self, method: str, *arguments: Any) -> Any:
        payload = protocol.string(SERVICE) + struct.pack("<Bqi", 0, 0, 0) + protocol.string(method)
        payload += struct.pack("<i", len(arguments)) + b"".join(map(service_calls.encode, arguments))
        try:
            return service_calls.decode(Reader(self._connection.request(SERVICE_INVOKE, payload)))
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


REMEDIES = {  # by code of a refusal
    "FOREIGN_CACHE": (
        "Set backlog_cache_name so that no cache has that name and the connector's after it; the other cache is not touched. What version "
        "0.1.0 left of an ended capture may be destroyed by hand"
    ),
    "FOREIGN_SERVICE": (
        "Set backlog_service_name so that no service has that name and the connector's after it; the other service is not touched"
    ),
    "FORBIDDEN": (
        "The secret of a connector's capture is in the topic <internal_topic_prefix>-configs of its Kafka cluster, that of a data source "
        "in its secrets file; where it is lost, an administrator ends the capture by `ignite-kafka backlog cleanup --force`. A user of "
        "Ignite needs SERVICE_INVOKE, and CACHE_READ of the captured caches"
    ),
    "OLDER_JAR": "Put the jar of this version on the class path of every server node, then start connectors of this version",
    "OTHER_SETTINGS": (
        "Set them as they were. Or end the capture by `ignite-kafka backlog cleanup` once the connector is stopped: its next start "
        "captures with the new ones, and sends again what the caches hold"
    ),
    "OTHER_OWNER": (
        "Give one of the two connectors another name. If the other is no more, end its capture by `ignite-kafka backlog cleanup --force`"
    ),
}


def _refused(error: ThinError, address: str) -> IgniteKafkaError:
    """The service's own failure is told by its message alone: `BACKLOG/<code>: <what>`."""
    _, found, rest = error.message.partition(_PREFIX)
    if found:
        code, _, what = rest.partition(": ")
        what = what.splitlines()[0] if what else rest
        if code == "UNAVAILABLE":
            return BacklogUnavailable(what, "Try again; the nodes' logs say more", address=address)
        return BacklogRefused(what, REMEDIES.get(code, ""), code=code, address=address)
    if error.status == protocol.SECURITY_VIOLATION:
        what = f"Ignite does not let this user call a service: {error.message}"
        return BacklogRefused(what, REMEDIES["FORBIDDEN"], code="FORBIDDEN", address=address)
    if _OTHER_CONTRACT in error.message:
        what = "the jar of the backlog service on this node is older than this program"
        return BacklogRefused(what, REMEDIES["OLDER_JAR"], code="OLDER_JAR", address=address)
    if "Service not found" in error.message or error.status == protocol.INVALID_OPERATION:
        what = "no node of the cluster has the backlog service"
        return BacklogMissing(what, "Put its jar on the class path of every server node", address=address)
    return BacklogUnavailable(f"a call of the backlog service failed: {error.message}", "The nodes' logs say more", address=address)
