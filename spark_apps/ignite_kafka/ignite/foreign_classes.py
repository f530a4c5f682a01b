"""Detection of puts refused because nodes cannot load a Java class; they look like network failures.

A node reads a value that Java's optimized marshaller wrote (code 254: a class with writeObject or writeReplace) as an
object of its class, already when it parses the request. If that fails, it sends no error but closes the connection, so
that the failure looks like one of the network. Two things distinguish a refusal: the request's content, and replies to
other requests at the same time. Source: `ClientListenerNioListener.onMessage` and `BinaryUtils.doReadOptimized` of
Ignite 2.17.
"""

from __future__ import annotations

import re
import struct
import time
from typing import TYPE_CHECKING

from ..errors import EntriesRefused, IgniteUnreachable, UnknownBinaryType
from . import protocol
from .binary.optimized import EXTERNALIZABLE, SERIALIZABLE, is_temporal
from .protocol import ThinError
from .types import type_codes as codes
from .types.model import class_id

if TYPE_CHECKING:
    from .cluster import Cluster

_HEAD = struct.Struct("<Bih")
_VALUE = re.compile(rb"(?=\xfe([\x00-\xff]{4})([\x65\x66])([\x00-\xff]{4}))")
_MOST_NAMED = 5
_CLOSINGS = 3
_MOMENT_S = 1.0
assert (codes.OPTIMIZED, EXTERNALIZABLE, SERIALIZABLE) == (0xFE, 0x65, 0x66)

_REMEDY = (
    "Put the jar with the class on the class path of every node of this cluster and restart them, or leave out such "
    "entries: with error_handling_policy DEAD_LETTER or LOG_ONLY they are bad records"
)


def class_hashes(payload: bytes) -> tuple[int, ...]:
    """Search a request for Java classes that nodes must load; return hashes of at most five class names.

    Classes of every JVM are left out. The bytes of other values may look like such a value, so a hash may belong to no
    class.
    """
    hashes: dict[int, None] = {}
    for match in _VALUE.finditer(payload):
        size = int.from_bytes(match[1], "little", signed=True)
        start = match.start() + 5
        if _HEAD.size <= size <= len(payload) - start and not is_temporal(memoryview(payload)[start : start + size]):
            hashes[int.from_bytes(match[3], "little", signed=True)] = None
            if len(hashes) == _MOST_NAMED:
                break
    return tuple(hashes)


class Closings:
    """Counts connections that nodes close at one request, to tell refusals from network failures.

    If nodes cannot load the only class of a request, the cluster's object remembers it: later requests with the class
    need no waits and fewer tries. A node logs a stack for each try, and many records may have the class. Of a request
    with several classes none is remembered, because nodes may have the others.
    """

    def __init__(self, payload: bytes, cluster: Cluster) -> None:
        self._hashes = class_hashes(payload)
        self._cluster = cluster
        self._is_remembered = not cluster.refused_classes.isdisjoint(self._hashes)
        self._count = 0

    def closed(self, cache: str) -> EntriesRefused | None:
        """Count a connection that was closed although nodes reply to other requests.

        :returns: the error if the closing is no network failure, with the names of the classes, as far as the cluster
            knows them; else None.
        """
        if not self._hashes or not self._is_answered():
            return None
        self._count += 1
        if self._count < (1 if self._is_remembered else _CLOSINGS):
            return None
        if len(self._hashes) == 1:
            self._cluster.refused_classes.update(self._hashes)
        names = ", ".join(_class_name(class_hash, self._cluster) for class_hash in self._hashes)
        what = f"Ignite's nodes close the connection at entries of {names}: they cannot load it"
        return EntriesRefused(what, _REMEDY, cache=cache)

    def _is_answered(self) -> bool:
        """Return whether nodes reply to another request after a moment, so that the network works.

        So a network failure of some length is not mistaken for a refusal.
        """
        if not self._is_remembered:
            time.sleep(_MOMENT_S)
        try:
            self._cluster.connection().request(protocol.CLUSTER_STATE, b"")
        except ThinError:
            return True
        except IgniteUnreachable:
            return False
        return True


def _class_name(name_hash: int, cluster: Cluster) -> str:
    try:
        return cluster.binary_type(class_id(name_hash)).name
    except (UnknownBinaryType, IgniteUnreachable):
        return f"a class whose name has the hash {name_hash}"
