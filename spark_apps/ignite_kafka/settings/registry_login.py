"""Protection of a schema registry's login: settings must not choose the address that it is sent to.

Whoever writes settings chooses what is copied, not where credentials go. The client of a registry sends its login to
the URL, through the proxy and to the token issuer that its properties name, and trusts the authorities that they name.
So beside a login these properties are read from the Airflow connection or from the secrets file alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import SettingsError
from . import registry_properties as names
from .connector import ConnectorSettings
from .converters import uses_registry
from .secrets import Secrets

REMEDY = (
    "Leave it out, and put it into the part registry of the secrets file, or into the Airflow connection of the "
    "registry: the URL as its host, other properties in its extra"
)
_INHERITING = "SASL_INHERIT"
_LOGINS = frozenset(names.SECRETS) - {names.TRUST_PASSWORD}


def has_login(properties: Mapping[str, Any]) -> bool:
    """Return whether a registry client with these properties would send a login, a certificate or a token.

    :param properties: properties by canonical names, as texts; other values than texts have no login.
    """
    key_store = names.PREFIX + "ssl.keystore.location"
    return (
        bool(_LOGINS & {name for name, value in properties.items() if value})
        or "@" in str(properties.get(names.URL, ""))
        or bool(properties.get(key_store) or properties.get(names.KEY_TEXT))
        or str(properties.get(names.USER_INFO_SOURCE, "")).strip() == _INHERITING
        or bool(properties.get(names.TOKEN_SOURCE))
    )


def check_registry(settings: ConnectorSettings, secrets: Secrets) -> None:
    """Check that a connector's settings do not choose where a registry login goes, see :func:`refuse_addresses`."""
    for variant in settings.variants:
        for side in ("key", "value"):
            if uses_registry(getattr(variant, f"{side}_converter")):
                setting = f"{side}_converter_config"
                refuse_addresses(
                    variant.converter_properties(side), secrets.registry_of(side), setting, variant.origin.get(setting)
                )


def refuse_addresses(
    properties: Mapping[str, Any], secrets: Mapping[str, str], setting: str, set_in: str | None = None
) -> None:
    """Refuse settings that choose a registry login or its destination.

    :param properties: canonical values of every property of the converter, from settings or from options of a data
        source.
    :param secrets: properties of the Airflow connection or the secrets file, by canonical names.
    :param setting: the setting or option that holds ``properties``, for the message.
    :param set_in: where it was set, for the message.
    :raises SettingsError: there is a login, and the settings have such a property. No value is shown.
    """
    addresses = sorted(name for name in names.ADDRESSES if properties[name] != names.PROPERTIES[name].default)
    chosen = {name: properties[name] for name in (names.USER_INFO_SOURCE, names.TOKEN_SOURCE)}
    if not addresses or not (has_login(secrets) or has_login({**chosen, **secrets})):
        return
    what = (
        f"{' and '.join(addresses)} would decide where the login of the schema registry is sent, and no setting may "
        "do that"
    )
    raise SettingsError(what, REMEDY, setting=f"{setting}.{addresses[0]}", set_in=set_in)
