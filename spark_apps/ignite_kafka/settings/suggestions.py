"""Suggestions for mistyped setting names, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the closest of the names; None if none is close. Case and the characters `_`, `.`, `-` are ignored."""
    spelled: dict[str, str] = {}
    for candidate in names:
        spelled.setdefault(_plain(candidate), candidate)
    close = difflib.get_close_matches(_plain(name), spelled, n=1, cutoff=0.75)
    return spelled[close[0]] if close else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the hint 'Did you mean …?' with the closest name; empty if none is close."""
    close = nearest(name, names)
    return f"Did you mean {close}?" if close else ""


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace(".", "").replace("-", "")
