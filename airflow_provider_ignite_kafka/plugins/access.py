"""Permissions of Airflow users to see the page Connectors and to act on connectors, and checks against forgery.

Seeing the page needs the right to see plugins, like the link in the navigation, and one of the roles of option
`page_roles`, if it has roles. Acting needs the right to edit the Kafka connection, because with this right a user can
change the connector's Kafka records anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, ConnectionDetails
from airflow.api_fastapi.auth.tokens import get_signing_key
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_view
from airflow.models.connection import Connection
from airflow.providers.common.compat.sdk import conf
from fastapi import Depends, HTTPException, Request
from itsdangerous import BadSignature, URLSafeTimedSerializer

from airflow_provider_ignite_kafka.options import SECTION, page_roles

_TOKEN = "ignite_kafka.action"
_MESSAGE = "ignite_kafka.message"
_TOKEN_AGE_S = 8 * 3600
_MESSAGE_AGE_S = 60


def requires_page(user: GetUserDep) -> None:
    """Refuse the page to a user without any of the roles in option `page_roles`.

    :raises HTTPException: 403.
    :raises SettingsError: the option is wrong.
    """
    roles = page_roles()
    if roles and not roles & _roles(user):
        what = f"The page is for the roles of option page_roles of section [{SECTION}] of Airflow's configuration."
        raise HTTPException(403, f"{what} Ask an administrator of Airflow.")


def _roles(user: object) -> set[str]:
    """Read the lower-case names of a user's roles from Airflow's simple auth manager or FAB's.

    Other auth managers have no roles.
    """
    names = [getattr(user, "role", None), *(getattr(role, "name", None) for role in getattr(user, "roles", None) or ())]
    return {name.lower() for name in names if isinstance(name, str)}


READS_PAGE = [Depends(requires_access_view(AccessView.PLUGINS)), Depends(requires_page)]


def may_act(connection_id: str, user: GetUserDep) -> bool:
    """Return whether the user may edit a Kafka connection, the right needed to act on its connectors."""
    team = (
        {"team_name": Connection.get_team_name(connection_id)}
        if conf.getboolean("core", "multi_team", fallback=False)
        else {}
    )
    details = ConnectionDetails(conn_id=connection_id, **team)
    return bool(get_auth_manager().is_authorized_connection(method="PUT", details=details, user=user))


MayAct = Annotated[bool, Depends(may_act)]


def requires_action(allowed: MayAct) -> None:
    """Refuse an action on a connector to a user without the right to edit its Kafka connection.

    :raises HTTPException: 403.
    """
    if not allowed:
        raise HTTPException(
            403,
            "Actions need the right to edit the Kafka connection of the connector. Ask an administrator of Airflow.",
        )


def action_token(user: GetUserDep) -> str:
    """Sign a token for the page's forms, valid for this user and eight hours, against forged requests."""
    return _serializer(_TOKEN).dumps(str(user.get_id()))


ActionToken = Annotated[str, Depends(action_token)]


def check_sender(request: Request, token: str, user_id: str) -> None:
    """Refuse a forged request: one without the user's form token, or from another site.

    :raises HTTPException: 403.
    """
    try:
        signed: object = _serializer(_TOKEN).loads(token, max_age=_TOKEN_AGE_S)
    except BadSignature:  # also raised for a token that is too old
        signed = None
    if signed != user_id or not _same_origin(request):
        raise HTTPException(
            403, "The form is too old, or was not sent by this page. Load the page again and repeat the action."
        )


def _same_origin(request: Request) -> bool:
    """Return whether a request comes from this site, by its headers; True if it has none of these headers."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        return site in ("same-origin", "none")
    own = {request.headers.get("host"), urlsplit(conf.get("api", "base_url", fallback="")).netloc} - {""}
    return origin is None or urlsplit(origin).netloc in own


def sign_message(text: str, user_id: str, connector: Sequence[str]) -> str:
    """Sign the message about an action's result, because the browser carries it back in a URL.

    The signature prevents links of another site or user from putting a text on the page.

    :param connector: connection, prefix and name of the connector on whose page the message is shown.
    """
    return _serializer(_MESSAGE).dumps([user_id, *connector, text])


def read_message(signed: str | None, user_id: str, connector: Sequence[str]) -> str | None:
    """Verify a message of :func:`sign_message` and return its text; None if it is forged or expired."""
    try:
        message: object = _serializer(_MESSAGE).loads(signed, max_age=_MESSAGE_AGE_S) if signed else None
    except BadSignature:
        return None
    return str(message[-1]) if isinstance(message, list) and message[:-1] == [user_id, *connector] else None


def _serializer(salt: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(get_signing_key("api", "secret_key"), salt=salt)
