"""Requests and answers of the REST interface, independent of the web server that carries them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..common.typed_json import loads

MOST_BODY_BYTES = 1 << 20
"""Maximum size of a request's body; Kafka refuses larger records by default."""
_JSON = "application/json"


class RestError(Exception):
    """A request that is refused, with the status code and message of its answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Request:
    """A request.

    :param path: decoded path below the interface's root, such as ``/connectors/name``.
    :param query: values of each query parameter, in their order.
    :param content_type: header Content-Type; empty without one.
    :param base_url: URL of the interface's root, for the header Location.
    """

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    content_type: str = ""
    body: bytes = b""
    base_url: str = ""

    def json(self) -> object:
        """Parse the body as JSON.

        :raises RestError: 415 for another content type, 413 for a body that is too large, 400 for one that is no JSON.
        """
        if self.content_type.partition(";")[0].strip().lower() != _JSON:
            raise RestError(415, "HTTP 415 Unsupported Media Type: send application/json")
        if len(self.body) > MOST_BODY_BYTES:
            raise RestError(413, f"the body has more than {MOST_BODY_BYTES:,} bytes")
        try:
            return loads(self.body)
        except ValueError as error:
            raise RestError(400, f"the body is not JSON: {error}") from None

    def flag(self, name: str) -> bool:
        """Return whether a query parameter is ``true``, in any case."""
        return (self.last(name) or "").lower() == "true"

    def last(self, name: str) -> str | None:
        """Return the last value of a query parameter; None without one."""
        values = self.query.get(name)
        return values[-1] if values else None


@dataclass(frozen=True)
class Answer:
    """An answer: status code, JSON body (None: no body), and further headers."""

    status: int
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of_error(status: int, message: str) -> Answer:
        """Return an error in the form of Kafka Connect."""
        return Answer(status, {"error_code": status, "message": message})
