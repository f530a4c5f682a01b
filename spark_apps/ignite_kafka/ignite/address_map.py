"""Map from the addresses announced by nodes to addresses that this host can reach.

For nodes behind NAT, in containers or behind forwarded ports.

Each node announces the addresses of its own network interfaces to thin clients. A pair ``announced=reachable`` replaces
one of them, as an ``AddressResolver`` of the node would.
"""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..events import NODE_NOT_MAPPED, emit, note
from .endpoint import split_address

FORM = "announced=reachable, each side host or host:port"
_Key = tuple[str, int | None]


@dataclass(frozen=True)
class AddressMap:
    """Translation of announced addresses of nodes to reachable ones, as the setting ignite_address_map gives it.

    A port of None is any port on the announced side, and the announced port on the reachable side.
    """

    pairs: Mapping[_Key, _Key]

    @staticmethod
    def of(texts: Iterable[str]) -> AddressMap:
        """Parse a map from texts ``announced=reachable``.

        :raises ValueError: a text has another form, or an announced address occurs twice with different reachable ones.
        """
        pairs: dict[_Key, _Key] = {}
        for text in texts:
            announced, sign, reachable = text.partition("=")
            if not sign or "=" in reachable:
                raise ValueError(f"'{text}' is not {FORM}")
            key = _parse_address(announced.strip())
            target = _parse_address(reachable.strip())
            key = _normalize_host(key[0]), key[1]
            if pairs.setdefault(key, target) != target:
                raise ValueError(f"'{announced.strip()}' has two reachable addresses")
        return AddressMap(pairs)

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def reachable(self, announced: Iterable[str]) -> tuple[str, ...]:
        """Translate a node's announced addresses to reachable ones; all are unchanged if none is mapped.

        The other addresses of a node with a mapped one are left out: they belong to the node's own network, and here
        they may lead to another host.
        """
        announced = tuple(announced)
        return tuple(self._map_addresses(announced)) or announced

    def knows(self, announced: Iterable[str]) -> bool:
        """Return whether the map has at least one of a node's announced addresses."""
        return bool(self._map_addresses(announced))

    def report_unreached(self, node: uuid.UUID, announced: Sequence[str]) -> None:
        """Emit an event for an unreachable node whose announced addresses the map lacks.

        A run works without it, but each request to its partitions passes through another node.
        """
        if self and announced and not self.knows(announced):
            reason = (
                f"node {node} announces {', '.join(announced)}: none is in ignite_address_map, and none answers here"
            )
            fields = {"reason": reason, "node": str(node), "setting": "ignite_address_map"}
            emit(NODE_NOT_MAPPED, **fields)
            note(NODE_NOT_MAPPED, **fields)  # of a task: the driver emits it, too

    @property
    def targets(self) -> tuple[str, ...]:
        """Reachable addresses of the map, as host:port."""
        return tuple(_join_address(host, port) for host, port in self.pairs.values())

    def _map_addresses(self, announced: Iterable[str]) -> list[str]:
        reachable = []
        for address in announced:
            host, port = split_address(address)
            host = _normalize_host(host)
            target = self.pairs.get((host, port)) or self.pairs.get((host, None))
            if target is not None:
                reachable.append(_join_address(target[0], target[1] or port))
        return list(dict.fromkeys(reachable))


def _parse_address(text: str) -> _Key:
    host, port = split_address(text)
    if any(character.isspace() for character in host):
        raise ValueError(f"'{text}' is not host:port")
    if not text.isascii() or (port and text.endswith(f":0{port}")):
        raise ValueError(f"'{text}' is not host:port")
    has_port = text.endswith(f":{port}") and (text.startswith("[") or text.count(":") == 1)
    return host, port if has_port else None


def _normalize_host(host: str) -> str:
    """Normalize a host, so that an IPv6 address is equal in any spelling."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).compressed
    except ValueError:
        return host.lower().rstrip(".")


def _join_address(host: str, port: int | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"
