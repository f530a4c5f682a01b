"""Connections without a request are closed, and those with one are kept."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import uvicorn

from ignite_kafka.connect_rest.connections import bounded_connection

_LIMIT_S = 120
BOUNDED: Any = bounded_connection()


async def _answer(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def _talk(sent: bytes) -> bytes:
    """Return what a server answers until it closes the connection."""
    config = uvicorn.Config(_answer, http=BOUNDED, log_config=None, lifespan="off", ws="none", timeout_keep_alive=1)
    config.load()
    state = uvicorn.server.ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: BOUNDED(config, state, {}), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(sent)
        answer = await asyncio.wait_for(reader.read(), _LIMIT_S)
        writer.close()
    return answer


def test_a_connection_without_a_whole_head_is_closed() -> None:
    assert asyncio.run(_talk(b"")) == b""
    assert asyncio.run(_talk(b"GET / HTTP/1.1\r\nHost: a")) == b""


def test_a_connection_is_closed_after_a_request_without_a_second_one() -> None:
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    assert asyncio.run(_talk(request)).startswith(b"HTTP/1.1 204")
    assert asyncio.run(_talk(request + b"GET / HT")).startswith(b"HTTP/1.1 204")
