"""Settings files: JSON, and Java `.properties` files as ``java.util.Properties.load(InputStream)`` reads them.

Source: the specification of ``java.util.Properties.load`` (Java 17): ISO 8859-1, natural and logical lines, escapes, separators.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from ..errors import IgniteKafkaError, SettingsError
from ..events import CONFIG_CHANGED, emit
from .connect_names import is_connect, settings_class, translate
from .connector import ConnectorSettings
from .findings import Findings
from .source import SourceSettings

S = TypeVar("S", bound=ConnectorSettings)
_DIRECTIONS = ("source", "sink")
_PREFIXES = tuple(f"{part}." for part in _DIRECTIONS)
_BLANK = " \t\f"
_NATURAL_LINE = re.compile(r"\r\n|\r|\n")
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}
_FOUR_HEX = re.compile(r"[0-9a-fA-F]{4}")


@dataclass(frozen=True)
class Property:
    """A key and its value; ``line`` is the number of the natural line, from 1, in which the key begins."""

    line: int
    key: str
    value: str


@dataclass(frozen=True)
class LoadedSettings:
    """Settings as read, before they are checked.

    :param values: values by name of the setting.
    :param origin: where each was set.
    :param ignored: ignored names, with the reason.
    :param direction: class of the settings.
    :param findings: errors about names.
    """

    values: Mapping[str, Any]
    origin: Mapping[str, str]
    ignored: Mapping[str, str] = field(default_factory=dict)
    direction: type[ConnectorSettings] = SourceSettings
    findings: tuple[IgniteKafkaError, ...] = ()

    def with_values(self, values: Mapping[str, Any], origin: str) -> LoadedSettings:
        """Override values, for example by those of the command line."""
        return replace(self, values={**self.values, **values}, origin={**self.origin, **dict.fromkeys(values, origin)})

    def settings(self) -> ConnectorSettings:
        """Check the settings; emits event 15001 for each ignored name.

        :raises SettingsError: see :meth:`ConnectorSettings.from_dict`.
        """
        for name, reason in self.ignored.items():
            emit(CONFIG_CHANGED, reason=f"{name}: {reason}", setting=name, set_in=self.origin.get(name))
        found = Findings(self.findings)
        with found.check():
            self.direction.refuse_empty(self.values, self.origin)
        return self.direction.from_dict(self.values, self.origin, found.errors)

    def settings_of(self, direction: type[S]) -> S:
        """:meth:`settings`, which must be of that direction.

        :raises SettingsError: they are of the other direction.
        """
        if self.direction is not direction:
            what = f"settings of the other direction: {self.direction.__name__}, wanted are {direction.__name__}"
            raise SettingsError(what, "Give those of a sink to what moves data to Ignite, those of a source to what moves data to Kafka")
        return cast(S, self.settings())


def load(path: str | Path) -> LoadedSettings:
    """Read a settings file.

    A `.properties` file holds names of the GridGain connector, of Kafka Connect and ours. A `.json` file holds ours, or the JSON of Kafka
    Connect's REST interface (``{"name", "config"}``, or the config alone).

    :raises SettingsError: the file cannot be read, has another type, or holds an unknown name.
    """
    path = Path(path)
    data, origin = _read(path)
    return _loaded(data, origin, by_connect=path.suffix == ".properties" or is_connect(data))


def load_both(path: str | Path) -> tuple[LoadedSettings, LoadedSettings]:
    """Read the settings of a source and of a sink from one file.

    A name with ``source.`` or ``sink.`` before it is of that direction, any other of both; one of a direction wins. In a `.json` file the
    two may also be objects: ``{"source": {…}, "sink": {…}, …}``.

    :raises SettingsError: as :func:`load`; or the file has no name of its own for one of the two.
    """
    path = Path(path)
    data, origin = _read(path)
    for part in _DIRECTIONS:
        if isinstance(within := data.get(part), dict):
            origin |= {f"{part}.{name}": f"{path.name}, {part}" for name in within}
            data = {name: value for name, value in data.items() if name != part} | {f"{part}.{name}": one for name, one in within.items()}
    source, sink = (_of_direction(data, origin, part, path) for part in _DIRECTIONS)
    return source, sink


def from_properties(content: bytes, file: str) -> LoadedSettings:
    """Read settings from the bytes of a `.properties` file; the last value of a key counts, as in Java."""
    return _loaded(*_properties(content, file), by_connect=True)


def from_json(content: bytes, file: str) -> LoadedSettings:
    """Read settings from the bytes of a `.json` file."""
    data, origin = _json(content, file)
    return _loaded(data, origin, by_connect=is_connect(data))


def _read(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Names with values, and where each was set; the errors of :func:`load`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"the settings file cannot be read: {error.strerror}", "Check its path", file=path) from error
    if path.suffix == ".properties":
        return _properties(content, path.name)
    if path.suffix == ".json":
        return _json(content, path.name)
    raise SettingsError("a settings file of unknown type", "Name it .properties or .json, by its content", file=path)


def _properties(content: bytes, file: str) -> tuple[dict[str, Any], dict[str, str]]:
    try:
        entries = list(parse(content.decode("iso-8859-1")))
    except ValueError as error:
        raise SettingsError(f"the file is no properties file: {error}", "Write a backslash twice where it is meant", file=file) from error
    return {entry.key: entry.value for entry in entries}, {e.key: f"{file}, line {e.line}" for e in entries}


def _json(content: bytes, file: str) -> tuple[dict[str, Any], dict[str, str]]:
    try:
        data = json.loads(content)
    except ValueError as error:
        raise SettingsError(f"the file is not JSON: {error}", file=file) from None
    if not isinstance(data, dict):
        raise SettingsError("the file holds no JSON object", 'Its form is {"name": …, "cache_whitelist": […], …}', file=file)
    if isinstance(data.get("config"), dict) and data.keys() <= {"name", "config"}:
        data = {**({"name": data["name"]} if "name" in data else {}), **data["config"]}
    return data, dict.fromkeys(data, file)


def _of_direction(data: Mapping[str, Any], origin: Mapping[str, str], part: str, path: Path) -> LoadedSettings:
    """The settings of `source` or `sink`: its own names, and those of both."""
    own = {name.removeprefix(f"{part}."): name for name in data if name.startswith(f"{part}.")}
    if not own:
        what, remedy = f"the file has no settings of the {part}", f"Put {part}. before the names that are the {part}'s own"
        raise SettingsError(what, remedy, file=path)
    names = {name: name for name in data if not name.startswith(_PREFIXES)} | own
    mine = {short: data[name] for short, name in names.items()}
    set_in = {short: origin[name] for short, name in names.items()}
    return _loaded(mine, set_in, by_connect=path.suffix == ".properties" or is_connect(mine))


def _loaded(data: Mapping[str, Any], origin: Mapping[str, str], *, by_connect: bool) -> LoadedSettings:
    if by_connect:
        return LoadedSettings(*translate(data, origin))
    return LoadedSettings(data, origin, direction=settings_class(data, origin))


def parse(text: str) -> Iterator[Property]:
    """Parse the properties of a text, in order.

    :raises ValueError: a Unicode escape without four hexadecimal digits; the message names the line.
    """
    for line, logical in _logical_lines(text):
        key, value = _split(logical)
        try:
            yield Property(line, _unescaped(key), _unescaped(value))
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from error


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines joined with their continuations; blank lines and comments, which are never continued, are dropped."""
    held: list[str] = []
    first = 0
    naturals = _NATURAL_LINE.split(text)
    for number, natural in enumerate(naturals if naturals[-1] else naturals[:-1], 1):
        line = natural.lstrip(_BLANK)
        if not any(held):  # no logical line has begun, not even by an empty continued line
            held, first = [], number
            if not line or line[0] in "#!":
                continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            held.append(line[:-1])
            continue
        yield first, "".join([*held, line])
        held = []
    if any(held):
        yield first, "".join(held)


def _split(logical: str) -> tuple[str, str]:
    """Key and value, still escaped: the key ends before the first unescaped `=`, `:` or blank."""
    end = 0
    while end < len(logical) and logical[end] not in "=:" + _BLANK:
        end += 2 if logical[end] == "\\" else 1
    key, rest = logical[:end], logical[end:].lstrip(_BLANK)
    return key, rest[1:].lstrip(_BLANK) if rest[:1] in ("=", ":") else rest


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    result, position = [], 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "\\" and position < len(text):
            character = text[position]
            position += 1
            if character == "u":
                digits = text[position : position + 4]
                if not _FOUR_HEX.fullmatch(digits):
                    raise ValueError(f"\\u{digits} is not four hexadecimal digits")
                character, position = chr(int(digits, 16)), position + 4
            else:
                character = _ESCAPES.get(character, character)
        result.append(character)
    # Java's characters are UTF-16 units, two of which can form one character here
    return "".join(result).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
