"""Refusal of control characters, which a library of C reads otherwise than Python: NUL ends a text there."""

from __future__ import annotations

import re

_NUL = re.compile("\0")
_ANY = re.compile(r"[\x00-\x1f\x7f]")
_BESIDES_BLANKS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def refuse_in_line(text: str) -> str:
    """The text, which may have no control character: a name, an address or a path.

    :raises ValueError: it has one; the message shows its code and not the text.
    """
    return _refuse(_ANY, text)


def refuse_in_lines(text: str) -> str:
    """The text, which may have tabs and ends of lines, and no other control character: SQL, JSON or PEM.

    :raises ValueError: see :func:`refuse_in_line`.
    """
    return _refuse(_BESIDES_BLANKS, text)


def refuse_nul(text: str) -> str:
    """The text, which may have any character but NUL: a delimiter, for which other programs take control characters.

    :raises ValueError: see :func:`refuse_in_line`.
    """
    return _refuse(_NUL, text)


def _refuse(pattern: re.Pattern[str], text: str) -> str:
    if character := pattern.search(text):
        raise ValueError(f"it has the control character U+{ord(character[0]):04X}")
    return text
