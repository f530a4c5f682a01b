"""Types of settings, each with a parser for texts of a `.properties` file and for JSON values.

A parser returns the canonical value and is idempotent, so that it both reads a text and checks a value of built
settings. It raises ValueError; the caller adds the setting's name, the allowed values and the origin.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from .control_characters import refuse_in_line, refuse_in_lines, refuse_nul

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_COMMA = re.compile(r"\s*,\s*")
# protocol://host:port, as Kafka's listeners are written, is allowed too
_BROKER = re.compile(r"(?:\w+://)?(?:\[[0-9A-Fa-f:.%\w]+\]|[^\s,:/\[\]]+)(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True)
class SettingType:
    """Type of a setting: parser, allowed values and JSON Schema.

    :param allowed: description of the allowed values, for messages and the settings page.
    :param parse: returns the canonical form of a value; raises ValueError if the value is not allowed.
    :param aliases: other spellings of values.
    :param shown: whether a message may show a refused value.
    :param ordered: whether the order of a mapping's items counts.
    :param schema: keywords of JSON Schema besides the type: limits, a pattern, the values to choose from.
    """

    type_name: str
    allowed: str
    parse: Callable[[object], object]
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    shown: bool = True
    ordered: bool = False
    schema: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """Definition of a setting: type, help and restrictions, without name and default.

    :param help: effect and unit, for the settings page.
    :param reference: name in the GridGain connector; empty without one.
    :param unsupported: values that this version refuses; None: every value but the default.
    :param instead: remedy for an unsupported value; empty: leave the setting at its default.
    :param no_effect_because: why a value other than the default has no effect; empty if it has an effect.
    :param fixed_in_snapshot: whether the setting changes the selection or content of records, so that it must stay the
        same under one snapshot id.
    :param overridable: whether the setting may differ between caches or topics, see setting `overrides`.
    """

    type: SettingType
    help: str
    reference: str = ""
    unsupported: tuple[object, ...] | None = ()
    instead: str = ""
    no_effect_because: str = ""
    fixed_in_snapshot: bool = False
    overridable: bool = False


def _parse_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it is not text")
    return value


def _lines(value: object) -> str:
    return refuse_in_lines(_parse_text(value))


def _line(value: object) -> str:
    return refuse_in_line(_parse_text(value))


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError("it is neither true nor false")


def _whole_number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
        return int(value)
    raise ValueError("it is not a whole number")


def _parse_texts(value: object) -> tuple[str, ...]:
    """Parse a list of texts, or a text with commas between the items."""
    if isinstance(value, str):
        value = _COMMA.split(value.strip()) if value.strip() else ()
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(map(refuse_in_line, value))
    raise ValueError("it is not a list of texts")


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError("it is not a mapping of names to texts")


def _parse_brokers(value: object) -> str:
    """Parse broker addresses; return them without the blanks around commas, which librdkafka refuses."""
    addresses = [refuse_in_line(address) for address in _COMMA.split(_parse_text(value).strip())]
    for address in addresses:
        match = _BROKER.fullmatch(address)
        if not match:
            raise ValueError(f"{address!r} is not host:port")
        if not match["port"]:
            raise ValueError(f"{address!r} has no port, such as {address}:9092")
        if not 0 < int(match["port"]) < 65_536:
            raise ValueError(f"{address!r} has no port from 1 to 65535")
    return ",".join(addresses)


def _parse_mapping(value: object) -> dict[str, str]:
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        if nulls := [name for name, item in value.items() if item is None]:
            raise ValueError(f"{', '.join(nulls)}: null is no text")
        return {refuse_in_line(name): _property(name, _plain(item)) for name, item in value.items()}
    raise ValueError("it is not a mapping of names to texts")


def _property(name: str, value: str) -> str:
    """Return a property's value; refuse control characters other than tabs and line ends.

    The delimiter of Flatten may be any character but NUL.
    """
    return refuse_nul(value) if name == "delimiter" else refuse_in_lines(value)


def json_object(value: object) -> object:
    """Parse a text as a JSON object, whose order of members is kept; return any other value unchanged."""
    if not isinstance(value, str) or not value.strip():
        return {} if value == "" else value

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, item in pairs:
            if name in members:
                raise ValueError(f"{name!r} is given twice")
            members[name] = item
        return members

    try:
        return json.loads(value, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ValueError(f"the text is not JSON: {error}") from None


def _rules(value: object) -> dict[str, str]:
    value = json_object(value)
    if isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair):
        return {refuse_in_line(pattern): refuse_in_line(text) for pattern, text in value.items()}
    raise ValueError("it is not a mapping of expressions to texts")


def _time_zone(value: object) -> str:
    text = _parse_text(value).strip()
    try:
        ZoneInfo(text)
    except (ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError, handled below
        raise ValueError("it is no time zone") from None
    except KeyError:
        raise ValueError("it is no time zone that this machine knows") from None
    return text


ANY_TEXT = SettingType("string", "any text", _parse_text)
TEXT = SettingType("string", "any text without control characters, but tabs and ends of lines", _lines)
LINE = SettingType("string", "one line of text", _line)
TIME_ZONE = SettingType("string", "a time zone of the IANA database, such as Europe/Berlin", _time_zone)
BROKERS = SettingType("string", "host:port of one broker or more, with commas between", _parse_brokers)
BOOLEAN = SettingType("boolean", "true or false", _boolean)
TEXTS = SettingType("list", "a list of texts, or one text with commas between", _parse_texts)
MAPPING = SettingType("mapping", "a mapping of names to texts", _parse_mapping, shown=False)
RULES = SettingType(
    "mapping",
    "a mapping of regular expressions to replacements, in order; as a text: JSON",
    _rules,
    shown=False,
    ordered=True,
)


def text_like(pattern: str, allowed: str) -> SettingType:
    """Return a setting type for texts that match a regular expression as a whole."""
    compiled = re.compile(pattern)

    def parse(value: object) -> str:
        if not compiled.fullmatch(_line(value)):
            raise ValueError("it has another form")
        return _line(value)

    return SettingType("string", allowed, parse, schema={"pattern": f"^(?:{pattern})$"})


def whole_number(
    low: int, high: int | None = None, *, besides: int | None = None, optional: bool = False
) -> SettingType:
    """Return a setting type for whole numbers from ``low`` to ``high``; ``besides`` is one more allowed value."""
    span = f"from {low}" + ("" if high is None else f" to {high}")
    allowed = (
        f"a whole number {span}" + ("" if besides is None else f", or {besides}") + (", or none" if optional else "")
    )

    def parse(value: object) -> int | None:
        if optional and value is None:
            return None
        number = _whole_number(value)
        if number != besides and (number < low or (high is not None and number > high)):
            raise ValueError("it is out of range")
        return number

    limits = {"minimum": low} | ({} if high is None else {"maximum": high})
    types = ["integer", "null"] if optional else ["integer"]
    return SettingType(
        "int",
        allowed,
        parse,
        schema={"type": types, **({"anyOf": [limits, {"const": besides}]} if besides is not None else limits)},
    )


def choice(
    *values: str,
    aliases: Mapping[str, str] | None = None,
    any_case: bool = False,
    absent: Mapping[str, str] | None = None,
) -> SettingType:
    """Return a setting type with a fixed set of texts as values.

    :param any_case: all values are in upper case, and texts are accepted in any case.
    :param absent: texts that users may expect, each with the reason why it is refused.
    """
    alias_table = dict(aliases or {})

    def parse(value: object) -> str:
        text = _parse_text(value).strip()
        text = alias_table.get(text, text.upper() if any_case else text)
        if text not in values:
            raise ValueError((absent or {}).get(text, "it is none of these"))
        return text

    shown = [value or "empty" for value in values]
    allowed = " or ".join((", ".join(shown[:-1]), shown[-1])) if len(shown) > 1 else shown[0]
    return SettingType("string", allowed, parse, alias_table, schema={"enum": [*values]})
