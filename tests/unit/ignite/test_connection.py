"""A connection against servers of the test's own: silent, garbled, old, or gone in the middle."""

from __future__ import annotations

import contextlib
import errno
import socket
import ssl
import struct
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from ignite_kafka.errors import AnswerTooLarge, AuthenticationFailed, IgniteUnreachable
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.connection import ThinConnection, _is_time_out
from ignite_kafka.ignite.endpoint import MAX_FRAME_BYTES, IgniteCredentials, IgniteEndpoint, TlsSettings
from ignite_kafka.ignite.framing import FIRST_BYTES
from ignite_kafka.ignite.protocol import ThinError
from tests.support.waiting import DEADLINE_S

Serve = Callable[[socket.socket], None]
NOBODY = IgniteCredentials()
LONG_MS = int(DEADLINE_S * 1000)
SHORT_MS = 300  # for servers that never answer


@contextlib.contextmanager
def server(serve: Serve, *, timeout_ms: int = LONG_MS) -> Iterator[IgniteEndpoint]:
    """A server on loopback that hands each connection to `serve`, one after the other.

    :param timeout_ms: of the handshake and of each request.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()

        def accept() -> None:
            while True:
                accepted, _ = listening.accept()
                with accepted:
                    if ended.is_set():
                        return
                    serve(accepted)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            port = listening.getsockname()[1]
            yield IgniteEndpoint((f"127.0.0.1:{port}",), connect_timeout_ms=timeout_ms, request_timeout_ms=timeout_ms)
        finally:
            ended.set()
            socket.create_connection(("127.0.0.1", port)).close()
            thread.join()


def frame(body: bytes) -> bytes:
    return struct.pack("<i", len(body)) + body


def read_frame(accepted: socket.socket) -> bytes:
    length = struct.unpack("<i", accepted.recv(4, socket.MSG_WAITALL))[0]
    return accepted.recv(length, socket.MSG_WAITALL)


def accept_handshake(accepted: socket.socket) -> None:
    read_frame(accepted)
    accepted.sendall(frame(b"\x01\x0c" + struct.pack("<i", 1) + b"\x00" + b"\x65"))


def until_closed(accepted: socket.socket) -> None:
    with contextlib.suppress(ConnectionError):
        while accepted.recv(65536):
            pass


def test_server_that_never_answers() -> None:
    with (
        server(until_closed, timeout_ms=SHORT_MS) as endpoint,
        pytest.raises(IgniteUnreachable, match=r"127\.0\.0\.1:\d+: no answer in time"),
    ):
        ThinConnection(endpoint, NOBODY)


def test_an_answer_that_is_announced_too_long_is_not_read() -> None:
    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        read_frame(accepted)
        accepted.sendall(struct.pack("<i", 2_000_000_000) + b"some bytes")
        until_closed(accepted)

    with server(serve) as endpoint:
        endpoint = replace(endpoint, max_frame_bytes=1 << 20)
        with ThinConnection(endpoint, NOBODY) as connection:
            with pytest.raises(AnswerTooLarge, match=r"2,000,000,000 bytes; at most 1,048,576 are taken.*ignite_max_frame_bytes"):
                connection.request(1, b"")
            assert connection.closed


def test_memory_is_taken_as_bytes_come() -> None:
    """Not as many as the other side announces."""

    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        read_frame(accepted)
        accepted.sendall(struct.pack("<i", MAX_FRAME_BYTES) + b"some bytes")
        until_closed(accepted)

    with server(serve) as endpoint, ThinConnection(replace(endpoint, request_timeout_ms=SHORT_MS), NOBODY) as connection:
        tracemalloc.start()
        try:
            with pytest.raises(IgniteUnreachable, match="no answer in time"):
                connection.request(1, b"")
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 2 * FIRST_BYTES


def test_an_answer_longer_than_the_first_buffer_comes_whole() -> None:
    body = bytes(range(256)) * (3 * FIRST_BYTES // 256) + b"end"

    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        read_frame(accepted)
        accepted.sendall(frame(struct.pack("<qH", 1, 0) + body))
        until_closed(accepted)

    with server(serve) as endpoint, ThinConnection(endpoint, NOBODY) as connection:
        assert connection.request(1, b"") == body


def test_server_that_stops_answering() -> None:
    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        until_closed(accepted)

    with server(serve) as endpoint, ThinConnection(replace(endpoint, request_timeout_ms=SHORT_MS), NOBODY) as connection:
        with pytest.raises(IgniteUnreachable, match=r"lost: no answer in time.*address 127.0.0.1"):
            connection.request(1, b"")
        assert connection.closed
        with pytest.raises(IgniteUnreachable, match="closed"):
            connection.send(1, b"")


@pytest.mark.parametrize("pause_at", [0, 2, 4, 10])
def test_a_reply_that_comes_late_is_still_taken(pause_at: int) -> None:
    """Wherever in it the wait ended: in its head, in its body."""
    waited = threading.Event()
    reply = frame(struct.pack("<qH", 1, 0) + b"body")

    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        read_frame(accepted)
        accepted.sendall(reply[:pause_at])
        waited.wait(DEADLINE_S)
        accepted.sendall(reply[pause_at:] + frame(struct.pack("<qH", 2, 0)))
        until_closed(accepted)

    with server(serve) as endpoint, ThinConnection(endpoint, NOBODY) as connection:
        request = connection.send(1, b"")
        assert not connection.answered(request, 0.05)
        assert not connection.answered(request, 0.05)
        waited.set()
        assert connection.answered(request, DEADLINE_S)
        assert bytes(connection.receive(request)) == b"body"
        assert bytes(connection.request(1, b"")) == b""
        assert not connection.gave_up


def test_what_was_given_up_is_told_from_what_broke() -> None:
    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        if len(read_frame(accepted)) > 10:  # more than a head
            until_closed(accepted)

    with server(serve) as endpoint:
        for payload in (b"slow", b""):
            with ThinConnection(replace(endpoint, request_timeout_ms=SHORT_MS if payload else LONG_MS), NOBODY) as connection:
                with pytest.raises(IgniteUnreachable):
                    connection.request(1, payload)
                with pytest.raises(IgniteUnreachable, match="closed"):
                    connection.answered(1, 0.05)
                assert connection.gave_up == bool(payload)


def test_the_system_s_word_that_the_other_side_is_away_is_no_wait_of_ours() -> None:
    away = OSError(errno.ETIMEDOUT, "Connection timed out")
    assert isinstance(away, TimeoutError)
    assert not _is_time_out(away)
    end, other = socket.socketpair()
    with end, other:
        end.settimeout(0.01)
        with pytest.raises(TimeoutError) as ours:
            end.recv(1)
    assert _is_time_out(ours.value)


def test_closing_with_replies_outstanding_resets_nothing() -> None:
    sent, ends = threading.Event(), list[bytes]()

    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        read_frame(accepted)
        accepted.sendall(frame(bytes(1_000)))
        sent.set()
        with contextlib.suppress(ConnectionResetError):  # where the reply is left unread
            ends.append(accepted.recv(1))

    with server(serve) as endpoint:
        connection = ThinConnection(endpoint, NOBODY)
        connection.forget(connection.send(1, b""))
        assert sent.wait(DEADLINE_S)
        connection.close()
    assert ends == [b""]


def test_server_that_ends_within_a_reply() -> None:
    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        read_frame(accepted)
        accepted.sendall(struct.pack("<i", 100) + b"short")

    with server(serve) as endpoint, ThinConnection(endpoint, NOBODY) as connection:
        request = connection.send(1, b"")
        with pytest.raises(IgniteUnreachable, match="the other side closed the connection"):
            connection.receive(request)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\0", b"\xff\xff\xff\xff", frame(b"\x01"), frame(b"\0\0")])
def test_server_that_is_no_ignite_node(answer: bytes) -> None:
    def serve(accepted: socket.socket) -> None:
        read_frame(accepted)
        accepted.sendall(answer)

    with server(serve) as endpoint, pytest.raises(IgniteUnreachable, match="is it an Ignite client connector"):
        ThinConnection(endpoint, NOBODY)


def refuse(accepted: socket.socket, version: tuple[int, int, int], message: str, status: int) -> None:
    accepted.sendall(frame(struct.pack("<Bhhh", 0, *version) + protocol.string(message) + struct.pack("<i", status)))


def test_older_server_gets_its_version() -> None:
    asked = []

    def serve(accepted: socket.socket) -> None:
        body = read_frame(accepted)
        asked.append(struct.unpack_from("<hhh", body, 1))
        if asked[-1] > (1, 4, 0):
            refuse(accepted, (1, 4, 0), "Unsupported version", 1)
        else:
            accepted.sendall(frame(b"\x01\x0a" + struct.pack("<qq", 1, 2)))
            until_closed(accepted)

    with server(serve) as endpoint, ThinConnection(endpoint, NOBODY) as connection:
        assert (connection.version, connection.features) == ((1, 4, 0), frozenset())
        assert connection.node_id is not None
        assert connection.node_id.int == (1 << 64) + 2
    assert asked == [(1, 7, 0), (1, 4, 0)]


def test_server_too_old() -> None:
    def serve(accepted: socket.socket) -> None:
        read_frame(accepted)
        refuse(accepted, (1, 2, 0), "Unsupported version", 1)

    with server(serve) as endpoint, pytest.raises(IgniteUnreachable, match=r"Unsupported version .*the node offers protocol 1\.2\.0"):
        ThinConnection(endpoint, NOBODY)


def test_refused_password_ends_the_search() -> None:
    def serve(accepted: socket.socket) -> None:
        read_frame(accepted)
        refuse(accepted, (0, 0, 0), "The user name or password is incorrect", protocol.AUTHENTICATION_FAILED)

    with server(serve) as endpoint, pytest.raises(AuthenticationFailed, match="refused user 'me': The user name") as raised:
        ThinConnection(endpoint, IgniteCredentials("me", "secret"))
    assert "secret" not in str(raised.value)


def test_replies_in_another_order_notifications_and_affinity() -> None:
    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        read_frame(accepted)
        read_frame(accepted)
        accepted.sendall(frame(struct.pack("<qHh", 2, 4, 2007) + b"event"))
        accepted.sendall(frame(struct.pack("<qHqi", 2, 2, 7, 3) + b"second"))
        accepted.sendall(frame(struct.pack("<qHi", 1, 1, 1000) + protocol.string("no cache")))
        until_closed(accepted)

    with server(serve) as endpoint, ThinConnection(endpoint, NOBODY) as connection:
        first, second = connection.send(1, b""), connection.send(1, b"")
        with pytest.raises(ThinError, match="status 1000: no cache"):
            connection.receive(first)
        assert bytes(connection.receive(second)) == b"second"
        assert connection.affinity == (7, 3)


@pytest.mark.parametrize("reply", [b"no TLS, but an answer", b""])
def test_a_server_without_tls_is_told_from_one_that_only_hangs_up(reply: bytes) -> None:
    def serve(accepted: socket.socket) -> None:
        accepted.recv(4096)
        accepted.sendall(reply)

    with server(serve) as endpoint, pytest.raises(IgniteUnreachable) as raised:
        ThinConnection(replace(endpoint, tls=TlsSettings(enabled=True, verify=False)), NOBODY)
    assert isinstance(raised.value.__cause__, ssl.SSLError) is bool(reply)
