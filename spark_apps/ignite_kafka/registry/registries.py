"""Registries of the converters of this process.

Converters are made from settings alone, far from the secrets. So a process that makes clients of a connector, the driver and each task,
says here how its converters reach their registries.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from ..errors import SettingsError
from ..settings.connector import ConnectorSettings
from ..settings.converters import uses_registry
from ..settings.secrets import Secrets
from .client import Registry, registry
from .config import RegistryConfig, registry_config

_lock = threading.Lock()
_configs: dict[tuple[str, str], RegistryConfig] = {}
_MOST = 64


def provide(settings: ConnectorSettings, secrets: Secrets) -> None:
    """Keep how the connector's converters, those of its overrides too, reach their registries.

    Of equal properties the newest credentials count.

    :raises SettingsError: a URL or a credential is missing, or a connection is not protected.
    """
    for one in settings.variants:
        for side in ("key", "value"):
            if uses_registry(getattr(one, f"{side}_converter")):
                keep(side, one.converter_properties(side), registry_config(one, secrets, side))


def keep(side: str, properties: Mapping[str, Any], config: RegistryConfig) -> None:
    """Keep how converters of a side with these properties reach their registry."""
    with _lock:
        _configs.pop(key := _key(side, properties), None)
        _configs[key] = config
        if len(_configs) > _MOST:
            del _configs[next(iter(_configs))]


def registry_of(side: str, properties: Mapping[str, Any]) -> Registry:
    """The registry of a side's converter.

    :param properties: every property of the converter.
    :raises SettingsError: nothing in this process has named a registry with these properties.
    """
    with _lock:
        config = _configs.get(_key(side, properties))
    if config is None:
        what = f"the {side} converter needs a schema registry, and its credentials are not known here"
        raise SettingsError(what, "Use the converter in a connector or in data source kafka-tx", setting=f"{side}_converter")
    return registry(config)


def _key(side: str, properties: Mapping[str, Any]) -> tuple[str, str]:
    return side, repr(sorted(properties.items()))
