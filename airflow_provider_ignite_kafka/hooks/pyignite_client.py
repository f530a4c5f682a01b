"""pyignite client over the library's verified sockets, which is also a DB-API connection."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pyignite
from pyignite.connection import Connection
from pyignite.connection.handshake import HandshakeResponse
from pyignite.exceptions import ReconnectError, connection_errors
from pyignite.stream import BinaryStream

from airflow_provider_ignite_kafka.dbapi.cursor import Cursor
from airflow_provider_ignite_kafka.dbapi.errors import InterfaceError, NotSupportedError, OperationalError, error_of
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.connection import open_socket
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint, split_address
from ignite_kafka.ignite.tls import tls_context

_CLUSTER_STATE = frozenset({2})  # the feature of the protocol that pyignite uses


class IgniteClient(pyignite.Client):  # type: ignore[misc]  # without annotations
    """Connected :class:`pyignite.Client`, which is also a DB-API connection (PEP 249).

    Each SQL statement is committed by itself.
    pyignite's own sockets check no host name, support only TLS 1.2 and IPv4, need a CA file, and take the number of a
    password's letters for its bytes; so this client uses the library's sockets. ``pyignite.Client.sql`` cannot read
    DATE columns and rounds decimals, so a cursor reads the replies itself.

    :param endpoint, credentials: endpoint and credentials of the cluster; its addresses are tried in order.
    :param schema: SQL schema for names without a schema; None: PUBLIC.
    :param time_zone: time zone of the nodes, see :class:`.IgniteHook`.
    :raises ReconnectError: no address answered.
    """

    autocommit = True

    def __init__(
        self,
        endpoint: IgniteEndpoint,
        credentials: IgniteCredentials,
        schema: str | None = None,
        time_zone: str = "UTC",
    ) -> None:
        super().__init__(partition_aware=False, timeout=endpoint.request_timeout_ms / 1000)
        self.schema = schema
        self.time_zone = ZoneInfo(time_zone)
        self.types = Cluster(endpoint, credentials)  # for columns of objects; connects at the first use
        self._endpoint = endpoint
        self._credentials = credentials
        self._context = tls_context(endpoint.tls, credentials) if endpoint.tls.enabled else None
        self._ids = itertools.count(1)
        self._connect([split_address(address) for address in endpoint.addresses])

    def _connect(self, nodes: Sequence[tuple[str, int]]) -> None:
        """Connect to the first node that answers; pyignite's own method would use its own sockets."""
        for number, (host, port) in enumerate(nodes):
            node = _Connection(self, host, port, timeout=self._endpoint.request_timeout_ms / 1000)
            self._nodes.append(node)
            if self.protocol_context is None:
                try:
                    node.connect()
                except connection_errors:
                    continue
                self._current_node = number
        if self.protocol_context is None:
            raise ReconnectError("no address of the Ignite cluster answered")

    def cursor(self) -> Cursor:
        """Make a DB-API cursor for SQL statements."""
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing, because each statement is committed by itself."""

    def rollback(self) -> None:
        """Refuse a rollback.

        :raises NotSupportedError: always; executed statements are already committed.
        """
        raise NotSupportedError("Ignite commits each SQL statement by itself: nothing can be rolled back")

    def close(self) -> None:
        """Close all connections; further calls have no effect."""
        super().close()
        self.types.close()

    def request(self, op: int, payload: bytes) -> memoryview:
        """Send a request of the thin client protocol, and return the body of the reply.

        :raises Error: the node reports an error, the connection is lost or closed, or no reply came in time.
        """
        if not self._nodes:
            raise InterfaceError("the connection is closed")
        try:
            node = self.random_node
            node.send(protocol.frame(op, next(self._ids), payload))
            received = node.recv()
        except (*connection_errors, ReconnectError) as error:
            reason = str(error) or type(error).__name__
            raise OperationalError(
                f"the node did not answer: {reason}; the statement may have been executed"
            ) from error
        reply = protocol.parse_reply(memoryview(received)[4 : 4 + int.from_bytes(received[:4], "little")])
        if reply.error is not None:
            raise error_of(reply.error)
        return reply.body

    def open_socket(self, address: tuple[str, int]) -> Any:
        """Open a TCP connection to a node, with the endpoint's TLS settings."""
        return open_socket(*address, self._endpoint.connect_timeout_ms / 1000, self._context)

    def hello(self) -> bytes:
        """Encode the handshake request that begins a connection."""
        features = _CLUSTER_STATE
        return protocol.handshake(
            self.protocol_context.version, self._credentials.username, self._credentials.password, features
        )


class _Connection(Connection):  # type: ignore[misc]  # without annotations
    """pyignite connection that uses a socket of the library."""

    client: IgniteClient

    def _connect_version(self) -> HandshakeResponse:
        self._socket = self.client.open_socket((self.host, self.port))
        self.send(self.client.hello(), reconnect=False)
        with BinaryStream(self.client, self.recv(reconnect=False)) as stream:
            response = HandshakeResponse.parse(stream, self.protocol_context)
        if response.op_code == 0:
            self.close()
            self._process_handshake_error(response)
        return response
