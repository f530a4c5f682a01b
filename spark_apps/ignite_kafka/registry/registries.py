"""Schema registries of this process's converters, which know settings but not secrets.

Converters are made from settings alone, without access to the secrets. So a process that makes clients of a connector,
the driver and each task, stores the registry configurations of its converters here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from ..errors import SettingsError
from ..settings.connector import ConnectorSettings
from ..settings.converters import uses_registry
from ..settings.secrets import Secrets
from .client import Registry, registry
from .config import RegistryConfig, registry_config
from .schema import KnownId

V = TypeVar("V")

_lock = threading.Lock()
_Key = tuple[str, str]
Learned = tuple[tuple[str, ...], tuple[KnownId, ...]]
"""URLs of a registry, and schema ids received from it, to be passed to other processes.

Converters of equal properties may have different registries, because the secrets may name the URLs.
"""

_configs: dict[_Key, RegistryConfig] = {}
_learned: dict[_Key, Learned] = {}
_MOST = 64

Ids = Mapping[_Key, Learned]
"""Schema ids by key or value and the properties of its converter, as :func:`known_ids` returns them."""


def provide_registries(settings: ConnectorSettings, secrets: Secrets) -> None:
    """Store the registry configurations of a connector's converters, overrides included, for later clients.

    For equal properties the newest credentials are used.

    :raises SettingsError: a URL or a credential is missing, or a connection is not protected.
    """
    for variant, side in _sides(settings):
        provide_registry(side, variant.converter_properties(side), registry_config(variant, secrets, side))


def registry_configs(settings: ConnectorSettings, secrets: Secrets) -> tuple[RegistryConfig, ...]:
    """Return the registry configurations of a connector, one for each registry and login.

    :raises SettingsError: as :func:`provide_registries`.
    """
    configs = [registry_config(variant, secrets, side) for variant, side in _sides(settings)]
    return tuple({(config.urls, repr(sorted(config.client.items()))): config for config in configs}.values())


def known_ids(settings: ConnectorSettings) -> Ids:
    """Return the schema ids received for a connector in this process, to spare its tasks the requests."""
    keys = {_key(side, variant.converter_properties(side)) for variant, side in _sides(settings)}
    with _lock:
        configs = {key: _configs[key] for key in keys if key in _configs}
    return {key: (config.urls, ids) for key, config in configs.items() if (ids := registry(config).permanent_ids())}


def learn_ids(ids: Ids) -> None:
    """Cache schema ids that another process received, also for registry clients created later."""
    with _lock:
        for key, learned in ids.items():
            _put(_learned, key, learned)


def _sides(settings: ConnectorSettings) -> Iterator[tuple[ConnectorSettings, str]]:
    """Yield the settings and ``key`` or ``value`` of each converter that uses a registry."""
    for variant in settings.variants:
        for side in ("key", "value"):
            if uses_registry(getattr(variant, f"{side}_converter")):
                yield variant, side


def provide_registry(side: str, properties: Mapping[str, Any], config: RegistryConfig) -> None:
    """Store the registry configuration for key or value converters with these properties."""
    with _lock:
        _put(_configs, _key(side, properties), config)


def _put(kept: dict[_Key, V], key: _Key, value: V) -> None:
    """Store a value under a key as the newest; drop the oldest if there are too many."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > _MOST:
        del kept[next(iter(kept))]


def registry_of(side: str, properties: Mapping[str, Any]) -> Registry:
    """Return the registry client for a key or value converter with these properties.

    :param properties: every property of the converter.
    :raises SettingsError: nothing in this process has named a registry with these properties.
    """
    with _lock:
        config, (urls, learned) = _configs.get(key := _key(side, properties)), _learned.get(key, ((), ()))
    if config is None:
        what = f"the {side} converter needs a schema registry, and its credentials are not known here"
        raise SettingsError(
            what, "Use the converter in a connector or in data source kafka-tx", setting=f"{side}_converter"
        )
    client = registry(config)
    if urls == config.urls:  # an id of another registry names another schema
        client.learn(learned)
    return client


def _key(side: str, properties: Mapping[str, Any]) -> _Key:
    return side, repr(sorted(properties.items()))
