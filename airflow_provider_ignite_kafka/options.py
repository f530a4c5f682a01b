"""Options of section ``[ignite_kafka]`` in Airflow's configuration, which only an administrator can set."""

from __future__ import annotations

import json
from collections.abc import Callable

from airflow.providers.common.compat.sdk import conf

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.client_properties import OAUTH_CALLBACK
from ignite_kafka.settings.connect.config_providers import ALLOWED as PROVIDERS
from ignite_kafka.settings.connect.config_providers import AllowedProvider, parse_allowed
from ignite_kafka.settings.permissions import Permissions
from ignite_kafka.settings.topic_names import PREFIX
from ignite_kafka.settings.transport_security import ALLOW

SECTION = "ignite_kafka"
_ALLOWED = "allowed_kafka_options"


def allow_insecure_connections() -> bool:
    """Return whether connections to other hosts may be unprotected.

    See :mod:`ignite_kafka.settings.transport_security`.
    """
    return bool(conf.getboolean(SECTION, ALLOW, fallback=False))


def permissions() -> Permissions:
    """Read the administrator's permissions: allowed Kafka client properties, and unprotected connections.

    Errors are those of :func:`allowed_kafka_options`.
    """
    return Permissions(allowed_kafka_options(), allow_insecure_connections())


def allowed_kafka_options() -> tuple[str, ...]:
    """Read the allowed values of Kafka client properties that act on the host, as ``name=value``.

    See :mod:`ignite_kafka.settings.client_properties`.

    Functions in the Kafka provider's ``callback_allowlist`` are also allowed as token functions.

    :raises SettingsError: the option is no JSON list of ``name=value``.
    """
    pairs = _pairs(_ALLOWED, "ssl.providers=default,legacy")
    callbacks = conf.get("apache_kafka", "callback_allowlist", fallback="") or ""
    return (*pairs, *(f"{OAUTH_CALLBACK}={path.strip()}" for path in callbacks.split(",") if path.strip()))


def config_providers() -> tuple[AllowedProvider, ...]:
    """Read the config providers that settings files may use, each with a limit such as a folder.

    See :mod:`ignite_kafka.settings.connect.config_providers`.

    :raises SettingsError: the option is no JSON list of ``class=limit``.
    """
    return parse_allowed(_pairs(PROVIDERS, "FileConfigProvider=/run/secrets"))


def internal_topic_prefixes() -> tuple[str, ...]:
    """Read the prefixes of other teams' internal topics, because no connector may copy these topics.

    :raises SettingsError: the option is no JSON list of prefixes.
    """
    return tuple(_texts("internal_topic_prefixes", "prefixes", "team-b", lambda prefix: bool(PREFIX.fullmatch(prefix))))


def page_roles() -> frozenset[str]:
    """Read the lower-case roles whose users see the page; empty: all users with access to plugins.

    :raises SettingsError: the option is no JSON list of roles.
    """
    return frozenset(role.lower() for role in _texts("page_roles", "roles", "Op", lambda role: bool(role.strip())))


def _pairs(name: str, example: str) -> list[str]:
    """Read an option of Airflow's configuration as a JSON list of ``name=value`` texts."""
    return _texts(name, "name=value", example, lambda item: "=" in item)


def _texts(name: str, kind: str, example: str, is_valid: Callable[[str], bool]) -> list[str]:
    """Read an option of Airflow's configuration as a JSON list of texts, each checked by `is_valid`."""
    try:
        items = json.loads(conf.get(SECTION, name, fallback="") or "[]")
    except ValueError:
        items = None
    if not isinstance(items, list) or not all(isinstance(item, str) and is_valid(item) for item in items):
        what = f"option {name} of section [{SECTION}] is no JSON list of {kind}"
        raise SettingsError(what, f'Write it as ["{example}"].', setting=name)
    return items
