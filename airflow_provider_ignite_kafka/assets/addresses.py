"""Normalization of node and broker addresses, so that one cluster gives the same assets and datasets."""

from __future__ import annotations

from collections.abc import Sequence

IGNITE_PORT = 10800
KAFKA_PORT = 9092


def normalized(address: str, port: int) -> str:
    """Normalize an address to ``host:port`` in lower case, IPv6 in brackets, for assets and datasets.

    :param address: ``host``, ``host:port``, ``[ipv6]``, ``[ipv6]:port`` or ``ipv6``; a protocol or user before the host
        is left out.
    :param port: port for an address without a port.
    :raises ValueError: the port is no number.
    """
    address = address.strip().rpartition("://")[2].rpartition("@")[2].lower()
    if address.count(":") > 1 and not address.startswith("["):
        return f"[{address}]:{port}"
    if ":" not in address or address.endswith("]"):
        return f"{address}:{port}"
    own_port = address.rpartition(":")[2]
    if not own_port.isascii() or not own_port.isdigit():
        raise ValueError(f"the port of {address!r} is no number")
    return address


def listed(addresses: str | Sequence[str], port: int) -> tuple[str, ...]:
    """Normalize addresses in a list or comma-separated text; the first names the cluster in assets."""
    parts = addresses.split(",") if isinstance(addresses, str) else addresses
    return tuple(normalized(part, port) for part in parts if part.strip())
