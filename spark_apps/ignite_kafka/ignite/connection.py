"""Connection to one Ignite node over the thin client protocol, with several requests in flight.

pyignite's own sockets are not used: they check no host name and read each reply field by field; see `cluster.py`.
"""

from __future__ import annotations

import random
import socket
import ssl
import struct
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from ..common.heartbeat import beat
from ..common.python_compat import Self
from ..errors import AnswerTooLarge, IgniteUnreachable
from . import protocol
from .endpoint import IgniteCredentials, IgniteEndpoint, split_address
from .framing import FrameReader, FrameTooLong
from .handshake import OlderVersion, Session, shake_hands
from .protocol import Reply, Version
from .tls import connect_hint, tls_context

RECEIVE_BUFFER_BYTES = 4 << 20
CLOSE_TIMEOUT_S = 1.0
_SHORTEST_WAIT_S = 0.001  # a wait of 0 would make the socket non-blocking
_NO_ANSWER = "no answer in time"


class ThinConnection:
    """Connection to one Ignite node, not thread-safe; several requests may wait for replies at once.

    :param address: the only address to try. Without it all addresses of the endpoint are tried, starting at a random
        one, so that readers spread over the nodes.
    :raises IgniteUnreachable: no address answered as an Ignite node; the message lists each address and its reason.
    :raises AuthenticationFailed: a node refused the user or the password; no other address is tried then.

    Every wait on the socket is bounded: by `connect_timeout_ms` until the handshake is done, by `request_timeout_ms`
    after it. A wait that receives nothing closes the connection and raises IgniteUnreachable; only :meth:`answered`
    leaves it open.

    :attr gave_up: True if this side closed the connection because the node took too long. Such a node may be alive and
        still execute the requests that it has read. False if the connection broke or is no longer needed.
    """

    def __init__(self, endpoint: IgniteEndpoint, credentials: IgniteCredentials, address: str | None = None) -> None:
        self._session = Session(protocol.VERSIONS[0], frozenset(), None)
        self.affinity: tuple[int, int] | None = None
        self.closed = self.gave_up = False
        self._endpoint = endpoint
        self._credentials = credentials
        self._context = tls_context(endpoint.tls, credentials) if endpoint.tls.enabled else None
        self._last_id = 0
        self._unanswered = 0
        self._waiting: dict[int, Reply] = {}
        self._forgotten: set[int] = set()
        self._notifications: deque[Reply] | None = None  # None: no subscription, notifications are dropped
        self.address = self._connect_any([address] if address else _rotate(endpoint.addresses))

    @property
    def node_id(self) -> uuid.UUID | None:
        """Id of the node; None if the node sent none."""
        return self._session.node_id

    @property
    def version(self) -> Version:
        """Protocol version of the connection."""
        return self._session.version

    @property
    def features(self) -> frozenset[int]:
        """Numbers of the protocol features that client and node both support."""
        return self._session.features

    def send(self, op: int, payload: bytes) -> int:
        """Send a request without waiting, and return its id for :meth:`receive`.

        :raises IgniteUnreachable: the connection is closed or breaks.
        """
        self._last_id += 1
        if self.closed:
            raise self._close_lost("it is closed")
        try:
            self._socket.sendall(protocol.frame(op, self._last_id, payload))
        except OSError as error:
            raise self._close_lost(_reason(error), gave_up=_is_time_out(error)) from error
        self._unanswered += 1
        return self._last_id

    def receive(self, request_id: int) -> memoryview:
        """Wait for the reply to a request, and return its body without header.

        :raises ThinError: the node reports an error.
        :raises IgniteUnreachable: the connection is lost, or no reply came in time; the connection is closed.
        :raises AnswerTooLarge: the reply is longer than the endpoint's limit; the connection is closed.
        """
        if not self.answered(request_id):
            raise self._close_lost(_NO_ANSWER, gave_up=True)
        reply = self._waiting.pop(request_id)
        if reply.error is not None:
            raise reply.error
        return reply.body

    def answered(self, request_id: int, wait_s: float | None = None) -> bool:
        """Wait for the reply to a request, and return whether it has arrived.

        If so, :meth:`receive` returns at once. Otherwise the connection stays open, and the reply may still come.

        :param wait_s: longest wait for each read of the socket, in seconds; None: the request time-out.
        :raises IgniteUnreachable, AnswerTooLarge: as :meth:`receive`.
        """
        if request_id not in self._waiting and self.closed:
            raise self._close_lost("it is closed")
        return self._read_until(lambda: request_id in self._waiting, wait_s)

    def has_reply(self, request_id: int) -> bool:
        """Return whether the reply has already been read, without reading from the socket."""
        return request_id in self._waiting

    def subscribe(self, op: int, payload: bytes) -> memoryview:
        """Send a request that subscribes to notifications, and wait for its reply.

        Raise as :meth:`receive`. Notifications are kept for :meth:`notification` from then on.
        """
        if self._notifications is None:
            self._notifications = deque()
        return self.request(op, payload)

    def notification(self, wait_s: float) -> Reply | None:
        """Wait for the next notification; None if none arrives in time, and the connection stays open.

        :param wait_s: longest wait for each read of the socket, in seconds.
        :raises IgniteUnreachable, AnswerTooLarge: as :meth:`receive`.
        """
        kept = self._notifications
        assert kept is not None, "subscribe() comes first"
        if not kept and self.closed:
            raise self._close_lost("it is closed")
        return kept.popleft() if self._read_until(lambda: bool(kept), max(wait_s, _SHORTEST_WAIT_S)) else None

    def fail(self, reason: str) -> IgniteUnreachable:
        """Close the connection to a faulty node, and return the error to raise."""
        return self._close_lost(reason, gave_up=True)

    def _read_until(self, done: Callable[[], bool], wait_s: float | None) -> bool:
        """Read frames until `done` returns True; False if a read took too long."""
        if wait_s is None or done():
            return self._read_frames(done)
        self._socket.settimeout(wait_s)
        try:
            return self._read_frames(done)
        finally:
            if not self.closed:
                self._socket.settimeout(self._endpoint.request_timeout_ms / 1000)

    def _read_frames(self, done: Callable[[], bool]) -> bool:
        while not done():
            try:
                reply = protocol.parse_reply(self._frames.read(self._socket, self._endpoint.max_frame_bytes))
            except FrameTooLong as error:
                raise self._close_too_large(error.length) from error
            except (OSError, ValueError, struct.error) as error:
                if _is_time_out(error):
                    return False
                raise self._close_lost(_reason(error)) from error
            self._unanswered -= not reply.notification
            if reply.affinity is not None:
                self.affinity = reply.affinity
            if not reply.notification and reply.request_id in self._forgotten:
                self._forgotten.discard(reply.request_id)
            elif not reply.notification:
                self._waiting[reply.request_id] = reply
            elif self._notifications is not None:
                self._notifications.append(reply)
            beat()
        return True

    def request(self, op: int, payload: bytes) -> memoryview:
        """Send a request and return the body of its reply; raises as :meth:`receive`."""
        return self.receive(self.send(op, payload))

    def forget(self, request_id: int) -> None:
        """Have the reply to a request discarded when it arrives, even if it is an error."""
        self._forgotten.add(request_id)

    def close(self) -> None:
        """Close the connection, whose cursors the node closes; further calls do nothing.

        Outstanding replies are read first. Unread, they would reset the connection, and after a reset the node's
        network thread pauses for a second, and with it every other client that it serves (GridNioServer of 2.17,
        processSelectedKeysOptimized).
        """
        if not self.closed:
            self.closed = True
            if self._unanswered or self._notifications is not None:
                self._read_to_end()
            self._socket.close()

    def _read_to_end(self) -> None:
        with suppress(OSError, ValueError):  # a node that has gone needs no farewell
            self._socket.settimeout(CLOSE_TIMEOUT_S)
            self._socket.shutdown(socket.SHUT_WR)
            deadline = time.monotonic() + CLOSE_TIMEOUT_S
            while self._socket.recv(RECEIVE_BUFFER_BYTES) and time.monotonic() < deadline:
                pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect_any(self, addresses: Sequence[str]) -> str:
        reasons = []
        of_tls: ssl.SSLError | None = None
        for address in addresses:
            version = protocol.VERSIONS[0]
            while True:
                try:
                    self._connect(address, version)
                    return address
                except OlderVersion as older:
                    version = older.version
                    continue
                except (OSError, ValueError, struct.error) as error:
                    reasons.append(f"{address}: {_reason(error)}{connect_hint(error, self._endpoint.tls)}")
                    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
                        of_tls = error  # a node that lives, unlike one that closes the connection
                    break
        self.closed = True
        what = "no address of the Ignite cluster answered: " + "; ".join(reasons)
        raise IgniteUnreachable(
            what, "Check the addresses, the TLS settings and that the nodes' client connectors are up"
        ) from of_tls

    def _connect(self, address: str, version: Version) -> None:
        host, port = split_address(address)
        timeout = self._endpoint.connect_timeout_ms / 1000
        self._frames = FrameReader()
        self._socket = open_socket(host, port, timeout, self._context)
        try:
            self._session = shake_hands(self._socket, self._frames, version, self._credentials, address)
            self._socket.settimeout(self._endpoint.request_timeout_ms / 1000)
        except BaseException:
            self._socket.close()
            raise

    def _close_too_large(self, length: int) -> AnswerTooLarge:
        self.closed = True
        self._socket.close()
        return AnswerTooLarge(
            f"an Ignite node announced an answer of {length:,} bytes; at most {self._endpoint.max_frame_bytes:,} are "
            "taken",
            "Lower page_bytes or batch_bytes; where single entries are that large, raise ignite_max_frame_bytes (in a "
            "data source max_frame_bytes)",
            address=self.address,
            node=self.node_id,
        )

    def _close_lost(self, reason: str, *, gave_up: bool = False) -> IgniteUnreachable:
        self.closed = True
        self.gave_up |= gave_up
        self._socket.close()
        what = f"the connection to an Ignite node was lost: {reason}"
        return IgniteUnreachable(what, "Check the node and its network", address=self.address, node=self.node_id)


def _rotate(addresses: Sequence[str]) -> list[str]:
    start = random.randrange(len(addresses)) if addresses else 0
    return [*addresses[start:], *addresses[:start]]


def open_socket(host: str, port: int, timeout: float, context: ssl.SSLContext | None) -> socket.socket:
    """Open a TCP connection, with TLS if there is a context, which decides whether to check the host name.

    :param timeout: seconds for each step, and for later reads and writes of the socket.
    :raises OSError: the host does not answer, or its certificate is not accepted.
    """
    opened = _open_tcp(host, port, timeout)
    if context is None:
        return opened
    try:
        return context.wrap_socket(opened, server_hostname=host)
    except BaseException:
        opened.close()
        raise


def _open_tcp(host: str, port: int, timeout: float) -> socket.socket:
    """Open a TCP connection with a large receive buffer, set before connecting so that its window can grow."""
    last: OSError | None = None
    for family, kind, proto, _, target in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        opened = socket.socket(family, kind, proto)
        try:
            opened.settimeout(timeout)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            opened.connect(target)
            return opened
        except OSError as error:
            opened.close()
            last = error
    raise last or OSError(f"{host} has no address")


def _is_time_out(error: Exception) -> bool:
    """Return whether an error is this client's own time-out, not the system's for a broken connection.

    An ETIMEDOUT of the system has an errno.
    """
    return isinstance(error, TimeoutError) and error.errno is None


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return _NO_ANSWER
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its TLS certificate is not accepted: {error.verify_message}"
    return str(error) or type(error).__name__
