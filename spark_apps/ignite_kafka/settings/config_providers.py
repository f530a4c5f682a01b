"""Config providers of Kafka Connect: values ``${provider:path:key}`` from properties files, folders and the environment.

A file declares them as a worker's file does: ``config.providers=file,env``, ``config.providers.file.class=…FileConfigProvider``,
``config.providers.file.param.allowed.paths=/run/secrets``. Unlike Kafka Connect, which keeps a reference that it cannot resolve as text,
this is an error. A value of a provider is never shown. Sources: ``ConfigTransformer``, ``FileConfigProvider``,
``DirectoryConfigProvider`` and ``EnvVarConfigProvider`` of Kafka 4.3.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import SettingsError
from .fields import TEXTS
from .java_properties import parse

DECLARED = "config.providers"
REFERENCE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."
_PATHS, _PATTERN = "allowed.paths", "allowlist.pattern"
_REMEDY = "Write the value itself; put a secret into the secrets file"
Provider = Callable[[str, str], str]
"""Gives the value of a path and a key; raises ValueError, without the value."""


def is_declaration(name: str) -> bool:
    """Whether a key declares providers."""
    return name == DECLARED or name.startswith(f"{DECLARED}.")


def references(value: object) -> bool:
    """Whether a value has a reference to a provider."""
    return isinstance(value, str) and REFERENCE.search(value) is not None


def declared(given: Mapping[str, Any], origin: Mapping[str, str]) -> dict[str, Provider]:
    """The providers that a file declares, by name.

    :raises SettingsError: a provider has no class, or a class that is not Kafka's.
    """
    found: dict[str, Provider] = {}
    for name in TEXTS.parse(given.get(DECLARED, "")):  # type: ignore[attr-defined]  # a tuple of texts
        key = f"{DECLARED}.{name}.class"
        kind = str(given.get(key, "")).strip().removeprefix(_PACKAGE)
        parameters = {parameter: str(given.get(f"{DECLARED}.{name}.param.{parameter}", "")).strip() for parameter in (_PATHS, _PATTERN)}
        if kind == "EnvVarConfigProvider":
            found[name] = _environment(parameters[_PATTERN])
        elif kind in ("FileConfigProvider", "DirectoryConfigProvider"):
            read = _file_key if kind == "FileConfigProvider" else _folder_file
            found[name] = _within(tuple(filter(None, parameters[_PATHS].split(","))), read)
        else:
            what = f"the config provider {name} has a class that cannot run here"
            allowed = f"{_PACKAGE}FileConfigProvider, DirectoryConfigProvider or EnvVarConfigProvider"
            raise SettingsError(what, _REMEDY, setting=key, allowed=allowed, set_in=origin.get(key) or origin.get(DECLARED))
    return found


def resolved(name: str, value: str, providers: Mapping[str, Provider], set_in: str | None = None) -> str:
    """A value with its references replaced.

    :raises SettingsError: a provider is not declared, or has no such value; neither value nor reference is shown.
    """

    def replace(found: re.Match[str]) -> str:
        provider, path, key = found[1], found[3] or "", found[4]
        if provider not in providers:
            names = ", ".join(sorted(providers)) or "none"
            what = "it is of configuration providers, and that provider is not declared"
            raise SettingsError(what, _REMEDY, setting=name, declared=names, set_in=set_in)
        try:
            return providers[provider](path, key)
        except ValueError as error:
            raise SettingsError(f"the config provider {provider} has no value: {error}", _REMEDY, setting=name, set_in=set_in) from None

    return REFERENCE.sub(replace, value)


def _environment(pattern: str) -> Provider:
    def value(path: str, key: str) -> str:
        if pattern and not re.fullmatch(pattern, key):
            raise ValueError(f"the variable does not match {_PATTERN}")
        if path or key not in os.environ:
            raise ValueError("the environment has no such variable")
        return os.environ[key]

    return value


def _within(allowed: tuple[str, ...], read: Callable[[Path, str], str]) -> Provider:
    """A provider of files; with allowed paths only of those below them, also by way of links."""

    def value(path: str, key: str) -> str:
        real = Path(os.path.realpath(path))
        if allowed and not any(real.is_relative_to(os.path.realpath(one.strip())) for one in allowed):
            raise ValueError(f"the path is not below {_PATHS}")
        try:
            return read(real, key)
        except OSError as error:
            raise ValueError(f"it cannot be read: {error.strerror}") from None

    return value


def _file_key(path: Path, key: str) -> str:
    found = {entry.key: entry.value for entry in parse(path.read_bytes().decode("iso-8859-1"))}
    if key not in found:
        raise ValueError("the file has no such key")
    return found[key]


def _folder_file(path: Path, key: str) -> str:
    if "/" in key or key in ("", ".", ".."):
        raise ValueError("it is no name of a file")
    return (path / key).read_bytes().decode("utf-8")
