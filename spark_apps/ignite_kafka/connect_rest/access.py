"""Logins of the server: users with passwords, or a token; and the check against requests of foreign web pages."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import SettingsError
from ..settings.metrics import is_loopback
from ..settings.secrets import read_protected
from .messages import Answer

LEAST_TOKEN = 22
"""Minimum length of a token; shorter ones can be guessed."""
LEAST_PASSWORD = 8
_CHALLENGE = {"WWW-Authenticate": 'Basic realm="ignite-kafka", charset="UTF-8"'}


@dataclass(frozen=True, repr=False)
class Logins:
    """Users with passwords, and a token; a request needs one of them. Without any, every request is accepted."""

    users: Mapping[str, str] = field(default_factory=dict)
    token: str | None = None

    @staticmethod
    def read(users: str | Path | None = None, token: str | Path | None = None) -> Logins:
        """Read the files of users (JSON, passwords by name) and of the token (one line).

        :raises SettingsError: a file cannot be read, others can read it, or it has another form. No content is shown.
        """
        return Logins({} if users is None else _read_users(users), None if token is None else _read_token(token))

    @property
    def required(self) -> bool:
        """Whether requests need a login."""
        return bool(self.users) or self.token is not None

    def accept(self, authorization: str) -> bool:
        """Return whether a header Authorization has one of the logins."""
        if not self.required:
            return True
        scheme, _, value = authorization.partition(" ")
        if scheme.lower() == "bearer":
            return self.token is not None and _same(value.strip(), self.token)
        if scheme.lower() != "basic":
            return False
        user, _, password = _decode(value.strip()).partition(":")
        # an unknown user costs as much time as a wrong password
        return _same(password, self.users.get(user, "")) and user in self.users


@dataclass(frozen=True)
class Guard:
    """Check of each request before it is read.

    :param host: address on which the server listens.
    """

    logins: Logins
    host: str

    def refuse(self, headers: Mapping[str, str]) -> Answer | None:
        """Return the answer to a request that is refused; None for an accepted one.

        Web pages of other sites could use the browser of a user who reaches this server: their requests name another
        origin, and those that reach a loopback address by a name of their own name another host.

        :param headers: headers by name in lower case.
        """
        host = headers.get("host", "")
        if is_loopback(self.host) and not self.logins.required and not _is_loopback_name(host):
            return Answer.of_error(403, "the header Host names another host than localhost; log in, or use localhost")
        origin = headers.get("origin")
        foreign = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if foreign or (origin is not None and _host_of(origin) != host):
            return Answer.of_error(403, "the request was sent by a web page of another site")
        if not self.logins.accept(headers.get("authorization", "")):
            refused = Answer.of_error(401, "User cannot access the resource.")
            return Answer(401, refused.body, _CHALLENGE)
        return None


def _host_of(origin: str) -> str | None:
    """Return the host and port of an origin; None for a text that is no URL, such as ``http://[``."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _is_loopback_name(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return is_loopback(name)


def _read_users(path: str | Path) -> dict[str, str]:
    form = 'Its form is {"NAME": "PASSWORD", …}'
    try:
        users = json.loads(read_protected(Path(path)))
    except ValueError:
        raise SettingsError("the file of users is not JSON", form, file=path) from None
    if not isinstance(users, dict) or not users or not all(isinstance(item, str) for item in users.values()):
        raise SettingsError("the file of users has no passwords by name", form, file=path)
    if any(not name or ":" in name for name in users):
        raise SettingsError("a user's name is empty or has a colon", form, file=path)
    if any(len(password) < LEAST_PASSWORD for password in users.values()):
        raise SettingsError(f"a password has less than {LEAST_PASSWORD} characters", "Choose longer ones.", file=path)
    return users


def _read_token(path: str | Path) -> str:
    token = read_protected(Path(path)).decode(errors="replace").strip()
    if len(token) < LEAST_TOKEN or not token.isascii() or " " in token:
        raise SettingsError(
            f"the token is no line of at least {LEAST_TOKEN} ASCII characters without blanks",
            'Make one: python -c "import secrets; print(secrets.token_urlsafe())"',
            file=path,
        )
    return token


def _decode(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode())
