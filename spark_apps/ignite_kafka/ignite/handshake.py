"""Handshake of the thin client protocol: agreement on version and features, and login.

Source: `ClientListenerNioListener` and `ClientConnectionContext` in apache/ignite.
"""

from __future__ import annotations

import socket
import uuid
from dataclasses import dataclass

from ..errors import AuthenticationFailed
from . import protocol
from .endpoint import IgniteCredentials
from .framing import FrameReader
from .protocol import Reader, Version

_MAX_BYTES = 1 << 16


@dataclass(frozen=True)
class Session:
    """Result of a handshake: protocol version, features, and the node's id if the node sent one."""

    version: Version
    features: frozenset[int]
    node_id: uuid.UUID | None


class OlderVersion(Exception):
    """Raised when a node offers an older protocol version, with which the client connects again."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self.version = version


def shake_hands(
    connected: socket.socket, frames: FrameReader, version: Version, credentials: IgniteCredentials, address: str
) -> Session:
    """Log in to a node with a protocol version, and return the agreed session.

    :raises OlderVersion: the node wants an older version; connect again with it.
    :raises AuthenticationFailed: the node refused the user or the password.
    :raises OSError, ValueError, struct.error: the other side is not an Ignite node that accepts this client.
    """
    connected.sendall(protocol.handshake(version, credentials.username, credentials.password))
    reader = Reader(frames.read(connected, _MAX_BYTES))
    if reader.boolean():
        features = protocol.features_of(reader.blob()) if version >= protocol.WITH_FEATURES else frozenset[int]()
        return Session(version, features, reader.typed_uuid())
    offered: Version = (reader.int16(), reader.int16(), reader.int16())
    message = reader.text() or "no reason given"
    status = reader.int32() if reader.position < len(reader.data) else protocol.FAILED
    if status == protocol.AUTHENTICATION_FAILED:
        user = f"user '{credentials.username}'" if credentials.username is not None else "a connection without a user"
        raise AuthenticationFailed(
            f"Ignite refused {user}: {message}", "Check user and password of the connection", address=address
        )
    if offered in protocol.VERSIONS and offered < version:
        raise OlderVersion(offered)
    raise OSError(
        f"handshake refused: {message} (status {status}, the node offers protocol {'.'.join(map(str, offered))})"
    )
