"""Requests that confluent-kafka's admin client cannot send: find the active controller, move leaders and replicas, set quotas."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Mapping, Sequence

# with their versions, all flexible
_ELECT_LEADERS, _ALTER_PARTITION_REASSIGNMENTS, _ALTER_CLIENT_QUOTAS, _DESCRIBE_QUORUM = (
    (43, 2),
    (45, 0),
    (49, 1),
    (55, 0),
)
_PREFERRED = b"\0"
_NO_TAGS = b"\0"
_TIMEOUT_S = 60.0
_METADATA_TOPIC = "__cluster_metadata"


class RequestRefused(Exception):
    """A broker answered with an error code; a retry, or another broker, may succeed."""


def active_controller(port: int) -> int:
    """Return the node id of the controller that leads the quorum.

    :raises RequestRefused: the node knows no leader at present.
    """
    partition = _array([struct.pack(">i", 0) + _NO_TAGS])
    topics = _array([_text(_METADATA_TOPIC) + partition + _NO_TAGS])
    answer = _request(port, _DESCRIBE_QUORUM, topics + _NO_TAGS)
    (code,) = struct.unpack_from(">h", answer)
    _check(code, "describing the quorum")
    # one topic, its name, one partition: index, error code, leader
    at = 2 + 1 + 1 + len(_METADATA_TOPIC) + 1
    _index, code, leader = struct.unpack_from(">ihi", answer, at)
    _check(code, "describing the quorum")
    return int(leader)


def order_replicas(port: int, replicas: Mapping[tuple[str, int], Sequence[int]]) -> None:
    """Set the order of the replicas of partitions; the first replica is the preferred leader.

    :raises RequestRefused: the controller is unavailable or refused the request.
    """
    topics = [
        _text(topic)
        + _array([struct.pack(">i", partition) + _array([struct.pack(">i", node) for node in nodes]) + _NO_TAGS])
        + _NO_TAGS
        for (topic, partition), nodes in replicas.items()
    ]
    answer = _request(
        port, _ALTER_PARTITION_REASSIGNMENTS, struct.pack(">i", int(_TIMEOUT_S * 1000)) + _array(topics) + _NO_TAGS
    )
    _throttled_ms, code = struct.unpack_from(">ih", answer)
    _check(code, "changing replicas")


def elect_preferred(port: int, partitions: Iterable[tuple[str, int]]) -> None:
    """Make the first replica of each partition its leader if it is in sync.

    Not AdminClient.elect_leaders: in confluent-kafka 2.16 it raises SystemError for all arguments.

    :raises RequestRefused: the controller is unavailable or refused the request.
    """
    topics = [_text(topic) + _array([struct.pack(">i", partition)]) + _NO_TAGS for topic, partition in partitions]
    answer = _request(
        port, _ELECT_LEADERS, _PREFERRED + _array(topics) + struct.pack(">i", int(_TIMEOUT_S * 1000)) + _NO_TAGS
    )
    _throttled_ms, code = struct.unpack_from(">ih", answer)
    _check(code, "electing leaders")


def limit_client(port: int, client_id: str, bytes_per_second: float | None) -> None:
    """Set the quotas ``producer_byte_rate`` and ``consumer_byte_rate`` of a client id; None removes them.

    :raises RequestRefused: the controller is unavailable or refused the request.
    """
    entity = _array([_text("client-id") + _text(client_id) + _NO_TAGS])
    rate = struct.pack(">d?", bytes_per_second or 0, bytes_per_second is None)
    rates = _array([_text(name) + rate + _NO_TAGS for name in ("producer_byte_rate", "consumer_byte_rate")])
    answer = _request(
        port, _ALTER_CLIENT_QUOTAS, _array([entity + rates + _NO_TAGS]) + struct.pack(">?", False) + _NO_TAGS
    )
    _throttled_ms, _entries, code = struct.unpack_from(">ibh", answer)
    _check(code, "setting quotas")


def _request(port: int, api: tuple[int, int], body: bytes) -> bytes:
    """Send a request and return the body of the response."""
    header = struct.pack(">hhih", *api, 1, -1) + _NO_TAGS
    with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as link:
        link.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        (length,) = struct.unpack(">i", _exactly(link, 4))
        return _exactly(link, length)[5:]  # without correlation id and tags


def _exactly(link: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = link.recv(count - len(data))
        if not more:
            raise RequestRefused("the broker closed the connection")
        data += more
    return data


def _text(text: str) -> bytes:
    return bytes([len(text) + 1]) + text.encode()


def _array(items: Sequence[bytes]) -> bytes:
    assert len(items) < 127, "one byte of length"
    return bytes([len(items) + 1]) + b"".join(items)


def _check(code: int, doing: str) -> None:
    if code:
        raise RequestRefused(f"{doing}: error code {code}")
