"""Translation of nodes' errors about caches and binary types into errors with a remedy."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import CacheNotFound, IgniteKafkaError, IgniteUnreachable, UnknownBinaryType
from . import protocol
from .protocol import ThinError


def cache_error(name: str, error: ThinError) -> IgniteKafkaError:
    """Make the error for a cache that a node cannot describe."""
    if error.status == protocol.CACHE_DOES_NOT_EXIST:
        return CacheNotFound("the cluster has no such cache", "Check the name; upper and lower case differ", cache=name)
    if error.status == protocol.SECURITY_VIOLATION:
        what = f"Ignite does not let this user see a cache: {error.message}"
        return IgniteKafkaError(what, "Give the user the right to read it", cache=name)
    return IgniteKafkaError(f"Ignite cannot describe a cache: {error.message}", "The node's log says more", cache=name)


def same_id_error(name: str, other: str) -> IgniteKafkaError:
    """Make the error for a name with the id of another cache: requests have the id alone."""
    what = f"the name of a cache has the same hash code as cache {other}, and the cluster can have one of them only"
    return IgniteKafkaError(what, "Choose another name for the cache", cache=name)


def type_error(type_id: int, error: ThinError) -> IgniteKafkaError:
    """Make the error for a binary type that a node cannot describe now."""
    what = f"Ignite does not report the metadata of a binary type: {error.message}"
    if error.status == protocol.SECURITY_VIOLATION:
        return IgniteKafkaError(what, "Give the user the right to read it", type_id=type_id)
    return IgniteUnreachable(what, "The node's log says more", type_id=type_id)  # a stopping node refuses every request


def is_class_id(type_id: int) -> bool:
    """Return whether an id stands for a Java class (:func:`~.types.model.class_id`), not for a binary type."""
    return type_id not in range(-(1 << 31), 1 << 31)


def unknown_type(type_id: int, class_name: Callable[[int], str | None]) -> UnknownBinaryType:
    """Make the error for a type without metadata in the cluster, with its class name if a node knows it.

    :param class_name: requests the name for a type id from a node.
    """
    if is_class_id(type_id):
        name_hash = (type_id & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000
        what = "a value is of a Java class that the cluster does not know by name"
        return UnknownBinaryType(
            what,
            "Put a value of the class through a node or a client that has it",
            name_hash=name_hash,
            type_id=type_id,
        )
    try:
        name = class_name(type_id)
    except ThinError:
        name = None  # the error is about the metadata; the name only helps
    what = f"the cluster holds no metadata of {f'class {name}' if name else 'a binary type'}"
    return UnknownBinaryType(what, "Register the type: put an object of it through any client", type_id=type_id)
