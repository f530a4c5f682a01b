"""One socket to one Ignite node: TLS, handshake, user, and requests that need not wait for each other.

pyignite's own sockets are not used: they have no host name check and read each reply field by field; see `cluster.py`.
"""

from __future__ import annotations

import random
import socket
import ssl
import struct
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from ..errors import AnswerTooLarge, AuthenticationFailed, IgniteUnreachable, SettingsError
from . import protocol
from .protocol import Reader, Reply, ThinError, Version

__all__ = ["IgniteCredentials", "IgniteEndpoint", "ThinConnection", "ThinError", "TlsSettings"]

DEFAULT_PORT = 10800
RECEIVE_BUFFER_BYTES = 4 << 20
FIRST_BYTES = 8 << 20  # taken at once for an answer: those of a scan's pages, mostly; the buffer of a longer one grows
MAX_FRAME_BYTES = 512 << 20
CLOSE_TIMEOUT_S = 1.0
MAX_HANDSHAKE_BYTES = 1 << 16
_HOSTNAME_MISMATCH, _IP_MISMATCH = 62, 64
_LENGTH = struct.Struct("<i")
_NO_ANSWER = "no answer in time"


@dataclass(frozen=True)
class TlsSettings:
    """TLS of a connection; certificate and host name are verified unless that is switched off by name. Files are PEM."""

    enabled: bool = False
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify: bool = True
    check_hostname: bool = True


@dataclass(frozen=True)
class IgniteEndpoint:
    """Where a cluster's nodes answer thin clients; holds no secret. An address is `host:port`, `host`, `[ipv6]:port` or `ipv6`.

    :param retry_timeout_ms: how long the answer to a put is waited for, whose node may still carry it out (`puts.py`).
    :param max_frame_bytes: longest answer that is taken from a node.
    """

    addresses: tuple[str, ...] = ("127.0.0.1:10800",)
    tls: TlsSettings = field(default_factory=TlsSettings)
    connect_timeout_ms: int = 5_000
    request_timeout_ms: int = 60_000
    retry_timeout_ms: int = 300_000
    max_frame_bytes: int = MAX_FRAME_BYTES


@dataclass(frozen=True, repr=False)
class IgniteCredentials:
    """User and password of the cluster, the password of the TLS key file, and the secret of a capture of the backlog service. Its repr
    masks them."""

    username: str | None = None
    password: str | None = None
    key_password: str | None = None
    backlog_secret: str | None = None

    def __repr__(self) -> str:
        shown = {name: "***" if value is not None else None for name, value in vars(self).items() if name != "username"}
        return f"IgniteCredentials(username={self.username!r}, " + ", ".join(f"{name}={value}" for name, value in shown.items()) + ")"


class _OlderVersion(Exception):
    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self.version = version


class _Part:
    """The head or the body of a frame, as far as it has come. Memory is taken as bytes come, not as many as the other side announces."""

    def __init__(self, length: int) -> None:
        self._length, self._buffer, self._got = length, bytearray(min(length, FIRST_BYTES)), 0

    def fill(self, source: socket.socket) -> memoryview:
        """All bytes. An error of the socket leaves those that have come in place for the next call."""
        while self._got < self._length:
            if self._got == len(self._buffer):
                self._buffer += bytes(min(len(self._buffer), self._length - self._got))
            with memoryview(self._buffer) as whole, whole[self._got :] as room:
                count = source.recv_into(room)
            if count == 0:
                raise ConnectionError("the other side closed the connection")
            self._got += count
        return memoryview(self._buffer)


class ThinConnection:
    """A connection to one node, for one thread.

    :param address: the only address to try; without it all of the endpoint are tried, from a random one on, so that readers spread.
    :raises IgniteUnreachable: no address answered as an Ignite node should; the message lists each address and its reason.
    :raises AuthenticationFailed: a node refused the user or the password; no other address is tried then.

    Every wait on the socket is bounded: by `connect_timeout_ms` until the handshake is done, by `request_timeout_ms` after it. A wait
    that ends without bytes closes the connection and raises IgniteUnreachable; :meth:`answered` alone leaves it open.

    :attr gave_up: it was closed from here because a node took too long, which may live and still carry out what it has read; a
        connection that is closed without it was broken, or is no longer needed.
    """

    def __init__(self, endpoint: IgniteEndpoint, credentials: IgniteCredentials, address: str | None = None) -> None:
        self.node_id: uuid.UUID | None = None
        self.version: Version = protocol.VERSIONS[0]
        self.features: frozenset[int] = frozenset()
        self.affinity: tuple[int, int] | None = None
        self.closed = self.gave_up = False
        self._endpoint, self._credentials = endpoint, credentials
        self._context = tls_context(endpoint.tls, self._credentials.key_password) if endpoint.tls.enabled else None
        self._last_id = 0
        self._unanswered = 0
        self._waiting: dict[int, Reply] = {}
        self._head: _Part
        self._body: _Part | None
        self._forgotten: set[int] = set()
        self.address = self._connect_any([address] if address else _rotated(endpoint.addresses))

    def send(self, op: int, payload: bytes) -> int:
        """Send a request without waiting for its reply; the answer is the request id for :meth:`receive`."""
        self._last_id += 1
        if self.closed:
            raise self._lost("it is closed")
        try:
            self._socket.sendall(protocol.frame(op, self._last_id, payload))
        except OSError as error:
            raise self._lost(_reason(error), gave_up=_out_of_time(error)) from error
        self._unanswered += 1
        return self._last_id

    def receive(self, request_id: int) -> memoryview:
        """The reply's body without header: a view of a buffer of its own. Raises ThinError when the node reports an error."""
        if not self.answered(request_id):
            raise self._lost(_NO_ANSWER, gave_up=True)
        reply = self._waiting.pop(request_id)
        if reply.error is not None:
            raise reply.error
        return reply.body

    def answered(self, request_id: int, wait_s: float | None = None) -> bool:
        """Whether the reply is here for :meth:`receive`, after waiting so long for each of its bytes, and of those before it.

        Where it is not, the connection stays as it is and the reply may still come.

        :param wait_s: None: as long as any request may take.
        """
        if request_id not in self._waiting and self.closed:
            raise self._lost("it is closed")
        if wait_s is None or request_id in self._waiting:
            return self._read_until(request_id)
        self._socket.settimeout(wait_s)
        try:
            return self._read_until(request_id)
        finally:
            if not self.closed:
                self._socket.settimeout(self._endpoint.request_timeout_ms / 1000)

    def _read_until(self, request_id: int) -> bool:
        while request_id not in self._waiting:
            try:
                reply = protocol.parse_reply(self._read_frame())
            except (OSError, ValueError, struct.error) as error:
                if _out_of_time(error):
                    return False
                raise self._lost(_reason(error)) from error
            self._unanswered -= not reply.notification
            if reply.affinity is not None:
                self.affinity = reply.affinity
            if reply.request_id in self._forgotten:
                self._forgotten.discard(reply.request_id)
            elif not reply.notification:
                self._waiting[reply.request_id] = reply
        return True

    def request(self, op: int, payload: bytes) -> memoryview:
        """Send a request and wait for its reply."""
        return self.receive(self.send(op, payload))

    def forget(self, request_id: int) -> None:
        """Throw the reply of this request away when it comes, whatever it says."""
        self._forgotten.add(request_id)

    def close(self) -> None:
        """Close the socket; may be called again. The node closes the cursors of a connection that ends.

        Replies that nobody has waited for are read first. Unread, they would reset the connection, and of a reset the node's network
        thread rests for a second, and with it every other client that it serves (GridNioServer of 2.17, processSelectedKeysOptimized).
        """
        if not self.closed:
            self.closed = True
            if self._unanswered:
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
        for address in addresses:
            version = protocol.VERSIONS[0]
            while True:
                try:
                    self._connect(address, version)
                    return address
                except _OlderVersion as older:
                    version = older.version
                    continue
                except (OSError, ValueError, struct.error) as error:
                    reasons.append(f"{address}: {_reason(error)}{_hint(error, self._endpoint.tls)}")
                    break
        self.closed = True
        what = "no address of the Ignite cluster answered: " + "; ".join(reasons)
        raise IgniteUnreachable(what, "Check the addresses, the TLS settings and that the nodes' client connectors are up")

    def _connect(self, address: str, version: Version) -> None:
        host, port = split_address(address)
        timeout = self._endpoint.connect_timeout_ms / 1000
        self._head, self._body = _Part(_LENGTH.size), None
        self._socket = _open(host, port, timeout)
        try:
            if self._context:
                self._socket = self._context.wrap_socket(self._socket, server_hostname=host)
            self._shake_hands(address, version)
            self._socket.settimeout(self._endpoint.request_timeout_ms / 1000)
        except BaseException:
            self._socket.close()
            raise

    def _shake_hands(self, address: str, version: Version) -> None:
        self._socket.sendall(protocol.handshake(version, self._credentials.username, self._credentials.password))
        reader = Reader(self._read_frame(MAX_HANDSHAKE_BYTES))
        if reader.boolean():
            self.version = version
            self.features = protocol.features_of(reader.blob()) if version >= protocol.WITH_FEATURES else frozenset()
            self.node_id = reader.typed_uuid()
            return
        offered: Version = (reader.int16(), reader.int16(), reader.int16())
        message = reader.text() or "no reason given"
        status = reader.int32() if reader.position < len(reader.data) else protocol.FAILED
        if status == protocol.AUTHENTICATION_FAILED:
            user = f"user '{self._credentials.username}'" if self._credentials.username is not None else "a connection without a user"
            raise AuthenticationFailed(f"Ignite refused {user}: {message}", "Check user and password of the connection", address=address)
        if offered in protocol.VERSIONS and offered < version:
            raise _OlderVersion(offered)
        raise OSError(f"handshake refused: {message} (status {status}, the node offers protocol {'.'.join(map(str, offered))})")

    def _read_frame(self, limit: int | None = None) -> memoryview:
        """The next frame; a wait that ends within it is taken up there by the next call.

        :param limit: longest frame that is the protocol's here; None: an answer, up to the endpoint's limit.
        :raises AnswerTooLarge: an answer is announced that is longer; the connection is closed.
        """
        if self._body is None:
            length = _LENGTH.unpack(self._head.fill(self._socket))[0]
            if length <= 0 or (limit is not None and length > limit):
                raise ValueError(f"a frame of {length} bytes is not Ignite's thin client protocol")
            if length > self._endpoint.max_frame_bytes:
                raise self._too_large(length)
            self._head, self._body = _Part(_LENGTH.size), _Part(length)
        view = self._body.fill(self._socket)
        self._body = None
        return view

    def _too_large(self, length: int) -> AnswerTooLarge:
        self.closed = True
        self._socket.close()
        return AnswerTooLarge(
            f"an Ignite node announced an answer of {length:,} bytes; at most {self._endpoint.max_frame_bytes:,} are taken",
            "Lower page_bytes or batch_bytes; where single entries are that large, raise ignite_max_frame_bytes (in a data source "
            "max_frame_bytes)",
            address=self.address,
            node=self.node_id,
        )

    def _lost(self, reason: str, *, gave_up: bool = False) -> IgniteUnreachable:
        self.closed = True
        self.gave_up |= gave_up
        self._socket.close()
        what = f"the connection to an Ignite node was lost: {reason}"
        return IgniteUnreachable(what, "Check the node and its network", address=self.address, node=self.node_id)


def _rotated(addresses: Sequence[str]) -> list[str]:
    start = random.randrange(len(addresses)) if addresses else 0
    return [*addresses[start:], *addresses[:start]]


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port`, `host`, `[ipv6]:port`, `[ipv6]` or bare `ipv6`; ValueError when the port is no port."""
    host, port = address, ""
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        port = rest.removeprefix(":")
    elif address.count(":") == 1:
        host, _, port = address.partition(":")
    if not host or (port and not port.isdecimal()) or (port and not 0 < int(port) < 65536):
        raise ValueError(f"'{address}' is not host:port")
    return host, int(port) if port else DEFAULT_PORT


def _open(host: str, port: int, timeout: float) -> socket.socket:
    """A TCP connection; the receive buffer is set before connecting, so that the window can grow to it."""
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


def tls_context(tls: TlsSettings, key_password: str | None) -> ssl.SSLContext:
    """Python's default client context (system CAs when no CA file is given), loosened only where the settings say so.

    :raises SettingsError: a file cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
    except OSError as error:
        what = f"the file of TLS authorities cannot be used: {error}"
        raise SettingsError(what, "ca_file must be a PEM file", ca_file=tls.ca_file) from error
    context.check_hostname = tls.verify and tls.check_hostname
    context.verify_mode = ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE
    if tls.cert_file:
        # An empty password instead of none: OpenSSL would ask for it at a terminal.
        try:
            context.load_cert_chain(tls.cert_file, tls.key_file, key_password or "")
        except OSError as error:
            what = f"the client certificate or its key cannot be used: {error}"
            remedy = "Both must be PEM, and the key's password must fit"
            raise SettingsError(what, remedy, cert_file=tls.cert_file, key_file=tls.key_file) from error
    return context


def _out_of_time(error: Exception) -> bool:
    """Whether a wait of ours has ended. ETIMEDOUT, which has a number, is the system's word that the connection is broken."""
    return isinstance(error, TimeoutError) and error.errno is None


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return _NO_ANSWER
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its TLS certificate is not accepted: {error.verify_message}"
    return str(error) or type(error).__name__


def _hint(error: Exception, tls: TlsSettings) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in (_HOSTNAME_MISMATCH, _IP_MISMATCH):
            return " (use the name in the certificate as address, or set check_hostname to false)"
        return " (ca_file must hold the authority that signed the node's certificate)"
    dropped = isinstance(error, (ConnectionError, ValueError, ssl.SSLError)) and not isinstance(error, ConnectionRefusedError)
    if dropped and tls.enabled:
        return " (does this node speak TLS on that port, and does it want a client certificate?)"
    return " (is it an Ignite client connector, and does it want TLS?)" if dropped else ""
