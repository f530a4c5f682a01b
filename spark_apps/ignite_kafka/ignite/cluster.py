"""Access to an Ignite cluster: metadata of caches, binary types, nodes and partitions, and connections.

pyignite is not used here, though it has these operations: its sockets wrap TLS without a server name, so that the host
name cannot be checked and SNI does not work, support TLS 1.2 and IPv4 only, and parse each reply value by value.
`metadata_replies.py` parses the six operations needed. The Airflow hook gives pyignite sockets of this library; tests
and loaders use it as it is.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ..common.heartbeat import beat
from ..common.measurements import READ, count_retry
from ..common.python_compat import Self
from ..errors import DecodeError, IgniteKafkaError, IgniteUnreachable
from . import metadata_replies as replies
from . import protocol
from .address_map import AddressMap
from .backlog_service import BacklogService, has_service
from .cache_configuration import CacheConfiguration, read_configuration
from .cluster_errors import cache_error, is_class_id, same_id_error, type_error, unknown_type
from .connection import ThinConnection
from .endpoint import IgniteCredentials, IgniteEndpoint
from .metadata_replies import Partitions
from .protocol import Reader, ThinError
from .types.model import BinaryType, CacheInfo

MAX_PARTITIONS = 65_000
_NEWEST = -1  # in place of a topology version
_LOOK_MS = 2_000
_INVALID_PARTITION = "Invalid partition number"
_NO_CLASS = "Failed to resolve class name"
T = TypeVar("T")
Configured = TypeVar("Configured", CacheInfo, CacheConfiguration)


class Cluster:
    """Client of an Ignite cluster: reads metadata, and keeps connections to nodes. A context manager; not thread-safe.

    Metadata requests change nothing, so one whose connection is lost is sent once more, to another address.

    :attr refused_classes: hashes of the names of classes that nodes were found unable to load (`foreign_classes.py`).
    :raises IgniteUnreachable, AuthenticationFailed: from every method, as a connection is made when it is first needed.
    :raises DecodeError: from every method that asks a node, whose reply has another form; names node and request.
    """

    def __init__(self, endpoint: IgniteEndpoint, credentials: IgniteCredentials | None = None) -> None:
        self.endpoint = endpoint
        self.credentials = credentials or IgniteCredentials()
        self.refused_classes: set[int] = set()
        self._any: ThinConnection | None = None
        self._by_node: dict[uuid.UUID, ThinConnection] = {}
        self._address_map = AddressMap.of(endpoint.address_map)
        self._unreachable_nodes: set[uuid.UUID] = set()
        self._untried = list(endpoint.addresses)
        self._types: dict[int, BinaryType] = {}
        self._partitions: dict[int, Partitions] = {}
        self._found_counts: dict[int, tuple[Partitions, int]] = {}
        self._deployed: tuple[tuple[int, int] | None, Mapping[str, str]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections to nodes."""
        for connection in [self._any, *self._by_node.values()]:
            if connection is not None:
                connection.close()

    def cache_names(self) -> list[str]:
        """Return the names of the users' caches, without Ignite's own, in alphabetical order."""
        try:
            return sorted(self._request(protocol.CACHE_NAMES, b"", replies.read_names))
        except ThinError as error:
            raise IgniteKafkaError(f"Ignite does not list its caches: {error.message}") from error

    def active(self) -> bool:
        """Return whether the cluster is active, at least for reading; True if the node is too old to report that."""
        try:
            return self._request(protocol.CLUSTER_STATE, b"", lambda body: bool(body[0]))
        except ThinError:
            return True

    def cache(self, name: str) -> CacheInfo:
        """Read the description of a cache: id, partitions, mode, query entities and so on.

        `incarnation` is the cache's deployment id if the nodes have the backlog service, else empty: the thin client
        protocol has neither that nor a start time (`cache_identity.py` explains how a scan detects a new cache).
        `partitions` of a LOCAL cache (before Ignite 2.14) is 0: no other node can read it.

        :raises CacheNotFound: the cluster has no such cache.
        :raises IgniteKafkaError: the name has the id of another cache.
        """
        cache_id = protocol.cache_id(name)

        def read(body: memoryview) -> CacheInfo:
            return replies.read_cache(
                body, cache_id, lambda mode: 0 if mode == "LOCAL" else self._partition_count(name, cache_id)
            )

        info = self._request_configuration(name, read)
        return replace(info, incarnation=self._deployment_ids().get(name, ""))

    def configuration(self, name: str) -> CacheConfiguration:
        """Read a cache's whole configuration, as far as nodes report it to thin clients.

        :raises CacheNotFound: the cluster has no such cache.
        :raises IgniteKafkaError: the name has the id of another cache.
        """
        return self._request_configuration(name, lambda body: read_configuration(Reader(body)))

    def _request_configuration(self, name: str, read: Callable[[memoryview], Configured]) -> Configured:
        try:
            info = self._request(protocol.CACHE_CONFIGURATION, struct.pack("<iB", protocol.cache_id(name), 0), read)
        except ThinError as error:
            raise cache_error(name, error) from error
        if info.name != name:  # requests name a cache by the hash code of its name alone
            raise same_id_error(name, info.name)
        return info

    def _deployment_ids(self) -> Mapping[str, str]:
        """Return deployment ids by cache name, from the backlog service; empty without it.

        They are requested again after each creation or destruction of a cache, because it changes the affinity.
        """
        affinity = self.connection().affinity  # read first: a cache created during the request makes it outdated
        if self._deployed is None or affinity != self._deployed[0]:
            rows = self.ask(lambda connection: BacklogService(connection).caches() if has_service(connection) else [])
            self._deployed = affinity, {name: deployment for name, _, deployment, *_ in rows}
        return self._deployed[1]

    def binary_type(self, type_id: int) -> BinaryType:
        """Return the metadata of a binary type, read once; of a :func:`~.types.model.class_id` only the name.

        :raises UnknownBinaryType: the cluster does not hold the type.
        :raises IgniteUnreachable: a node cannot report it now.
        """
        if type_id not in self._types:
            try:
                binary = self._request_type(type_id)
            except ThinError as error:
                raise type_error(type_id, error) from error
            if binary is None:
                raise unknown_type(type_id, self._class_name)
            self._types[type_id] = binary
        return self._types[type_id]

    def _request_type(self, type_id: int) -> BinaryType | None:
        if is_class_id(type_id):
            name = self._class_name(type_id)
            return BinaryType(type_id, name) if name else None
        return self._request(protocol.BINARY_TYPE, struct.pack("<i", type_id), replies.read_binary_type)

    def _class_name(self, type_id: int) -> str | None:
        """Ask a node for the Java class name of a type id; None if the node does not know the class."""
        try:
            payload = struct.pack("<BI", protocol.JAVA, type_id & 0xFFFF_FFFF)
            return self._request(protocol.BINARY_TYPE_NAME, payload, lambda body: Reader(body).text())
        except ThinError as error:
            if _NO_CLASS in error.message:
                return None
            raise

    def size(self, name: str) -> int:
        """Return the number of entries in a cache, backups not counted.

        :raises CacheNotFound: the cluster has no such cache.
        """
        try:
            payload = struct.pack("<iBi", protocol.cache_id(name), 0, 0)
            return self._request(protocol.CACHE_GET_SIZE, payload, lambda body: int(struct.unpack_from("<q", body)[0]))
        except ThinError as error:
            raise cache_error(name, error) from error

    def forget_types(self) -> None:
        """Clear the cached binary types, so that new fields and schemas are read."""
        self._types.clear()

    def partitions(self, cache_id: int, connection: ThinConnection | None = None) -> Partitions:
        """Return which node owns each partition of a cache; read again after an affinity change.

        :param connection: the node to ask; None for any.
        """
        source = connection or self.connection()
        owners = self._partitions.get(cache_id)
        if owners is None or source.affinity is None or source.affinity > owners.affinity:
            mappings = protocol.FEATURE_ALL_AFFINITY_MAPPINGS in source.features
            payload = (b"\1" if mappings else b"") + struct.pack("<ii", 1, cache_id)

            def read(body: memoryview) -> Partitions:
                return replies.read_partitions(body, cache_id, all_mappings=mappings)

            try:
                if connection:
                    owners = _request_parsed(connection, protocol.CACHE_PARTITIONS, payload, read)
                else:
                    owners = self._request(protocol.CACHE_PARTITIONS, payload, read)
            except ThinError as error:
                raise IgniteKafkaError(
                    f"Ignite does not report the owners of partitions: {error.message}", cache_id=cache_id
                ) from error
            self._partitions[cache_id] = owners
        return owners

    def connection(self, node: uuid.UUID | None = None) -> ThinConnection:
        """Return a live connection to a node, or to any node if `node` cannot be reached; opened once."""
        if node is not None:
            of_node = self._connect_node(node)
            if of_node is not None:
                return of_node
        if self._any is None or self._any.closed:
            alive = [connection for connection in self._by_node.values() if not connection.closed]
            self._any = alive[0] if alive else self._keep(ThinConnection(self.endpoint, self.credentials))
        return self._any

    def nodes(self) -> frozenset[uuid.UUID]:
        """Return the ids of the nodes that accept thin clients; empty if the node is too old to report them."""
        return frozenset(self.endpoints())

    def endpoints(self) -> Mapping[uuid.UUID, tuple[str, ...]]:
        """Return the addresses that each node announces to thin clients; empty if the node is too old."""
        if protocol.FEATURE_NODE_ENDPOINTS not in self.connection().features:
            return {}
        return self._request(protocol.NODE_ENDPOINTS, struct.pack("<qq", _NEWEST, _NEWEST), replies.read_endpoints)

    def reachable(self, announced: Iterable[str]) -> tuple[str, ...]:
        """Translate a node's announced addresses to reachable ones, by the endpoint's address map."""
        return self._address_map.reachable(announced)

    def has_left(self, connection: ThinConnection, since: int) -> bool:
        """Ask other nodes whether a connection's node has left the topology and so executes no more requests.

        False if none can report it.

        Uses a separate connection with short time-outs: a connection in use must not be abandoned for this request.

        :param since: a topology version that the node belonged to.
        """
        endpoint = replace(
            self.endpoint,
            connect_timeout_ms=min(self.endpoint.connect_timeout_ms, _LOOK_MS),
            request_timeout_ms=min(self.endpoint.request_timeout_ms, _LOOK_MS),
        )
        addresses = [other.address for other in self._by_node.values() if other.node_id != connection.node_id]
        for address in dict.fromkeys([*addresses, *self.endpoint.addresses]):
            beat()
            try:
                with ThinConnection(endpoint, self.credentials, address) as other:
                    if other.node_id == connection.node_id or protocol.FEATURE_NODE_ENDPOINTS not in other.features:
                        continue
                    left = _request_parsed(
                        other, protocol.NODE_ENDPOINTS, struct.pack("<qq", since, _NEWEST), replies.read_left
                    )
            except (IgniteUnreachable, ThinError, DecodeError):
                continue
            return connection.node_id in left
        return False

    def _connect_node(self, node: uuid.UUID) -> ThinConnection | None:
        held = self._by_node.get(node)
        if held is not None and not held.closed:
            return held
        if node in self._unreachable_nodes:
            return None
        announced = self.endpoints().get(node, ())
        for address in self._addresses_to_try(announced):
            connection = self._try_address(address)
            if connection is not None and connection.node_id == node:
                return connection
        self._unreachable_nodes.add(node)
        self._address_map.report_unreached(node, announced)
        return None

    def _addresses_to_try(self, announced: Sequence[str]) -> list[str]:
        """List the addresses to try for a node, the most likely first.

        The node's announced addresses, those in the endpoint first, then the endpoint's addresses not tried yet.
        """
        reachable = self.reachable(announced)
        listed = [address for address in reachable if address in self.endpoint.addresses]
        return list(dict.fromkeys([*listed, *reachable, *self._untried]))

    def _try_address(self, address: str) -> ThinConnection | None:
        if address in self._untried:
            self._untried.remove(address)
        beat()
        try:
            return self._keep(ThinConnection(self.endpoint, self.credentials, address))
        except IgniteUnreachable:
            return None

    def _keep(self, connection: ThinConnection) -> ThinConnection:
        if connection.address in self._untried:
            self._untried.remove(connection.address)
        if connection.node_id is not None:
            kept = self._by_node.get(connection.node_id)
            if kept is not None and not kept.closed:
                connection.close()
                return kept
            self._by_node[connection.node_id] = connection
        return connection

    def _partition_count(self, name: str, cache_id: int) -> int:
        """Determine the partition count of a cache, from the owners of its partitions.

        If the node reports no owners, the count is the first partition number that the node refuses as invalid.
        """
        owners = self.partitions(cache_id)
        if owners.primary:
            return len(owners.primary)
        # counted once for each affinity version: a node logs each refusal with its stack trace
        counted = self._found_counts.get(cache_id)
        if counted is None or counted[0] is not owners:
            counted = self._found_counts[cache_id] = owners, self._first_invalid(name, cache_id)
        return counted[1]

    def _first_invalid(self, name: str, cache_id: int) -> int:
        low = 0
        high = MAX_PARTITIONS
        guesses = [512, 511, 1024, 1023]
        while low < high:
            number = next((guess for guess in guesses if low <= guess < high), (low + high) // 2)
            if self._has_partition(name, cache_id, number):
                low = number + 1
            else:
                high = number
        return low

    def _has_partition(self, name: str, cache_id: int, partition: int) -> bool:
        try:
            payload = protocol.scan_request(cache_id, partition, 1, local=False)
            cursor, more = self._request(protocol.QUERY_SCAN, payload, lambda body: (bytes(body[:8]), bool(body[-1])))
        except ThinError as error:
            if _INVALID_PARTITION in error.message:
                return False
            raise cache_error(name, error) from error
        if more:
            self._request(protocol.RESOURCE_CLOSE, cursor, bytes)
        return True

    def _request(self, op: int, payload: bytes, read: Callable[[memoryview], T]) -> T:
        return self.ask(lambda connection: _request_parsed(connection, op, payload, read))

    def ask(self, question: Callable[[ThinConnection], T]) -> T:
        """Run a request on any node; if the connection is lost, run it once more on another node.

        The request must be repeatable.
        """
        try:
            return question(self.connection())
        except IgniteUnreachable:
            self._unreachable_nodes.clear()
            count_retry(READ)
            return question(self.connection())


def _request_parsed(connection: ThinConnection, op: int, payload: bytes, read: Callable[[memoryview], T]) -> T:
    """Send a metadata request and parse its reply; a malformed reply becomes a DecodeError.

    All metadata requests pass here, so that no reply of a broken or hostile node ends in a raw error.

    :raises DecodeError: the reply has another form.
    """
    body = connection.request(op, payload)
    try:
        return read(body)
    except (ValueError, LookupError, ArithmeticError, TypeError, struct.error) as error:
        raise DecodeError(
            f"the reply of an Ignite node to {replies.REQUESTS[op]} cannot be read: {type(error).__name__}: {error}",
            "Check that the address is an Ignite 2 node, and its log",
            address=connection.address, node=connection.node_id, operation=op,
        ) from error  # fmt: skip
