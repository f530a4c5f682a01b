"""Lexer of conditions in Spark SQL; what it accepts, it splits as Spark's lexer does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..common.record_limits import MAX_CONDITION_LENGTH

INSTEAD = "Write it without, or name a function by setting filter"


class Refused(ValueError):
    """Error of a condition that is wrong, or might have another result than in Spark."""

    def __init__(self, what: str, position: int | None = None, remedy: str = INSTEAD) -> None:
        super().__init__(what if position is None else f"{what}, at character {position + 1}")
        self.remedy = remedy


@dataclass(frozen=True)
class Token:
    """A token of a condition.

    :param kind: name, quoted (a name in backticks), number, string, operator or end.
    :param text: a string's and a quoted name's content; else the text itself.
    :param position: position of the first character, from 0.
    """

    kind: str
    text: str
    position: int

    @property
    def word(self) -> str:
        """The token in capitals, to be compared with keywords; empty if it cannot be one."""
        return self.text.upper() if self.kind == "name" else ""


_PATTERN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+)
  | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[A-Za-z0-9_]*)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | `(?P<quoted>(?:[^`]|``)*)`
  | '(?P<string>(?:[^'\\]|\\.|'')*)'
  | (?P<operator><=>|<=|>=|<>|!=|==|\|\||::|->|[<>=!(),.+*/%&|^~\[\]:?;-])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "0": "\0",
    "Z": "\x1a",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "%": "\\%",
    "_": "\\_",
}
_ESCAPED = re.compile(r"\\(.)|''", re.DOTALL)


def tokens(text: str) -> list[Token]:
    """Split a condition into tokens; the last one has the kind end.

    :raises Refused: the text is longer than `MAX_CONDITION_LENGTH`, a character begins no token, or a string has an
        escape that is not proved.
    """
    if len(text) > MAX_CONDITION_LENGTH:
        raise Refused(
            f"the text has more than {MAX_CONDITION_LENGTH} characters",
            None,
            "Write less, or name a function by setting filter",
        )
    result: list[Token] = []
    at = 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None:
            raise _unreadable_error(text, at)
        kind = match.lastgroup or ""
        content = match[kind]
        if kind == "string":
            content = _unescape(content, at)
        elif kind == "quoted":
            content = content.replace("``", "`")
        if kind != "space":
            if text[at : at + 2] in ("--", "/*"):
                raise Refused("comments are not read", at, "Leave the comment out")
            result.append(Token(kind, content, at))
        at = match.end()
    return [*result, Token("end", "", len(text))]


def _unreadable_error(text: str, at: int) -> Refused:
    if text[at] in "'`":
        return Refused(f"the text that begins with {text[at]} has no end", at, "Close it")
    if text[at] == '"':
        return Refused(
            '" begins a text or a name, by a setting of Spark',
            at,
            "Write texts in single quotes and names in backticks",
        )
    if text[at] in "{}":
        return Refused(
            f"{text[at]} is no part of SQL",
            at,
            "Leave it out; a text goes in single quotes, a name with braces in backticks",
        )
    return Refused(
        f"{text[at]!r} is no part of SQL",
        at,
        "Write a name with such a character in backticks, and a text in single quotes",
    )


def _unescape(content: str, at: int) -> str:
    def character(match: re.Match[str]) -> str:
        letter = match[1]
        if letter is None:
            return "'"
        if letter not in _ESCAPES:
            raise Refused(f"the escape \\{letter} of a text is not supported", at, "Write the character itself")
        return _ESCAPES[letter]

    return _ESCAPED.sub(character, content)
