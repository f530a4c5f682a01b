"""Conversion of the registry client's exceptions to errors of this package."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import IgniteKafkaError, RegistryError, RegistryUnavailable

NOT_FOUND = frozenset({40401, 40402, 40403})
"""Error codes of the registry for an unknown subject, version or schema."""
_TRANSIENT = frozenset({408, 429})  # and 5xx
_LONGEST = 600  # characters of a registry's message: some have whole schemas
_URL = (
    "Check that the URL is that of a schema registry, with the path of its API if it has one, such as /apis/ccompat/v7."
)
_REMEDIES = {
    401: "Check user and password, or the token, of the registry in the secrets file.",
    403: "Grant the user of the registry the right to do this.",
    404: "Check that the URL is that of the registry where it was registered, and that it was not deleted.",
    409: "Change the schema or the compatibility of its subject, or send to another topic.",
    422: "Change what the registry refuses, or the compatibility of the subject.",
}
_NOT_REGISTERED = "Register the schema, or set auto.register.schemas to true."


@contextmanager
def translated(doing: str, where: Mapping[str, Any]) -> Iterator[None]:
    """Return a context that converts exceptions of the registry client to errors of this package.

    :param doing: the action, as in 'registering a schema'.
    """
    # the module names the HTTP library that this version of the client uses
    from confluent_kafka.schema_registry._sync.schema_registry_client import httpx
    from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError

    try:
        yield
    except SchemaRegistryError as error:
        raise _refusal_error(doing, error.http_status_code, error.error_code, str(error.error_message), where) from None
    except OAuthTokenError as error:
        away = isinstance(error.__context__, httpx.TransportError)
        kind: type[IgniteKafkaError] = RegistryUnavailable if away else RegistryError
        text = f"{doing} failed: the OAuth issuer gave no token ({error.message[:_LONGEST]})"
        raise kind(text, "Check the issuer's URL, client id, client secret and scope.", **where) from error
    except httpx.TransportError as error:
        text = f"{doing} failed: {type(error).__name__}: {error}"
        if _is_of_tls(error):
            raise RegistryError(
                text, "Check the registry's certificate and schema.registry.ssl.truststore.location.", **where
            ) from error
        raise RegistryUnavailable(text, "Check schema.registry.url and that the registry is up.", **where) from error
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, KeyError, AttributeError) as error:
        raise RegistryError(
            f"{doing} failed: the answer is not that of a schema registry ({type(error).__name__})", _URL, **where
        ) from error


def _refusal_error(
    doing: str, status: int, code: int | None, message: str, where: Mapping[str, Any]
) -> IgniteKafkaError:
    where = {**where, "status": status, "code": code if code not in (None, -1, status) else None}
    text = f"{doing} failed: {message[:_LONGEST].rstrip('.')}"
    if status in _TRANSIENT or status >= 500:
        return RegistryUnavailable(text, "Check the log of the registry.", **where)
    if status == 404 and code not in NOT_FOUND:
        # a gateway answers so while the registry behind it restarts: this says nothing about the schema
        return RegistryUnavailable(
            text, f"{_URL} A gateway before the registry answers so while the registry is down.", **where
        )
    if status == 404 and doing.startswith("looking"):
        remedy = _NOT_REGISTERED
    else:
        remedy = _REMEDIES.get(status, _URL)
    return RegistryError(text, remedy, **where)


def _is_of_tls(error: BaseException | None) -> bool:
    """Return whether an exception comes from a refused TLS certificate, so that a retry is useless."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
