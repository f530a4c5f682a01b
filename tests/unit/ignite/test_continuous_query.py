"""Continuous queries against a fake server: frames, silence, and refusals."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

import pytest

from ignite_kafka.errors import CacheDestroyed, CacheNotFound, DecodeError, IgniteKafkaError, IgniteUnreachable, ScanFailed
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.continuous_query import ContinuousQueries, check_supported, joined, parse_events, query_request
from ignite_kafka.ignite.endpoint import IgniteCredentials
from tests.unit.ignite.test_connection import accept_handshake, frame, read_frame, server

QUERY_ID, CURSOR, NOTIFIED = 7, 8, 2007
NULL = b"\x65"


def long(value: int) -> bytes:
    return struct.pack("<Bq", 4, value)


def text(value: str) -> bytes:
    return struct.pack("<Bi", 9, len(value)) + value.encode()


def event(key: bytes, old: bytes, new: bytes, kind: int) -> bytes:
    return key + old + new + bytes([kind])


def notification(*events: bytes, query: int = QUERY_ID) -> bytes:
    return frame(struct.pack("<qHHi", query, 4, NOTIFIED, len(events)) + b"".join(events))


def reply(request: bytes, body: bytes = b"", error: tuple[int, str] | None = None, affinity: int = 0) -> bytes:
    """A reply frame; `affinity` is the version that it reports, 0 for none."""
    request_id = struct.unpack_from("<q", request, 2)[0]
    if affinity:
        body = struct.pack("<qi", affinity, 0) + body
    if error is None:
        return frame(struct.pack("<qH", request_id, 2 if affinity else 0) + body)
    return frame(struct.pack("<qHi", request_id, 1, error[0]) + text(error[1]))


def register(accepted: socket.socket, *, rows_left: bool = False, before: bytes = b"", after: bytes = b"") -> None:
    """Accept a cache's query and the cursor beside it."""
    accept_handshake(accepted)
    query = read_frame(accepted)
    assert struct.unpack_from("<h", query)[0] == protocol.QUERY_CONTINUOUS
    accepted.sendall(before + reply(query, struct.pack("<q", QUERY_ID)) + after)
    scan = read_frame(accepted)
    assert struct.unpack_from("<h", scan)[0] == protocol.QUERY_SCAN
    accepted.sendall(reply(scan, struct.pack("<qi", CURSOR, 0) + bytes([rows_left]), affinity=1))


def begun(endpoint: object, clock: Callable[[], float] = lambda: 0.0) -> ContinuousQueries:
    connection = ThinConnection(endpoint, IgniteCredentials())  # type: ignore[arg-type]
    return ContinuousQueries(connection, ["c"], 100, expired=True, clock=clock)


def test_the_request() -> None:
    payload = query_request(-5, 1000, 250, expired=True)
    assert payload == struct.pack("<iBiqBB", -5, 1, 1000, 250, 1, 101)


def test_changes_of_every_kind() -> None:
    body = b"".join(
        [
            struct.pack("<i", 4),
            event(long(1), NULL, text("a"), 0),
            event(long(2), text("old"), text("b"), 1),
            event(long(3), text("old"), text("sent by older nodes"), 2),
            event(long(4), text("old"), NULL, 3),
        ]
    )
    found = parse_events("c", memoryview(body))
    assert (found.cache, found.page.rows, found.removed.tolist()) == ("c", 4, [False, False, True, True])
    assert bytes(found.page.data) == long(1) + text("a") + long(2) + text("b") + long(3) + NULL + long(4) + NULL
    kept = found.without_removals()
    assert (kept.page.rows, bytes(kept.page.data), kept.removed.tolist()) == (2, long(1) + text("a") + long(2) + text("b"), [False] * 2)
    assert kept.without_removals() is kept


def test_joined_changes_keep_their_order() -> None:
    events = [[event(long(1), NULL, text("a"), 0)], [event(long(1), text("a"), NULL, 2), event(long(2), NULL, text("b"), 0)]]
    found = joined([parse_events("c", memoryview(struct.pack("<i", len(some)) + b"".join(some))) for some in events])
    assert (found.cache, found.page.rows, found.removed.tolist()) == ("c", 3, [False, True, False])
    assert bytes(found.page.data) == long(1) + text("a") + long(1) + NULL + long(2) + text("b")


@pytest.mark.parametrize("cut", [3, 9, 20])
def test_a_broken_notification(cut: int) -> None:
    body = struct.pack("<i", 1) + event(long(1), NULL, text("a"), 0)
    with pytest.raises(DecodeError, match="a notification of a continuous query cannot be read"):
        parse_events("c", memoryview(body[:cut]))


def test_notifications_before_and_after_replies_are_kept_in_order() -> None:
    def serve(accepted: socket.socket) -> None:
        first, second = (notification(event(long(key), NULL, text(value), 0)) for key, value in ((1, "a"), (2, "b")))
        register(accepted, before=first, after=second)
        accepted.sendall(notification(event(long(3), NULL, text("last"), 0)) + reply(read_frame(accepted)))

    with server(serve) as endpoint:
        queries = begun(endpoint)
        found = [queries.read(60.0), queries.read(60.0)]
        assert [bytes(one.page.data) for one in found if one] == [long(1) + text("a"), long(2) + text("b")]
        ended = [queries.ended]
        queries.end()
        last = queries.read(60.0)
        assert last is not None
        assert bytes(last.page.data) == long(3) + text("last")
        with pytest.raises(IgniteUnreachable):  # the server is gone; the reply was read before
            queries.read(60.0)
        assert [*ended, queries.ended] == [False, True]
        assert queries.lost


def test_a_node_that_falls_silent_is_given_up() -> None:
    now = [0.0]

    def serve(accepted: socket.socket) -> None:
        register(accepted)
        accepted.sendall(reply(read_frame(accepted), b"\x01"))
        read_frame(accepted)
        accepted.recv(1)  # until the client closes

    with server(serve) as endpoint:
        queries = begun(endpoint, lambda: now[0])
        queries.check(10.0)
        now[0] = 3.0
        queries.check(10.0)
        while not queries._connection.has_reply(queries._check[0]):
            assert queries.read(0.05) is None
        queries.check(10.0)
        now[0] = 6.0
        queries.check(10.0)
        now[0] = 15.0
        queries.check(10.0)
        now[0] = 17.0
        with pytest.raises(IgniteUnreachable, match="no answer in time"):
            queries.check(10.0)
        assert queries.lost


def test_a_deactivated_cluster_ends_queries() -> None:
    now = [0.0]

    def serve(accepted: socket.socket) -> None:
        register(accepted)
        accepted.sendall(reply(read_frame(accepted), b"\x00"))
        accepted.recv(1)

    with server(serve) as endpoint:
        queries = begun(endpoint, lambda: now[0])
        now[0] = 3.0
        queries.check(10.0)
        while not queries._connection.has_reply(queries._check[0]):
            assert queries.read(0.05) is None
        with pytest.raises(IgniteUnreachable, match="the cluster was deactivated"):
            queries.check(10.0)


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        (protocol.CACHE_DOES_NOT_EXIST, CacheNotFound, "no such cache"),
        (protocol.SECURITY_VIOLATION, IgniteKafkaError, "does not let this user"),
        (protocol.TOO_MANY_CURSORS, IgniteKafkaError, "maxOpenCursorsPerConnection"),
        (protocol.INVALID_OPERATION, IgniteKafkaError, "Ignite 2.10"),
        (protocol.FAILED, ScanFailed, "could not begin a continuous query: why"),
    ],
)
def test_refusals(code: int, kind: type[IgniteKafkaError], message: str) -> None:
    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        accepted.sendall(reply(read_frame(accepted), error=(code, "why")))
        accepted.recv(1)

    with server(serve) as endpoint, pytest.raises(kind, match=message):
        begun(endpoint)


@pytest.mark.parametrize("code", [protocol.INVALID_OPERATION, protocol.CACHE_DOES_NOT_EXIST])
def test_nodes_without_continuous_queries_are_refused_before_a_cache_is_followed(code: int) -> None:
    def serve(accepted: socket.socket) -> None:
        accept_handshake(accepted)
        accepted.sendall(reply(read_frame(accepted), error=(code, "Invalid request op code: 2006")))
        accepted.recv(1)

    with server(serve) as endpoint, ThinConnection(endpoint, IgniteCredentials()) as connection:
        if code == protocol.CACHE_DOES_NOT_EXIST:
            check_supported(connection)
            return
        with pytest.raises(IgniteKafkaError, match="no continuous queries for thin clients") as caught:
            check_supported(connection)
        assert "Ignite 2.10 or newer" in caught.value.remedy
        assert "cache" not in caught.value.where


def test_a_cursor_proves_after_a_change_of_the_affinity_that_the_cache_is_the_same() -> None:
    now = [0.0]

    def serve(accepted: socket.socket) -> None:
        register(accepted, rows_left=True)
        for affinity, answer in ((2, b"\x01"), (3, b"\x00"), (4, b"")):
            accepted.sendall(reply(read_frame(accepted), b"\x01", affinity=affinity))
            if answer:
                proof = read_frame(accepted)
                assert struct.unpack_from("<hqq", proof)[::2] == (protocol.QUERY_SCAN_PAGE, CURSOR)
                accepted.sendall(reply(proof, answer))
        accepted.recv(1)

    with server(serve) as endpoint:
        queries = begun(endpoint, lambda: now[0])
        doubtful = []
        for turn in range(1, 4):
            now[0] = 3.0 * turn
            queries.check(10.0)
            while not queries._connection.has_reply(queries._check[0]):
                assert queries.read(0.05) is None
            doubtful += queries.check(10.0)
            while queries._proving:
                assert queries.read(0.05) is None
                queries.check(100.0)
        queries.close()
        assert doubtful == ["c"], "the cursor ended at the second proof, so the third change leaves a doubt"


def test_a_destroyed_cache_is_noticed() -> None:
    now = [0.0]

    def serve(accepted: socket.socket) -> None:
        register(accepted, rows_left=True)
        accepted.sendall(reply(read_frame(accepted), b"\x01", affinity=2))
        accepted.sendall(reply(read_frame(accepted), error=(protocol.FAILED, "CacheStoppedException")))
        accepted.recv(1)

    with server(serve) as endpoint:
        queries = begun(endpoint, lambda: now[0])
        now[0] = 3.0
        queries.check(10.0)
        while not queries._connection.has_reply(queries._check[0]):
            queries.read(0.05)
        queries.check(10.0)
        while not queries._connection.has_reply(next(iter(queries._proving))):
            queries.read(0.05)
        with pytest.raises(CacheDestroyed, match="the cache was destroyed while its changes were followed"):
            queries.check(10.0)
        queries.close()


def test_a_doubtful_query_begins_again_before_the_old_one_ends() -> None:
    def serve(accepted: socket.socket) -> None:
        register(accepted)
        accepted.sendall(reply(read_frame(accepted), struct.pack("<q", QUERY_ID + 10)))
        accepted.sendall(reply(read_frame(accepted), struct.pack("<qi", CURSOR, 0) + b"\x00"))
        closed = read_frame(accepted)
        assert struct.unpack_from("<hqq", closed)[::2] == (protocol.RESOURCE_CLOSE, QUERY_ID)
        accepted.sendall(reply(closed))
        accepted.sendall(notification(event(long(1), NULL, text("a"), 0), query=QUERY_ID + 10))
        accepted.recv(1)

    with server(serve) as endpoint:
        queries = begun(endpoint)
        queries.begin_again("c")
        found = queries.read(60.0)
        assert found is not None
        assert found.cache == "c"
        queries.close()


def test_a_cache_whose_query_began_again_is_followed_by_one() -> None:
    """The query before is ended; it is neither doubtful nor ended a second time."""
    now, closed = [0.0], list[tuple[int, ...]]()

    def serve(accepted: socket.socket) -> None:
        register(accepted)
        for again in (10, 20):
            accepted.sendall(reply(read_frame(accepted), struct.pack("<q", QUERY_ID + again)))
            accepted.sendall(reply(read_frame(accepted), struct.pack("<qi", CURSOR, 0) + b"\x00"))
            accepted.sendall(reply(read_frame(accepted)))
        accepted.sendall(reply(read_frame(accepted), b"\x01", affinity=2))
        closed.append(struct.unpack_from("<hqq", read_frame(accepted))[::2])
        assert accepted.recv(1) == b""

    with server(serve) as endpoint:
        queries = begun(endpoint, lambda: now[0])
        queries.begin_again("c")
        queries.begin_again("c")
        now[0] = 3.0
        queries.check(10.0)
        while not queries._connection.has_reply(queries._check[0]):
            queries.read(0.05)
        assert queries.check(10.0) == ["c"]
        queries.end()
        queries.close()
    assert closed == [(protocol.RESOURCE_CLOSE, QUERY_ID + 20)]
