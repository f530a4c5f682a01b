"""Refusal of control characters in settings: C libraries read them differently, and end a text at NUL."""

from __future__ import annotations

import re

_NUL = re.compile("\0")
_ANY = re.compile(r"[\x00-\x1f\x7f]")
_BESIDES_BLANKS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def refuse_in_line(text: str) -> str:
    """Return a name, an address or a path unchanged; refuse control characters.

    :raises ValueError: the text has one; the message shows the character's code, but not the text.
    """
    return _refuse(_ANY, text)


def refuse_in_lines(text: str) -> str:
    """Return a multi-line text, such as SQL or PEM, unchanged; refuse control characters except tabs and line ends.

    :raises ValueError: see :func:`refuse_in_line`.
    """
    return _refuse(_BESIDES_BLANKS, text)


def refuse_nul(text: str) -> str:
    """Return a text that may have control characters, such as a delimiter, unchanged; refuse NUL.

    :raises ValueError: see :func:`refuse_in_line`.
    """
    return _refuse(_NUL, text)


def _refuse(pattern: re.Pattern[str], text: str) -> str:
    if character := pattern.search(text):
        raise ValueError(f"it has the control character U+{ord(character[0]):04X}")
    return text
