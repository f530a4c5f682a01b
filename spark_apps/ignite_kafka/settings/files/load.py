"""Reader of settings files: JSON, and Java `.properties` files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from ...errors import IgniteKafkaError, SettingsError
from ...events import CONFIG_CHANGED, emit
from ...java.properties import parse
from ..connect.config_providers import (
    DECLARED,
    AllowedProvider,
    can_run,
    check_form,
    declared,
    is_declaration,
    references,
    resolved,
    resolved_if_allowed,
)
from ..connect.names import is_connect, settings_class, target_of, translate
from ..connect.rest_bodies import FORM, only_body
from ..connector import ConnectorSettings
from ..findings import PROVIDED, Findings, concealed
from ..source import SourceSettings
from ..transforms import CONFIGS

S = TypeVar("S", bound=ConnectorSettings)
Allowed = Iterable[AllowedProvider]
"""Permissions for the config providers declared in a settings file; see :mod:`.config_providers`."""


@dataclass(frozen=True)
class LoadedSettings:
    """Settings as read from a file, not yet checked.

    :param values: values by name of the setting.
    :param origin: place where each setting was set.
    :param ignored: ignored names, with the reason.
    :param direction: class of the settings.
    :param findings: errors about names.
    :param file: the file with all these settings; empty without such a file.
    """

    values: Mapping[str, Any]
    origin: Mapping[str, str]
    ignored: Mapping[str, str] = field(default_factory=dict)
    direction: type[ConnectorSettings] = SourceSettings
    findings: tuple[IgniteKafkaError, ...] = ()
    file: str = ""

    def with_values(self, values: Mapping[str, Any], origin: str) -> LoadedSettings:
        """Return a copy with some values replaced, for example by values from the command line."""
        return replace(self, values={**self.values, **values}, origin={**self.origin, **dict.fromkeys(values, origin)})

    def settings(self) -> ConnectorSettings:
        """Check the settings and return them; emit event 15001 for each ignored name.

        :raises SettingsError: see :meth:`ConnectorSettings.from_dict`.
        """
        for name, reason in self.ignored.items():
            emit(CONFIG_CHANGED, reason=f"{name}: {reason}", setting=name, set_in=self.origin.get(name))
        findings = Findings(self.findings)
        with findings.check():
            self._check_name()
        with findings.check():
            self.direction.refuse_empty(self.values, self.origin)
        return self.direction.from_dict(self.values, self.origin, findings.errors)

    def _check_name(self) -> None:
        if self.file and "name" not in self.values:
            remedy = "Add name: the connector's offsets are stored under it"
            if self.file.endswith(".json"):
                remedy += ". The body of PUT /connectors/NAME/config has it in the address alone"
            raise SettingsError("name is missing", remedy, setting="name", file=self.file)

    def settings_of(self, direction: type[S]) -> S:
        """Check the settings as :meth:`settings` does; refuse settings of a sink for a source, and the reverse.

        :raises SettingsError: the settings are of the other direction.
        """
        if self.direction is not direction:
            what = f"settings of the other direction: {self.direction.__name__}, wanted are {direction.__name__}"
            raise SettingsError(
                what, "Give those of a sink to what moves data to Ignite, those of a source to what moves data to Kafka"
            )
        return cast(S, self.settings())


def load(path: str | Path, allowed: Allowed = ()) -> LoadedSettings:
    """Read a settings file.

    A `.properties` file has names of the GridGain connector, of Kafka Connect or ours. A `.json` file has our names, or
    is a body of Kafka Connect's REST interface (:mod:`.rest_bodies`).

    :param allowed: permissions of the config providers declared in a `.properties` file; empty: they may read nothing.
    :raises SettingsError: the file cannot be read, has another type, or holds an unknown name.
    """
    content, file = read(path)
    return from_properties(content, file, allowed) if is_properties(file) else from_json(content, file)


def is_properties(file: str) -> bool:
    """Return whether a settings file is a `.properties` file; otherwise it is JSON."""
    return file.endswith(".properties")


def read(path: str | Path, suffixes: tuple[str, ...] = (".properties", ".json")) -> tuple[bytes, str]:
    """Return content and name of a settings file; refuse other suffixes with the errors of :func:`load`."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"the settings file cannot be read: {error.strerror}", "Check its path", file=path
        ) from error
    if path.suffix not in suffixes:
        raise SettingsError(
            "a settings file of unknown type", f"Name it {' or '.join(suffixes)}, by its content", file=path
        )
    return content, path.name


def from_properties(content: bytes, file: str, allowed: Allowed = ()) -> LoadedSettings:
    """Read settings from the content of a `.properties` file; the last value of a key counts, as in Java.

    :param allowed: see :func:`load`.
    """
    return replace(of_connect(*properties_of(content, file), allowed), file=file)


def of_connect(values: Mapping[str, Any], origin: dict[str, str], allowed: Allowed = ()) -> LoadedSettings:
    """Load settings given under Kafka Connect's names; replace references to config providers by their values.

    :param origin: place where each value was set.
    :param allowed: see :func:`load`.
    """
    return (
        _with_providers(values, origin, allowed) if DECLARED in values else LoadedSettings(*translate(values, origin))
    )


def properties_of(content: bytes, file: str) -> tuple[dict[str, str], dict[str, str]]:
    """Parse a `.properties` file; return its values and the place of each, both by key.

    :raises SettingsError: the file has a wrong escape.
    """
    try:
        entries = list(parse(content.decode("iso-8859-1")))
    except ValueError as error:
        raise SettingsError(
            f"the file is no properties file: {error}", "Write a backslash twice where it is meant", file=file
        ) from error
    return {entry.key: entry.value for entry in entries}, {entry.key: f"{file}, line {entry.line}" for entry in entries}


def _with_providers(raw: Mapping[str, str], origin: dict[str, str], allowed: Allowed) -> LoadedSettings:
    values, errors = resolve(raw, origin, allowed)
    try:
        loaded = LoadedSettings(*translate(values, origin))
    except SettingsError as error:
        raise concealed(error) from None
    provided = {}
    for name in values:
        if origin[name].endswith(PROVIDED):
            with suppress(SettingsError):  # an unknown name has been reported already
                setting = target_of(name, loaded.direction).partition(".")[0]
                provided[CONFIGS[setting] if name.startswith(f"{setting}.") and setting in CONFIGS else setting] = (
                    origin[name]
                )
    return replace(loaded, origin={**loaded.origin, **provided}, findings=(*errors, *loaded.findings))


def resolve(
    raw: Mapping[str, str], origin: dict[str, str], allowed: Allowed, *, keep: bool = False
) -> tuple[dict[str, str], list[IgniteKafkaError]]:
    """Replace references to config providers; return all values but the declarations, and the errors.

    :param origin: is changed: the origin of each value read from a provider gets the suffix :data:`PROVIDED`.
    :param allowed: see :func:`load`.
    :param keep: keep a value with a reference that is not allowed; otherwise the reference is an error.
    """
    findings = Findings()
    values = {}
    providers, wrong = declared(raw, origin, allowed)
    findings.errors += wrong
    for name, value in raw.items():
        if is_declaration(name):
            continue
        if not references(value):
            values[name] = value
            continue
        set_in = origin.get(name)
        if not can_run(value, providers):  # the error of the declaration is reported instead
            with findings.check():
                check_form(name, value, providers, set_in)
            continue
        with findings.check():
            read = (
                resolved_if_allowed(name, value, providers, set_in)
                if keep
                else resolved(name, value, providers, set_in)
            )
            values[name] = value if read is None else read
            origin[name] = origin.get(name, "") + PROVIDED
    return values, findings.errors


def json_of(content: bytes, file: str) -> dict[str, Any]:
    """Parse the JSON object in a `.json` file.

    :raises SettingsError: the content is no JSON object.
    """
    try:
        data = json.loads(content)
    except ValueError as error:
        raise SettingsError(f"the file is not JSON: {error}", file=file) from None
    except RecursionError:
        raise SettingsError("the file is nested too deeply", file=file) from None
    if not isinstance(data, dict):
        raise SettingsError("the file holds no JSON object", FORM, file=file)
    return data


def from_json(content: bytes, file: str) -> LoadedSettings:
    """Read settings from the content of a `.json` file.

    :raises SettingsError: the content is no JSON object, or has several connectors.
    """
    body = only_body(json_of(content, file), file)
    loaded = of_json(body.config, dict.fromkeys(body.config, body.origin))
    return replace(
        loaded,
        ignored={**body.ignored, **loaded.ignored},
        origin={**dict.fromkeys(body.ignored, body.origin), **loaded.origin},
        findings=(*body.errors, *loaded.findings),
        file=file,
    )


def of_json(data: Mapping[str, Any], origin: Mapping[str, str]) -> LoadedSettings:
    """Load settings from a JSON object, with Kafka Connect's or this project's names."""
    if is_connect(data):
        return LoadedSettings(*translate(data, origin))
    return LoadedSettings(data, origin, direction=settings_class(data, origin))
