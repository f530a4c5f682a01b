"""Delay and bounds of failed logins, against guessing."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter

from .messages import Answer

DELAY_S = 1.0
"""Time before the answer to a failed login, in seconds."""
MOST_OF_CLIENT = 4
MOST_HELD = 32
"""Maximum number of failed logins that are held at a time, of a client and of all.

Half of the connections stay free for others.
"""
_PREFIX_BITS = 64  # of an IPv6 address: the smallest network that a client gets, with all its addresses


class FailedLogins:
    """Failed logins whose answers are held for :data:`DELAY_S`; each client has at most four at a time.

    A client that exceeds its bound is refused unread: an answer without a delay would tell whether a login is right.
    Only the event loop's thread uses an object.
    """

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def refuse(self, client: str) -> Answer | None:
        """Return the answer to a login that must not be checked now; None if it may be.

        :param client: address of the client, without its port.
        """
        if self._held[network_of(client)] < MOST_OF_CLIENT and self._held.total() < MOST_HELD:
            return None
        refused = Answer.of_error(429, "Too many failed logins. Repeat the request in some seconds.")
        return Answer(429, refused.body, {"Retry-After": str(int(DELAY_S) + 1)})

    async def hold(self, client: str) -> None:
        """Wait before the answer to a failed login."""
        network = network_of(client)
        self._held[network] += 1
        try:
            await asyncio.sleep(DELAY_S)
        finally:
            self._held[network] -= 1
            if not self._held[network]:
                del self._held[network]


def network_of(client: str) -> str:
    """Return what counts as one client: an IPv4 address, also a mapped one, or the /64 of an IPv6 address.

    :param client: address of the client; any other text counts as it is.
    """
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv4Address):
        return client
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _PREFIX_BITS), strict=False))
