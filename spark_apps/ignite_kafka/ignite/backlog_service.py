"""Remote calls of the backlog service on Ignite nodes (op 7000 of the thin client protocol).

The contract, with all byte layouts, is the Javadoc of `BacklogService` in backlog-service/.
Source of op 7000 and 7001: `ClientServiceInvokeRequest` and `ClientServiceDescriptorsResponse` in apache/ignite.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..common.arrays import Int32Array, Int64Array, Mask
from ..errors import BacklogMissing, BacklogRefused
from . import backlog_calls as service_calls
from . import protocol
from .backlog_changes import Changes
from .backlog_errors import FORBIDDEN, OLDER_JAR, to_error
from .backlog_units import UNIT, ChangedUnits, UnitEnds, UnitStates
from .connection import ThinConnection
from .entry_versions import EntryVersions, concat_versions
from .protocol import Reader, ThinError

SERVICE = "ignite-kafka-backlog"
SERVICE_INVOKE = 7000
SERVICE_DESCRIPTORS = 7001

HAS_ENDS = 3
"""First version of the service's interface with :meth:`BacklogService.ends`."""

HAS_VERSIONS = 6
"""First version of the service's interface with versions of entries and of removed keys."""

_MARKED_UNIT = np.dtype([*UNIT.descr, ("mark_number", "<i8")])


class BacklogService:
    """Client of the backlog service over one node connection; only for the thread of the connection.

    :param secret: the capture's secret, required by calls that change the capture; None if it has none.

    Every call raises these errors:

    :raises BacklogRefused: the call cannot succeed as it is; `code` is the reason.
    :raises BacklogUnavailable: the nodes cannot execute the call now.
    :raises BacklogMissing: no node has the jar.
    :raises IgniteUnreachable: the connection is lost.
    """

    def __init__(self, connection: ThinConnection, secret: str | None = None) -> None:
        self._connection = connection
        self._secret = secret

    def version(self) -> int:
        """Ask a node for the version of the service's interface, to detect an old jar.

        :raises BacklogRefused: the node's jar is older than this call, code OLDER_JAR.
        """
        return int(self._call("version"))

    def start(self, connector: str, settings: Mapping[str, str], caches: Sequence[str]) -> dict[str, Any]:
        """Start to capture changes of caches for a connector; changes made after the return are captured.

        A new capture, or one without a secret, takes this object's secret.

        :param settings: values by the GridGain Kafka Connector's names of settings.
        """
        return dict(self._call("start", connector, dict(settings), list(caches), self._secret))

    def update(self, connector: str, caches: Sequence[str]) -> dict[str, Any]:
        """Replace the list of caches captured for a connector."""
        return dict(self._call("update", connector, list(caches), self._secret))

    def connectors(self) -> list[str]:
        """Return the names of the connectors with a capture on the nodes."""
        return list(self._call("connectors"))

    def status(self, connector: str) -> dict[str, Any]:
        """Return the status of a connector's capture, for the whole cluster and for each node."""
        return dict(self._call("status", connector))

    def units(self, connector: str) -> UnitStates:
        """Return counts and marks of each cache partition with a backlog; the nodes read the whole backlog for it."""
        return UnitStates.decode(self._call("units", connector))

    def ends(self, connector: str) -> UnitEnds:
        """Return what is left of each cache partition with changes to send or marks.

        The nodes read the first and the last chunk of each partition's backlog; of an older jar, the whole backlog.
        """
        try:
            return UnitEnds.decode(self._call("ends", connector))
        except BacklogRefused as error:
            if error.where.get("code") != OLDER_JAR:
                raise
            return UnitEnds.of_states(self.units(connector))

    def changed(self, connector: str, place: bytes) -> ChangedUnits:
        """Return the cache partitions changed since an earlier reply, so that only these are read.

        :param place: :attr:`ChangedUnits.place` of that reply; empty for all units.
        """
        return ChangedUnits.decode(self._call("changed", connector, place))

    def read(self, connector: str, units: npt.NDArray[np.void], max_bytes: int) -> Changes:
        """Read captured changes of cache partitions, lowest update numbers first.

        :param units: U units, dtype UNIT.
        :param max_bytes: maximum bytes of entries in the reply.
        """
        return Changes.decode(self._call("read", connector, units.astype(UNIT, copy=False).tobytes(), max_bytes))

    def acknowledge(self, connector: str, sent: bytes) -> None:
        """Remove changes from the backlog, after they were sent and committed.

        :param sent: from :meth:`Changes.acknowledgement`.
        """
        for part in service_calls.acknowledgements(sent):
            self._call("acknowledge", connector, part, self._secret)

    def lookup(self, connector: str, cache: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Read the values of keys from their primary nodes; None for a key that the cache does not hold.

        :param keys: in Ignite's binary format, not wrapped, as are the values.
        """
        values: list[bytes | None] = []
        while len(values) < len(keys):
            part = service_calls.first_keys(keys, len(values))
            answered = service_calls.values_of(self._call("lookup", connector, cache, service_calls.framed(part)))
            if not 0 < len(answered) <= len(part):
                raise ValueError(f"the backlog service answered {len(answered)} values for {len(part)} keys")
            values += answered  # fewer than requested if the values exceed the size of one reply
        return values

    def active_active(self, cache: str) -> dict[str, Any]:
        """Return whether other clusters may write a cache, too, and counts of writes that nodes refused by version.

        `cluster` is the cluster's id, 0 if no other cluster may write the cache; :mod:`.active_active` has the others.
        """
        return dict(self._call("activeActive", cache))

    def active_active_caches(self) -> frozenset[str]:
        """Return the names of caches that other clusters write too, by the nodes' configuration."""
        return frozenset(self._call("activeActiveCaches"))

    def entries(self, cache: str, keys: Sequence[bytes]) -> tuple[list[bytes | None], EntryVersions]:
        """Read value and version of keys, both at once on their primary nodes.

        :param keys: N keys in Ignite's binary format, not wrapped, as are the values.
        :returns: N values, None for a key that the cache does not hold, and N versions: of an absent key that of its
            removal, or :data:`~.entry_versions.NO_ORDER` and cluster 0.
        """
        values: list[bytes | None] = []
        versions = [EntryVersions.none(0)]
        while len(values) < len(keys):
            part = service_calls.first_keys(keys, len(values))
            answered, of_part = service_calls.entries_of(self._call("entries", cache, service_calls.framed(part)))
            if not 0 < len(answered) <= len(part):
                raise ValueError(f"the backlog service answered {len(answered)} entries for {len(part)} keys")
            values += answered  # fewer than requested if the values exceed the size of one reply
            versions.append(of_part)
        return values, concat_versions(versions)

    def locate(self, connector: str, cache: str, keys: Sequence[bytes]) -> tuple[Int32Array, Mask]:
        """Return the Ignite partition of each key, and a flag for each: the primary node has an entry.

        :param keys: in Ignite's binary format, not wrapped.
        """
        partitions = [np.empty(0, np.int32)]
        present = [np.empty(0, bool)]
        at = 0
        while at < len(keys):
            part = service_calls.first_keys(keys, at)
            data = self._call("locate", connector, cache, service_calls.framed(part))
            (count,) = struct.unpack_from("<i", data)
            partitions.append(np.frombuffer(data, "<i4", count, 4))
            present.append(np.frombuffer(data, "i1", count, 4 + 4 * count).astype(bool))
            at += len(part)
        return np.concatenate(partitions), np.concatenate(present)

    def barrier(self, connector: str) -> None:
        """Wait until every change captured before the call can be read from the backlog."""
        self._call("barrier", connector)

    def clear(self, connector: str, units: npt.NDArray[np.void], mark_number: Int64Array) -> None:
        """Remove marks and backlog of cache partitions that are loaded again.

        :param units: U units, dtype UNIT.
        :param mark_number: number of the marks that are removed, U items; later marks stay.
        """
        marked = np.empty(len(units), _MARKED_UNIT)
        for name in UNIT.names or ():
            marked[name] = units[name]
        marked["mark_number"] = mark_number
        self._call("clear", connector, marked.tobytes(), self._secret)

    def mark(self, connector: str, units: npt.NDArray[np.void]) -> None:
        """Mark cache partitions (dtype UNIT), so that the stream loads their entries again."""
        self._call("mark", connector, units.astype(UNIT, copy=False).tobytes(), self._secret)

    def caches(self) -> list[tuple[str, int, str, int, int, str]]:
        """Return, for each cache: name, id, deployment id, topology version of the start, partition count, group."""
        return [service_calls.cache_of(line) for line in self._call("caches")]

    def stop(self, connector: str, destroy: bool) -> dict[str, Any]:
        """End a capture, and return the names of the removed service and cache; None for one that is kept.

        Only the connector's own service and backlog cache are removed, never others with the same names.
        """
        return dict(self._call("stop", connector, destroy, self._secret))

    def force_stop(self, connector: str, destroy: bool) -> dict[str, Any]:
        """End a capture without its secret, as only an administrator may."""
        return dict(self._call("forceStop", connector, destroy))

    def raise_fence(self, sink: str, writer: bytes, caches: Sequence[str]) -> None:
        """Put the token of a sink's task in force on all nodes (:mod:`.write_fence`).

        :param writer: the token, and int32 numbers of slots.
        """
        self._call("raise", sink, writer, list(caches))

    def generation(self, sink: str) -> int:
        """Return the generation of a sink that is in force; 0: none."""
        return int(self._call("generation", sink))

    def forget(self, sink: str, caches: Sequence[str]) -> None:
        """End the fence of a sink that was deleted."""
        self._call("forget", sink, list(caches))

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            reply = self._connection.request(SERVICE_INVOKE, call_payload(method, *arguments))
            return service_calls.decode(Reader(reply))
        except ThinError as error:
            raise to_error(error, self._connection.address) from error


def call_payload(method: str, *arguments: Any) -> bytes:
    """Encode a call of the service, the payload of op 7000."""
    head = protocol.string(SERVICE) + struct.pack("<Bqi", 0, 0, 0) + protocol.string(method)
    return head + struct.pack("<i", len(arguments)) + b"".join(map(service_calls.encode, arguments))


def has_service(connection: ThinConnection) -> bool:
    """Return whether the nodes have the backlog service, and this user may call it.

    Unlike a call, this leaves no warning in a node's log. Ignite 2.9 to 2.12 does not list services, so there it is
    called.
    """
    try:
        reader = Reader(connection.request(SERVICE_DESCRIPTORS, b""))
    except ThinError as error:
        if error.status == protocol.INVALID_OPERATION:
            return _has_answered(BacklogService(connection))
        if error.status == protocol.SECURITY_VIOLATION:
            return False
        raise to_error(error, connection.address) from error
    names = set()
    for _ in range(reader.int32()):
        names.add(reader.text())
        reader.text()  # class
        reader.take(4 + 4)  # instances in all, on a node
        reader.text()  # cache
        reader.typed_uuid()  # node that deployed it
        reader.take(1)  # platform
    return SERVICE in names


def _has_answered(service: BacklogService) -> bool:
    try:
        service.version()
    except BacklogMissing:
        return False
    except BacklogRefused as error:
        return bool(error.where["code"] != FORBIDDEN)
    return True
