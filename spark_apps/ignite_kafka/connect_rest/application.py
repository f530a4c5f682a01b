"""ASGI application of the server: limits of requests, login, and the dispatch in threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import IgniteKafkaError
from .access import Guard
from .background import Background
from .failed_logins import FailedLogins
from .messages import MOST_BODY_BYTES, Answer, Request
from .routes import dispatch, is_change
from .service import ConnectService

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

Message = MutableMapping[str, Any]
Application = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]
log = logging.getLogger(__name__)
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_BODY_S = 30.0
_CALL_S = 90.0
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def create_application(service: ConnectService, guard: Guard) -> Application:
    """Create the ASGI application of the REST interface; it needs the package starlette."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    background = Background()
    failed_logins = FailedLogins()

    async def handle(request: HttpRequest) -> Response:
        refused = await _refuse(request, guard, failed_logins)
        if refused is not None:
            return to_response(refused)
        root = str(request.base_url).rstrip("/")
        path = request.path_params.get("path", "")
        return to_response(await respond(request, service, background, path=path, root=root))

    return Starlette(
        routes=[Route("/{path:path}", handle, methods=METHODS)], exception_handlers={Exception: _report_fault}
    )


async def _refuse(request: HttpRequest, guard: Guard, failed_logins: FailedLogins) -> Answer | None:
    """Return the answer to a request that is refused; the answer to a wrong login is delayed."""
    client = request.client.host if request.client is not None else ""
    tries_login = guard.logins.required and "authorization" in request.headers
    if tries_login and (refused := failed_logins.refuse(client)) is not None:
        return refused
    answer = guard.refuse(request.headers)
    if answer is not None and answer.status == 401 and tries_login:
        await failed_logins.hold(client)
    return answer


async def _report_fault(request: HttpRequest, error: Exception) -> Response:
    """Answer a request that met an internal error; the log has its cause."""
    return to_response(
        Answer.of_error(500, f"an internal error: {type(error).__name__}; the server's log has its cause")
    )


async def respond(
    request: HttpRequest, service: ConnectService, background: Background, *, path: str, root: str
) -> Answer:
    """Answer a request of a web server, within limits of size and time.

    :param path: path below the interface's root, without a leading slash.
    :param root: URL of the interface's root, without a slash at its end.
    """
    try:
        body = await asyncio.wait_for(_read_body(request), _BODY_S)
    except TimeoutError:
        return Answer.of_error(408, f"the body did not arrive within {_BODY_S:g} s")
    if body is None:
        return Answer.of_error(413, f"the body has more than {MOST_BODY_BYTES:,} bytes")
    query = {name: request.query_params.getlist(name) for name in request.query_params}
    read = Request(request.method, f"/{path}", query, request.headers.get("content-type", ""), body, root)
    try:
        answer = await background.call(partial(dispatch, service, read), _CALL_S)
    except IgniteKafkaError as error:
        return Answer.of_error(503, str(error))
    if is_change(request.method):
        log.info("%s /%s: %d", request.method, path, answer.status)
    return answer


def to_response(answer: Answer) -> Response:
    """Return an answer as a response of Starlette."""
    from starlette.responses import JSONResponse, Response

    headers = {**_HEADERS, **answer.headers}
    if answer.body is None:
        return Response(status_code=answer.status, headers=headers)
    return JSONResponse(answer.body, answer.status, headers)


async def _read_body(request: HttpRequest) -> bytes | None:
    """Read a body; None if it is too large."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY_BYTES:
            return None
    return body
