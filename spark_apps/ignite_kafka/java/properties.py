"""Reading and writing of Java `.properties` files, as by ``java.util.Properties``.

Source: the specification of ``java.util.Properties.load`` (Java 17): ISO 8859-1, natural and logical lines, escapes,
separators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLANK = " \t\f"
_NATURAL_LINE = re.compile(r"\r\n|\r|\n")
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}
_FOUR_HEX = re.compile(r"[0-9a-fA-F]{4}")
_WRITTEN = {"\\": "\\\\", "\t": "\\t", "\r": "\\r", "\n": "\\n", "\f": "\\f"}


@dataclass(frozen=True)
class Property:
    """Key and value in a `.properties` file, with the number of the line in which the key begins.

    Lines are natural lines, counted from 1.
    """

    line: int
    key: str
    value: str


def parse(text: str) -> Iterator[Property]:
    """Parse the text of a `.properties` file, and yield its properties in order.

    :raises ValueError: a Unicode escape without four hexadecimal digits; the message names the line.
    """
    for line, logical in _logical_lines(text):
        key, value = _split(logical)
        try:
            yield Property(line, _unescape(key), _unescape(value))
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from error


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Join lines with their continuation lines; drop blank lines and comments, which are never continued."""
    held: list[str] = []
    first = 0
    naturals = _NATURAL_LINE.split(text)
    for number, natural in enumerate(naturals if naturals[-1] else naturals[:-1], 1):
        line = natural.lstrip(_BLANK)
        if not any(held):  # no logical line has begun, not even by an empty continued line
            held = []
            first = number
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
    """Split a line into key and value, both still escaped, at the first unescaped `=`, `:` or blank."""
    end = 0
    while end < len(logical) and logical[end] not in "=:" + _BLANK:
        end += 2 if logical[end] == "\\" else 1
    key = logical[:end]
    rest = logical[end:].lstrip(_BLANK)
    return key, rest[1:].lstrip(_BLANK) if rest[:1] in ("=", ":") else rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    result = []
    position = 0
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
                character = chr(int(digits, 16))
                position = position + 4
            else:
                character = _ESCAPES.get(character, character)
        result.append(character)
    # Java's characters are UTF-16 units, two of which can form one character here
    return "".join(result).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def line(key: str, value: str) -> str:
    """Write a property as a line in ASCII, which :func:`parse` reads back."""
    return f"{_escape(key, also='=: #!')}={_escape(value[:1], also=' ')}{_escape(value[1:])}"


def _escape(text: str, also: str = "") -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    characters = [chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2)]
    return "".join(
        _WRITTEN.get(character)
        or (
            f"\\{character}"
            if character in also
            else character
            if " " <= character <= "~"
            else f"\\u{ord(character):04x}"
        )
        for character in characters
    )
