"""Delay and bounds of failed logins, against guessing."""

from __future__ import annotations

import asyncio
from collections import Counter

from .messages import Answer

DELAY_S = 1.0
"""Time before the answer to a failed login, in seconds."""
MOST_OF_CLIENT = 4
MOST_HELD = 32
"""Maximum number of failed logins that are held at a time, of a client's address and of all.

Half of the connections stay free for others.
"""


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
        if self._held[client] < MOST_OF_CLIENT and self._held.total() < MOST_HELD:
            return None
        refused = Answer.of_error(429, "Too many failed logins. Repeat the request in some seconds.")
        return Answer(429, refused.body, {"Retry-After": str(int(DELAY_S) + 1)})

    async def hold(self, client: str) -> None:
        """Wait before the answer to a failed login."""
        self._held[client] += 1
        try:
            await asyncio.sleep(DELAY_S)
        finally:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]
