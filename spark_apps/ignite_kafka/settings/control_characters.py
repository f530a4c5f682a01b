"""Refusal of control characters: a C library reads them differently than Python does, and ends a text at NUL."""

from __future__ import annotations

import re

_NUL = re.compile("\0")
_ANY = re.compile(r"[\x00-\x1f\x7f]")
_BESIDES_BLANKS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def refuse_in_line(text: str) -> str:
    """Return a text without control characters, such as a name, an address or a path.

    :raises ValueError: it has one; the message shows its code and not the text.
    """
    return _refuse(_ANY, text)


def refuse_in_lines(text: str) -> str:
    """Return a text whose only control characters are tabs and line ends, such as SQL, JSON or PEM.

    :raises ValueError: see :func:`refuse_in_line`.
    """
    return _refuse(_BESIDES_BLANKS, text)


def refuse_nul(text: str) -> str:
    """Return a text without NUL, such as a delimiter, for which other programs accept control characters.

    :raises ValueError: see :func:`refuse_in_line`.
    """
    return _refuse(_NUL, text)


def _refuse(pattern: re.Pattern[str], text: str) -> str:
    if character := pattern.search(text):
        raise ValueError(f"it has the control character U+{ord(character[0]):04X}")
    return text
