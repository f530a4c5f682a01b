"""Connections of the server that are closed if no request arrives on them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle


def bounded_connection() -> type[asyncio.Protocol]:
    """Return the class of connections that uvicorn closes if no whole head of a request arrives in time.

    uvicorn limits only the time between an answer and the first byte after it. Without this, 64 connections without a
    request, which need no login, would keep everybody else away. The package uvicorn is imported here, because only
    `ignite-kafka serve` needs it.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class BoundedConnection(H11Protocol):
        _check: asyncio.TimerHandle | None = None
        _last: RequestResponseCycle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._check is not None:
                self._check.cancel()
            super().connection_lost(exc)

        def _watch(self) -> None:
            self._check = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

        def _close_if_idle(self) -> None:
            """Close the connection if no request has begun since the last look, and none is being answered."""
            answered = self.cycle is None or self.cycle.response_complete
            if answered and self.cycle is self._last:
                self.transport.close()
                return
            self._last = self.cycle
            self._watch()

    return BoundedConnection
