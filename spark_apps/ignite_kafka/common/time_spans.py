"""Time spans as text, such as ``7d``, ``36h`` or ``90 s``."""

from __future__ import annotations

import re

MOST_MS = 100 * 365 * 86_400_000
"""Longest span that is read, in milliseconds."""
SPANS = "a number and one of ms, s, min, h, d, w, such as 7d or 12h"
_SIZES = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1_000, "ms": 1}
_SHOWN = ("d", "h", "min", "s")
_SPAN = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(ms|s|min|h|d|w)")


def parse_span(text: str) -> int:
    """Parse a span to milliseconds.

    :raises ValueError: the text is no number with a unit, or the span is longer than :data:`MOST_MS`.
    """
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no time span: give {SPANS}")
    milliseconds = round(float(match[1]) * _SIZES[match[2]])
    if milliseconds > MOST_MS:
        raise ValueError(f"{text!r} is longer than 100 years")
    return milliseconds


def format_span(milliseconds: int) -> str:
    """Format a span in the largest unit that it fills, such as ``36 h`` or ``7 d``."""
    for unit in _SHOWN:
        size = _SIZES[unit]
        if milliseconds >= 2 * size or (milliseconds >= size and milliseconds % size == 0):
            return f"{round(milliseconds / size, 2):g} {unit}"
    return f"{milliseconds / 1000:g} s"
