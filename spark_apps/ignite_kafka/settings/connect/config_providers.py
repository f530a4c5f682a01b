"""Config providers of Kafka Connect: references ``${provider:path:key}`` to files, folders and the environment.

A file declares them as a worker's file does: ``config.providers=file,env``,
``config.providers.file.class=…FileConfigProvider``, ``config.providers.file.param.allowed.paths=/run/secrets``. In
Kafka Connect that file belongs to the administrator. Here the author of any settings file could write it, and would
read files and variables of the host. So a provider gives a value only within what the administrator, or the user of the
command line, allows besides (:func:`parse_allowed`). Unlike Kafka Connect, which keeps a reference that it cannot
resolve as text, this is an error. A value of a provider is never shown. Sources: ``ConfigTransformer``,
``FileConfigProvider``, ``DirectoryConfigProvider`` and ``EnvVarConfigProvider`` of Kafka 4.3.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...common.redaction import register_hidden_value
from ...errors import SettingsError
from ...java.patterns import check_pattern, matches_whole
from ...java.properties import parse
from ..fields import TEXTS

DECLARED = "config.providers"
ALLOWED = "config_providers"
REFERENCE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."
_PATHS = "allowed.paths"
_PATTERN = "allowlist.pattern"
_ENVIRONMENT = "EnvVarConfigProvider"
_FILE = "FileConfigProvider"
_FOLDER = "DirectoryConfigProvider"
_LIMITS = {_ENVIRONMENT: "a regular expression of variables", _FILE: "absolute paths", _FOLDER: "absolute paths"}
_REMEDY = "Write the value itself; put a secret into the secrets file"
_ALLOW = (
    "Write the value itself, or have it allowed as {kind}=<{limit}>: in Airflow by an administrator, in option "
    "config_providers of section [ignite_kafka]; on the command line with --allow-config-provider"
)
_NEVER = ("AIRFLOW_", "_AIRFLOW_")  # variables with Airflow's options, connections and variables
_NEVER_BELOW = ("/proc", "/sys", "/dev")  # /proc has the environment, too
_MAX_BYTES = 1 << 20
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
Read = Callable[[str, str], str]


class _NotAllowed(ValueError):
    """Error for a reference to a config provider, path or variable that the administrator has not allowed.

    :param never: nobody can allow the reference.
    """

    def __init__(self, why: str, *, never: bool = False) -> None:
        super().__init__(why)
        self.never = never

    provider = kind = ""


@dataclass(frozen=True)
class AllowedProvider:
    """Permission of an administrator: settings files may read values with this config provider, within a limit.

    :param kind: class of the provider, without its package.
    :param limit: a Java expression of names of variables, or paths separated by commas.
    """

    kind: str
    limit: str

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths below which the provider may read files."""
        return tuple(path.strip() for path in self.limit.split(",") if path.strip())


@dataclass(frozen=True)
class Provider:
    """A config provider declared in a settings file.

    :param read: returns the value of a path and a key; raises ValueError, without the value; None: the provider's class
        cannot run here.
    """

    kind: str
    read: Read | None


def parse_allowed(items: Iterable[str], setting: str = ALLOWED) -> tuple[AllowedProvider, ...]:
    """Parse allowed providers from texts ``class=limit``, such as ``FileConfigProvider=/run/secrets,/etc/connect``.

    :param setting: name of the option, for the error.
    :raises SettingsError: a class is not Kafka's, a path is not absolute, or an expression cannot be used.
    """
    allowed = []
    for item in items:
        kind, _, limit = (part.strip() for part in item.partition("="))
        provider = AllowedProvider(kind.removeprefix(_PACKAGE), limit)
        if provider.kind not in _LIMITS or not limit:
            form = ", ".join(f"{kind}=<{limit}>" for kind, limit in _LIMITS.items())
            raise SettingsError(
                "it allows no config provider of Kafka", f"Its form is one of {form}", setting=setting, value=item
            )
        if provider.kind == _ENVIRONMENT:
            try:
                check_pattern(limit)
            except ValueError as error:
                raise SettingsError(
                    f"the expression of variables cannot be used: {error}", setting=setting, value=item
                ) from None
        elif not all(os.path.isabs(path) for path in provider.paths):
            raise SettingsError("a path is not absolute", "Write paths that begin with /", setting=setting, value=item)
        allowed.append(provider)
    return tuple(allowed)


def is_declaration(name: str) -> bool:
    """Return whether a file's key belongs to the declaration of config providers."""
    return name == DECLARED or name.startswith(f"{DECLARED}.")


def references(value: object) -> bool:
    """Return whether a value contains a reference to a config provider."""
    return isinstance(value, str) and REFERENCE.search(value) is not None


def declared(
    values: Mapping[str, Any], origin: Mapping[str, str], allowed: Iterable[AllowedProvider] = ()
) -> tuple[dict[str, Provider], list[SettingsError]]:
    """Return the config providers declared in a file, by name, and the errors in the declarations.

    A list of names in a wrong form is an error, and so is each provider with a class that cannot run here.

    :param allowed: permissions that limit the providers, besides the limits declared in the file.
    """
    providers: dict[str, Provider] = {}
    errors: list[SettingsError] = []
    try:
        names: Any = TEXTS.parse(values.get(DECLARED, ""))
    except ValueError as error:
        wrong = SettingsError(
            f"{DECLARED} is wrong: {error}", setting=DECLARED, allowed=TEXTS.allowed, set_in=origin.get(DECLARED)
        )
        return providers, [wrong]
    for name in names:
        key = f"{DECLARED}.{name}.class"
        kind = str(values.get(key, "")).strip().removeprefix(_PACKAGE)
        own = {
            parameter: str(values.get(f"{DECLARED}.{name}.param.{parameter}", "")).strip()
            for parameter in (_PATHS, _PATTERN)
        }
        limits = [provider for provider in allowed if provider.kind == kind]
        if kind == _ENVIRONMENT:
            patterns = [provider.limit for provider in limits]
            providers[name] = Provider(kind, _make_environment_reader(own[_PATTERN], patterns))
        elif kind in _LIMITS:
            read = _read_file_key if kind == _FILE else _read_folder_file
            paths = [path for provider in limits for path in provider.paths]
            providers[name] = Provider(kind, _make_file_reader(_split_paths(own[_PATHS]), paths, read))
        else:
            providers[name] = Provider(kind, None)
            what = f"the config provider {name} has a class that cannot run here"
            listed = f"{_PACKAGE}{_FILE}, {_FOLDER} or {_ENVIRONMENT}"
            set_in = origin.get(key) or origin.get(DECLARED)
            errors.append(SettingsError(what, _REMEDY, setting=key, allowed=listed, set_in=set_in))
    return providers, errors


def can_run(value: str, providers: Mapping[str, Provider]) -> bool:
    """Return whether this library implements every config provider that a value refers to.

    For a class that cannot run, :func:`declared` has returned an error.
    """
    return all(
        providers[reference[1]].read is not None for reference in REFERENCE.finditer(value) if reference[1] in providers
    )


def check_form(name: str, value: str, providers: Mapping[str, Provider], set_in: str | None = None) -> None:
    """Check the syntax of a value's references to config providers, without reading files or variables.

    :raises SettingsError: a provider is not declared, or a reference to the environment has a path; the value is not
        shown.
    """
    for reference in REFERENCE.finditer(value):
        provider = reference[1]
        path = reference[3]
        key = reference[4]
        if provider not in providers:
            names = ", ".join(sorted(providers)) or "none"
            what = "it is of configuration providers, and that provider is not declared"
            raise SettingsError(what, _REMEDY, setting=name, declared=names, set_in=set_in)
        if providers[provider].kind == _ENVIRONMENT and path:
            form = f"${{{provider}:{key if _VARIABLE.fullmatch(key) else 'VARIABLE'}}}"
            raise SettingsError(
                f"the config provider {provider} takes no path", f"Write {form}", setting=name, set_in=set_in
            )


def resolved(name: str, value: str, providers: Mapping[str, Provider], set_in: str | None = None) -> str:
    """Replace a value's references to config providers, and hide the values read from all later messages.

    :raises SettingsError: a provider is not declared or not allowed, or has no such value; neither value nor reference
        is shown.
    """
    try:
        return _replace_references(name, value, providers, set_in)
    except _NotAllowed as error:
        what = f"the config provider {error.provider}, of class {error.kind}, may not read this: {error}"
        remedy = _REMEDY if error.never else _ALLOW.format(kind=error.kind, limit=_LIMITS[error.kind])
        raise SettingsError(what, remedy, setting=name, set_in=set_in) from None


def resolved_if_allowed(
    name: str, value: str, providers: Mapping[str, Provider], set_in: str | None = None
) -> str | None:
    """Replace a value's references as :func:`resolved` does; return None if a reference is not allowed.

    :raises SettingsError: a provider is not declared, or has no such value.
    """
    try:
        return _replace_references(name, value, providers, set_in)
    except _NotAllowed:
        return None


def _replace_references(name: str, value: str, providers: Mapping[str, Provider], set_in: str | None) -> str:
    check_form(name, value, providers, set_in)

    def replace(reference: re.Match[str]) -> str:
        provider = providers[reference[1]]
        assert provider.read is not None, "can_run is False"
        try:
            read = provider.read(reference[3] or "", reference[4])
        except _NotAllowed as error:
            error.provider = reference[1]
            error.kind = provider.kind
            raise
        except ValueError as error:
            raise SettingsError(
                f"the config provider {reference[1]} has no value: {error}", _REMEDY, setting=name, set_in=set_in
            ) from None
        register_hidden_value(read)
        return read

    return REFERENCE.sub(replace, value)


def _make_environment_reader(pattern: str, allowed: list[str]) -> Read:
    def value(_: str, key: str) -> str:
        if key.startswith(_NEVER):
            raise _NotAllowed("variables of Airflow are never given", never=True)
        if not any(matches_whole(key, limit) for limit in allowed):
            raise _NotAllowed("nobody allowed the variable")
        if pattern and not matches_whole(key, pattern):
            raise ValueError(f"the variable does not match {_PATTERN}")
        if key not in os.environ:
            raise ValueError("the environment has no such variable")
        return os.environ[key]

    return value


def _split_paths(text: str) -> list[str]:
    return [path.strip() for path in text.split(",") if path.strip()]


def _make_file_reader(own: list[str], allowed: list[str], read: Callable[[Path, str], str]) -> Read:
    """Return a function that reads a key from a file, if the file is below the allowed and the declared paths.

    Links are followed before a path is compared.
    """

    def value(path: str, key: str) -> str:
        file = _resolve_links(path, key) if read is _read_folder_file else Path(os.path.realpath(path))
        if _is_below(file, _NEVER_BELOW):
            raise _NotAllowed(f"files below {', '.join(_NEVER_BELOW)} are never given", never=True)
        if not _is_below(file, allowed):
            raise _NotAllowed("nobody allowed the path")
        if own and not _is_below(file, own):
            raise ValueError(f"the path is not below {_PATHS}")
        try:
            return read(file, key)
        except OSError as error:
            raise ValueError(f"it cannot be read: {error.strerror}") from None

    return value


def _resolve_links(folder: str, key: str) -> Path:
    """Return the real path of the file that holds a key's value in a folder."""
    if "/" in key or key in ("", ".", ".."):
        raise ValueError("it is no name of a file")
    return Path(os.path.realpath(os.path.join(folder, key)))


def _is_below(path: Path, folders: Iterable[str]) -> bool:
    return any(path.is_relative_to(os.path.realpath(folder)) for folder in folders)


def _read_content(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise ValueError("it is no regular file")
    with path.open("rb") as file:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"it has more than {_MAX_BYTES:,} bytes")
    return content


def _read_file_key(path: Path, key: str) -> str:
    values = {entry.key: entry.value for entry in parse(_read_content(path).decode("iso-8859-1"))}
    if key not in values:
        raise ValueError("the file has no such key")
    return values[key]


def _read_folder_file(path: Path, _: str) -> str:
    try:
        return _read_content(path).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
