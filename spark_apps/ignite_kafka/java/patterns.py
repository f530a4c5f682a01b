r"""Regular expressions in Java's syntax, matched against the whole text as by Java's ``String.matches``.

Syntax that Python writes differently is translated (``\Q…\E``, ``\p{Alpha}``, named groups). An expression without a
Python equivalent is refused, so that no expression changes its meaning. Matching time is bounded, see
:mod:`~ignite_kafka.common.linear_pattern`. Source: java.util.regex.Pattern.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

from ..common.linear_pattern import LinearPattern

_TOKEN = re.compile(
    r"\\[pP]\{(?P<long>\w+)\}|\\[pP](?P<short>\w)|\\Q(?P<quoted>.*?)(?:\\E|$)|\\k<(?P<back>\w+)>|\\.|\(\?<(?![=!])|.",
    re.DOTALL,
)
# java.util.regex.Pattern, POSIX character classes (US-ASCII only)
_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "ASCII": r"\x00-\x7f",
}


def check_pattern(pattern: str) -> None:
    """Check that a regular expression in Java's syntax can be used.

    :raises ValueError: the pattern cannot be used; the message has the reason.
    """
    _compile(pattern)


def matches_whole(text: str, pattern: str) -> bool:
    """Return whether a regular expression in Java's syntax matches the whole text.

    :raises ValueError: the pattern cannot be used, or not with a text of that length.
    """
    matches = _matches(pattern, text)
    if isinstance(matches, str):
        raise ValueError(matches)
    return matches


def groups_of(text: str, pattern: str) -> list[str | None] | None:
    """Match the whole text, and return it, followed by the texts of the groups; None without a match.

    As by ``Matcher.matches()``.

    :raises ValueError: the pattern cannot be used, or not with a text of that length.
    """
    groups = _groups(pattern, text)
    if isinstance(groups, str):
        raise ValueError(groups)
    return None if groups is None else list(groups)


def compiled(pattern: str) -> LinearPattern:
    """Compile a regular expression in Java's syntax.

    :raises ValueError: the pattern cannot be used; the message has the reason.
    """
    return _compile(pattern)


def pattern_remedy(pattern: str) -> str:
    """Return the advice to show for a regular expression that does not compile."""
    if pattern.startswith("*"):
        return f"Lists hold regular expressions, not wildcards: write .{pattern}"
    return "A comma separates expressions in a text: in JSON, write a list where an expression holds a comma"


@lru_cache(maxsize=65_536)
def _matches(pattern: str, name: str) -> bool | str:
    """Return whether a pattern matches a name, or the reason why this is undecided; cached."""
    expression = _compile(pattern)
    try:
        return expression.fullmatch(name)
    except ValueError as error:
        return str(error)


@lru_cache(maxsize=65_536)
def _groups(pattern: str, name: str) -> tuple[str | None, ...] | str | None:
    """Return the result of :func:`groups_of`, or the reason why it is unknown; cached."""
    expression = _compile(pattern)
    try:
        groups = expression.groups(name)
    except ValueError as error:
        return str(error)
    return None if groups is None else tuple(groups)


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> LinearPattern:
    try:
        with warnings.catch_warnings():
            # set operations inside [...], which Java has and Python lacks
            warnings.simplefilter("error", FutureWarning)
            return LinearPattern(_from_java(pattern), re.ASCII)
    except FutureWarning:
        raise ValueError(f"'{pattern}' has a set operation inside [...], which is not supported") from None
    except (re.error, ValueError) as error:
        raise ValueError(f"'{pattern}': {error}") from None


def _from_java(pattern: str) -> str:
    """Translate a regular expression from Java's syntax to Python's."""
    inside = False
    result = []
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        name = token["long"] or token["short"]
        if name:
            text = _java_class(pattern, name, negated=text[1] == "P", inside=inside)
        elif text.startswith(r"\Q"):
            text = re.escape(token["quoted"])
        elif token["back"]:
            text = f"(?P={token['back']})"
        elif text == "(?<":
            text = "(?P<"
        elif text == r"\z":
            text = r"\Z"
        elif text == "[" and inside:
            raise ValueError(f"'{pattern}' has a set inside [...], which is not supported")
        elif text in "[]":
            inside = text == "["
        result.append(text)
    return "".join(result)


def _java_class(pattern: str, name: str, *, negated: bool, inside: bool) -> str:
    characters = _CLASSES.get(name)
    if characters is None or (negated and inside):
        raise ValueError(f"'{pattern}' has the character class {name}, which is not supported")
    return characters if inside else f"[{'^' if negated else ''}{characters}]"
